"""Hosts that many share: under some each name is somebody else's, some do nothing but shorten links; data."""

from __future__ import annotations

_SHARED_DOMAIN_NAMES = """
    wordpress.com substack.com tumblr.com medium.com livejournal.com typepad.com typepad.jp ghost.io
    squarespace.com wixsite.com weebly.com webnode.com jimdo.com jimdofree.com over-blog.com overblog.com
    canalblog.com blogger.com blog.com blogspirit.com hautetfort.com skyrock.com hatenablog.com
    hatenablog.jp hatenadiary.com hatenadiary.jp fc2.com seesaa.net exblog.jp cocolog-nifty.com
    tistory.com egloos.com pixnet.net posthaven.com svbtle.com beehiiv.com mystrikingly.com blogs.com
    blogg.se blogg.no splinder.com myblog.it altervista.org blogfa.com blogsky.com mihanblog.com
    persianblog.ir ucoz.ru ucoz.com narod.ru diaryland.com xanga.com dreamwidth.org micro.blog write.as
    bearblog.dev gitlab.io github.io netlify.app vercel.app pages.dev neocities.org tripod.com
    angelfire.com sapo.pt hypotheses.org go.com free.fr newsmemory.com wickedlocal.com home.blog patch.com
    insanejournal.com noblogs.org kinja.com ning.com newsvine.com podomatic.com buzzsprout.com
    simplecast.com hubpages.com googleblog.com beforeitsnews.com smalltownpapers.com
"""
SHARED_DOMAINS = frozenset(_SHARED_DOMAIN_NAMES.split())
"""Registered domains under which each subdomain is somebody else's."""

SHARED_WHOLLY = frozenset({"newsmemory.com", "smalltownpapers.com"})
"""Of these, those where all labels together name the publisher: `paper.state.newsmemory.com`."""

FILE_HOSTS = frozenset({"files.wordpress.com"})
"""Names below these hold the files of the site with the same name beside them."""

_SHORTENER_NAMES = """
    bit.ly bitly.com j.mp t.co goo.gl tinyurl.com ow.ly owl.li buff.ly dlvr.it is.gd v.gd fb.me lnkd.in
    ift.tt tiny.cc tiny.pl cutt.ly rb.gy rebrand.ly shorturl.at t.ly soo.gd s.id x.co cli.gs su.pr po.st
    trib.al amzn.to amzn.eu a.co wp.me flip.it ln.is mcaf.ee tr.im snip.ly snipurl.com snurl.com shar.es
    moourl.com ur1.ca yep.it qr.ae reut.rs nyti.ms wapo.st bbc.in cnn.it cnnmon.ie econ.st on.ft.com
    on.wsj.com abcn.ws cbsn.ws politi.co huff.to bloom.bg n.pr usat.ly lat.ms apne.ws tcrn.ch engt.co
    hill.cm ti.me read.bi dailym.ai ind.pn f24.my lemde.fr sz.de spon.de nzz.as ebx.sh aje.io skyne.ws
    on.rt.com vk.cc clck.ru goo.su u.to ouo.io adf.ly shorte.st bc.vc urlz.fr kutt.it chilp.it hubs.ly
    hubs.li spr.ly okt.to smarturl.it lnk.to ffm.to geni.us twurl.nl mzl.la redd.it git.io g.co db.tt
"""
SHORTENERS = frozenset(_SHORTENER_NAMES.split())
"""Hosts that exist to shorten links."""
