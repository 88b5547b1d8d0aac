"""Scans of WARC files that are cut, damaged, or have wrong lengths."""

from __future__ import annotations

import pytest

from fixtures import warcs
from fixtures.scans import RECORDS, read_body, scan
from fonds.archive.warc.scanner import Damage, RecordHead
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError


@pytest.mark.parametrize("pack", [warcs.join_records, warcs.gzip_records, warcs.zstd_records])
def test_a_cut_file_reports_one_thing_for_the_cut_record(pack) -> None:
    members = [pack([record]) for record in RECORDS[1:4]]
    data = b"".join(members)
    starts = warcs.list_offsets(members)
    for cut in range(starts[2] + 1, len(data) - 12, 7):
        things = scan(data[:cut])
        assert [thing.offset for thing in things] == starts
        last = things[-1]
        assert (isinstance(last, Damage) and last.reason is Reason.TRUNCATED_RECORD) or (
            isinstance(last, RecordHead) and last.is_truncated
        )


@pytest.mark.parametrize("pack", [warcs.gzip_records, warcs.zstd_records])
def test_a_damaged_member_is_reported_and_the_others_are_read(pack) -> None:
    members = [pack([record]) for record in RECORDS]
    starts = warcs.list_offsets(members)
    data = b"".join(members)
    for position in range(starts[1] + 20, starts[2], 5):
        things = scan(warcs.flip_byte(data, position))
        assert [thing.offset for thing in things] == starts
        assert isinstance(things[1], Damage)
        assert things[1].reason in (Reason.DAMAGED_RECORD, Reason.TRUNCATED_RECORD)
        assert all(isinstance(thing, RecordHead) for thing in things[:1] + things[2:])


def test_damage_after_a_readable_header_keeps_the_header() -> None:
    record = warcs.http_response(bytes(range(256)) * 40, url="http://example.org/x")
    member = warcs.gzip_records([record])
    (damage,) = scan(warcs.flip_byte(member, len(member) - 6))
    assert isinstance(damage, Damage)
    assert damage.record is not None
    assert damage.record.url == "http://example.org/x"


def test_junk_between_members_is_one_damage() -> None:
    data = (
        warcs.gzip_records(RECORDS[:2])
        + b"\x00\x01 some junk \xff" * 9
        + warcs.gzip_records(RECORDS[2:])
    )
    things = scan(data)
    assert [type(thing) for thing in things] == [RecordHead] * 2 + [Damage] + [RecordHead] * 4
    assert things[2].offset == len(warcs.gzip_records(RECORDS[:2]))


def test_junk_in_a_shared_member_is_one_damage_with_its_own_offset() -> None:
    data = warcs.gzip_as_one_member([RECORDS[1], b"junk\n" * 9, RECORDS[3]])
    things = scan(data)
    assert [type(thing) for thing in things] == [RecordHead, Damage, RecordHead]
    assert read_body(data, things[2].offset) == b"<html>two</html>" * 50
    with pytest.raises(PermanentError):
        read_body(data, things[1].offset)


def test_a_length_into_the_next_record_damages_only_its_own() -> None:
    too_long = warcs.warc_record(b"short", url="http://example.org/wrong", length=400)
    data = warcs.join_records([too_long, *RECORDS])
    things = scan(data)
    assert isinstance(things[0], Damage)
    assert things[0].record is not None
    assert [thing.offset for thing in things[1:]] == [
        len(too_long) + n for n in warcs.list_offsets(RECORDS)
    ]
    with pytest.raises(PermanentError) as raised:
        read_body(data, 0)
    assert raised.value.reason is Reason.DAMAGED_RECORD


def test_a_length_that_is_too_short_leaves_junk_and_the_next_record() -> None:
    too_short = warcs.warc_record(b"a body of some length", length=5)
    things = scan(warcs.join_records([too_short, RECORDS[1]]))
    assert [type(thing) for thing in things] == [RecordHead, Damage, RecordHead]


@pytest.mark.parametrize("pack", [warcs.gzip_records, warcs.zstd_records])
def test_a_length_beyond_its_member_does_not_include_the_next(pack) -> None:
    too_long = warcs.warc_record(b"short", length=400)
    things = scan(pack([too_long, RECORDS[1]]))
    assert [isinstance(thing, RecordHead) and thing.is_truncated for thing in things] == [
        True,
        False,
    ]


@pytest.mark.parametrize("length", ["", "-1", "ten", "1e3", "99999999999999999999"])
def test_an_invalid_length_is_damage(length: str) -> None:
    things = scan(warcs.join_records([warcs.warc_record(b"x", length=length), RECORDS[1]]))
    assert [type(thing) for thing in things] == [Damage, RecordHead]
