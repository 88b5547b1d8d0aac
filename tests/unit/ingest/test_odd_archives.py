"""What looks like an archive and cannot be read fails with words; it is never refused for its type."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest

from fixtures import warcs
from fonds.model.capture import PlaceKind
from fonds.model.disposition import Reason, Weight

from .conftest import captures, only_input, resumed_everywhere, source

RECORDS = [warcs.warcinfo(), warcs.http_response(), warcs.http_response(b"two")]
ZIPNUM = b"com,example)/ 20200101000000\tcdx-00000.gz\t0\t188224\t1\n" * 3


def _written(path: Path, data: bytes) -> Path:
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
def test_it_is_damage_told_in_words(tmp_path: Path, home: Path, name: str, data: bytes) -> None:
    found, tally = captures(source(home, _written(tmp_path / name, data)))
    assert found
    for capture in found:
        assert capture.damage
        assert capture.damage_reason is not None
        assert capture.damage_reason.weight is Weight.FAILED
    assert not tally


@pytest.mark.parametrize("packing", warcs.PACKERS)
def test_archives_are_read_in_every_packing(tmp_path: Path, home: Path, packing: str) -> None:
    one = source(home, _written(tmp_path / "x", warcs.packed(RECORDS, packing)))
    assert only_input(one).kind == "warc"
    found, tally = captures(one)
    assert [capture.url for capture in found if capture.damage is None] == [warcs.URL] * 2
    assert tally == {"not-a-capture": 1}
    resumed_everywhere(one)


def test_an_arc_without_its_first_record_is_an_arc(tmp_path: Path, home: Path) -> None:
    data = warcs.arc_record() + warcs.arc_record(url="http://b.example/")
    one = source(home, _written(tmp_path / "page.html", data))
    assert only_input(one).kind == "warc"
    found, _ = captures(one)
    assert [capture.url for capture in found] == [warcs.URL, "http://b.example/"]


def test_what_was_damaged_at_its_beginning_is_read_from_where_it_is_whole(
    tmp_path: Path, home: Path
) -> None:
    data = b"\x00" * 100 + warcs.gzipped(RECORDS)
    found, _ = captures(source(home, _written(tmp_path / "a.warc.gz", data)))
    assert [capture.damage is None for capture in found] == [False, True, True]


def test_a_page_called_an_archive_is_a_page(tmp_path: Path, home: Path) -> None:
    one = source(home, _written(tmp_path / "a.warc.gz", warcs.PAGE))
    assert only_input(one).kind == "file"


def test_a_second_level_index_beside_its_parts_is_none_of_the_captures(
    tmp_path: Path, home: Path
) -> None:
    _written(tmp_path / "cdx-00000.gz", gzip.compress(b""))
    found, tally = captures(source(home, _written(tmp_path / "cluster.idx", ZIPNUM)))
    assert found == []
    assert tally == {"not-a-capture": 1}


def _zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize("name", ["inner.wacz", "inner.zip", "no-hint"])
def test_an_archive_in_an_archive_is_told(tmp_path: Path, home: Path, name: str) -> None:
    inner = _zip(tmp_path / "inner", {"datapackage.json": b"{}", "archive/a.warc": b""})
    outer = _zip(tmp_path / "outer.wacz", {name: inner.read_bytes()})
    (capture,), _ = captures(source(home, outer))
    assert capture.damage_reason is Reason.UNREADABLE_SOURCE
    assert capture.damage is not None
    assert "Extract it" in capture.damage


def test_an_office_document_in_a_zip_is_a_file(tmp_path: Path, home: Path) -> None:
    inner = _zip(tmp_path / "inner", {"word/document.xml": b"<x/>"})
    outer = _zip(tmp_path / "outer.zip", {"a.docx": inner.read_bytes()})
    (capture,), _ = captures(source(home, outer))
    assert (capture.damage, capture.place.kind) == (None, PlaceKind.ZIP)


def test_a_member_called_an_archive_that_is_none_is_damage(tmp_path: Path, home: Path) -> None:
    outer = _zip(tmp_path / "outer.zip", {"archive/a.warc.gz": b"no record", "b.html": warcs.PAGE})
    damaged, page = captures(source(home, outer))[0]
    assert damaged.damage_reason is Reason.DAMAGED_RECORD
    assert page.damage is None
