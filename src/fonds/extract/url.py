"""Addresses of pages: one spelling for each, the domain that answers for it, homepages and short links.

Source: RFC 3986, sections 5.2.4 and 6.2; WHATWG URL, 4.4 (stripping); publicsuffix.org, "Algorithm". The
public suffix list is the one inside the package `tld`; nothing is ever fetched.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from urllib.parse import unquote_to_bytes

_URL = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.S
)
_STRIPPED = "".join(map(chr, range(0x21)))
_NEWLINES = str.maketrans("", "", "\t\n\r")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BARE_HOST = re.compile(r"(?:[\w-]+\.)+[^\W\d_]{2,}(?::\d+)?(?:[/?#]|$)")
_TWICE = re.compile(r"(?:https?:[/\\]*)+(?=https?:[/\\]+[^/\\])", re.IGNORECASE)
_WEB = re.compile(r"https?:([^?#]*)", re.IGNORECASE)
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(?::0*([0-9]{1,5}))?")
_NEVER_IN_HOST = re.compile(r"[\x00-\x20\x7f/?#@:\\%<>^|\"`{}\[\]]|\s")
_AMP = re.compile(r"^(?:amp;)+")
_SESSION_IN_PATH = re.compile(r";jsessionid=[^/;]*", re.IGNORECASE)
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})?")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_KEPT_IN_PATH = _UNRESERVED | frozenset("!$&'()*+,;=:@/%")
_KEPT_IN_QUERY = _KEPT_IN_PATH | frozenset("?")

_TRACKING_PREFIXES = ("utm_", "ga_", "fb_", "mc_", "pk_", "mtm_", "hsa_", "__hs", "_openstat")
_TRACKING_NAMES = (
    "fbclid gclid gclsrc dclid gbraid wbraid msclkid yclid ysclid twclid ttclid igshid igsh li_fat_id "
    "mkt_tok oly_anon_id oly_enc_id vero_id wickedid _hsenc _hsmi _ga _gl ncid wprss feedtype feedname "
    "ns_mchannel ns_source ns_campaign ns_linkname ns_fee cmpid cmp icid ito spm sref smid smtyp "
    "phpsessid jsessionid aspsessionid sessionid custom_click xtor at_medium at_campaign echobox "
    "guccounter guce_referrer guce_referrer_sig __twitter_impression amp_js_v"
)
_TRACKING = frozenset(_TRACKING_NAMES.split())


@dataclass(frozen=True, slots=True)
class _Parts:
    """An address taken apart; `host` in lower case, in ASCII where it can be, `port` "" for a default."""

    scheme: str
    host: str
    port: str
    path: str
    query: str | None


def normalize_url(url: str) -> str:
    """One spelling for all addresses of the same page; the same again when applied again. Never raises.

    Host and path are kept, the path with its case. http and https are alike (written `http`); user names,
    default ports, fragments and parameters that only track go; the query is sorted.
    """
    parts = _split(url)
    if parts.scheme != "http":
        return _normalize_other(parts)
    path = _without_dots(_recode(_SESSION_IN_PATH.sub("", parts.path), _KEPT_IN_PATH))
    query = _sorted_query(parts.query or "")
    # An address without a host leads nowhere; the dot keeps its path from being taken for one.
    return f"http://{parts.host or '.'}{parts.port}{path}{f'?{query}' if query else ''}"


def _normalize_other(parts: _Parts) -> str:
    """An address that is not of the web (`file:`, `urn:`), or none at all."""
    query = f"?{_recode(parts.query, _KEPT_IN_QUERY)}" if parts.query else ""
    if not parts.scheme:
        # Without a scheme escapes stay as they are: decoding might make one appear.
        return _escape(parts.path, _KEPT_IN_PATH) + query
    authority = f"//{parts.host}" if parts.host or parts.path.startswith("/") else ""
    return f"{parts.scheme}:{authority}{_recode(parts.path, _KEPT_IN_PATH)}{query}"


def story_id(url: str) -> str:
    """The id of a page's address: the SHA-256 in hex of its normalised URL."""
    return hashlib.sha256(normalize_url(url).encode("utf-8", "replace")).hexdigest()


