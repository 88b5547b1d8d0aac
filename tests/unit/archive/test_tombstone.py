"""A tombstone has the length of the record it replaces, whatever that was, and is valid for
every reader."""

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
from fixtures.archives import CAPTURED_AT, build_entry
from fonds.archive.warc.scanner import RecordHead, read_heads
from fonds.archive.warc.tombstone import build_tombstone_member, is_tombstone
from fonds.archive.warc.validator import check_records
from fonds.archive.warc.writer import RecordWriter
from fonds.model.archive import ArchiveEntry, OriginalCapture
from fonds.model.restrictions import ReasonClass, Tombstone

TOMBSTONE = Tombstone("ab" * 20, "court-order", datetime(2026, 5, 3, 7, 8, 9, 123, UTC))
DEFLATE_BLOCK_BYTES = 65_540


def make_member(size_bytes: int, version: str = "WARC/1.1") -> bytes:
    return b"".join(
        build_tombstone_member(size_bytes, TOMBSTONE, replaced_type="response", version=version)
    )


SIZES = st.one_of(st.integers(300, 1_500), st.integers(1_500, 3 * DEFLATE_BLOCK_BYTES))


@settings(max_examples=examples(60), deadline=None)
@given(SIZES, st.sampled_from(["WARC/1.0", "WARC/1.1"]))
@example(18 + DEFLATE_BLOCK_BYTES, "WARC/1.1")
@example(18 + DEFLATE_BLOCK_BYTES + 1, "WARC/1.1")
@example(18 + 2 * DEFLATE_BLOCK_BYTES + 6, "WARC/1.0")
def test_a_tombstone_has_the_requested_length_and_is_valid(size_bytes: int, version: str) -> None:
    data = make_member(size_bytes, version)
    assert len(data) == size_bytes
    (checked,) = check_records(io.BytesIO(data), body_max_bytes=10**6)
    assert not hasattr(checked, "detail"), checked
    assert (
        checked.size_bytes,
        checked.wrong_digests,
        checked.matching_digests,
        checked.fields.type,
    ) == (
        size_bytes,
        (),
        1,
        "resource",
    )
    assert is_tombstone(checked.fields.url)
    assert gzip.decompress(data).startswith(version.encode())


@pytest.mark.parametrize(
    "center", [500, 1000, 18 + DEFLATE_BLOCK_BYTES, 18 + 2 * DEFLATE_BLOCK_BYTES, 10_000, 100_000]
)
def test_every_length_can_be_built(center: int) -> None:
    """Also where a number gains a digit or one more block is needed."""
    for size_bytes in range(center - 60, center + 60):
        data = make_member(size_bytes)
        assert len(data) == size_bytes
        assert gzip.decompress(data).endswith(b"\r\n\r\n")


def test_warcio_verifies_the_digests_and_reads_the_reason() -> None:
    data = make_member(900) + make_member(320) + make_member(200_000)
    records = []
    for record in ArchiveIterator(io.BytesIO(data), check_digests=True):
        body = record.content_stream().read()
        assert record.digest_checker.passed
        records.append((record.rec_type, record.rec_headers.get_header("WARC-Date"), body))
    assert [record[:2] for record in records] == [("resource", "2026-05-03T07:08:09.000123Z")] * 3
    assert b"reason: court-order\r\nreplaced: response\r\n" in records[0][2]


def make_smallest_entries() -> list[ArchiveEntry]:
    """Return the shortest possible records; nothing in them can be compressed away."""
    minimal = replace(build_entry(), url="a:", body=b"", http=None, mime="")
    revisit = replace(minimal, original=OriginalCapture("a:", CAPTURED_AT))
    return [
        minimal,
        replace(minimal, body=b"x"),
        revisit,
        replace(minimal, metadata_json=json.dumps(1).encode()),
    ]


@pytest.mark.parametrize("version", ["WARC/1.0", "WARC/1.1"])
@pytest.mark.parametrize("reason", list(ReasonClass))
def test_a_tombstone_fits_in_place_of_the_shortest_records(
    version: str, reason: ReasonClass
) -> None:
    out = io.BytesIO()
    writer = RecordWriter(out, version=version)
    for smallest_entry in make_smallest_entries():
        writer.write_entry(smallest_entry)
    out.seek(0)
    heads = [head for head in read_heads(out) if isinstance(head, RecordHead)]
    assert len(heads) == 5
    for head in heads:
        tombstone = replace(TOMBSTONE, reason_class=str(reason))
        size_bytes = head.size_bytes or 0
        pieces = build_tombstone_member(
            size_bytes, tombstone, replaced_type=head.type, version=version
        )
        data = b"".join(pieces)
        assert len(data) == size_bytes
        assert reason.encode() in gzip.decompress(data)


def test_a_record_too_short_for_a_tombstone_is_refused() -> None:
    with pytest.raises(ValueError, match="a record of 100 bytes is too short"):
        make_member(100)
