"""Offset of a record in a WARC file, as one integer and as text.

A WARC file consists of compressed parts, called members. Several records in one member share the
member's offset on disk. To give each record an offset of its own, the record's number in the
member, counted from 0, is stored above the lowest 40 bits: `(number << 40) | member offset`. No
WARC file is so long that its offsets need more than 40 bits.

People see the member's offset and the record's number counted from 1: `85#2`.
"""

from __future__ import annotations

import re

OFFSET_BITS = 40
FILE_MAX_BYTES = 1 << OFFSET_BITS
_TEXT = re.compile(r"([0-9]{1,13})(?:#([0-9]{1,7}))?")
_PLACE = re.compile(rf"(.+):({_TEXT.pattern})", re.DOTALL)


def join_offset(member_offset: int, number: int) -> int:
    """Return the offset of a WARC record as one integer.

    `member_offset` is the position of the record's compressed member in the WARC file, in bytes.
    `number` is the number of the record in the member, counted from 0.
    """
    return number << OFFSET_BITS | member_offset


def split_offset(offset: int) -> tuple[int, int]:
    """Split the offset of a WARC record into the offset of its compressed member and its number
    there.

    The member's offset is in bytes. The number of the record in the member is counted from 0.
    """
    return offset & (FILE_MAX_BYTES - 1), offset >> OFFSET_BITS


def format_offset(offset: int) -> str:
    """Format the offset of a WARC record for people: `85`, or `85#2` for the second record of a
    compressed member.
    """
    member_offset, number = split_offset(offset)
    return f"{member_offset}#{number + 1}" if number > 0 else f"{offset}"


def describe_offset(offset: int) -> str:
    """Format the offset of a WARC record for a sentence: `1,085`, or `1,085 (record 2 of that
    member)`.
    """
    member_offset, number = split_offset(offset)
    return f"{member_offset:,}" + (f" (record {number + 1} of that member)" if number else "")


def build_offset_id(offset: int) -> str:
    """Format the offset of a WARC record for capture ids: 12 hex digits of its compressed member's
    offset.

    For a record after the first of its member, a dot and the number of the record, counted from 1,
    follow.
    """
    member_offset, number = split_offset(offset)
    return f"{member_offset:012x}.{number + 1}" if number else f"{member_offset:012x}"


def parse_offset(text: str) -> int | None:
    """Parse the offset of a WARC record, such as `85` or `85#2`, to one integer; None for any other
    text.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    member_offset, number = int(match[1]), int(match[2] or 1)
    return (
        join_offset(member_offset, number - 1)
        if member_offset < FILE_MAX_BYTES and number
        else None
    )


def format_record_place(path: str, offset: int) -> str:
    """Format the location of a WARC record for people, as path and offset: `crawl.warc.gz:85`."""
    return f"{path}:{format_offset(offset)}"


def parse_record_place(text: str) -> tuple[str, int] | None:
    """Parse a location such as `crawl.warc.gz:85` to the path of a WARC file and the offset of a
    record; None for any other text.
    """
    match = _PLACE.fullmatch(text)
    offset = parse_offset(match[2]) if match else None
    return (match[1], offset) if match and offset is not None else None
