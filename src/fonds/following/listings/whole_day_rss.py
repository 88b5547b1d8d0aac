"""Read RSS files of the program rss-fetcher that have all stories of one day, item by item.

Source: seed document 004, Appendix A (`batch-fetcher`); mediacloud/rss-fetcher, daily RSS: `link`,
`pubDate`, `domain`, `title`, `source` with `url`, `mcFeedId`, `mcSourceId`; the channel's
`lastBuildDate`.

Limits: time is linear in the length of the stream. An item has at most 64 KiB, and only one item is
in memory. Entities of a DTD are not expanded.
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
    """Item (story) of an RSS file.

    - `number`: number of the item in the file, from 0.
    - `entry`: content of the item; None if it cannot be read.
    - `problem`: sentence that says why the item cannot be read; "" if it can.
    """

    number: int
    entry: RssEntry | None
    problem: str = ""


class Stream(Protocol):
    """Stream of bytes, such as an open file."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes; b"" at the end of the stream."""


def read_rss_day(stream: Stream, via: str, day_of_file: str | None = None) -> Iterator[DayItem]:
    """Yield the items of an RSS file, numbered from 0. `stream` has the decompressed file.

    - `via`: origin of the file, for `via` of each entry.
    - `day_of_file`: date of the file (YYYY-MM-DD), for `fetch_date` of each entry. If None, it is
      the date of `lastBuildDate` in the file.

    An incomplete item at the end of the file is yielded as unreadable.
    """
    buffer, number, day = b"", 0, day_of_file
    while piece := stream.read(PIECE_BYTES):
        buffer += piece
        if number == 0 and day is None and (build_date_match := _BUILT.search(buffer)):
            day = _parse_day(build_date_match[1])
        while (end := _CLOSING.search(buffer)) is not None:
            yield _parse_item(number, buffer[: end.start()], via, day)
            buffer, number = buffer[end.end() :], number + 1
        if len(buffer) > ITEM_MAX_BYTES + PIECE_BYTES:
            opening = _OPENING.search(buffer)
            if opening is not None:
                yield DayItem(number, None, f"an item of more than {ITEM_MAX_BYTES} bytes")
                number += 1
            buffer = buffer[-20:]
    if _OPENING.search(buffer) is not None:
        yield DayItem(number, None, "the file ends within an item")


def _parse_item(number: int, before_end: bytes, via: str, day: str | None) -> DayItem:
    openings = deque(_OPENING.finditer(before_end), maxlen=1)
    opening = openings.pop() if openings else None
    if opening is None:
        return DayItem(number, None, "an item ends without a start")
    if len(before_end) - opening.start() > ITEM_MAX_BYTES:
        return DayItem(number, None, f"an item of more than {ITEM_MAX_BYTES} bytes")
    parts: dict[str, bytes] = {}
    source_attributes: dict[str, str] = {}
    for name, attributes, text in _PART.findall(before_end, opening.end()):
        key = name.decode().lower()
        parts.setdefault(key, text)
        if key == "source" and not source_attributes:
            source_attributes = {
                attribute_name.decode().lower(): _decode_text(double or single)
                for attribute_name, double, single in _ATTRIBUTE.findall(attributes)
            }
    entry = RssEntry(
        link=clean_url(_decode_text(parts.get("link", b""))),
        title=clean_title(_decode_text(parts.get("title", b""))),
        domain=_decode_text(parts.get("domain", b""))[:1_000].strip() or None,
        pub_date=format_rfc2822(_decode_text(parts.get("pubdate", b""))),
        fetch_date=day,
        source_url=clean_url(source_attributes.get("url")),
        source_feed_id=_parse_number(source_attributes.get("mcfeedid")),
        source_source_id=_parse_number(source_attributes.get("mcsourceid")),
        via=via,
    )
    return DayItem(number, entry)


def _decode_text(raw: bytes) -> str:
    """Decode the text of an element, either CDATA or with its entities decoded once."""
    if b"<![CDATA[" in raw:
        return _CDATA.sub(rb"\1", raw).decode("utf-8", "replace")
    return html.unescape(raw.decode("utf-8", "replace"))


def _parse_day(build_date: bytes) -> str | None:
    moment, _ = read_moment(build_date.decode("ascii", "replace"))
    return f"{moment:%Y-%m-%d}" if moment else None


def _parse_number(text: str | None) -> int | None:
    bare = (text or "").strip()
    return int(bare) if bare.isascii() and bare.isdigit() and len(bare) <= 18 else None
