"""What the rss-fetcher API answers: rows of stories it found in feeds.

Source: seed 004, Appendix A (`queue-fetcher`); mediacloud/rss-fetcher, `/api/rss_entries`.
Bound: linear in the document; 50,000 rows of it are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fonds.formats.listings.dates import rfc2822
from fonds.formats.listings.feeds.json_feed import decode_json
from fonds.formats.listings.listing import ENTRIES_MAX, Listing, clean_title, clean_url, listing
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.model.rss_entry import RssEntry

ROW_FIELDS = ("id", "url")


def is_rss_fetcher(body: bytes) -> bool:
    """Whether JSON looks like an answer of that API."""
    return b'"results"' in body[:4096] and b'"items"' not in body[:4096]


def read_rss_fetcher(body: bytes, url: str) -> Listing:
    """The stories of one answer of the API at `url`, in the order of their ids.

    `via` is `ID@SERVER`; the id of the last row is what the next page begins behind (`last_id`). A row
    without a number for an id is counted as one without an address. Raises DamagedInputError.
    """
    rows = rows_of(body)
    server = url.partition("//")[2].partition("/")[0].rpartition("@")[2]
    problem = f"{sum(row_id(row) is None for row in rows)} rows without an id"
    return listing(
        "rss-fetcher",
        [_entry(row, server) for row in rows],
        problem="" if problem.startswith("0 ") else problem,
    )


def rows_of(body: bytes) -> Sequence[Mapping[str, Any]]:
    """The rows of an answer that is well. Raises DamagedInputError."""
    found = decode_json(body)
    rows = found.get("results") if isinstance(found, dict) else None
    if not isinstance(rows, list) or found.get("status") != "OK":
        status = str(found.get("status"))[:100] if isinstance(found, dict) else "none"
        told = f"no answer of the rss-fetcher API that is well; its status is {status}"
        raise DamagedInputError(Reason.BAD_LISTING, told)
    return [row for row in rows if isinstance(row, dict)][:ENTRIES_MAX]


def row_id(row: Mapping[str, Any]) -> int | None:
    """A row's number; None for what is none."""
    number = row.get("id")
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def last_id(body: bytes) -> int | None:
    """The highest id of an answer, None for one without rows. Raises DamagedInputError."""
    ids = [number for row in rows_of(body) if (number := row_id(row)) is not None]
    return max(ids, default=None)


def _entry(row: Mapping[str, Any], server: str) -> RssEntry:
    number = row_id(row)
    return RssEntry(
        link=clean_url(_text(row.get("url"))) if number is not None else None,
        title=clean_title(_text(row.get("title"))),
        domain=_text(row.get("domain")) or None,
        pub_date=rfc2822(_text(row.get("published_at"))),
        fetch_date=_text(row.get("fetched_at")) or None,
        source_url=clean_url(_text(row.get("feed_url"))),
        source_feed_id=_int(row.get("feed_id")),
        source_source_id=_int(row.get("sources_id")),
        via=f"{number}@{server}" if number is not None else None,
    )


def _text(value: object) -> str:
    return value[:10_000] if isinstance(value, str) else ""


def _int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
