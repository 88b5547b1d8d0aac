"""Parse JSON Feed documents.

Source: JSON Feed 1.1 (jsonfeed.org), "Top-level", "Items".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fonds.following.listings.dates import format_rfc2822
from fonds.following.listings.listing import (
    HUBS_MAX,
    Listing,
    PollHints,
    build_listing,
    clean_title,
    clean_url,
    decode_json_listing,
)
from fonds.model.capture import RssEntry
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError


def read_json_feed(body: bytes, url: str) -> Listing:
    """Parse a JSON Feed at `url`. Raises DamagedInputError if it is not JSON or not a JSON Feed."""
    feed = decode_json_listing(body)
    items = feed.get("items") if isinstance(feed, dict) else None
    if not isinstance(items, list):
        raise DamagedInputError(Reason.BAD_LISTING, "not a JSON Feed: `items` is missing")
    version = _get_text(feed.get("version"))
    problem = "" if "jsonfeed.org/version/" in version else "the JSON Feed has no version"
    hubs = feed.get("hubs")
    hub_urls = (
        [item.get("url") for item in hubs if isinstance(item, dict)]
        if isinstance(hubs, list)
        else []
    )
    valid_hub_urls = [hub_url for item in hub_urls if (hub_url := clean_url(_get_text(item), url))]
    next_url = clean_url(_get_text(feed.get("next_url")), url)
    return build_listing(
        "json-feed",
        [_build_entry(item, url) for item in items if isinstance(item, dict)],
        title=_get_text(feed.get("title")),
        further_urls=[next_url] if next_url else [],
        older_url=next_url or "",
        hints=PollHints(
            hubs=tuple(valid_hub_urls)[:HUBS_MAX],
            self_url=clean_url(_get_text(feed.get("feed_url")), url) or "",
        ),
        problem=problem,
    )


def _build_entry(item: Mapping[str, Any], url: str) -> RssEntry:
    """Build a feed entry from an item of a JSON Feed at `url`.

    If the item has no other URL, an `id` that is a URL becomes the link.
    """
    item_id = _get_text(item.get("id"))
    link = _get_text(item.get("url")) or _get_text(item.get("external_url"))
    if not link and item_id.lower().startswith(("http://", "https://")):
        link = item_id
    return RssEntry(
        link=clean_url(link, url),
        title=clean_title(_get_text(item.get("title"))),
        pub_date=format_rfc2822(
            _get_text(item.get("date_published")) or _get_text(item.get("date_modified"))
        ),
        source_url=url or None,
    )


def _get_text(value: object) -> str:
    return value if isinstance(value, str) else ""
