"""The offset of a record, as one integer and as people read it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.record_offset import (
    FILE_MAX_BYTES,
    join_offset,
    offset_id,
    offset_phrase,
    offset_text,
    parse_offset,
    parse_record_place,
    record_place,
    split_offset,
)

MEMBERS = st.integers(0, FILE_MAX_BYTES - 1)
NUMBERS = st.integers(0, (1 << 22) - 1)


def test_people_read_the_offset_of_the_member_and_the_number_of_the_record() -> None:
    first, second = join_offset(1085, 0), join_offset(1085, 1)
    assert (offset_text(first), offset_text(second)) == ("1085", "1085#2")
    assert offset_phrase(first) == "1,085"
    assert offset_phrase(second) == "1,085 (record 2 of that member)"
    assert (offset_id(first), offset_id(second)) == ("00000000043d", "00000000043d.2")
    assert record_place("/a/crawl.warc.gz", second) == "/a/crawl.warc.gz:1085#2"


@given(MEMBERS, NUMBERS, st.text(min_size=1, max_size=20))
def test_what_is_written_is_read_again(member: int, number: int, path: str) -> None:
    offset = join_offset(member, number)
    assert split_offset(offset) == (member, number)
    assert parse_offset(offset_text(offset)) == offset
    assert parse_record_place(record_place(path, offset)) == (path, offset)


@pytest.mark.parametrize(
    "text", ["", "a", "-1", "85#", "85#0", "#2", "85#2#3", "1" * 14, str(FILE_MAX_BYTES), "٣"]
)
def test_other_texts_are_no_offsets(text: str) -> None:
    assert parse_offset(text) is None
    assert parse_record_place(f"crawl.warc.gz:{text}") is None
