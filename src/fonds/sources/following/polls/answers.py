"""What a server answers to a poll, and what of it is a listing, as values: whoever has sockets gives them.

Source: RFC 9110, sections 13.1 (conditional requests), 15 (status codes), 10.2.3 (Retry-After).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from fonds.crawl.outcomes import retry_after_s
from fonds.formats.listings.listing import Listing
from fonds.model.link import TlsCheck
from fonds.model.rows import SourceRow

BODY_MAX_BYTES = 50 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """What came in the end of all redirects. Names of headers are in lower case; the body has its codings
    undone. `moved_to` is where redirects led that are meant for good, "" for none.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    url: str = ""
    moved_to: str = ""

    @property
    def charset(self) -> str | None:
        """What Content-Type says of it; None for nothing."""
        _, mark, rest = self.headers.get("content-type", "").lower().partition("charset=")
        name = rest.partition(";")[0].strip(" \"'")[:40] if mark else ""
        return name if name.isascii() and name else None

    def asked_s(self, now: datetime) -> float:
        """How long its server asks to be left alone, in seconds; 0 for not at all."""
        return retry_after_s(self.headers.get("retry-after"), now)


Get = Callable[[str, Mapping[str, str], TlsCheck], Answer]
"""Asks for a URL with these headers besides its own. Raises PermanentError and TransientError."""

Read = Callable[[bytes, str, str | None], Listing]
"""The listing in a body, by its URL and charset (`formats/listings/reading.py`), in a process with limits.
Raises PermanentError."""


def conditional(row: SourceRow) -> dict[str, str]:
    """The headers that ask for a listing only if it changed; none for a poll that was broken off, whose
    listing is wanted again."""
    if row.polling:
        return {}
    told = {"If-None-Match": row.etag, "If-Modified-Since": row.last_modified}
    return {name: value for name, value in told.items() if value and _is_plain(value)}


def _is_plain(value: str) -> bool:
    return len(value) <= 1_000 and value.isascii() and value.isprintable()
