"""Normalize URLs so that all addresses of a page have one spelling, and classify URLs.

Also computes story ids and canonical domains, and detects front pages, tracking parameters and link
shorteners.

Source: RFC 3986, sections 5.2.4 and 6.2; WHATWG URL, 4.4 (stripping); publicsuffix.org,
"Algorithm". The suffix list is the one in `publicsuffixlist`; nothing is fetched.

Limits: linear in the URL except for sorting its query.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from urllib.parse import unquote_to_bytes

from publicsuffixlist import PublicSuffixList

from fonds.urls.parts import split_address, split_authority

# Domains whose subdomains belong to different sites.


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
"""Registered domains whose subdomains belong to different sites, such as wordpress.com."""

SHARED_WHOLLY = frozenset({"newsmemory.com", "smalltownpapers.com"})
"""Registered domains whose publishers are named by all subdomain labels together, such as
`paper.state.newsmemory.com`.
"""

FILE_HOSTS = frozenset({"files.wordpress.com"})
"""Hosts whose subdomains serve files of sites: `a.files.wordpress.com` serves the files of
`a.wordpress.com`.
"""

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
"""Hosts whose only service is to shorten links, such as bit.ly."""


# Query parameters that track readers and never select a page.
#
# A name is listed only if it was coined for tracking. Names that may also be the number of an
# article (`pk_no`, `sid`, `ref`, `ncid`, `smid`, `icid`, `cmp`) are not listed: two ids for one
# page do less harm than one id for two pages. Source: documentation of the systems that add them
# (Google Analytics and Ads, Meta, Microsoft, Matomo, HubSpot, Mailchimp, Marketo, Yandex, AT
# Internet, Adobe, Olytics, Vero, Twitter, TikTok, LinkedIn, Alibaba).


PREFIXES = ("utm_", "hsa_")
"""Prefixes of tracking parameters; no other parameter among 3,261 real addresses starts like
this.
"""

_ANALYTICS = """
    _ga _gl ga_source ga_medium ga_campaign ga_term ga_content ga_place gclid gclsrc gad_source
    gad_campaignid dclid gbraid wbraid srsltid msclkid yclid ysclid _openstat
    mtm_campaign mtm_keyword mtm_kwd mtm_source mtm_medium mtm_content mtm_cid mtm_group mtm_placement
    pk_campaign pk_keyword pk_kwd pk_source pk_medium pk_content pk_cid piwik_campaign piwik_kwd
    at_medium at_campaign at_custom1 at_custom2 at_custom3 at_custom4 xtor s_cid ns_mchannel ns_source
    ns_campaign ns_linkname ns_fee
"""
_SOCIAL = """
    fbclid fb_action_ids fb_action_types fb_source fb_ref action_object_map action_type_map action_ref_map
    igshid igsh twclid ttclid li_fat_id __twitter_impression guccounter guce_referrer guce_referrer_sig
    echobox custom_click wprss feedname feedtype amp_js_v spm
"""
_MAIL = """
    mc_cid mc_eid mc_tc mkt_tok oly_anon_id oly_enc_id vero_id vero_conv wickedid _hsenc _hsmi __hstc
    __hssc __hsfp hsctatracking ck_subscriber_id ml_subscriber ml_subscriber_hash
