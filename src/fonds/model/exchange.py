"""HTTP exchanges: requests and responses of one fetched link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fonds.model.rights import Rights


@dataclass(frozen=True, slots=True)
class HttpHead:
    """Status line and headers of an HTTP response in a record; header names as written."""

    status: int
    status_line: str
    headers: Sequence[tuple[str, str]] = ()

    def get(self, name: str) -> str | None:
        """Return the first header of this name, in any case."""
        lowered = name.lower()
        return next((value for key, value in self.headers if key.lower() == lowered), None)

    @property
    def charset(self) -> str | None:
        """Charset parameter of the Content-Type as written.

        In Media Cloud's archives the parameter is called `encoding`.
        """
        declared = self.get("content-type")
        if not declared:
            return None
        from email.message import Message  # Importing it takes as long as the rest of the model.

        headers = Message()
        headers["Content-Type"] = declared.encode("ascii", "replace").decode()
        charset = headers.get_param("charset") or headers.get_param("encoding")
        return charset if isinstance(charset, str) and charset else None


Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Hop:
    """One request and the head of its response as sent.

    - `began_at`: aware UTC.
    - `request_head`: "" if the protocol has no text form of it.
    - `address`: IP address of the server.
    - `protocol`: `HTTP/1.1` or `HTTP/2`.
    - `tls`: version and cipher, None without TLS.
    - `connected_s`, `first_byte_s`, `took_s`: seconds since `began_at`; `connected_s` is 0.0 on a
      reused connection.
    - `body_bytes`: size as sent, content codings included.
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
        """Response head as archives represent it."""
        return HttpHead(self.status, self.status_line, self.headers)

    def get(self, name: str) -> str | None:
        """Return the first header of this name, in any case."""
        return self.http.get(name)


@dataclass(frozen=True, slots=True)
class Exchange:
    """Redirect chain of one link; the last hop is the final response.

    `tls_check` says how strictly TLS was checked (`model/entry.py`); "" if Fonds did not fetch it.
    `rights` is what the host's robots.txt stated for the last address at that time; None if it was
    not checked.
    """

    hops: tuple[Hop, ...] = ()
    tls_check: str = ""
    rights: Rights | None = None
