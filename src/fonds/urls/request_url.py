"""Parse URLs into the form for HTTP requests.

The host is in ASCII, path and query are percent-escaped, and user name and fragment are removed.

Source: RFC 3986, sections 2.1 and 3; RFC 9110, section 7.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.model.secrets import redact_secrets
from fonds.urls.normalization import find_canonical_domain, find_host
from fonds.urls.parts import split_address

URL_MAX_CHARS = 8192
HOST_CACHE_SIZE = 65_536
_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"(?=.{1,253}\Z)(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?")
_BLANKS = "".join(map(chr, range(0x21)))
_BREAKS = str.maketrans("", "", "\t\r\n")
_UNESCAPED_CHARS = "%/:?&=+$,;@!*'()~[]|"
_HOST_TEXT = re.compile(r"[^\x00-\x20\x7f/?#@:\\%<>^|\"`{}\[\]\s]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]")
_IPV6 = re.compile(r"[0-9a-f:.]{2,45}")


@dataclass(frozen=True, slots=True)
class RequestUrl:
    """URL of an HTTP request, split into its parts.

    `scheme`: http or https.
    `host`: lower case, in ASCII, IPv6 without brackets.
    `port`: port of the server; the default port of the scheme if the URL has none.
    `target`: path and query, percent-escaped; begins with a slash.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def origin(self) -> str:
        """Scheme, host and port of the URL, as text; a default port is left out. A robots.txt
        applies to one origin.
        """
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    @property
    def url(self) -> str:
        """The full URL of the HTTP request as text."""
        return f"{self.origin}{self.target}"

    @property
    def domain(self) -> str:
        """Canonical domain of the URL's host: the domain of the site's publisher."""
        return _find_domain(self.host)


def parse_request_url(text: str) -> RequestUrl:
    """Parse a URL for an HTTP request.

    Raises PermanentError (BAD_URL) unless the text is an http(s) URL with a valid host and port, of
    at most 8,192 characters.
    """
    bare = text.translate(_BREAKS).strip(_BLANKS)
    parts = split_address(bare)
    is_web = parts.scheme in _PORTS and len(bare) <= URL_MAX_CHARS
    host = _normalize_host(parts.host) if is_web and _HOST_TEXT.fullmatch(parts.host) else ""
    is_usable = (_IPV6 if ":" in host else _HOST).fullmatch(host) and _is_port(parts.port)
    if not is_usable:
        redacted_url = redact_secrets(text)[:200]
        raise PermanentError(Reason.BAD_URL, f"not a URL that can be fetched: {redacted_url!r}")
    path = parts.path if parts.path.startswith("/") else f"/{parts.path}"
    query = "" if parts.query is None else f"?{_escape(parts.query)}"
    port = int(parts.port) if parts.port else _PORTS[parts.scheme]
    return RequestUrl(parts.scheme, host.rstrip("."), port, _escape(path) + query)


def parse_web_url(text: str | None) -> RequestUrl | None:
    """Parse a URL for an HTTP request; return None if the text is not a valid http(s) URL."""
    try:
        return parse_request_url(text) if text else None
    except PermanentError:
        return None


@lru_cache(HOST_CACHE_SIZE)
def _find_domain(host: str) -> str:
    return find_canonical_domain(f"http://[{host}]/" if ":" in host else f"http://{host}/") or host


@lru_cache(HOST_CACHE_SIZE)
def _normalize_host(host_text: str) -> str:
    return find_host(f"http://{host_text}")


def _is_port(digits: str) -> bool:
    return not digits or (len(digits) <= 5 and 0 < int(digits) <= 65535)


def _escape(text: str) -> str:
    return quote(text.encode("utf-8", "replace"), safe=_UNESCAPED_CHARS)
