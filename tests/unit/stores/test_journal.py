"""Rows of the journal-extract table in the formats of the seed document and of older writers."""

from __future__ import annotations

import json
import struct
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.errors import ConfigurationError
from fonds.model.file import FileMeta
from fonds.stores.journal_table import cells as journal_cells
from fonds.stores.journal_table import keys as journal_keys
from fonds.stores.journal_table.cells import FirstSeen, Location

SHA1HEX = "90ffd2359008d82298821d16b21778c5c39aec36"
RECORD_ID = "urn:uuid:00000000-0000-4000-8000-00000000000a"
FILE = FileMeta(
    13_264, "application/pdf", "PDF document, version 1.4", "application/pdf", SHA1HEX, "c" * 32, "d" * 64
)  # fmt: skip
PLACE = Place(PlaceKind.WARC, "ITEM-2017/ITEM-2017-00001.warc.gz", 2**33, 1234)
CAPTURE = Capture(
    "capture-1", "input-1", PLACE, "http://example.org/a b?ü", datetime(2017, 3, 4, 5, 6, 7, 890, UTC),
    "response",
)  # fmt: skip


def test_a_row_key_is_the_raw_sha1() -> None:
    assert journal_keys.build_row_key(SHA1HEX) == bytes.fromhex(SHA1HEX)
    assert journal_keys.split_key(bytes.fromhex(SHA1HEX)) == (SHA1HEX, None)


def test_the_key_of_a_later_capture_begins_with_the_sha1() -> None:
    key = journal_keys.build_alternate_key(SHA1HEX, "capture-2")
    assert key == bytes.fromhex(SHA1HEX) + b"\x00capture-2"
    assert journal_keys.split_key(key) == (SHA1HEX, "capture-2")


def test_keys_of_older_tables_are_parsed() -> None:
    assert journal_keys.split_key(b"sha1:SD75ENMQBDMCFGECDULLEF3YYXBZV3BW") == (SHA1HEX, None)


@pytest.mark.parametrize(
    "key",
    [b"", b"short", b"x" * 21, b"x" * 20 + b"\x00", b"sha1:NOTBASE32", b"sha1:\xff", b"y" * 37],
)
def test_other_keys_are_refused(key: bytes) -> None:
    with pytest.raises(ValueError, match=r"key|codec"):
        journal_keys.split_key(key)


def test_invalid_hashes_and_ids_are_refused() -> None:
    with pytest.raises(ValueError, match="not a SHA-1"):
        journal_keys.build_row_key("a" * 39)
    with pytest.raises(ValueError, match="id"):
        journal_keys.build_alternate_key(SHA1HEX, "")


@given(
    st.binary(min_size=20, max_size=20),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
)
def test_keys_round_trip(raw: bytes, capture_id: str) -> None:
    assert journal_keys.split_key(journal_keys.build_row_key(raw.hex())) == (raw.hex(), None)
    key = journal_keys.build_alternate_key(raw.hex(), capture_id)
    assert journal_keys.split_key(key) == (raw.hex(), capture_id)
    assert key.startswith(journal_keys.build_row_key(raw.hex()))


def test_file_cells_have_the_format_of_the_document() -> None:
    cells = journal_cells.build_file_cells(FILE)
    assert cells["file:size"] == struct.pack(">Q", 13_264)
    assert cells["file:mime"] == b"application/pdf"
    assert json.loads(cells["file:meta"]) == {
        "size": 13_264,
        "mime": "application/pdf",
        "magic": "PDF document, version 1.4",
        "magic_mime": "application/pdf",
        "sha1": SHA1HEX,
        "md5": "c" * 32,
        "sha256": "d" * 64,
    }


def test_the_cdx_cell_has_all_values_as_strings() -> None:
    cells = journal_cells.build_cdx_cell(CAPTURE, PLACE, "org,example)/a b?ü")
    assert json.loads(cells["file:cdx"]) == {
        "surt": "org,example)/a b?ü",
        "url": "http://example.org/a b?ü",
        "dt": "20170304050607",
        "warc": "ITEM-2017/ITEM-2017-00001.warc.gz",
        "offset": "8589934592",
        "c_size": "1234",
    }


def test_the_first_seen_cell_has_numbers_and_the_warc_name() -> None:
    cells = journal_cells.build_first_seen_cell(CAPTURE, PLACE, record_id=RECORD_ID)
    assert json.loads(cells["f:c"]) == {
        "u": "http://example.org/a b?ü",
        "d": "2017-03-04T05:06:07Z",
        "f": "ITEM-2017-00001.warc.gz",
        "o": 8589934592,
        "c": 1,
        "i": RECORD_ID,
    }


def test_unknown_values_are_omitted() -> None:
    unsized_place = Place(PlaceKind.WARC, "a.warc", 0, None)
    location = journal_cells.read_location(
        journal_cells.build_cdx_cell(CAPTURE, unsized_place, "org,example)/")
    )
    assert location is not None
    assert location.size_bytes is None
    loose_place = Place(PlaceKind.FILE, "/inbox/a.pdf")
    assert set(json.loads(journal_cells.build_first_seen_cell(CAPTURE, loose_place)["f:c"])) == {
        "u",
        "d",
        "c",
    }
    with pytest.raises(ValueError, match="not in a WARC"):
        journal_cells.build_cdx_cell(CAPTURE, loose_place, "org,example)/")


