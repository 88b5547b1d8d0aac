"""An interrupted scan resumes at any record or damage, also where damage reaches into the next
member."""

from __future__ import annotations

import io

import pytest

from fixtures import warcs
from fonds.archive.warc.scanner import Damage, RecordHead, read_heads

RECORD = warcs.http_response(b"<html>one</html>", url="http://example.org/1")


def scan(data: bytes, start: int = 0) -> list[RecordHead | Damage]:
    return list(read_heads(io.BytesIO(data), start))


def test_a_scan_resumed_at_damage_reports_it_again() -> None:
    # The length of the first record reaches into the second member, whose rest is no record.
    data = warcs.gzip_records([warcs.arc_header()[:-5], b"ut http://example.org/ and no record"])
    things = scan(data)
    assert [isinstance(thing, Damage) for thing in things] == [False, True]
    assert [thing.offset for thing in scan(data, things[1].offset)] == [things[1].offset]


@pytest.mark.parametrize(
    "members",
    [
        [b"h", b"7\nWARC/1.1\n"],
        [b"h", b"\r\n", RECORD],
    ],
)
def test_offsets_in_joined_members_do_not_depend_on_the_start(
    members: list[bytes],
) -> None:
    data = warcs.gzip_records(members)
    offsets = [thing.offset for thing in scan(data)]
    for number, offset in enumerate(offsets):
        assert [thing.offset for thing in scan(data, offset)] == offsets[number:]
