"""Send the requests of a poll and parse the responses. Store nothing.

A sitemap index refers to up to 50,000 sitemaps. Each poll reads some of the sitemaps, and the next
poll continues until all are read. Source: RFC 9110, sections 13.1 (conditional requests), 15
(status codes), 10.2.3 (Retry-After).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha1

from fonds.fetching.outcomes import retry_after_s
from fonds.following.listings.listing import Listing
from fonds.following.listings.rss_fetcher import find_last_id
from fonds.model.disposition import Reason
from fonds.model.entry import TlsCheck
from fonds.model.errors import PermanentError, PostponedError, TransientError
from fonds.model.rows import SourceRow

BODY_MAX_BYTES = 50 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PollResponse:
    """Response to a request of a poll, after all redirects.

    - `status`: HTTP status.
    - `headers`: headers with names in lower case.
    - `body`: body after removal of all content codings.
    - `url`: URL that responded.
    - `permanent_url`: URL to which the requested URL has moved permanently; "" if it has not.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    url: str = ""
    permanent_url: str = ""

    @property
    def charset(self) -> str | None:
        """Charset in the Content-Type header; None if the header states none."""
        _, mark, remainder = self.headers.get("content-type", "").lower().partition("charset=")
        name = remainder.partition(";")[0].strip(" \"'")[:40] if mark else ""
        return name if name.isascii() and name else None

    def get_requested_wait_s(self, now: datetime) -> float:
        """Return the seconds that the server asks to wait (Retry-After); 0 if it asks for none."""
        return retry_after_s(self.headers.get("retry-after"), now)


SendRequest = Callable[[str, Mapping[str, str], TlsCheck], PollResponse]
"""Function that requests a URL with extra headers and a TLS check.

Raises PermanentError or TransientError if there is no usable response.
"""

Read = Callable[[bytes, str, str | None], Listing]
"""Function that parses a listing from a body, URL and charset, in a child process with limits.

See `following/listings/reader.py`. Raises PermanentError if the body is not a listing.
"""


def build_conditional_headers(row: SourceRow) -> dict[str, str]:
    """Return request headers with which the server sends a listing only if it has changed since the
    last poll.

    Return {} after an interrupted poll, which needs the listing again.
    """
    if row.polling:
        return {}
    headers = {"If-None-Match": row.etag, "If-Modified-Since": row.last_modified}
    return {name: value for name, value in headers.items() if value and _is_plain(value)}


def _is_plain(value: str) -> bool:
    return len(value) <= 1_000 and value.isascii() and value.isprintable()


CHILDREN_MAX = 50
"""Maximum number of sitemaps of an index that one poll requests."""
CHILDREN_S = 300.0
"""Maximum seconds for the sitemaps of one poll. The next poll reads the remaining sitemaps."""
API_ROWS = 2_500
INDEX = "sitemap-index"
ERROR_CHARS = 500


@dataclass(frozen=True, slots=True)
class PolledListing:
    """Response of a polled source and the listing in it.

    - `response`: HTTP response.
    - `listing`: parsed listing; None if the response has none or is unchanged.
    - `digest`: hash of the body; None without a new body.
    - `mark`: where the next poll continues: position of a sitemap in its sitemap index, or last id
      that an API listed. None leaves the stored value unchanged.
    - `children`: number of sitemaps in a sitemap index; 0 for other listings.
    - `has_more`: whether a part of the listing is left for the next poll.
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
    """Request the listing of a source and parse the response.

    Raises TransientError if the request may succeed later, and PermanentError if the response is
    not a valid listing.
    """
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
        merged_listing, mark = _read_sitemaps(row, listing, get, read_listing, clock)
        return PolledListing(
            response, merged_listing, digest, mark, len(listing.further_urls), has_more=mark > 0
        )
    return PolledListing(response, listing, digest)


def get_sitemap_count(row: SourceRow) -> int:
    """Return the number of sitemaps in the last listing of a source; 0 if it was not a sitemap
    index.
    """
    return row.hints.children if row.hints else 0


def _read_sitemaps(
    row: SourceRow,
    index: Listing,
    get: SendRequest,
    read_listing: Read,
    clock: Callable[[], datetime],
) -> tuple[Listing, int]:
    """Read some of the sitemaps in a sitemap index (`index`), beginning where the last poll
    stopped.

    Return the index with the links of these sitemaps added, and the position of the next sitemap to
    read (0 if all are read). `problem` of the index names sitemaps that could not be read.
    """
    entries, problems = list(index.entries), [index.problem] if index.problem else []
    first_index = row.mark if row.mark < len(index.further_urls) else 0
    position, started_at = first_index, clock()
    for url in index.further_urls[first_index : first_index + CHILDREN_MAX]:
        if (clock() - started_at).total_seconds() > CHILDREN_S:
            break
        try:
            response = get(url, {}, TlsCheck(row.tls))
            if response.status != 200:
                raise TransientError(f"the server responded with {response.status}")
            entries += read_listing(response.body, response.url or url, response.charset).entries
        except PostponedError:
            if position == first_index:
                raise
            break
        except (TransientError, PermanentError) as error:
            problems.append(f"{url}: {error}")
        position += 1
    merged_listing = replace(
        index, entries=tuple(entries), problem="; ".join(problems)[:ERROR_CHARS]
    )
    return merged_listing, position if position < len(index.further_urls) else 0


def check_kind(row: SourceRow, listing: Listing) -> None:
    """Raise PermanentError if a source that should be a feed is an HTML page, or the reverse."""
    if (listing.kind == "page") != (row.kind == "page"):
        feed_hint = (
            f". It links to the feed {listing.further_urls[0]}" if listing.further_urls else ""
        )
        expected_kind = "a page of links" if row.kind == "page" else "a feed"
        raise PermanentError(
            Reason.BAD_LISTING, (f"expected {expected_kind}, got {listing.kind}{feed_hint}")
        )