def test_a_row_round_trips() -> None:
    cells = journal_cells.build_file_cells(FILE)
    cells |= journal_cells.build_cdx_cell(CAPTURE, PLACE, "org,example)/a")
    cells |= journal_cells.build_first_seen_cell(CAPTURE, PLACE)
    assert journal_cells.read_file(cells) == FILE
    assert journal_cells.decode_integer(cells[journal_cells.FILE_SIZE]) == FILE.size
    assert journal_cells.read_location(cells) == Location(
        "org,example)/a", CAPTURE.url, "20170304050607", PLACE.path, 2**33, 1234
    )
    assert journal_cells.read_first_seen(cells) == FirstSeen(
        CAPTURE.url, "2017-03-04T05:06:07Z", "ITEM-2017-00001.warc.gz", 2**33, 1, None
    )


def test_absent_cells_are_none() -> None:
    assert journal_cells.read_file({}) is None
    assert journal_cells.read_location({}) is None
    assert journal_cells.read_first_seen({}) is None


def test_numbers_of_older_writers_are_parsed() -> None:
    cells = {
        "file:cdx": b'{"surt":"s","url":"u","dt":"20170304050607","warc":"w","offset":12,"c_size":34}',
        "f:c": b'{"u":"u","d":"2017-03-04T05:06:07","f":"w","o":12,"c":1}',
    }
    location, first = journal_cells.read_location(cells), journal_cells.read_first_seen(cells)
    assert location is not None
    assert first is not None
    assert (location.offset, location.size_bytes) == (12, 34)
    assert (first.offset, first.count, first.record_id) == (12, 1, None)


@pytest.mark.parametrize(
    "cell",
    [
        b"",
        b"\xff",
        b"[]",
        b"null",
        b"[" * 100_000,
        b"{}",
        b'{"surt":"s","url":null,"dt":"d","warc":"w","offset":"1","c_size":"2"}',
        b'{"surt":"s","url":"u","dt":"d","warc":"w","offset":"-1","c_size":"2"}',
        b'{"surt":"s","url":"u","dt":"d","warc":"w","offset":true,"c_size":"2"}',
        b'{"surt":"s","url":"u","dt":"d","warc":"w","offset":1e9,"c_size":"2"}',
        b'{"surt":"s","url":"u","dt":"d","warc":"w","offset":"%s","c_size":"2"}' % (b"9" * 5000),
        '{"surt":"s","url":"u","dt":"d","warc":"w","offset":"\u0661","c_size":"2"}'.encode(),
    ],
)
def test_invalid_cells_are_refused_with_their_column(cell: bytes) -> None:
    with pytest.raises(ValueError, match="file:cdx"):
        journal_cells.read_location({"file:cdx": cell})


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
MOMENTS = st.datetimes(timezones=st.just(UTC)).filter(lambda moment: moment.year >= 1000)


@given(
    size=st.integers(0, 2**63 - 1),
    texts=st.lists(TEXT, min_size=6, max_size=6),
)
def test_any_file_round_trips(size: int, texts: list[str]) -> None:
    file = FileMeta(size, *texts)
    cells = journal_cells.build_file_cells(file)
    assert journal_cells.read_file(cells) == file
    assert cells[journal_cells.FILE_MIME].decode() == file.mime
    assert journal_cells.decode_integer(cells[journal_cells.FILE_SIZE]) == size


@given(
    url=st.text(),
    surt=st.text(),
    path=st.text(),
    offset=st.integers(0, 2**63 - 1),
    size=st.none() | st.integers(0, 2**63 - 1),
    moment=MOMENTS,
)
def test_any_capture_round_trips_without_lone_surrogates(
    url: str, surt: str, path: str, offset: int, size: int | None, moment: datetime
) -> None:
    def clean(text: str) -> str:
        return text.encode("utf-8", "ignore").decode()

    place = Place(PlaceKind.WARC, path, offset, size)
    capture = Capture("id", "input", place, url, moment, "response")
    cells = journal_cells.build_cdx_cell(
        capture, place, surt
    ) | journal_cells.build_first_seen_cell(capture, place)
    assert journal_cells.read_location(cells) == Location(
        clean(surt), clean(url), capture.datetime14, clean(path), offset, size
    )
    first = journal_cells.read_first_seen(cells)
    assert first is not None
    assert (first.url, first.offset) == (clean(url), offset)
    assert first.date == moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_are_eight_bytes_big_endian(value: int) -> None:
    cell = journal_cells.encode_integer(value)
    assert cell == value.to_bytes(8, "big", signed=True)
    assert journal_cells.decode_integer(cell) == value


def test_an_integer_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="8 bytes"):
        journal_cells.decode_integer(b"12")


def test_long_texts_are_omitted_and_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journal_cells, "CELL_MAX_BYTES", 10)
    long_text, short_text = b"x" * 11, b"y" * 10
    assert journal_cells.build_paper_cells(short_text, short_text, short_text) == (
        dict.fromkeys(("grobid0:metadata", "grobid0:tei_json", "grobid0:tei_xml"), short_text),
        [],
    )
    assert journal_cells.build_paper_cells(long_text, short_text, long_text) == (
        {"grobid0:metadata": short_text, "grobid0:tei_json": short_text},
        ["grobid0:tei_json", "grobid0:tei_xml"],
    )
    assert journal_cells.build_paper_cells(long_text, long_text) == (
        {},
        ["grobid0:metadata", "grobid0:tei_json"],
    )


def test_the_table_name_has_group_version_and_environment() -> None:
    assert journal_keys.name_journal_table("wbgrp", 0, "prod") == "wbgrp-journal-extract-0-prod"


@pytest.mark.parametrize(
    ("group", "version", "env"),
    [("", 0, "prod"), ("a b", 0, "prod"), ("a", -1, "prod"), ("a", 0, "x:y"), ("a\n", 0, "qa")],
)
def test_invalid_table_names_are_refused(group: str, version: int, env: str) -> None:
    with pytest.raises(ConfigurationError, match="table name"):
        journal_keys.name_journal_table(group, version, env)
