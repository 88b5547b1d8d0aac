"""The offset of a record in a WARC, as one integer, and as people read it.

Records that are packed together share the offset of their member on disk. Those after the first have their
number in the member above the lowest 40 bits: `(number << 40) | member offset`. No file is that long, so
people never see this integer. They see the member's offset and the record's number, counted from one: `85#2`.
"""

from __future__ import annotations

import re

OFFSET_BITS = 40
FILE_MAX_BYTES = 1 << OFFSET_BITS
_TEXT = re.compile(r"([0-9]{1,13})(?:#([0-9]{1,7}))?")
_PLACE = re.compile(rf"(.+):({_TEXT.pattern})", re.DOTALL)


def join_offset(member_offset: int, number: int) -> int:
    """Return the offset of a record, of its member's offset and its number in the member, counted from 0."""
    return number << OFFSET_BITS | member_offset


def split_offset(offset: int) -> tuple[int, int]:
    """Return the offset of a record's member, and the record's number in it, counted from 0."""
    return offset & (FILE_MAX_BYTES - 1), offset >> OFFSET_BITS


def offset_text(offset: int) -> str:
    """Return an offset as people read and type it: `85`, of the second record in one member `85#2`."""
    member_offset, number = split_offset(offset)
    return f"{member_offset}#{number + 1}" if number > 0 else f"{offset}"


def offset_phrase(offset: int) -> str:
    """Return an offset as part of a sentence: `1,085`, or `1,085 (record 2 of that member)`."""
    member_offset, number = split_offset(offset)
    return f"{member_offset:,}" + (f" (record {number + 1} of that member)" if number else "")


def offset_id(offset: int) -> str:
    """Return an offset as the ids of captures have it: in hex, with the record's number where it has one."""
    member_offset, number = split_offset(offset)
    return f"{member_offset:012x}.{number + 1}" if number else f"{member_offset:012x}"


def parse_offset(text: str) -> int | None:
    """Return the offset that `offset_text` wrote; None for any other text."""
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    member_offset, number = int(found[1]), int(found[2] or 1)
    return (
        join_offset(member_offset, number - 1)
        if member_offset < FILE_MAX_BYTES and number
        else None
    )


def record_place(path: str, offset: int) -> str:
    """Return where a record lies, as people read and type it: `crawl.warc.gz:85`."""
    return f"{path}:{offset_text(offset)}"


def parse_record_place(text: str) -> tuple[str, int] | None:
    """Return path and offset of a text that `record_place` wrote; None for any other text."""
    found = _PLACE.fullmatch(text)
    offset = parse_offset(found[2]) if found else None
    return (found[1], offset) if found and offset is not None else None
