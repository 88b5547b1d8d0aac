"""Damage that continues in a container is one capture and a count."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import msgspec
import pytest

from fixtures.warcs import flip_byte, gzip_records, http_response, join_records, warc_record
from fonds.ingest.sources.paths import PathSource
from fonds.model.disposition import Reason

from .conftest import check_resuming, create_source, get_only_input, read_captures

DAMAGED = str(Reason.DAMAGED_RECORD)
LYING_HEADER = b"WARC/1.0\r\nWARC-Type: x\r\nContent-Length: a\r\n\r\n"
BROKEN_MEMBER = flip_byte(gzip.compress(warc_record(b"x" * 200)), -6)


def write_warc(folder: Path, *parts: bytes) -> Path:
    path = folder / "w.warc"
    path.write_bytes(b"".join(parts))
    return path


def list_damages(source: PathSource) -> list[str | None]:
    return [capture.damage for capture in read_captures(source)[0]]


@pytest.mark.parametrize("junk", [LYING_HEADER, BROKEN_MEMBER], ids=["headers", "members"])
def test_a_thousand_damaged_records_are_one_capture_and_a_count(
    tmp_path: Path, home: Path, junk: bytes
) -> None:
    packed = junk is BROKEN_MEMBER
    page = gzip_records([http_response()]) if packed else join_records([http_response()])
    source = create_source(home, write_warc(tmp_path, page, junk * 1_000, page))
    captures, tally = read_captures(source)
    assert [capture.record_type for capture in captures] == ["response", "damage", "response"]
    assert tally == {DAMAGED: 999}
    damage = captures[1]
    assert damage.damage_reason is Reason.DAMAGED_RECORD
    assert damage.place.offset == len(page)
    last_offset = len(page) + 999 * len(junk)
    assert (damage.damage or "").endswith(
        f"; and 999 more like it, the last at offset {last_offset}"
    )
    check_resuming(source)


def test_damage_in_two_places_is_two_captures(tmp_path: Path, home: Path) -> None:
    page, request = join_records([http_response()]), warc_record(b"GET /", record_type="request")
    source = create_source(
        home, write_warc(tmp_path, page, LYING_HEADER * 3, request, LYING_HEADER, page)
    )
    captures, tally = read_captures(source)
    assert [capture.record_type for capture in captures] == [
        "response",
        "damage",
        "damage",
        "response",
    ]
    assert tally == {DAMAGED: 2, str(Reason.NOT_A_CAPTURE): 1}
    assert "more like it" not in (captures[2].damage or "")


def test_a_file_that_ends_in_damage_is_read_to_its_end(tmp_path: Path, home: Path) -> None:
    source = create_source(home, write_warc(tmp_path, LYING_HEADER * 3))
    (damage,) = list_damages(source)
    assert "and 2 more like it" in (damage or "")
    check_resuming(source)


def test_damage_in_a_warc_in_a_zip_is_counted(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "w.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("w.warc", join_records([http_response()]) + LYING_HEADER * 5)
    captures, tally = read_captures(create_source(home, path))
    assert [capture.record_type for capture in captures] == ["response", "damage"]
    assert tally[DAMAGED] == 4


TASK = {
    "sha1hex": "2f" * 20,
    "url": "http://example.org/a.pdf",
    "datetime": "20200102030405",
    "mimetype": "application/pdf",
    "warc_path": "crawl/a.warc.gz",
    "warc_offset": 0,
    "warc_csize": 500,
}
DIGEST = "A" * 32
CDX_LINE = f"org,example)/ 20240305060708 http://example.org/ text/html 200 {DIGEST} - - 5 1 w.warc"


@pytest.mark.parametrize(
    ("kind", "header", "good"),
    [
        ("index", " CDX N b a m s k r M S V g\n", CDX_LINE),
        ("tasks", "", msgspec.json.encode(TASK).decode()),
    ],
)
def test_unreadable_lines_are_one_capture_and_a_count(
    tmp_path: Path, home: Path, kind: str, header: str, good: str
) -> None:
    path = tmp_path / "lines.txt"
    bad = good[: len(good) // 3]
    path.write_text(header + "\n".join([*[good] * 60, *[bad] * 500, good, bad]) + "\n")
    source = create_source(home, path)
    assert get_only_input(source).kind == kind
    captures, tally = read_captures(source)
    is_damage = [capture.record_type == "damage" for capture in captures]
    assert is_damage == [*[False] * 60, True, False, True]
    assert tally == {str(Reason.BAD_INDEX_LINE): 499}
    first_line = 61 + header.count("\n")
    assert (captures[60].damage or "").startswith(f"line {first_line}: ")
    assert (captures[60].damage or "").endswith(
        f"and 499 more like it, the last at line {first_line + 499}"
    )
    check_resuming(source)
