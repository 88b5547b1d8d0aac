"""The offset of a record as one integer and as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.record_offset import (
    FILE_MAX_BYTES,
    build_offset_id,
    describe_offset,
    format_offset,
    format_record_place,
    join_offset,
    parse_offset,
    parse_record_place,
    split_offset,
)

MEMBERS = st.integers(0, FILE_MAX_BYTES - 1)
NUMBERS = st.integers(0, (1 << 22) - 1)


def test_an_offset_is_formatted_as_member_offset_and_record_number() -> None:
    first, second = join_offset(1085, 0), join_offset(1085, 1)
    assert (format_offset(first), format_offset(second)) == ("1085", "1085#2")
    assert describe_offset(first) == "1,085"
    assert describe_offset(second) == "1,085 (record 2 of that member)"
    assert (build_offset_id(first), build_offset_id(second)) == ("00000000043d", "00000000043d.2")
    assert format_record_place("/a/crawl.warc.gz", second) == "/a/crawl.warc.gz:1085#2"


@given(MEMBERS, NUMBERS, st.text(min_size=1, max_size=20))
def test_a_formatted_offset_is_parsed_unchanged(member: int, number: int, path: str) -> None:
    offset = join_offset(member, number)
    assert split_offset(offset) == (member, number)
    assert parse_offset(format_offset(offset)) == offset
    assert parse_record_place(format_record_place(path, offset)) == (path, offset)


@pytest.mark.parametrize(
    "text", ["", "a", "-1", "85#", "85#0", "#2", "85#2#3", "1" * 14, str(FILE_MAX_BYTES), "٣"]
)
def test_invalid_texts_are_not_offsets(text: str) -> None:
    assert parse_offset(text) is None
    assert parse_record_place(f"crawl.warc.gz:{text}") is None
