"""Asks a source and reads what it answers; nothing is written.

A sitemap index leads to up to 50,000 sitemaps. Some of them are asked for at each poll, and the next goes on
behind them, until all were read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha1

from fonds.formats.listings.listing import Listing
from fonds.formats.listings.rss_fetcher import last_id
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError, PostponedError, TransientError
from fonds.model.link import TlsCheck
from fonds.model.rows import SourceRow
from fonds.sources.following.polls.answers import Answer, Get, Read, conditional

CHILDREN_MAX = 50
"""Sitemaps of an index that are asked for in one poll."""
CHILDREN_S = 300.0
"""After so many seconds the rest of them is left to the next poll."""
API_ROWS = 2_500
INDEX = "sitemap-index"
ERROR_CHARS = 500


@dataclass(frozen=True, slots=True)
class Seen:
    """What a source answered: its listing, None where nothing is to be read. `mark` is where the next poll
    goes on, None for where this one did; `children` how many sitemaps an index has; `more`
    that there is a rest.
    """

    answer: Answer
    listing: Listing | None = None
    digest: str | None = None
    mark: int | None = None
    children: int = 0
    more: bool = False


def look(row: SourceRow, get: Get, read: Read, clock: Callable[[], datetime]) -> Seen:
    """Ask a source and read what it answers. Raises TransientError and PermanentError."""
    url, tls = row.url, TlsCheck(row.tls)
    if row.kind == "rss-fetcher":
        url = f"{row.url.rstrip('/')}/{row.mark + 1}?_limit={API_ROWS}"
    # An index says nothing of whether its sitemaps have changed.
    is_index = children_of(row) > 0
    answer = get(url, {} if is_index else conditional(row), tls)
    if answer.status != 200:
        return Seen(answer)
    digest = sha1(answer.body).hexdigest()  # noqa: S324 (a key, not a seal)
    if digest == row.digest and not row.polling and not is_index:
        return Seen(answer, None, digest)
    listing = read(answer.body, answer.url or url, answer.charset)
    check_kind(row, listing)
    if row.kind == "rss-fetcher":
        mark = last_id(answer.body)
        is_full = len(listing.entries) >= API_ROWS and (mark or 0) > row.mark
        return Seen(answer, listing, digest, mark, more=is_full)
    if listing.kind == INDEX:
        whole, mark = _with_children(row, listing, get, read, clock)
        return Seen(answer, whole, digest, mark, len(listing.further), more=mark > 0)
    return Seen(answer, listing, digest)


def children_of(row: SourceRow) -> int:
    """How many sitemaps a source led to when it was read last; 0 for what is no index."""
    return int((row.hints or {}).get("children") or 0)


def _with_children(
    row: SourceRow, index: Listing, get: Get, read: Read, clock: Callable[[], datetime]
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
            entries += read(answer.body, answer.url or url, answer.charset).entries
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
