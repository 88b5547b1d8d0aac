"""Build SURT keys of URLs: URLs with reversed hosts, so that sorting puts related URLs together.

Source: the sort key of the Wayback Machine's CDX files (field N); Heritrix' SURT form; RFC 3986.
URLs are normalized as other programs that write CDX indexes do, so that the keys of Fonds match
theirs.

Limits: linear in the URL; escapes are decoded at most ten times.
"""

from __future__ import annotations

import contextlib
import re
from hashlib import sha1

from fonds.urls.parts import UrlParts, split_address

NONE = "-"
"""SURT key that CDX files have for an empty URL."""

LOOKUP_MAX_CHARS = 400
"""Maximum number of characters of a SURT key in a database index. Databases limit the size of
indexed texts.
"""
_KEY_MAX_CHARS = LOOKUP_MAX_CHARS - 41

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_UNCHANGED_SCHEMES = frozenset(
    {
        "filedesc",
        "warcinfo",
        "dns",
        "urn",
        "mailto",
        "data",
        "about",
        "javascript",
        "cid",
        "blob",
        "whois",
    }
)
_KEEP_FRAGMENTS = frozenset({"file", "s3"})
_DEFAULT_PORTS = {"http": "80", "https": "443", "ftp": "21"}
_WWW = re.compile(r"www[0-9]*\.")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_ESCAPED_BYTES = re.compile(rb"[\x00-\x20\x7f-\xff#%]")
_UNESCAPE_PASSES_MAX = 10

_PATH_SESSIONS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r";jsessionid=[0-9a-z]{32}(?:[.!:][\w.!:-]*+)?(?![0-9a-z])",
        r"(?<=/)\((?:[a-z]\([0-9a-z]{24}\))+\)/(?=[^?]{1,500}\.aspx)",
        r"(?<=/)\([0-9a-z]{24}\)/(?=[^?]{1,500}\.aspx)",
    )
)
_QUERY_SESSIONS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:jsessionid|phpsessid|sid)=[0-9a-z]{32}(?:&|$)",
        r"aspsessionid[a-z]{8}=[a-z]{24}(?:&|$)",
        r"cfid=[^&]{1,200}&cftoken=[^&]{1,200}(?:&|$)",
    )
)


def build_surt(url: str) -> str:
    """Return the SURT key of a URL: `org,example)/path?query`, lower case, without scheme.

    `www`, default ports, user names, session ids, trailing slashes and fragments are dropped. Query
    parameters are sorted, escapes normalized. IPv4 addresses are reversed like names, as in the
    indexes of other tools. A URL without scheme counts as HTTP. `dns:`, `urn:` and other URLs
    without an authority stay unchanged, except `file:/path`. Fragments of `file:` and `s3:` URLs
    stay: they name a member of a ZIP, or are part of an object's key. Return "-" for an empty URL.
    Never raises.
    """
    bare = re.sub(r"[\r\n\t]", "", url.strip())
    if not bare:
        return NONE
    scheme_match = _SCHEME.match(bare)
    scheme = scheme_match.group(1).lower() if scheme_match else "http"
    if scheme in _UNCHANGED_SCHEMES:
        return bare
    if bare[:8].lower() == "file:///":
        path_and_query, hash_sign, fragment = bare[7:].partition("#")
        path, _, query = path_and_query.partition("?")
        return f"file:{_normalize_path(path)}{_normalize_query(query)}{hash_sign}{fragment}"
    if scheme_match and _is_host_and_port(bare, scheme_match.end()):
        scheme, authority_and_path = "http", bare
    else:
        authority_and_path = bare[scheme_match.end() :] if scheme_match else bare
    parts = split_address("//" + authority_and_path.lstrip("/"))
    fragment = f"#{parts.fragment}" if parts.fragment and scheme in _KEEP_FRAGMENTS else ""
    path, query = _normalize_path(parts.path), _normalize_query(parts.query or "")
    return f"{_reverse_host(parts, scheme)}){path}{query}{fragment}"


