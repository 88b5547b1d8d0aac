"""One spelling for all addresses of the same page, and what an address alone tells of it.

Source: RFC 3986, sections 5.2.4 and 6.2; WHATWG URL, 4.4 (stripping).
Bound: linear in the URL but for sorting its query.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from fonds.address import split_address, split_authority
from fonds.extract.url.hosts import SHORTENERS
from fonds.extract.url.tracking import is_tracking

_STRIPPED = "".join(map(chr, range(0x21)))
_NEWLINES = str.maketrans("", "", "\t\n\r")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BARE_HOST = re.compile(r"(?:[\w-]+\.)+[^\W\d_]{2,}(?::\d+)?(?:[/?#]|$)")
_TWICE = re.compile(r"(?:https?:[/\\]*)+(?=https?:[/\\]+[^/\\])", re.IGNORECASE)
_WEB = re.compile(r"https?:([^?#]*)", re.IGNORECASE)
_HASH_ROUTE = re.compile(r"[!/].*[^\W_]", re.S)
_NEVER_IN_HOST = re.compile(r"[\x00-\x20\x7f/?#@:\\%<>^|\"`{}\[\]]|\s")
_PORT = re.compile(r"0*(?!(?:80|443)?$)[1-9][0-9]{0,4}")
_AMP = re.compile(r"^(?:amp;)+")
_SESSION_IN_PATH = re.compile(r";jsessionid=[^/;]*", re.IGNORECASE)
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})?")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_KEPT_IN_PATH = _UNRESERVED | frozenset("!$&'()*+,;=:@/%")
_KEPT_IN_QUERY = _KEPT_IN_PATH | frozenset("?")


@dataclass(frozen=True, slots=True)
class _Parts:
    """An address taken apart; `host` in lower case, in ASCII where it can be, `port` "" for a default.

    `route` is the fragment, with its mark, where it names another page or file, else "". On the web scripts
    choose the page by some (`#!/story/7`). Elsewhere every fragment does (`file:///pages.zip#a.html`).
    """

    scheme: str
    host: str
    port: str
    path: str
    query: str | None
    route: str


def normalize_url(url: str) -> str:
    """One spelling for all addresses of the same page; the same again when applied again. Never raises.

    Host and path are kept, the path with its case. http and https are alike (written `http`); user names,
    default ports and parameters that only track go, and fragments that do not choose the page; the query
    is sorted. Outside the web every fragment is kept.
    """
    parts = _split(url)
    if parts.scheme != "http":
        return _normalize_other(parts)
    path = _without_dots(_recode(_SESSION_IN_PATH.sub("", parts.path), _KEPT_IN_PATH))
    query = _sorted_query(parts.query or "")
    # An address without a host leads nowhere; the dot keeps its path from being taken for one.
    route = _recode(parts.route[1:], _KEPT_IN_QUERY)
    tail = (f"?{query}" if query else "") + (f"#{route}" if route else "")
    return f"http://{parts.host or '.'}{parts.port}{path}{tail}"


def _normalize_other(parts: _Parts) -> str:
    """Normalize an address that is not of the web (`file:`, `urn:`), or any other text.

    The fragment stays: it names a member of a ZIP, or is part of an object's key in S3.
    """
    query = f"?{_recode(parts.query, _KEPT_IN_QUERY)}" if parts.query else ""
    tail = query + (f"#{_recode(parts.route[1:], _KEPT_IN_QUERY)}" if parts.route else "")
    if not parts.scheme:
        # Without a scheme escapes stay as they are: decoding might make one appear.
        return _escape(parts.path, _KEPT_IN_PATH) + tail
    authority = f"//{parts.host}" if parts.host or parts.path.startswith("/") else ""
    return f"{parts.scheme}:{authority}{_recode(parts.path, _KEPT_IN_PATH)}{tail}"


def story_id(url: str) -> str:
    """The id of a page's address: the SHA-256 in hex of its normalised URL."""
    return hashlib.sha256(normalize_url(url).encode("utf-8", "replace")).hexdigest()


def url_host(url: str) -> str:
    """The host in lower case, in ASCII where it can be, IPv6 without brackets; "" when there is none."""
    return _split(url).host.strip("[]")


_HOME = re.compile(
    r"/*|/(?:index|default|home)(?:\.(?:html?|php|aspx?|jsp|shtml|cfm))?/?|/[a-z]{2}(?:[-_][A-Za-z]{2})?/?"
)
_HOME_EXTENDED = re.compile(r"/[a-z]{2}(?:[-_][A-Za-z]{2})?/(?:index|default|home)\.[a-z]{3,5}")


def is_homepage_url(url: str) -> bool:
    """Whether this is a site's front page, perhaps of one language; any query makes it another page."""
    parts = _split(normalize_url(url))
    is_home = _HOME.fullmatch(parts.path) or _HOME_EXTENDED.fullmatch(parts.path)
    return bool(
        parts.scheme == "http" and parts.host and not parts.query and not parts.route and is_home
    )


def is_shortened_url(url: str) -> bool:
    """Whether the host does nothing but shorten links, and the path is one of its codes."""
    parts = _split(url)
    code = parts.path.strip("/")
    return parts.host.removeprefix("www.") in SHORTENERS and bool(code) and "/" not in code


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
    address = split_address(text)
    scheme, path = address.scheme, address.path
    host, port = _host_and_port(address.authority or "")
    fragment = address.fragment or ""
    is_route = bool(_HASH_ROUTE.match(fragment) if scheme == "http" else fragment)
    route = f"#{fragment}" if is_route else ""
    return _Parts(
        scheme, host, port, (path or "/") if scheme == "http" else path, address.query, route
    )


def _host_and_port(authority: str) -> tuple[str, str]:
    """The host in lower case, in ASCII where it can be; the port with its colon, "" for a default one."""
    host, port = split_authority(_unquote(authority.rpartition("@")[2]).lower())
    if not host.startswith("["):
        # A colon with no number behind it belongs to no host.
        host = host.partition(":")[0]
    if not is_ip(host.removeprefix("[").removesuffix("]")):
        host = _NEVER_IN_HOST.sub("", host).strip(".")
    if not host.isascii() and len(host) < 254:
        # A host no resolver would take still names one page.
        with contextlib.suppress(UnicodeError):
            host = _NEVER_IN_HOST.sub("", host.encode("idna").decode("ascii").lower()).strip(".")
    return host, f":{port.lstrip('0')}" if _PORT.fullmatch(port) else ""


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
    return "&".join(sorted(pair for pair in pairs if _chooses(pair.partition("=")[0])))


def _chooses(name: str) -> bool:
    return bool(name) and not is_tracking(_unquote(name))


def is_ip(host: str) -> bool:
    """Whether a host, IPv6 without brackets, is an IP address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
