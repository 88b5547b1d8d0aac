"""Read RSS files of the program rss-fetcher that have all stories of one day, piece by piece.

Source: seed document 004, Appendix A (`batch-fetcher`); mediacloud/rss-fetcher, daily RSS: `link`,
`pubDate`, `domain`, `title`, `source` with `url`, `mcFeedId`, `mcSourceId`; the channel's
`lastBuildDate`.

Limits: time is linear in the length of the file. An item has at most 64 KiB, and only one piece is
in memory. Entities of a DTD are not expanded.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from fonds.following.listings.dates import format_rfc2822, read_moment
from fonds.following.listings.listing import clean_title, clean_url
from fonds.model.capture import RssEntry
from fonds.model.disposition import Reason
from fonds.model.errors import LimitError
from fonds.text.entities import decode_entities

PIECE_BYTES = 256 * 1024
ITEM_MAX_BYTES = 64 * 1024
_REST_BYTES = 200
"""Length of the end of a piece without an item that is read again with the next piece. It is longer
than any tag of an item, and than the element with the date of the file.
"""

_OPENING = re.compile(rb"<item(?=[\s>/])", re.IGNORECASE)
_CLOSING = re.compile(rb"</item\s{0,20}>", re.IGNORECASE)
_PART = re.compile(
    rb"<(link|title|pubDate|domain|source|guid)((?:\s[^<>]{0,4000}?)?)(/?)>", re.IGNORECASE
)
_PART_ENDS = {
    name: re.compile(rb"</%s\s{0,20}>" % name.encode(), re.IGNORECASE)
    for name in ("link", "title", "pubdate", "domain", "source", "guid")
}
_ATTRIBUTE = re.compile(
    rb"\b(url|mcFeedId|mcSourceId)\s{0,20}=\s{0,20}(?:\"([^\"]*)\"|'([^']*)')", re.I
)
_CDATA_START, _CDATA_END = b"<![CDATA[", b"]]>"
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


@dataclass(frozen=True, slots=True)
class DayPiece:
    """What one piece of an RSS file contains.

    - `items`: the items that end in the piece.
    - `read_bytes`: number of bytes of the piece that are read. The others, at most 64 KiB, belong
      to the next piece.
    - `day`: date of the file (YYYY-MM-DD), if it is known.
    """

    items: Sequence[DayItem]
    read_bytes: int
    day: str | None


ReadPiece = Callable[[bytes, int, str, str | None, bool], DayPiece]
"""`read_rss_piece`, or a function that calls it in another process."""


def read_rss_day(
    stream: Stream, via: str, day_of_file: str | None, read_piece: ReadPiece
) -> Iterator[DayItem]:
    """Yield the items of an RSS file, numbered from 0. `stream` has the decompressed file.

    - `via`: origin of the file, for `via` of each entry.
    - `day_of_file`: date of the file (YYYY-MM-DD), for `fetch_date` of each entry. If None, it is
      the date of `lastBuildDate` in the file.
    - `read_piece`: parses one piece.

    An incomplete item at the end of the file is yielded as unreadable. Raises LimitError if
    `read_piece` leaves more than 64 KiB of a piece unread, and what it raises.
    """
    rest, number, day, is_last = b"", 0, day_of_file, False
    while not is_last:
        data = stream.read(PIECE_BYTES)
        is_last = not data
        piece = read_piece(rest + data, number, via, day, is_last)
        yield from piece.items
        number, day = number + len(piece.items), piece.day
        rest = (rest + data)[piece.read_bytes :]
        if len(rest) > ITEM_MAX_BYTES + _REST_BYTES:
            raise LimitError(Reason.TOO_LARGE, "an item is too large")


def read_rss_piece(piece: bytes, number: int, via: str, day: str | None, is_last: bool) -> DayPiece:
    """Parse the items that end in a piece of an RSS file. `number` is the number of the first one.

    `is_last`: whether the file ends with the piece.
    """
    if number == 0 and day is None and (build_date_match := _BUILT.search(piece)):
        day = _parse_day(build_date_match[1])
    items: list[DayItem] = []
    position = 0
    while (end := _CLOSING.search(piece, position)) is not None:
        items.append(_parse_item(number + len(items), piece[position : end.start()], via, day))
        position = end.end()
    opening = _find_last_opening(piece, position)
    problem = None
    if is_last:
        problem = None if opening is None else "the file ends within an item"
        position = len(piece)
    elif opening is not None and len(piece) - opening <= ITEM_MAX_BYTES:
        position = opening
    else:
        problem = None if opening is None else f"an item of more than {ITEM_MAX_BYTES} bytes"
        position = max(position, len(piece) - _REST_BYTES)
    if problem is not None:
        items.append(DayItem(number + len(items), None, problem))
    return DayPiece(items, position, day)


def _find_last_opening(data: bytes, start: int) -> int | None:
    """Return the position of the last start tag of an item from `start` on; None without one."""
    openings = deque(_OPENING.finditer(data, start), maxlen=1)
    return openings[0].start() if openings else None


def _parse_item(number: int, before_end: bytes, via: str, day: str | None) -> DayItem:
    opening = _find_last_opening(before_end, 0)
    if opening is None:
        return DayItem(number, None, "an item ends without a start")
    if len(before_end) - opening > ITEM_MAX_BYTES:
        return DayItem(number, None, f"an item of more than {ITEM_MAX_BYTES} bytes")
    parts: dict[str, bytes] = {}
    source_attributes: dict[str, str] = {}
    for name, attributes, text in _iter_parts(before_end, opening):
        parts.setdefault(name, text)
        if name == "source" and not source_attributes:
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


def _iter_parts(item: bytes, position: int) -> Iterator[tuple[str, bytes, bytes]]:
    """Yield name, attributes and content of the elements of an item from `position` on."""
    unclosed_names: set[str] = set()
    while (start := _PART.search(item, position)) is not None:
        name, position = start[1].decode().lower(), start.end()
        if start[3]:
            yield name, start[2], b""
        elif name not in unclosed_names:
            end = _PART_ENDS[name].search(item, position)
            if end is None:
                unclosed_names.add(name)
                continue
            yield name, start[2], item[position : end.start()]
            position = end.end()


def _decode_text(raw: bytes) -> str:
    """Decode the text of an element, either CDATA or with its entities decoded once."""
    if _CDATA_START not in raw:
        return decode_entities(raw.decode("utf-8", "replace"))
    texts: list[bytes] = []
    position = 0
    while (start := raw.find(_CDATA_START, position)) >= 0:
        end = raw.find(_CDATA_END, start)
        if end < 0:
            break
        texts += raw[position:start], raw[start + len(_CDATA_START) : end]
        position = end + len(_CDATA_END)
    return b"".join([*texts, raw[position:]]).decode("utf-8", "replace")


def _parse_day(build_date: bytes) -> str | None:
    moment, _ = read_moment(build_date.decode("ascii", "replace"))
    return f"{moment:%Y-%m-%d}" if moment else None


def _parse_number(text: str | None) -> int | None:
    bare = (text or "").strip()
    return int(bare) if bare.isascii() and bare.isdigit() and len(bare) <= 18 else None
