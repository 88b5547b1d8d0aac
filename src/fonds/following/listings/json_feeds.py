"""Parse JSON Feed documents and responses of the rss-fetcher API.

Source: JSON Feed 1.1 (jsonfeed.org), "Top-level", "Items"; seed 004, Appendix A (`queue-fetcher`);
mediacloud/rss-fetcher, `/api/rss_entries`.

Limits: linear time; at most 50,000 rows of a response are kept. The JSON decoder limits nesting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fonds.following.listings.dates import format_rfc2822
from fonds.following.listings.listing import (
    ENTRIES_MAX,
    HUBS_MAX,
    Listing,
    PollHints,
    build_listing,
    clean_title,
    clean_url,
)
from fonds.model.capture import RssEntry
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError

_DECODER = msgspec.json.Decoder()


def decode_json(body: bytes) -> Any:
    """Decode JSON with or without a byte order mark. Raises DamagedInputError if it is not JSON."""
    try:
        return _DECODER.decode(body.removeprefix(b"\xef\xbb\xbf").decode("utf-8"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedInputError(Reason.BAD_LISTING, f"not JSON: {error}") from error


def read_json_feed(body: bytes, url: str) -> Listing:
    """Parse a JSON Feed at `url`. Raises DamagedInputError if it is not JSON or not a JSON Feed."""
    feed = decode_json(body)
    items = feed.get("items") if isinstance(feed, dict) else None
    if not isinstance(items, list):
        raise DamagedInputError(Reason.BAD_LISTING, "not a JSON Feed: `items` is missing")
    version = _get_json_feed_text(feed.get("version"))
    problem = "" if "jsonfeed.org/version/" in version else "the JSON Feed has no version"
    hubs = feed.get("hubs")
    hub_urls = (
        [item.get("url") for item in hubs if isinstance(item, dict)]
        if isinstance(hubs, list)
        else []
    )
    hub_addresses = [
        address for item in hub_urls if (address := clean_url(_get_json_feed_text(item), url))
    ]
    next_url = clean_url(_get_json_feed_text(feed.get("next_url")), url)
    return build_listing(
        "json-feed",
        [_build_json_feed_entry(item, url) for item in items if isinstance(item, dict)],
        title=_get_json_feed_text(feed.get("title")),
        further=[next_url] if next_url else [],
        older=next_url or "",
        hints=PollHints(
            hubs=tuple(hub_addresses)[:HUBS_MAX],
            self_url=clean_url(_get_json_feed_text(feed.get("feed_url")), url) or "",
        ),
        problem=problem,
    )


def _build_json_feed_entry(item: Mapping[str, Any], url: str) -> RssEntry:
    """Build a feed entry from an item of a JSON Feed at `url`.

    If the item has no other URL, an `id` that is a URL becomes the link.
    """
    item_id = _get_json_feed_text(item.get("id"))
    link = _get_json_feed_text(item.get("url")) or _get_json_feed_text(item.get("external_url"))
    if not link and item_id.lower().startswith(("http://", "https://")):
        link = item_id
    return RssEntry(
        link=clean_url(link, url),
        title=clean_title(_get_json_feed_text(item.get("title"))),
        pub_date=format_rfc2822(
            _get_json_feed_text(item.get("date_published"))
            or _get_json_feed_text(item.get("date_modified"))
        ),
        source_url=url or None,
    )


def _get_json_feed_text(value: object) -> str:
    return value if isinstance(value, str) else ""


ROW_FIELDS = ("id", "url")


def is_rss_fetcher(body: bytes) -> bool:
    """Return whether a JSON body looks like a response of the rss-fetcher API."""
    return b'"results"' in body[:4096] and b'"items"' not in body[:4096]


def read_rss_fetcher(body: bytes, url: str) -> Listing:
    """Parse the stories in a response of the rss-fetcher API.

    `via` of each entry is `ID@SERVER`. The next request begins after the highest id of the response
    (`find_last_id`). A story without a numeric id becomes an entry without a link. Raises
    DamagedInputError if the body is not such a response.
    """
    rows = decode_rows(body)
    server = url.partition("//")[2].partition("/")[0].rpartition("@")[2]
    problem = f"{sum(get_row_id(row) is None for row in rows)} rows without an id"
    return build_listing(
        "rss-fetcher",
        [_build_entry(row, server) for row in rows],
        problem="" if problem.startswith("0 ") else problem,
    )


def decode_rows(body: bytes) -> Sequence[Mapping[str, Any]]:
    """Return the stories (rows) in a response of the rss-fetcher API.

    Raises DamagedInputError if the body is not such a response, or reports an error.
    """
    document = decode_json(body)
    rows = document.get("results") if isinstance(document, dict) else None
    if not isinstance(rows, list) or document.get("status") != "OK":
        status = str(document.get("status"))[:100] if isinstance(document, dict) else "none"
        message = f"invalid response of the rss-fetcher API with the status {status}"
        raise DamagedInputError(Reason.BAD_LISTING, message)
    return [row for row in rows if isinstance(row, dict)][:ENTRIES_MAX]


def get_row_id(row: Mapping[str, Any]) -> int | None:
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
    ids = [number for row in decode_rows(body) if (number := get_row_id(row)) is not None]
    return max(ids, default=None)


def _build_entry(row: Mapping[str, Any], server: str) -> RssEntry:
    number = get_row_id(row)
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
    return value[:10_000] if isinstance(value, str) else ""


def _get_int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