def url_host(url: str) -> str:
    """The host in lower case, in ASCII where it can be, IPv6 without brackets; "" when there is none."""
    return _split(url).host.strip("[]")


def canonical_domain(url: str) -> str:
    """Who answers for the page: the registered domain; on hosts of blogs, each blog for itself.

    An IP address is itself; "" when the address has no host (`file:`). Only the host is looked at.
    """
    host = url_host(url)
    if not host or _is_ip(host):
        return host
    if host.endswith(".cdn.ampproject.org"):
        # The AMP cache writes the publisher's host into one label: dots as dashes, dashes doubled.
        label = host.split(".")[0]
        host = label.replace("--", "\0").replace("-", ".").replace("\0", "-")
    labels = host.split(".")
    suffix_length = _suffix_length(labels)
    domain = ".".join(labels[-suffix_length - 1 :])
    if domain.startswith("www.") and suffix_length > 1:
        domain = domain.removeprefix("www.")
    of_blogs = domain in _BLOG_HOSTS or domain.startswith("blogspot.")
    if of_blogs and len(labels) > suffix_length + 1 and labels[-suffix_length - 2] != "www":
        return ".".join(labels[-suffix_length - 2 :])
    return domain


_SUFFIX_LABELS_MAX = 8
_HOME = re.compile(
    r"/*|/(?:index|default|home)(?:\.(?:html?|php|aspx?|jsp|shtml|cfm))?/?|/[a-z]{2}(?:[-_][A-Za-z]{2})?/?"
)
_HOME_EXTENDED = re.compile(r"/[a-z]{2}(?:[-_][A-Za-z]{2})?/(?:index|default|home)\.[a-z]{3,5}")


def is_homepage_url(url: str) -> bool:
    """Whether this is a site's front page, perhaps of one language; any query makes it another page."""
    parts = _split(normalize_url(url))
    is_home = _HOME.fullmatch(parts.path) or _HOME_EXTENDED.fullmatch(parts.path)
    return bool(parts.scheme == "http" and parts.host and not parts.query and is_home)


def is_shortened_url(url: str) -> bool:
    """Whether the host does nothing but shorten links, and the path is one of its codes."""
    parts = _split(url)
    code = parts.path.strip("/")
    return parts.host.removeprefix("www.") in _SHORTENERS and bool(code) and "/" not in code


def _split(url: str) -> _Parts:
    """Take an address apart as people write it: spaces, backslashes, a missing or doubled scheme."""
    text = _SURROGATE.sub("\ufffd", url).strip(_STRIPPED).translate(_NEWLINES)
    if _BARE_HOST.match(text):
        text = f"http://{text}"
    elif text.startswith("//"):
        text = f"http:{text}"
    if twice := _TWICE.match(text):
        text = text[twice.end() :]
    if web := _WEB.match(text):
        rest = web[1].replace("\\", "/").lstrip("/")
        text = f"http://{rest}{text[web.end() :]}"
    found = _URL.fullmatch(text)
    scheme, authority, path, query = found.groups() if found else (None, None, text, None)
    scheme = (scheme or "").lower()
    host, port = _host_and_port(authority or "")
    if scheme == "http":
        path = path or "/"
    return _Parts(scheme, host, port, path, query)


def _host_and_port(authority: str) -> tuple[str, str]:
    """The host in lower case, in ASCII where it can be; the port with its colon, "" for a default one."""
    found = _HOST.match(_unquote(authority.rpartition("@")[2]).lower())
    host, port = (found[1], found[2]) if found else ("", "")
    if not _is_ip(host.removeprefix("[").removesuffix("]")):
        host = _NEVER_IN_HOST.sub("", host).strip(".")
    if not host.isascii() and len(host) < 254:
        # A host no resolver would take still names one page.
        with contextlib.suppress(UnicodeError):
            host = _NEVER_IN_HOST.sub("", host.encode("idna").decode("ascii").lower()).strip(".")
    return host, f":{port}" if port and port not in ("80", "443") else ""


