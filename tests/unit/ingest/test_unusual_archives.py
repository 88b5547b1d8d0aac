"""An unreadable archive fails with a message and is never refused for its type."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest

from fixtures import warcs
from fonds.model.capture import PlaceKind
from fonds.model.disposition import Reason, Weight

from .conftest import check_resuming, create_source, get_only_input, read_captures

RECORDS = [warcs.warcinfo(), warcs.http_response(), warcs.http_response(b"two")]
ZIPNUM = b"com,example)/ 20200101000000\tcdx-00000.gz\t0\t188224\t1\n" * 3


def write_file(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.warc.gz", b""),
        ("a.warc.gz", b"\x1f\x8b\x08\x00damaged from its first byte on"),
        ("a.warc.gz", gzip.compress(b"words and nothing else", mtime=0)),
        ("a.warc.gz", gzip.compress(b"", mtime=0)),
        ("a.warc", b"\n\n\n"),
        ("a.warc.Z", b"\x1f\x9d\x90packed by a program of long ago"),
        ("a.arc.bz2", b"BZh9 and no block"),
        ("a.arc", b"\x00\x01\x02"),
        ("a.warc.zst", b"\x28\xb5\x2f\xfd\xff\xff\xff"),
        ("any name", b"WARC/1.0\r\nno header\r\n\r\n"),
        ("any name", b"WARC/1.0"),
        ("any name", b"filedesc: nothing like an ARC header\n"),
        ("any name", b"\x5d\x2a\x4d\x18\x04\x00\x00\x00dict"),
        ("a.wacz", b"no ZIP at all"),
        ("a.cdx.gz", b"\x1f\x8b\x08\x00damaged"),
        ("a.cdx", b"\x00\x01"),
        ("a.zip", b"PK\x03\x04 and little else"),
        ("cluster.idx", ZIPNUM),
    ],
)
def test_an_unreadable_archive_is_reported_as_damaged(
    tmp_path: Path, home: Path, name: str, data: bytes
) -> None:
    rows, tally = read_captures(create_source(home, write_file(tmp_path / name, data)))
    assert rows
    for capture in rows:
        assert capture.damage
        assert capture.damage_reason is not None
        assert capture.damage_reason.weight is Weight.FAILED
    assert not tally


@pytest.mark.parametrize("compression", warcs.PACKERS)
def test_archives_are_read_in_every_compression(
    tmp_path: Path, home: Path, compression: str
) -> None:
    path_source = create_source(
        home, write_file(tmp_path / "x", warcs.pack_records(RECORDS, compression))
    )
    assert get_only_input(path_source).kind == "warc"
    rows, tally = read_captures(path_source)
    assert [capture.url for capture in rows if capture.damage is None] == [warcs.URL] * 2
    assert tally == {"not-a-capture": 1}
    check_resuming(path_source)


def test_an_arc_without_its_first_record_is_read(tmp_path: Path, home: Path) -> None:
    data = warcs.arc_record() + warcs.arc_record(url="http://b.example/")
    path_source = create_source(home, write_file(tmp_path / "page.html", data))
    assert get_only_input(path_source).kind == "warc"
    rows, _ = read_captures(path_source)
    assert [capture.url for capture in rows] == [warcs.URL, "http://b.example/"]


def test_reading_starts_after_damage_at_the_beginning(tmp_path: Path, home: Path) -> None:
    data = b"\x00" * 100 + warcs.gzip_records(RECORDS)
    rows, _ = read_captures(create_source(home, write_file(tmp_path / "a.warc.gz", data)))
    assert [capture.damage is None for capture in rows] == [False, True, True]


def test_a_page_named_like_an_archive_is_a_file(tmp_path: Path, home: Path) -> None:
    path_source = create_source(home, write_file(tmp_path / "a.warc.gz", warcs.PAGE))
    assert get_only_input(path_source).kind == "file"


def test_a_second_level_index_next_to_its_parts_has_no_captures(tmp_path: Path, home: Path) -> None:
    write_file(tmp_path / "cdx-00000.gz", gzip.compress(b""))
    rows, tally = read_captures(create_source(home, write_file(tmp_path / "cluster.idx", ZIPNUM)))
    assert rows == []
    assert tally == {"not-a-capture": 1}


def write_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize("name", ["inner.wacz", "inner.zip", "no-hint"])
def test_an_archive_inside_an_archive_is_reported(tmp_path: Path, home: Path, name: str) -> None:
    inner = write_zip(tmp_path / "inner", {"datapackage.json": b"{}", "archive/a.warc": b""})
    outer = write_zip(tmp_path / "outer.wacz", {name: inner.read_bytes()})
    (capture,), _ = read_captures(create_source(home, outer))
    assert capture.damage_reason is Reason.UNREADABLE_SOURCE
    assert capture.damage is not None
    assert "Extract it" in capture.damage


def test_an_office_document_in_a_zip_is_a_file(tmp_path: Path, home: Path) -> None:
    inner = write_zip(tmp_path / "inner", {"word/document.xml": b"<x/>"})
    outer = write_zip(tmp_path / "outer.zip", {"a.docx": inner.read_bytes()})
    (capture,), _ = read_captures(create_source(home, outer))
    assert (capture.damage, capture.place.kind) == (None, PlaceKind.ZIP)


def test_a_zip_member_falsely_named_as_archive_is_damaged(tmp_path: Path, home: Path) -> None:
    outer = write_zip(
        tmp_path / "outer.zip", {"archive/a.warc.gz": b"no record", "b.html": warcs.PAGE}
    )
    damaged, page = read_captures(create_source(home, outer))[0]
    assert damaged.damage_reason is Reason.DAMAGED_RECORD
    assert page.damage is None
