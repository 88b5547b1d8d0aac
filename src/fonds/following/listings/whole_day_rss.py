"""Whole-day synthetic RSS: what rss-fetcher wrote of all stories of a day, item by item out of a stream.

Source: seed 004, Appendix A (`batch-fetcher`); mediacloud/rss-fetcher, daily RSS: `link`, `pubDate`,
`domain`, `title`, `source` with `url`, `mcFeedId`, `mcSourceId`; the channel's `lastBuildDate`.
Bound: linear in the stream; an item has 64 KiB at most, nothing but one item is kept, nothing is expanded.
"""

from __future__ import annotations

import html
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from fonds.following.listings.dates import format_rfc2822, read_moment
from fonds.following.listings.listing import clean_title, clean_url
from fonds.model.capture import RssEntry

PIECE_BYTES = 64 * 1024
ITEM_MAX_BYTES = 64 * 1024

_OPENING = re.compile(rb"<item(?=[\s>/])", re.IGNORECASE)
_CLOSING = re.compile(rb"</item\s{0,20}>", re.IGNORECASE)
_PART = re.compile(
    rb"<(link|title|pubDate|domain|source|guid)((?:\s[^<>]{0,4000})?)(?:/>|>(.*?)</\1\s{0,20}>)",
    re.I | re.S,
)
_ATTRIBUTE = re.compile(
    rb"\b(url|mcFeedId|mcSourceId)\s{0,20}=\s{0,20}(?:\"([^\"]*)\"|'([^']*)')", re.I
)
_CDATA = re.compile(rb"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_BUILT = re.compile(rb"<lastBuildDate>([^<]{1,100})</lastBuildDate>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DayItem:
    """One item, or for `entry` None one that cannot be read and why."""

    number: int
    entry: RssEntry | None
    problem: str = ""


class Stream(Protocol):
    """What bytes are read of."""

    def read(self, size: int, /) -> bytes:
        """At most so many; none at the end."""


def read_rss_day(stream: Stream, via: str, day_of_file: str | None = None) -> Iterator[DayItem]:
    """The items of a stream of RSS that is unpacked, numbered from 0; `via` says where it came from.

    `fetch_date` is `day_of_file` (YYYY-MM-DD), or else the day of the channel's `lastBuildDate`. What stands
    after the last whole item is one that is cut off.
    """
    waiting, number, day = b"", 0, day_of_file
    while piece := stream.read(PIECE_BYTES):
        waiting += piece
        if number == 0 and day is None and (built := _BUILT.search(waiting)):
            day = _parse_day(built[1])
        while (end := _CLOSING.search(waiting)) is not None:
            yield _parse_item(number, waiting[: end.start()], via, day)
            waiting, number = waiting[end.end() :], number + 1
        if len(waiting) > ITEM_MAX_BYTES + PIECE_BYTES:
            begun = _OPENING.search(waiting)
            if begun is not None:
                yield DayItem(number, None, f"an item of more than {ITEM_MAX_BYTES} bytes")
                number += 1
            waiting = waiting[-20:]
    if _OPENING.search(waiting) is not None:
        yield DayItem(number, None, "the file ends within an item")


def _parse_item(number: int, before_end: bytes, via: str, day: str | None) -> DayItem:
    openings = deque(_OPENING.finditer(before_end), maxlen=1)
    begun = openings.pop() if openings else None
    if begun is None:
        return DayItem(number, None, "an item that ends and does not begin")
    if len(before_end) - begun.start() > ITEM_MAX_BYTES:
        return DayItem(number, None, f"an item of more than {ITEM_MAX_BYTES} bytes")
    parts: dict[str, bytes] = {}
    told: dict[str, str] = {}
    for name, attributes, text in _PART.findall(before_end, begun.end()):
        key = name.decode().lower()
        parts.setdefault(key, text)
        if key == "source" and not told:
            told = {
                which.decode().lower(): _decode_text(double or single)
                for which, double, single in _ATTRIBUTE.findall(attributes)
            }
    entry = RssEntry(
        link=clean_url(_decode_text(parts.get("link", b""))),
        title=clean_title(_decode_text(parts.get("title", b""))),
        domain=_decode_text(parts.get("domain", b""))[:1_000].strip() or None,
        pub_date=format_rfc2822(_decode_text(parts.get("pubdate", b""))),
        fetch_date=day,
        source_url=clean_url(told.get("url")),
        source_feed_id=_parse_number(told.get("mcfeedid")),
        source_source_id=_parse_number(told.get("mcsourceid")),
        via=via,
    )
    return DayItem(number, entry)


def _decode_text(raw: bytes) -> str:
    """The text of an element as XML means it; only the five entities and numbers are resolved, by the
    standard library, once."""
    if b"<![CDATA[" in raw:
        return _CDATA.sub(rb"\1", raw).decode("utf-8", "replace")
    return html.unescape(raw.decode("utf-8", "replace"))


def _parse_day(build_date: bytes) -> str | None:
    moment, _ = read_moment(build_date.decode("ascii", "replace"))
    return f"{moment:%Y-%m-%d}" if moment else None


def _parse_number(text: str | None) -> int | None:
    bare = (text or "").strip()
    return int(bare) if bare.isascii() and bare.isdigit() and len(bare) <= 18 else None
