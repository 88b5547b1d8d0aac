"""Send the request of a poll and parse the response. Stores nothing.

A sitemap index refers to up to 50,000 sitemaps. Each poll reads some of them and the next poll
continues, until all are read. Source: RFC 9110, sections 13.1 (conditional requests), 15 (status
codes), 10.2.3 (Retry-After).
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

BODY_MAX_BYTES = 50 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PollResponse:
    """Response after all redirects.

    Header names are in lower case, and the body is decoded. `permanent_url` is the target of
    permanent redirects, "" if there were none.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    url: str = ""
    permanent_url: str = ""

    @property
    def charset(self) -> str | None:
        """Charset in Content-Type; None if there is none."""
        _, mark, rest = self.headers.get("content-type", "").lower().partition("charset=")
        name = rest.partition(";")[0].strip(" \"'")[:40] if mark else ""
        return name if name.isascii() and name else None

    def get_requested_wait_s(self, now: datetime) -> float:
        """Return the wait that the server requests, in seconds; 0 if none."""
        return retry_after_s(self.headers.get("retry-after"), now)


SendRequest = Callable[[str, Mapping[str, str], TlsCheck], PollResponse]
"""Function that requests a URL with extra headers. Raises PermanentError and TransientError."""

Read = Callable[[bytes, str, str | None], Listing]
"""Function that parses the listing in a body, by URL and charset, in a limited child process.

See `following/listings/reader.py`. Raises PermanentError.
"""


def build_conditional_headers(row: SourceRow) -> dict[str, str]:
    """Return headers that request a listing only if it has changed.

    After an interrupted poll there are none, because its listing is needed again.
    """
    if row.polling:
        return {}
    headers = {"If-None-Match": row.etag, "If-Modified-Since": row.last_modified}
    return {name: value for name, value in headers.items() if value and _is_plain(value)}


def _is_plain(value: str) -> bool:
    return len(value) <= 1_000 and value.isascii() and value.isprintable()


CHILDREN_MAX = 50
"""Maximum sitemaps of an index that are requested in one poll."""
CHILDREN_S = 300.0
"""Time limit for the sitemaps of one poll; the rest is left to the next poll."""
API_ROWS = 2_500
INDEX = "sitemap-index"
ERROR_CHARS = 500


@dataclass(frozen=True, slots=True)
class PolledListing:
    """Response of a source and its listing.

    `listing` is None if there is nothing to read.
    `mark` is where the next poll continues; None keeps the current value.
    `children` is the number of sitemaps in an index.
    `has_more` means that a part is left for the next poll.
    """

    response: PollResponse
    listing: Listing | None = None
    digest: str | None = None
    mark: int | None = None
    children: int = 0
    has_more: bool = False


def request_listing(
    row: SourceRow, get: SendRequest, read_listing: Read, clock: Callable[[], datetime]
) -> PolledListing:
    """Poll a source and parse its response. Raises TransientError and PermanentError."""
    url, tls = row.url, TlsCheck(row.tls)
    if row.kind == "rss-fetcher":
        url = f"{row.url.rstrip('/')}/{row.mark + 1}?_limit={API_ROWS}"
    # An unchanged index does not mean that its sitemaps are unchanged.
    is_index = get_sitemap_count(row) > 0
    response = get(url, {} if is_index else build_conditional_headers(row), tls)
    if response.status != 200:
        return PolledListing(response)
    digest = sha1(response.body).hexdigest()  # noqa: S324 (a key, not security)
    if digest == row.digest and not row.polling and not is_index:
        return PolledListing(response, None, digest)
    listing = read_listing(response.body, response.url or url, response.charset)
    check_kind(row, listing)
    if row.kind == "rss-fetcher":
        mark = find_last_id(response.body)
        is_full = len(listing.entries) >= API_ROWS and (mark or 0) > row.mark
        return PolledListing(response, listing, digest, mark, has_more=is_full)
    if listing.kind == INDEX:
        merged, mark = _read_sitemaps(row, listing, get, read_listing, clock)
        return PolledListing(
            response, merged, digest, mark, len(listing.further), has_more=mark > 0
        )
    return PolledListing(response, listing, digest)


def get_sitemap_count(row: SourceRow) -> int:
    """Return the number of sitemaps in the source's last listing; 0 if it is not an index."""
    return row.hints.children if row.hints else 0


def _read_sitemaps(
    row: SourceRow,
    index: Listing,
    get: SendRequest,
    read_listing: Read,
    clock: Callable[[], datetime],
) -> tuple[Listing, int]:
    """Read some sitemaps of an index.

    Return the index with their links and the position of the first unread one, 0 after the last.
    Sitemaps that cannot be read are named in the listing's `problem`.
    """
    entries, problems = list(index.entries), [index.problem] if index.problem else []
    first = row.mark if row.mark < len(index.further) else 0
    position, started_at = first, clock()
    for url in index.further[first : first + CHILDREN_MAX]:
        if (clock() - started_at).total_seconds() > CHILDREN_S:
            break
        try:
            response = get(url, {}, TlsCheck(row.tls))
            if response.status != 200:
                raise TransientError(f"the server responded with {response.status}")
            entries += read_listing(response.body, response.url or url, response.charset).entries
        except PostponedError:
            if position == first:
                raise
            break
        except (TransientError, PermanentError) as error:
            problems.append(f"{url}: {error}")
        position += 1
    merged = replace(index, entries=tuple(entries), problem="; ".join(problems)[:ERROR_CHARS])
    return merged, position if position < len(index.further) else 0


def check_kind(row: SourceRow, listing: Listing) -> None:
    """Raise PermanentError if the source should be a feed but is a page, or the reverse."""
    if (listing.kind == "page") != (row.kind == "page"):
        feed_hint = f". It links to the feed {listing.further[0]}" if listing.further else ""
        expected = "a page of links" if row.kind == "page" else "a feed"
        raise PermanentError(
            Reason.BAD_LISTING, (f"expected {expected}, got {listing.kind}{feed_hint}")
        )
