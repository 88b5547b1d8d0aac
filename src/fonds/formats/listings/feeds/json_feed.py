"""JSON Feed.

Source: JSON Feed 1.1 (jsonfeed.org), "Top-level", "Items".
Bound: linear in the document; nesting is the decoder's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fonds.formats.listings.dates import rfc2822
from fonds.formats.listings.listing import (
    HUBS_MAX,
    Hints,
    Listing,
    clean_title,
    clean_url,
    listing,
)
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.model.rss_entry import RssEntry

_DECODER = msgspec.json.Decoder()


def decode_json(body: bytes) -> Any:
    """A JSON document, with or without a byte order mark. Raises DamagedInputError."""
    try:
        return _DECODER.decode(body.removeprefix(b"\xef\xbb\xbf").decode("utf-8"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedInputError(Reason.BAD_LISTING, f"not JSON: {error}") from error


def read_json_feed(body: bytes, url: str) -> Listing:
    """A JSON Feed at `url`. Raises DamagedInputError for what is no JSON, or no JSON Feed."""
    found = decode_json(body)
    items = found.get("items") if isinstance(found, dict) else None
    if not isinstance(items, list):
        raise DamagedInputError(Reason.BAD_LISTING, "JSON without `items`: no JSON Feed")
    version = _text(found.get("version"))
    problem = "" if "jsonfeed.org/version/" in version else "it names no version of JSON Feed"
    hubs = found.get("hubs")
    told = (
        [one.get("url") for one in hubs if isinstance(one, dict)] if isinstance(hubs, list) else []
    )
    addresses = [address for one in told if (address := clean_url(_text(one), url))]
    following = clean_url(_text(found.get("next_url")), url)
    return listing(
        "json-feed",
        [_entry(one, url) for one in items if isinstance(one, dict)],
        title=_text(found.get("title")),
        further=[following] if following else [],
        older=following or "",
        hints=Hints(
            hubs=tuple(addresses)[:HUBS_MAX],
            self_url=clean_url(_text(found.get("feed_url")), url) or "",
        ),
        problem=problem,
    )


def _entry(item: Mapping[str, Any], url: str) -> RssEntry:
    """An item's `id` is its address where it has no other and that is one."""
    named = _text(item.get("id"))
    link = _text(item.get("url")) or _text(item.get("external_url"))
    if not link and named.lower().startswith(("http://", "https://")):
        link = named
    return RssEntry(
        link=clean_url(link, url),
        title=clean_title(_text(item.get("title"))),
        pub_date=rfc2822(_text(item.get("date_published")) or _text(item.get("date_modified"))),
        source_url=url or None,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
