"""HTTP exchanges: the requests, responses and redirects of one fetched link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from fonds.model.rights import Rights


@dataclass(frozen=True, slots=True)
class HttpHead:
    """Status line and headers of an HTTP response.

    Header names have the case in which the server wrote them.
    """

    status: int
    status_line: str
    headers: Sequence[tuple[str, str]] = ()

    def get(self, name: str) -> str | None:
        """Return the value of the first header of the response named `name`; None without one. Case
        does not matter.
        """
        lower_name = name.lower()
        return next((value for key, value in self.headers if key.lower() == lower_name), None)

    @property
    def charset(self) -> str | None:
        """Charset that the Content-Type header of the response states, unchanged; None if it states
        none.

        Media Cloud's archives name the parameter `encoding` instead of `charset`.
        """
        content_type = self.get("content-type")
        return _parse_charset(content_type) if content_type else None


@lru_cache(maxsize=256)
def _parse_charset(content_type: str) -> str | None:
    """Return the charset in the value of a Content-Type header. The results are kept, because the
    pages of a site have few values.
    """
    from email.message import Message  # Importing it takes as long as the rest of the model.

    headers = Message()
    headers["Content-Type"] = content_type.encode("ascii", "replace").decode()
    charset = headers.get_param("charset") or headers.get_param("encoding")
    return charset if isinstance(charset, str) and charset else None


Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Hop:
    """One request of a redirect chain, with the status line and headers of its response.

    - `began_at`: start of the request, aware UTC.
    - `request_head`: request line and headers; "" if the protocol has no text form of them.
    - `address`: IP address of the server.
    - `protocol`: `HTTP/1.1` or `HTTP/2`.
    - `tls`: TLS version and cipher; None without TLS.
    - `connected_s`: seconds from `began_at` until the connection was open; 0.0 on a reused
      connection.
    - `first_byte_s`: seconds from `began_at` until the first byte of the response.
    - `took_s`: seconds from `began_at` until the end of the response.
    - `body_bytes`: size of the response body as sent, before content codings are removed.
    """

    url: str
    began_at: datetime
    status: int
    status_line: str
    headers: Headers
    request_head: str = ""
    address: str = ""
    protocol: str = ""
    tls: str | None = None
    connected_s: float = 0.0
    first_byte_s: float = 0.0
    took_s: float = 0.0
    body_bytes: int = 0

    @property
    def http(self) -> HttpHead:
        """Status line and headers of the response as an HttpHead."""
        return HttpHead(self.status, self.status_line, self.headers)

    def get(self, name: str) -> str | None:
        """Return the value of the first response header named `name`; None without one. Case does
        not matter.
        """
        return self.http.get(name)


@dataclass(frozen=True, slots=True)
class Exchange:
    """Redirect chain of one fetched link.

    - `hops`: requests in order; the last hop is the final response.
    - `tls_check`: how strictly the TLS connection was checked, a value of TlsCheck
      (`model/entry.py`); "" if another program fetched the link.
    - `rights`: rules and statements of the host's robots.txt for the last URL at the time of the
      request; None if Fonds did not check the robots.txt.
    """

    hops: tuple[Hop, ...] = ()
    tls_check: str = ""
    rights: Rights | None = None
