"""A tombstone is as long as what it replaces, whatever that was, and a right record to every reader."""

from __future__ import annotations

import gzip
import io
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from depth import examples
from fixtures.archives import AT, entry
from fonds.archive.warc.scanner import RecordHead, read_heads
from fonds.archive.warc.tombstone import build_tombstone_member, is_tombstone
from fonds.archive.warc.validator import check_records
from fonds.archive.warc.writer import RecordWriter
from fonds.model.archive import ArchiveEntry, OriginalCapture
from fonds.model.restrictions import ReasonClass, Tombstone

TAKEN = Tombstone("ab" * 20, "court-order", datetime(2026, 5, 3, 7, 8, 9, 123, UTC))
STORED = 65_540


def member(size_bytes: int, version: str = "WARC/1.1") -> bytes:
    return b"".join(build_tombstone_member(size_bytes, TAKEN, replaced="response", version=version))


SIZES = st.one_of(st.integers(300, 1_500), st.integers(1_500, 3 * STORED))


@settings(max_examples=examples(60), deadline=None)
@given(SIZES, st.sampled_from(["WARC/1.0", "WARC/1.1"]))
@example(18 + STORED, "WARC/1.1")
@example(18 + STORED + 1, "WARC/1.1")
@example(18 + 2 * STORED + 6, "WARC/1.0")
def test_it_has_the_length_asked_for_and_is_right(size_bytes: int, version: str) -> None:
    data = member(size_bytes, version)
    assert len(data) == size_bytes
    (one,) = check_records(io.BytesIO(data), body_max_bytes=10**6)
    assert not hasattr(one, "detail"), one
    assert (one.size_bytes, one.wrong_digests, one.matching_digests, one.fields.type) == (
        size_bytes,
        (),
        1,
        "resource",
    )
    assert is_tombstone(one.fields.url)
    assert gzip.decompress(data).startswith(version.encode())


@pytest.mark.parametrize("around", [500, 1000, 18 + STORED, 18 + 2 * STORED, 10_000, 100_000])
def test_no_length_is_left_out(around: int) -> None:
    """Where a number gets one more digit, and where one more block is needed, too."""
    for size_bytes in range(around - 60, around + 60):
        data = member(size_bytes)
        assert len(data) == size_bytes
        assert gzip.decompress(data).endswith(b"\r\n\r\n")


def test_another_reader_finds_its_digests_right_and_what_it_says() -> None:
    data = member(900) + member(320) + member(200_000)
    told = []
    for record in ArchiveIterator(io.BytesIO(data), check_digests=True):
        said = record.content_stream().read()
        assert record.digest_checker.passed
        told.append((record.rec_type, record.rec_headers.get_header("WARC-Date"), said))
    assert [one[:2] for one in told] == [("resource", "2026-05-03T07:08:09.000123Z")] * 3
    assert b"reason: court-order\r\nreplaced: response\r\n" in told[0][2]


def smallest() -> list[ArchiveEntry]:
    """The shortest records there can be: nothing in them can be packed away."""
    bare = replace(entry(), url="a:", body=b"", http=None, mime="")
    revisit = replace(bare, original=OriginalCapture("a:", AT))
    return [
        bare,
        replace(bare, body=b"x"),
        revisit,
        replace(bare, metadata_json=json.dumps(1).encode()),
    ]


@pytest.mark.parametrize("version", ["WARC/1.0", "WARC/1.1"])
@pytest.mark.parametrize("reason", list(ReasonClass))
def test_there_is_room_for_it_where_the_shortest_records_stood(
    version: str, reason: ReasonClass
) -> None:
    out = io.BytesIO()
    writer = RecordWriter(out, version=version)
    for one in smallest():
        writer.write_entry(one)
    out.seek(0)
    heads = [head for head in read_heads(out) if isinstance(head, RecordHead)]
    assert len(heads) == 5
    for head in heads:
        taken = replace(TAKEN, reason_class=str(reason))
        size_bytes = head.size_bytes or 0
        pieces = build_tombstone_member(size_bytes, taken, replaced=head.type, version=version)
        data = b"".join(pieces)
        assert len(data) == size_bytes
        assert reason.encode() in gzip.decompress(data)


def test_what_is_too_short_for_any_record_is_refused() -> None:
    with pytest.raises(ValueError, match="a record of 100 bytes is too short"):
        member(100)
