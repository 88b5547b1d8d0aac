"""Bytes below the records: windows on a file, walks of zstd frames, and searches for record
starts."""

from __future__ import annotations

import io

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from fixtures import warcs
from fonds.archive.members.framing import Framing
from fonds.archive.members.raw_file import MemberError, RawFile, check_ratio
from fonds.archive.members.record_line import starts_record
from fonds.archive.members.zstd import walk_frame
from fonds.model.disposition import Reason


class DribblingFile(io.BytesIO):
    """Returns at most 1,000 bytes at a time, as streams may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(1000 if size is None or size < 0 else min(size, 1000))


@given(st.lists(st.tuples(st.integers(0, 400_100), st.integers(1, 200_000)), max_size=20))
@settings(deadline=None, max_examples=examples(15))
def test_a_window_returns_the_bytes_of_the_file(places: list[tuple[int, int]]) -> None:
    data = bytes(range(251)) * 1600
    raw = RawFile(DribblingFile(data))
    for offset, size in places:
        assert raw.read_at(offset, size) == data[offset : offset + size]


@given(
    st.binary(max_size=400_000) | st.integers(0, 400_000).map(bytes),
    st.booleans(),
    st.booleans(),
)
@settings(deadline=None, max_examples=examples(15))
def test_the_end_of_a_zstd_frame_is_found_without_decompression(
    content: bytes, checksum: bool, sized: bool
) -> None:
    packer = zstandard.ZstdCompressor(write_checksum=checksum, write_content_size=sized)
    frame = packer.compress(content)
    assert walk_frame(RawFile(io.BytesIO(b"##" + frame + b"##")), 2) == (2 + len(frame), None)
    cut = RawFile(io.BytesIO(frame[:-1]))
    assert walk_frame(cut, 0) == (len(frame) - 1, Reason.TRUNCATED_RECORD)


@pytest.mark.parametrize("gap", [1, 100, 131_071, 131_072, 131_073, 300_000])
@pytest.mark.parametrize("pack", [warcs.join_records, warcs.gzip_records, warcs.zstd_records])
def test_the_next_record_is_found_after_any_gap(gap: int, pack) -> None:
    data = b"\xff" * (gap - 1) + b"\n" + pack([warcs.http_response()])
    assert Framing(io.BytesIO(data)).find(1, len(data)) == gap
    assert Framing(io.BytesIO(data)).find(1, gap) is None
    assert Framing(io.BytesIO(data)).find(gap + 1, len(data)) is None


def test_a_magic_number_without_a_record_is_skipped() -> None:
    decoys = (
        warcs.gzip_records([b"just text"]) + zstandard.compress(b"just text") + b"\x1f\x8b\x08\x00"
    )
    data = b"#" + decoys + warcs.gzip_records([warcs.arc_header()])
    assert Framing(io.BytesIO(data)).find(1, len(data)) == 1 + len(decoys)


@pytest.mark.parametrize(
    ("line", "starts"),
    [
        (b"WARC/1.0\r\n", True),
        (b"WARC/0.17\n", True),
        (b"WARC/1.0", False),
        (b"WARC/1.0 and more\r\n", False),
        (b"http://a/ 192.0.2.1 20240305060708 text/html 100\n", True),
        (b"http://a/b c 192.0.2.1 20240305060708 text/html; charset=x 100\r\n", True),
        (b"dns:a.example 192.0.2.1 20240305060708 text/dns 45\n", True),
        (b"http://a/ 192.0.2.1 20240305060708 text/html 200 AB - 12 f.arc 100\n", True),
        (b"Content-Type: text/html 20240305060708 a 100\r\n", False),
        (b"<html>\n", False),
        (b"", False),
    ],
)
def test_first_lines_of_records_are_recognized(line: bytes, starts: bool) -> None:
    assert starts_record(line) is starts


@pytest.mark.parametrize(
    ("unpacked_bytes", "packed_bytes", "is_allowed"),
    [(1 << 20, 0, True), ((1 << 20) + 201, 1, False)],
)
def test_a_member_may_unpack_to_200_times_its_size_plus_a_mebibyte(
    unpacked_bytes: int, packed_bytes: int, is_allowed: bool
) -> None:
    if is_allowed:
        check_ratio(unpacked_bytes, packed_bytes)
    else:
        with pytest.raises(MemberError) as raised:
            check_ratio(unpacked_bytes, packed_bytes)
        assert raised.value.reason is Reason.BOMB
