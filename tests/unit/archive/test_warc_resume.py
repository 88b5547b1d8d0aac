"""A scan that was broken off goes on from any thing, also where damage reaches into the next member."""

from __future__ import annotations

import io

import pytest

from fixtures import warcs
from fonds.archive.warc.scanner import Damage, RecordHead, read_heads

RECORD = warcs.http_response(b"<html>one</html>", url="http://example.org/1")


def scan(data: bytes, start: int = 0) -> list[RecordHead | Damage]:
    return list(read_heads(io.BytesIO(data), start))


def test_a_scan_that_goes_on_where_damage_began_tells_it_again() -> None:
    # The first record's length reaches into the second member, whose rest is no record.
    data = warcs.gzipped([warcs.arc_header()[:-5], b"ut http://example.org/ and no record"])
    whole = scan(data)
    assert [isinstance(thing, Damage) for thing in whole] == [False, True]
    assert [thing.offset for thing in scan(data, whole[1].offset)] == [whole[1].offset]


@pytest.mark.parametrize(
    "members",
    [
        [b"h", b"7\nWARC/1.1\n"],
        [b"h", b"\r\n", RECORD],
    ],
)
def test_things_in_joined_members_are_numbered_alike_wherever_a_scan_begins(
    members: list[bytes],
) -> None:
    data = warcs.gzipped(members)
    whole = [thing.offset for thing in scan(data)]
    for number, offset in enumerate(whole):
        assert [thing.offset for thing in scan(data, offset)] == whole[number:]