def build_lookup_key(key: str) -> str:
    """Return a SURT key in the form that database indexes store, at most 400 characters.

    A longer key is replaced by its first 359 characters, `~` and the SHA-1 of the whole key. Each
    SURT key has its own stored form. Stored forms sort like SURT keys, except among keys that share
    their first 359 characters.
    """
    if len(key) <= LOOKUP_MAX_CHARS:
        return key
    digest = sha1(key.encode("utf-8", "replace")).hexdigest()  # noqa: S324 (an id, not a signature)
    return f"{key[:_KEY_MAX_CHARS]}~{digest}"


def build_lookup_prefix(prefix: str) -> str:
    """Return the common prefix of the stored forms of all SURT keys that start with `prefix`.

    The stored form is the one in database indexes, at most 400 characters (`build_lookup_key`).
    """
    return prefix[:_KEY_MAX_CHARS]


def _is_host_and_port(url: str, colon_end: int) -> bool:
    """Return whether the apparent scheme of a URL is a host followed by a port:
    `example.org:8080/`.

    `colon_end`: position after the first colon.
    """
    return bool(re.match(r"[0-9]{1,5}(?:[/?#]|$)", url[colon_end:])) and "." in url[:colon_end]


def _reverse_host(parts: UrlParts, scheme: str) -> str:
    host, port = parts.host, parts.port
    host = _encode_host(_unescape(host.encode("utf-8", "replace")).decode("utf-8", "replace"))
    host = re.sub(r"\.{2,}", ".", host).strip(".")
    host = _WWW.sub("", host, count=1) if _WWW.match(host) else host
    tail = f":{port}" if port and port != _DEFAULT_PORTS.get(scheme) else ""
    if host.startswith("["):
        return host.strip("[]") + tail
    return ",".join(reversed(host.split("."))) + tail


def _encode_host(host: str) -> str:
    ascii_host = host.lower().encode("utf-8", "replace")
    if not ascii_host.isascii():
        with contextlib.suppress(UnicodeError):
            ascii_host = host.encode("idna")
    return _escape(ascii_host).decode("ascii").lower()


def _normalize_path(path: str) -> str:
    # Remove session ids before decoding escapes: indexes keep escaped ones.
    for session in _PATH_SESSIONS:
        path = session.sub("", path)
    raw = _unescape(path.encode("utf-8", "replace"))
    parts: list[bytes] = []
    for part in raw.split(b"/"):
        if part == b"..":
            del parts[-1:]
        elif part not in (b"", b"."):
            parts.append(part)
    trailing = b"/" if parts and raw.endswith((b"/", b"/.", b"/..")) else b""
    escaped_path = _escape(b"/" + b"/".join(parts) + trailing).decode("ascii").lower()
    return (
        escaped_path[:-1] if len(escaped_path) > 1 and escaped_path.endswith("/") else escaped_path
    )


def _normalize_query(query: str) -> str:
    for session in _QUERY_SESSIONS:
        query = session.sub("", query)
    escaped_query = _escape(_unescape(query.encode("utf-8", "replace"))).decode("ascii").lower()
    if not escaped_query:
        return ""
    # An empty parameter sorts first: `a=1&` gives `?&a=1`, as in other indexes.
    return "?" + "&".join(sorted(escaped_query.split("&"), key=lambda item: item.split("=", 1)))


def _unescape(data: bytes) -> bytes:
    """Decode the percent-escapes of a URL part repeatedly until none is left, at most ten times."""
    for _ in range(_UNESCAPE_PASSES_MAX):
        plain = _ESCAPE.sub(lambda match: bytes([int(match.group(1), 16)]), data)
        if plain == data:
            break
        data = plain
    return data


def _escape(data: bytes) -> bytes:
    """Percent-escape the bytes that a SURT key cannot contain: controls, spaces, `#`, `%`,
    non-ASCII.
    """
    return _ESCAPED_BYTES.sub(lambda match: b"%%%02x" % match.group()[0], data)
