"""Parse responses of the API of rss-fetcher, which lists the stories of many feeds.

Source: seed 004, Appendix A (`queue-fetcher`); mediacloud/rss-fetcher, `/api/rss_entries`.

Limits: linear time; at most 50,000 rows of a response are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fonds.following.listings.dates import format_rfc2822
from fonds.following.listings.listing import (
    ENTRIES_MAX,
    Listing,
    build_listing,
    clean_title,
    clean_url,
    decode_json_listing,
)
from fonds.model.capture import RssEntry
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError

TEXT_MAX_CHARS = 10_000


def is_rss_fetcher(body: bytes) -> bool:
    """Return whether a JSON body looks like a response of the rss-fetcher API."""
    return b'"results"' in body[:4096] and b'"items"' not in body[:4096]


def read_rss_fetcher(body: bytes, url: str) -> Listing:
    """Parse the stories in a response of the rss-fetcher API.

    `via` of each entry is `ID@SERVER`. The next request begins after the highest id of the response
    (`find_last_id`). A story without a numeric id becomes an entry without a link. Raises
    DamagedInputError if the body is not such a response.
    """
    rows = _decode_rows(body)
    server = url.partition("//")[2].partition("/")[0].rpartition("@")[2]
    missing_id_count = sum(_get_row_id(row) is None for row in rows)
    return build_listing(
        "rss-fetcher",
        [_build_entry(row, server) for row in rows],
        problem=f"{missing_id_count} rows without an id" if missing_id_count else "",
    )


def _decode_rows(body: bytes) -> Sequence[Mapping[str, Any]]:
    """Return the stories (rows) in a response of the rss-fetcher API.

    Raises DamagedInputError if the body is not such a response, or reports an error.
    """
    document = decode_json_listing(body)
    rows = document.get("results") if isinstance(document, dict) else None
    if not isinstance(rows, list) or document.get("status") != "OK":
        status = str(document.get("status"))[:100] if isinstance(document, dict) else "none"
        message = f"invalid response of the rss-fetcher API with the status {status}"
        raise DamagedInputError(Reason.BAD_LISTING, message)
    return [row for row in rows if isinstance(row, dict)][:ENTRIES_MAX]


def _get_row_id(row: Mapping[str, Any]) -> int | None:
    """Return the numeric id of a story (row) in a response of the rss-fetcher API; None if it has
    none.
    """
    number = row.get("id")
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def find_last_id(body: bytes) -> int | None:
    """Return the highest id of a story in a response of the rss-fetcher API; None if no story has
    one.

    Raises DamagedInputError if the body is not such a response, or reports an error.
    """
    ids = [number for row in _decode_rows(body) if (number := _get_row_id(row)) is not None]
    return max(ids, default=None)


def _build_entry(row: Mapping[str, Any], server: str) -> RssEntry:
    number = _get_row_id(row)
    return RssEntry(
        link=clean_url(_get_text(row.get("url"))) if number is not None else None,
        title=clean_title(_get_text(row.get("title"))),
        domain=_get_text(row.get("domain")) or None,
        pub_date=format_rfc2822(_get_text(row.get("published_at"))),
        fetch_date=_get_text(row.get("fetched_at")) or None,
        source_url=clean_url(_get_text(row.get("feed_url"))),
        source_feed_id=_get_int(row.get("feed_id")),
        source_source_id=_get_int(row.get("sources_id")),
        via=f"{number}@{server}" if number is not None else None,
    )


def _get_text(value: object) -> str:
    return value[:TEXT_MAX_CHARS] if isinstance(value, str) else ""


def _get_int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