def _unquote(text: str) -> str:
    return unquote_to_bytes(text).decode("utf-8", "replace") if "%" in text else text


def _recode(text: str, kept: frozenset[str]) -> str:
    """Percent-encoding in one way: unreserved characters plain, hex digits in upper case, UTF-8."""
    return _escape(_PERCENT.sub(_mended_escape, text), kept)


def _mended_escape(escape: re.Match[str]) -> str:
    if not escape[1]:
        return "%25"
    character = chr(int(escape[1], 16))
    return character if character in _UNRESERVED else escape[0].upper()


def _escape(text: str, kept: frozenset[str]) -> str:
    return "".join(
        character if character in kept else "".join(f"%{byte:02X}" for byte in character.encode())
        for character in text
    )


def _without_dots(path: str) -> str:
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1:] in (["."], [".."]):
        kept.append("")
    return "/" + "/".join(kept)


def _sorted_query(query: str) -> str:
    # Pages write `&amp;` where they mean `&`; the name after it is what counts.
    pairs = (_AMP.sub("", _recode(pair, _KEPT_IN_QUERY)) for pair in query.split("&"))
    return "&".join(sorted(pair for pair in pairs if not _is_tracking(pair.partition("=")[0])))


def _is_tracking(name: str) -> bool:
    lowered = _unquote(name).lower()
    return not name or lowered in _TRACKING or lowered.startswith(_TRACKING_PREFIXES)


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _suffix_length(labels: list[str]) -> int:
    """How many labels at the end are a public suffix; the last one where no rule says otherwise."""
    rules = _suffix_rules()
    for length in range(min(len(labels), _SUFFIX_LABELS_MAX), 0, -1):
        candidate = ".".join(labels[-length:])
        if f"!{candidate}" in rules:
            return length - 1
        if candidate in rules or (length > 1 and "*." + candidate.partition(".")[2] in rules):
            return length
    return 1


@cache
def _suffix_rules() -> frozenset[str]:
    """The rules of the public suffix list, private section included, in ASCII."""
    lines = (
        (resources.files("tld") / "res" / "effective_tld_names.dat.txt")
        .read_text("utf-8")
        .split("\n")
    )
    rules = (line.split()[0] for line in lines if line.strip() and not line.startswith("//"))
    return frozenset(
        rule if rule.isascii() else rule.encode("idna").decode("ascii") for rule in rules
    )


_BLOG_HOST_NAMES = """
    wordpress.com substack.com tumblr.com medium.com livejournal.com typepad.com typepad.jp ghost.io
    squarespace.com wixsite.com weebly.com webnode.com jimdo.com jimdofree.com over-blog.com overblog.com
    canalblog.com blogger.com blog.com blogspirit.com hautetfort.com skyrock.com hatenablog.com
    hatenablog.jp hatenadiary.com hatenadiary.jp fc2.com seesaa.net exblog.jp cocolog-nifty.com
    tistory.com egloos.com pixnet.net posthaven.com svbtle.com beehiiv.com mystrikingly.com blogs.com
    blogg.se blogg.no splinder.com myblog.it altervista.org blogfa.com blogsky.com mihanblog.com
    persianblog.ir ucoz.ru ucoz.com narod.ru diaryland.com xanga.com dreamwidth.org micro.blog write.as
    bearblog.dev gitlab.io github.io netlify.app vercel.app pages.dev neocities.org tripod.com
    angelfire.com sapo.pt
"""
_BLOG_HOSTS = frozenset(_BLOG_HOST_NAMES.split())
"""Registered domains under which each subdomain is somebody else's."""

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
_SHORTENERS = frozenset(_SHORTENER_NAMES.split())
"""Hosts that exist to shorten links."""
