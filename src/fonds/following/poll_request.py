"""Asks a source and reads what it answers; nothing is written.

A sitemap index leads to up to 50,000 sitemaps. Some of them are asked for at each poll, and the next goes on
behind them, until all were read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha1

from fonds.fetching.outcomes import retry_after_s
from fonds.following.listings.json_feeds import find_last_id
from fonds.following.listings.listing import Listing
from fonds.model.disposition import Reason
from fonds.model.entry import TlsCheck
from fonds.model.errors import PermanentError, PostponedError, TransientError
from fonds.model.rows import SourceRow

# What a server answers to a poll, and what of it is a listing, as values: whoever has sockets gives them.
#
# Source: RFC 9110, sections 13.1 (conditional requests), 15 (status codes), 10.2.3 (Retry-After).


BODY_MAX_BYTES = 50 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PollResponse:
    """What came in the end of all redirects. Names of headers are in lower case; the body has its codings
    undone. `permanent_url` is where redirects led that are meant for good, "" for none.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    url: str = ""
    permanent_url: str = ""

    @property
    def charset(self) -> str | None:
        """What Content-Type says of it; None for nothing."""
        _, mark, rest = self.headers.get("content-type", "").lower().partition("charset=")
        name = rest.partition(";")[0].strip(" \"'")[:40] if mark else ""
        return name if name.isascii() and name else None

    def get_requested_wait_s(self, now: datetime) -> float:
        """How long its server asks to be left alone, in seconds; 0 for not at all."""
        return retry_after_s(self.headers.get("retry-after"), now)


SendRequest = Callable[[str, Mapping[str, str], TlsCheck], PollResponse]
"""Asks for a URL with these headers besides its own. Raises PermanentError and TransientError."""

Read = Callable[[bytes, str, str | None], Listing]
"""The listing in a body, by its URL and charset (`following/listings/reader.py`), in a process with limits.
Raises PermanentError."""


def build_conditional_headers(row: SourceRow) -> dict[str, str]:
    """The headers that ask for a listing only if it changed; none for a poll that was broken off, whose
    listing is wanted again."""
    if row.polling:
        return {}
    told = {"If-None-Match": row.etag, "If-Modified-Since": row.last_modified}
    return {name: value for name, value in told.items() if value and _is_plain(value)}


def _is_plain(value: str) -> bool:
    return len(value) <= 1_000 and value.isascii() and value.isprintable()


CHILDREN_MAX = 50
"""Sitemaps of an index that are asked for in one poll."""
CHILDREN_S = 300.0
"""After so many seconds the rest of them is left to the next poll."""
API_ROWS = 2_500
INDEX = "sitemap-index"
ERROR_CHARS = 500


@dataclass(frozen=True, slots=True)
class PolledListing:
    """What a source answered: its listing, None where nothing is to be read. `mark` is where the next poll
    goes on, None for where this one did; `children` how many sitemaps an index has; `has_more`
    that there is a rest.
    """

    answer: PollResponse
    listing: Listing | None = None
    digest: str | None = None
    mark: int | None = None
    children: int = 0
    has_more: bool = False


def request_listing(
    row: SourceRow, get: SendRequest, read_listing: Read, clock: Callable[[], datetime]
) -> PolledListing:
    """Ask a source and read what it answers. Raises TransientError and PermanentError."""
    url, tls = row.url, TlsCheck(row.tls)
    if row.kind == "rss-fetcher":
        url = f"{row.url.rstrip('/')}/{row.mark + 1}?_limit={API_ROWS}"
    # An index says nothing of whether its sitemaps have changed.
    is_index = get_sitemap_count(row) > 0
    answer = get(url, {} if is_index else build_conditional_headers(row), tls)
    if answer.status != 200:
        return PolledListing(answer)
    digest = sha1(answer.body).hexdigest()  # noqa: S324 (a key, not a seal)
    if digest == row.digest and not row.polling and not is_index:
        return PolledListing(answer, None, digest)
    listing = read_listing(answer.body, answer.url or url, answer.charset)
    check_kind(row, listing)
    if row.kind == "rss-fetcher":
        mark = find_last_id(answer.body)
        is_full = len(listing.entries) >= API_ROWS and (mark or 0) > row.mark
        return PolledListing(answer, listing, digest, mark, has_more=is_full)
    if listing.kind == INDEX:
        whole, mark = _read_sitemaps(row, listing, get, read_listing, clock)
        return PolledListing(answer, whole, digest, mark, len(listing.further), has_more=mark > 0)
    return PolledListing(answer, listing, digest)


def get_sitemap_count(row: SourceRow) -> int:
    """How many sitemaps a source led to when it was read last; 0 for what is no index."""
    return int((row.hints or {}).get("children") or 0)


def _read_sitemaps(
    row: SourceRow,
    index: Listing,
    get: SendRequest,
    read_listing: Read,
    clock: Callable[[], datetime],
) -> tuple[Listing, int]:
    """An index with the links of some of its sitemaps, and the place of the first that was not asked for, 0
    when that was the last; those that cannot be read are told."""
    entries, wrong = list(index.entries), [index.problem] if index.problem else []
    first = row.mark if row.mark < len(index.further) else 0
    place, began = first, clock()
    for url in index.further[first : first + CHILDREN_MAX]:
        if (clock() - began).total_seconds() > CHILDREN_S:
            break
        try:
            answer = get(url, {}, TlsCheck(row.tls))
            if answer.status != 200:
                raise TransientError(f"it answers {answer.status}")
            entries += read_listing(answer.body, answer.url or url, answer.charset).entries
        except PostponedError:
            if place == first:
                raise
            break
        except (TransientError, PermanentError) as error:
            wrong.append(f"{url}: {error}")
        place += 1
    told = replace(index, entries=tuple(entries), problem="; ".join(wrong)[:ERROR_CHARS])
    return told, place if place < len(index.further) else 0


def check_kind(row: SourceRow, listing: Listing) -> None:
    """Raises PermanentError for a page where a feed was to be, and the other way round."""
    if (listing.kind == "page") != (row.kind == "page"):
        named = f"; it names the feed {listing.further[0]}" if listing.further else ""
        wanted = "a page of links" if row.kind == "page" else "a feed"
        raise PermanentError(Reason.BAD_LISTING, f"not {wanted}, but {listing.kind}{named}")