"""
_SESSIONS = "phpsessid jsessionid"
NAMES = frozenset(f"{_ANALYTICS} {_SOCIAL} {_MAIL} {_SESSIONS}".split())
"""Names of tracking parameters, in lower case."""


def is_tracking(name: str) -> bool:
    """Return whether a query parameter of a URL only tracks readers and never selects a page.

    `name`: name of the parameter, percent-decoded and in any case.
    """
    lower_name = name.lower()
    return lower_name in NAMES or lower_name.startswith(PREFIXES)


_STRIPPED = "".join(map(chr, range(0x21)))
_NEWLINES = str.maketrans("", "", "\t\n\r")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BARE_HOST = re.compile(r"(?:[\w-]+\.)+[^\W\d_]{2,}(?::\d+)?(?:[/?#]|$)")
_DOUBLED_SCHEME = re.compile(r"(?:https?:[/\\]*)+(?=https?:[/\\]+[^/\\])", re.IGNORECASE)
_WEB = re.compile(r"https?:([^?#]*)", re.IGNORECASE)
_HASH_ROUTE = re.compile(r"[!/].*[^\W_]", re.S)
_FORBIDDEN_IN_HOST = re.compile(r"[\x00-\x20\x7f/?#@:\\%<>^|\"`{}\[\]]|\s")
_PORT = re.compile(r"0*(?!(?:80|443)?$)[1-9][0-9]{0,4}")
_AMP = re.compile(r"^(?:amp;)+")
_SESSION_IN_PATH = re.compile(r";jsessionid=[^/;]*", re.IGNORECASE)
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})?")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PATH_CHARS = _UNRESERVED | frozenset("!$&'()*+,;=:@/%")
_QUERY_CHARS = _PATH_CHARS | frozenset("?")


@dataclass(frozen=True, slots=True)
class _NormalUrl:
    """Parts of a URL during normalization.

    `host`: lower case, in ASCII if possible.
    `port`: colon and digits; "" for the default port of http or https.
    `query`: text after `?`; None without a `?`.
    `route`: `#` and the fragment, if the fragment selects another page or file; otherwise "". On
        the web, scripts select a page by some fragments (`#!/story/7`). Outside the web, every
        fragment selects a file (`file:///pages.zip#a.html`).
    """

    scheme: str
    host: str
    port: str
    path: str
    query: str | None
    route: str


def normalize_url(url: str) -> str:
    """Return the normalized URL: one spelling for all URLs of the same page. Never raises.

    Host and path are kept, the path with its case. http and https become `http`. User names,
    default ports, tracking parameters, and fragments that do not select a page are removed. Query
    parameters are sorted. Every fragment of a URL outside the web, such as `file:`, is kept.
    Normalizing the result again changes nothing.
    """
    parts = _split(url)
    if parts.scheme != "http":
        return _normalize_other(parts)
    path = _remove_dot_segments(_recode(_SESSION_IN_PATH.sub("", parts.path), _PATH_CHARS))
    query = _sort_query(parts.query or "")
    # If the URL has no host, a dot replaces it, so that the path is not parsed as a host.
    route = _recode(parts.route[1:], _QUERY_CHARS)
    tail = (f"?{query}" if query else "") + (f"#{route}" if route else "")
    return f"http://{parts.host or '.'}{parts.port}{path}{tail}"


def _normalize_other(parts: _NormalUrl) -> str:
    """Return the normalized form of a URL outside the web (`file:`, `urn:`), or of any other text.

    The fragment is kept, because it names a member of a ZIP, or is part of an object's key in S3.
    """
    query = f"?{_recode(parts.query, _QUERY_CHARS)}" if parts.query else ""
    tail = query + (f"#{_recode(parts.route[1:], _QUERY_CHARS)}" if parts.route else "")
    if not parts.scheme:
        # Without a scheme, escapes are kept: decoding could create one.
        return _escape(parts.path, _PATH_CHARS) + tail
    authority = f"//{parts.host}" if parts.host or parts.path.startswith("/") else ""
    return f"{parts.scheme}:{authority}{_recode(parts.path, _PATH_CHARS)}{tail}"


def compute_story_id(url: str) -> str:
    """Return the story id of a URL: the SHA-256 in hex of the normalized URL."""
    return hashlib.sha256(normalize_url(url).encode("utf-8", "replace")).hexdigest()


def find_host(url: str) -> str:
    """Return the host of a URL in lower case, in ASCII if possible, IPv6 without brackets; "" if
    the URL has no host.
    """
    return _split(url).host.strip("[]")


_HOME = re.compile(
    r"/*|/(?:index|default|home)(?:\.(?:html?|php|aspx?|jsp|shtml|cfm))?/?|/[a-z]{2}(?:[-_][A-Za-z]{2})?/?"
)
_HOME_EXTENDED = re.compile(r"/[a-z]{2}(?:[-_][A-Za-z]{2})?/(?:index|default|home)\.[a-z]{3,5}")


def is_homepage_url(url: str) -> bool:
    """Return whether a URL is the front page of a site or of one of its language versions.

    A URL with a query, or with a fragment that selects a page, is no front page.
    """
    parts = _split(normalize_url(url))
    is_home = _HOME.fullmatch(parts.path) or _HOME_EXTENDED.fullmatch(parts.path)
    return bool(
        parts.scheme == "http" and parts.host and not parts.query and not parts.route and is_home
    )


def is_shortened_url(url: str) -> bool:
    """Return whether a URL is a short link.

    A short link has a host that only shortens links, such as bit.ly, and exactly one path segment.
    """
    parts = _split(url)
    code = parts.path.strip("/")
    return parts.host.removeprefix("www.") in SHORTENERS and bool(code) and "/" not in code


def _split(url: str) -> _NormalUrl:
    """Split a URL as people write it: with spaces, backslashes, a missing or doubled scheme.

    Return the parts of the URL; http and https both become `http`.
    """
    text = _SURROGATE.sub("\ufffd", url).strip(_STRIPPED).translate(_NEWLINES)
    if _BARE_HOST.match(text):
        text = f"http://{text}"
    elif text.startswith("//"):
        text = f"http:{text}"
    if doubled_scheme := _DOUBLED_SCHEME.match(text):
        text = text[doubled_scheme.end() :]
    if web_scheme := _WEB.match(text):
        authority_and_path = web_scheme[1].replace("\\", "/").lstrip("/")
        text = f"http://{authority_and_path}{text[web_scheme.end() :]}"
    address = split_address(text)
    scheme, path = address.scheme, address.path
    host, port = _split_host_and_port(address.authority or "")
    fragment = address.fragment or ""
    is_route = bool(_HASH_ROUTE.match(fragment) if scheme == "http" else fragment)
    route = f"#{fragment}" if is_route else ""
    return _NormalUrl(
        scheme, host, port, (path or "/") if scheme == "http" else path, address.query, route
    )


@lru_cache(maxsize=256)
def _split_host_and_port(authority: str) -> tuple[str, str]:
    """Split the authority of a URL into host and port; the user name is dropped.

    The host is in lower case, in ASCII if possible. The port includes its colon; it is "" for a
    default port.
    """
    host, port = split_authority(_unquote(authority.rpartition("@")[2]).lower())
    if not host.startswith("["):
        # A colon without a number does not belong to the host.
        host = host.partition(":")[0]
    if not is_ip(host.removeprefix("[").removesuffix("]")):
        host = _FORBIDDEN_IN_HOST.sub("", host).strip(".")
    if not host.isascii() and len(host) < 254:
        # A host that no resolver accepts still identifies one page.
        with contextlib.suppress(UnicodeError):
            host = _FORBIDDEN_IN_HOST.sub("", host.encode("idna").decode("ascii").lower()).strip(
                "."
            )
    return host, f":{port.lstrip('0')}" if _PORT.fullmatch(port) else ""


def _unquote(text: str) -> str:
    return unquote_to_bytes(text).decode("utf-8", "replace") if "%" in text else text


def _recode(text: str, safe_chars: frozenset[str]) -> str:
    """Return part of a URL with normalized percent-encoding.

    Unreserved characters are not escaped, hex digits are in upper case, and other characters are
    escaped as UTF-8. Characters in `safe_chars` stay.
    """
    return _escape(_PERCENT.sub(_fix_escape, text), safe_chars)


def _fix_escape(escape: re.Match[str]) -> str:
    if not escape[1]:
        return "%25"
    character = chr(int(escape[1], 16))
    return character if character in _UNRESERVED else escape[0].upper()


def _escape(text: str, safe_chars: frozenset[str]) -> str:
    return "".join(
        character
        if character in safe_chars
        else "".join(f"%{byte:02X}" for byte in character.encode())
        for character in text
    )


def _remove_dot_segments(path: str) -> str:
    output: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del output[-1:]
        elif segment != ".":
            output.append(segment)
    if segments[-1:] in (["."], [".."]):
        output.append("")
    return "/" + "/".join(output)


def _sort_query(query: str) -> str:
    # Pages write `&amp;` when they mean `&`; then the parameter's name follows `amp;`.
    pairs = (_AMP.sub("", _recode(pair, _QUERY_CHARS)) for pair in query.split("&"))
    return "&".join(
        sorted(pair for pair in pairs if _is_selecting_parameter(pair.partition("=")[0]))
    )


def _is_selecting_parameter(name: str) -> bool:
    return bool(name) and not is_tracking(_unquote(name))


def is_ip(host: str) -> bool:
    """Return whether a host name is an IPv4 or IPv6 address. IPv6 is given without brackets."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def find_canonical_domain(url: str) -> str:
    """Return the domain of the publisher of a page: the registered domain, or the subdomain on
    hosts that many sites share.

    An IP address is returned unchanged. Return "" if the URL has no host, such as a `file:` URL.
    The result depends only on the host of the URL.
    """
    host = find_host(url)
    if not host or is_ip(host):
        return host
    if host.endswith(".cdn.ampproject.org"):
        # The AMP cache encodes the publisher's host in one label: dots as dashes, dashes doubled.
        label = host.split(".")[0]
        host = label.replace("--", "\0").replace("-", ".").replace("\0", "-")
    host = next(
        (
            _strip_file_subdomain(host, file_host)
            for file_host in FILE_HOSTS
            if host.endswith(f".{file_host}")
        ),
        host,
    )
    labels = host.split(".")
    suffix_length = _count_suffix_labels(host)
    domain = ".".join(labels[-suffix_length - 1 :])
    if domain.startswith("www.") and suffix_length > 1:
        domain = domain.removeprefix("www.")
    subdomains = labels[: -suffix_length - 1]
    if subdomains[:1] == ["www"]:
        subdomains = subdomains[1:]
    if not subdomains or not (domain in SHARED_DOMAINS or domain.startswith("blogspot.")):
        return domain
    return ".".join((*(subdomains if domain in SHARED_WHOLLY else subdomains[-1:]), domain))


def _strip_file_subdomain(host: str, file_host: str) -> str:
    """Return the host of the site whose files a file host serves.

    `a.files.example.com` becomes `a.example.com`. `file_host`: the common part,
    `files.example.com`.
    """
    return host.removesuffix(file_host) + file_host.partition(".")[2]


@cache
def load_suffix_list() -> PublicSuffixList:
    """Load the list of public suffixes, once per process. This takes a tenth of a second."""
    return PublicSuffixList()


def _count_suffix_labels(host: str) -> int:
    """Return the number of labels in the public suffix of a host, such as 2 for `co.uk`.

    Private suffixes, such as `github.io`, count too. Return 1 if no rule of the public suffix list
    matches.
    """
    suffix = load_suffix_list().publicsuffix(host)
    return suffix.count(".") + 1 if suffix else 1
