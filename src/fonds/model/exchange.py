"""An exchange: all that went between us and the servers when a link was fetched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fonds.model.rights import Rights

# The head of an HTTP response.


@dataclass(frozen=True, slots=True)
class HttpHead:
    """Status line and headers of an HTTP response as they stand in a record; header names as written."""

    status: int
    status_line: str
    headers: Sequence[tuple[str, str]] = ()

    def get(self, name: str) -> str | None:
        """The first header of this name, whatever its case."""
        lowered = name.lower()
        return next((value for key, value in self.headers if key.lower() == lowered), None)

    @property
    def charset(self) -> str | None:
        """The charset parameter of the Content-Type, as the server wrote it; Media Cloud's archives call it
        `encoding`."""
        declared = self.get("content-type")
        if not declared:
            return None
        from email.message import Message  # It costs as much as all else of the model.

        headers = Message()
        headers["Content-Type"] = declared.encode("ascii", "replace").decode()
        charset = headers.get_param("charset") or headers.get_param("encoding")
        return charset if isinstance(charset, str) and charset else None


Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Hop:
    """One request and the head of its answer, as they were sent; `began_at` is aware UTC.

    `request_head` is empty where the protocol has no text of it. `address` is the IP address that answered,
    `protocol` `HTTP/1.1` or `HTTP/2`, `tls` version and cipher, None without TLS. Times are seconds since
    the beginning; `connected_s` 0.0 on a connection that stood. `body_bytes` are those that were sent,
    content codings included.
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
        """The head as archives know it."""
        return HttpHead(self.status, self.status_line, self.headers)

    def get(self, name: str) -> str | None:
        """The first header of this name, whatever its case."""
        return self.http.get(name)


@dataclass(frozen=True, slots=True)
class Exchange:
    """The hops of one link's chain, the last of which answered. `tls_check` says how servers were held to
    account (`model/entry.py`); empty for what was not fetched by us. `rights` is what the host's robots.txt
    stated of the last address when it was fetched; None where it was not asked.
    """

    hops: tuple[Hop, ...] = ()
    tls_check: str = ""
    rights: Rights | None = None
