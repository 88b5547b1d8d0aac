"""Offset of a record in a WARC, as one integer and as text.

Records packed together share the offset of their member on disk. Those after the first have their
number in the member above the lowest 40 bits: `(number << 40) | member offset`. No file is that
long. People never see this integer, but the member's offset and the record's number, counted from
one: `85#2`.
"""

from __future__ import annotations

import re

OFFSET_BITS = 40
FILE_MAX_BYTES = 1 << OFFSET_BITS
_TEXT = re.compile(r"([0-9]{1,13})(?:#([0-9]{1,7}))?")
_PLACE = re.compile(rf"(.+):({_TEXT.pattern})", re.DOTALL)


def join_offset(member_offset: int, number: int) -> int:
    """Return the offset of a record from its member's offset and its number in the member, counted
    from 0.
    """
    return number << OFFSET_BITS | member_offset


def split_offset(offset: int) -> tuple[int, int]:
    """Return the offset of a record's member, and the record's number in it, counted from 0."""
    return offset & (FILE_MAX_BYTES - 1), offset >> OFFSET_BITS


def format_offset(offset: int) -> str:
    """Format an offset for people: `85`, or `85#2` for the second record in a member."""
    member_offset, number = split_offset(offset)
    return f"{member_offset}#{number + 1}" if number > 0 else f"{offset}"


def describe_offset(offset: int) -> str:
    """Format an offset for a sentence: `1,085`, or `1,085 (record 2 of that member)`."""
    member_offset, number = split_offset(offset)
    return f"{member_offset:,}" + (f" (record {number + 1} of that member)" if number else "")


def build_offset_id(offset: int) -> str:
    """Format an offset for capture ids: in hex, with the record's number if it is not the first."""
    member_offset, number = split_offset(offset)
    return f"{member_offset:012x}.{number + 1}" if number else f"{member_offset:012x}"


def parse_offset(text: str) -> int | None:
    """Parse the output of `format_offset`; None for any other text."""
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
    """Format the location of a record for people: `crawl.warc.gz:85`."""
    return f"{path}:{format_offset(offset)}"


def parse_record_place(text: str) -> tuple[str, int] | None:
    """Parse the output of `format_record_place` to path and offset; None for any other text."""
    match = _PLACE.fullmatch(text)
    offset = parse_offset(match[2]) if match else None
    return (match[1], offset) if match and offset is not None else None
