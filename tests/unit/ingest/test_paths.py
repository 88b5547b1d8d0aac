"""Paths as inputs: each is recognized by content, and unreadable files are accounted for."""

from __future__ import annotations

import gzip
import os
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fixtures.pdfs import text_pdf
from fixtures.warcs import (
    PAGE,
    URL,
    flip_byte,
    gzip_as_one_member,
    gzip_records,
    http_response,
    join_records,
    revisit,
    warc_record,
    warcinfo,
    zstd_records,
)
from fonds.ingest.sources.paths import PathSource
from fonds.model.capture import Capture, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.message import Message
from fonds.queues.messages.envelope import decode, encode

from .conftest import check_resuming, create_source, get_only_input, read_captures

RECORDS = [warcinfo(), http_response(), revisit(), warc_record(b"x", record_type="request")]


def write_file(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("pack", [join_records, gzip_records, gzip_as_one_member, zstd_records])
def test_a_warc_yields_its_captures_and_counts_other_records(
    tmp_path: Path, home: Path, pack: object
) -> None:
    path = write_file(tmp_path / "misnamed.txt", pack(RECORDS))  # type: ignore[operator]
    path_source = create_source(home, path)
    assert get_only_input(path_source).kind == "warc"
    rows, tally = read_captures(path_source)
    assert [(capture.record_type, capture.url) for capture in rows] == [
        ("response", URL),
        ("revisit", URL),
    ]
    assert tally == {"not-a-capture": 2}
    assert {capture.place.kind for capture in rows} == {PlaceKind.WARC}
    assert {capture.collection for capture in rows} == {"test"}


@pytest.mark.parametrize("pack", [join_records, gzip_records, gzip_as_one_member])
def test_reading_a_warc_resumes_at_every_position(tmp_path: Path, home: Path, pack: object) -> None:
    data = pack([*RECORDS, http_response(b"another"), warc_record(b"y")])  # type: ignore[operator]
    check_resuming(create_source(home, write_file(tmp_path / "w", data)))


def test_ids_are_equal_when_the_same_place_is_read_twice(tmp_path: Path, home: Path) -> None:
    path = write_file(tmp_path / "w.warc.gz", gzip_records(RECORDS))
    first, _ = read_captures(create_source(home, path))
    second, _ = read_captures(create_source(home, path))
    assert first == second
    assert len({capture.id for capture in first}) == len(first)


def test_a_changed_file_is_another_input(tmp_path: Path, home: Path) -> None:
    path = write_file(tmp_path / "w.warc", join_records(RECORDS))
    before = get_only_input(create_source(home, path))
    write_file(path, join_records([*RECORDS, http_response()]))
    assert get_only_input(create_source(home, path)).input_id != before.input_id


def test_a_damaged_part_of_a_warc_is_a_damaged_capture(tmp_path: Path, home: Path) -> None:
    data = gzip_records([http_response(), http_response(b"two"), http_response(b"three")])
    middle = data.index(b"\x1f\x8b", 10)
    path = write_file(tmp_path / "w.warc.gz", flip_byte(data, middle + 20))
    rows, _ = read_captures(create_source(home, path))
    damaged = [capture for capture in rows if capture.damage is not None]
    assert damaged
    assert all(capture.damage_reason is not None for capture in damaged)
    assert len({capture.id for capture in rows}) == len(rows)


def test_damage_at_any_byte_is_accounted_for_without_raising(tmp_path: Path, home: Path) -> None:
    data = gzip_records([warcinfo(), http_response(), http_response(b"two")])
    for offset in range(0, len(data), 7):
        path = write_file(tmp_path / "w.warc.gz", flip_byte(data, offset))
        path_source = create_source(home, path)
        rows, _ = read_captures(path_source)
        assert all(decode(Message("", encode(capture)), Capture) == capture for capture in rows)


@pytest.mark.parametrize(
    ("name", "data"), [("paper.pdf", text_pdf()), ("page.html", PAGE), ("empty", b"")]
)
def test_a_loose_file_is_one_capture(tmp_path: Path, home: Path, name: str, data: bytes) -> None:
    path = write_file(tmp_path / name, data)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    path_source = create_source(home, path)
    assert get_only_input(path_source).kind == "file"
    ((capture,), tally) = read_captures(path_source)
    assert (capture.place.kind, capture.place.path) == (PlaceKind.FILE, str(path))
    assert capture.url == path.as_uri()
    assert capture.captured_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert not tally


def test_a_missing_file_is_a_damaged_capture(tmp_path: Path, home: Path) -> None:
    path_source = create_source(home, tmp_path / "nothing.warc.gz")
    ((capture,), _) = read_captures(path_source)
    assert capture.damage_reason is Reason.MISSING_SOURCE


def test_a_pipe_is_a_damaged_capture(tmp_path: Path, home: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    ((capture,), _) = read_captures(create_source(home, tmp_path / "pipe"))
    assert capture.damage_reason is Reason.UNREADABLE_SOURCE
    assert capture.damage == "not a regular file (a pipe, socket or device)"


def test_a_file_deleted_before_reading_is_accounted_for(tmp_path: Path, home: Path) -> None:
    path = write_file(tmp_path / "w.warc", join_records(RECORDS))
    path_source = create_source(home, path)
    row = get_only_input(path_source)
    path.unlink()
    ((capture,), _) = read_captures(path_source, row)
    assert capture.damage is not None
    assert str(path) in capture.damage


def test_a_file_name_that_is_not_utf8_is_reported_and_does_not_stop_reading(
    tmp_path: Path, home: Path
) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.pdf")
    write_file(Path(name), text_pdf())
    write_file(tmp_path / "whole.pdf", text_pdf())
    path_source = create_source(home, tmp_path)
    rows = list(path_source.iter_inputs())
    found_captures = [capture for row in rows for capture in read_captures(path_source, row)[0]]
    assert [
        decode(Message("", encode(capture)), Capture) for capture in found_captures
    ] == found_captures
    assert [capture.damage_reason for capture in found_captures] == [Reason.UNREADABLE_SOURCE, None]
    assert rows[0].path.endswith("caf\\xe9.pdf")


def test_a_file_name_with_unusual_characters_is_read(tmp_path: Path, home: Path) -> None:
    path = write_file(tmp_path / "a b #?%41\n\u202e\U0001f600.pdf", text_pdf())
    ((capture,), _) = read_captures(create_source(home, path))
    assert capture.damage is None
    assert capture.place.path == str(path)


def test_a_modification_time_out_of_range_is_accepted(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_file(tmp_path / "paper.pdf", text_pdf())
    os.utime(path, (10.0**12, 10.0**12))
    ((capture,), _) = read_captures(create_source(home, path))
    assert len(capture.datetime14) == 14


def test_a_record_of_the_year_1_has_a_time_of_14_digits(tmp_path: Path, home: Path) -> None:
    path = write_file(
        tmp_path / "w.warc", join_records([http_response(date="0001-01-01T00:00:00Z")])
    )
    ((capture,), _) = read_captures(create_source(home, path))
    assert capture.datetime14 == "00010101000000"


def test_the_inbox_is_in_the_home(home: Path) -> None:
    assert create_source(home).inbox == home / "inbox"


def test_no_paths_give_no_inputs(home: Path) -> None:
    assert list(PathSource([], home, "test", "").iter_inputs()) == []


def test_a_gzipped_page_is_a_loose_file(tmp_path: Path, home: Path) -> None:
    assert (
        get_only_input(create_source(home, write_file(tmp_path / "p.gz", gzip.compress(PAGE)))).kind
        == "file"
    )


EMPTY_ZIP = b"PK\x05\x06" + bytes(18)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("book.xlsx", EMPTY_ZIP),
        ("pages.zip", EMPTY_ZIP),
        ("index.cdx", b" CDX N b a m s k r M S V g\n"),
        ("crawl.warc.gz", gzip.compress(b"", mtime=0)),
        ("tasks.jsonl.gz", gzip.compress(b"\n\n", mtime=0)),
        ("nothing.warc", b""),
    ],
)
def test_an_empty_container_is_one_entry(tmp_path: Path, name: str, body: bytes) -> None:
    (tmp_path / name).write_bytes(body)
    source = PathSource([tmp_path / name], tmp_path / "home", "default", "")
    (row,) = source.iter_inputs()
    entries = [entry for entry in source.iter_entries(row) if not isinstance(entry, int)]
    assert len(entries) == 1


def test_a_zip_with_only_folders_is_reported_as_empty(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "folders.zip", "w") as archive:
        archive.mkdir("one")
    source = PathSource([tmp_path / "folders.zip"], tmp_path / "home", "default", "")
    (capture,) = read_captures(source, *source.iter_inputs())[0]
    assert (capture.damage, capture.damage_reason) == ("this ZIP is empty", Reason.EMPTY_BODY)


AGENT = "Mozilla/5.0 (compatible; crawly/2 +http://crawl.example)"


@pytest.mark.parametrize("pack", [join_records, gzip_records, gzip_as_one_member])
def test_captures_state_the_crawler_named_in_the_warcinfo(
    tmp_path: Path, home: Path, pack: object
) -> None:
    info = warcinfo(f"software: x\r\nHTTP-Header-User-Agent: {AGENT}\r\n".encode())
    data = pack([info, http_response(), warcinfo(), http_response(b"another")])  # type: ignore[operator]
    path = write_file(tmp_path / "w", data)
    rows, _ = read_captures(create_source(home, path))
    assert [capture.crawler for capture in rows] == [AGENT, AGENT]
    check_resuming(create_source(home, path))


@pytest.mark.parametrize(
    "first",
    [warcinfo(), warcinfo(b"\xff\x00:\r\n" * 1000), warcinfo(b"x" * 100_000), http_response(b"x")],
)
def test_captures_have_no_crawler_if_their_warcinfo_names_none(
    tmp_path: Path, home: Path, first: bytes
) -> None:
    path = write_file(tmp_path / "w", gzip_records([first, http_response()]))
    rows, _ = read_captures(create_source(home, path))
    assert {capture.crawler for capture in rows} == {""}
