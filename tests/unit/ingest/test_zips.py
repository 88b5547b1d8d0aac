"""ZIPs: loose members, WARCs inside, and damaged members that do not affect the others."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import pytest

from fixtures.pdfs import text_pdf
from fixtures.warcs import (
    PAGE,
    URL,
    gzip_records,
    http_response,
    join_records,
    warc_record,
    warcinfo,
)
from fonds.archive.warc.scanner import RecordHead, read_heads
from fonds.ingest.sources import zips
from fonds.model.capture import PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import StorageFullError

from .conftest import check_resuming, create_source, get_only_input, read_captures

RECORDS = [warcinfo(), http_response(), http_response(b"two")]
STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED


def write_zip(path: Path, members: list[tuple[str, bytes, int]]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data, method in members:
            archive.writestr(zipfile.ZipInfo(name, (2024, 3, 5, 6, 7, 8)), data, method)
    return path


def damage_member(path: Path, name: str, offset: int = 30) -> None:
    """Invert a byte in the data of a member, `offset` bytes after its local header."""
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo(name).header_offset
    data = bytearray(path.read_bytes())
    name_bytes, extra_bytes = struct.unpack_from("<HH", data, start + 26)
    data[start + 30 + name_bytes + extra_bytes + offset] ^= 0xFF
    path.write_bytes(data)


def test_loose_members_are_captures(tmp_path: Path, home: Path) -> None:
    path = write_zip(
        tmp_path / "b.zip",
        [("a/", b"", STORED), ("a/paper.pdf", text_pdf(), DEFLATED), ("page å.html", PAGE, STORED)],
    )
    path_source = create_source(home, path)
    assert get_only_input(path_source).kind == "zip"
    members, _ = read_captures(path_source)
    assert [(capture.place.kind, capture.place.member) for capture in members] == [
        (PlaceKind.ZIP, "a/paper.pdf"),
        (PlaceKind.ZIP, "page å.html"),
    ]
    assert [capture.datetime14 for capture in members] == ["20240305060708"] * 2
    assert members[1].url == f"{path.as_uri()}#page%20%C3%A5.html"


@pytest.mark.parametrize("pack", [join_records, gzip_records])
def test_a_stored_warc_is_read_inside_the_zip(tmp_path: Path, home: Path, pack: object) -> None:
    data = pack(RECORDS)  # type: ignore[operator]
    path = write_zip(
        tmp_path / "c.wacz", [("first.pdf", text_pdf(), STORED), ("w.warc", data, STORED)]
    )
    zip_captures, tally = read_captures(create_source(home, path))
    records = [capture for capture in zip_captures if capture.place.kind is PlaceKind.WARC]
    assert [(record.place.path, record.url) for record in records] == [(str(path), URL)] * 2
    assert tally == {"not-a-capture": 1}
    with path.open("rb") as stream:
        for capture in records:
            head = next(iter(read_heads(stream, capture.place.offset)))
            assert isinstance(head, RecordHead)
            assert (head.offset, head.url) == (capture.place.offset, URL)
            stream.seek(0)


def test_a_deflated_warc_is_unpacked_once_into_the_inbox(tmp_path: Path, home: Path) -> None:
    data = join_records(RECORDS)
    path = write_zip(tmp_path / "c.zip", [("w.warc", data, DEFLATED)])
    path_source = create_source(home, path)
    zip_captures, _ = read_captures(path_source)
    (unpacked,) = path_source.inbox.iterdir()
    assert unpacked.read_bytes() == data
    assert {capture.place.path for capture in zip_captures} == {str(unpacked)}
    before = unpacked.stat().st_mtime_ns
    assert read_captures(path_source)[0] == zip_captures
    assert unpacked.stat().st_mtime_ns == before


def test_captures_of_two_warcs_in_one_zip_have_different_ids(tmp_path: Path, home: Path) -> None:
    data = join_records(RECORDS)
    members = [("a.warc", data, DEFLATED), ("b.warc", data, DEFLATED), ("c.warc", data, STORED)]
    zip_captures, tally = read_captures(create_source(home, write_zip(tmp_path / "c.zip", members)))
    assert len(zip_captures) == 6
    assert len({capture.id for capture in zip_captures}) == 6
    assert tally == {"not-a-capture": 3}


def test_reading_resumes_at_every_member(tmp_path: Path, home: Path) -> None:
    data = join_records(RECORDS)
    members = [
        ("a.warc", data, DEFLATED),
        ("p.pdf", text_pdf(), DEFLATED),
        ("c.warc", data, STORED),
    ]
    check_resuming(create_source(home, write_zip(tmp_path / "c.zip", members)))


@pytest.mark.parametrize("method", [DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, STORED])
@pytest.mark.parametrize("bad", ["first.warc", "second.warc"])
@pytest.mark.parametrize("offset", [0, 30, 90])
def test_a_damaged_member_does_not_affect_the_others(
    tmp_path: Path, home: Path, method: int, bad: str, offset: int
) -> None:
    data = join_records([warc_record(bytes(range(256)) * 8)] * 3)
    path = write_zip(
        tmp_path / "c.zip",
        [
            ("first.warc", data, method),
            ("second.warc", data, method),
            ("p.pdf", text_pdf(), STORED),
        ],
    )
    damage_member(path, bad, offset)
    zip_captures, _ = read_captures(create_source(home, path))
    assert len({capture.id for capture in zip_captures}) == len(zip_captures)
    assert [capture.place.member for capture in zip_captures][-1] == "p.pdf"
    good = [capture for capture in zip_captures if capture.damage is None]
    assert len(good) >= 4


def test_a_member_that_unpacks_to_far_more_is_refused(tmp_path: Path, home: Path) -> None:
    bomb = join_records([warc_record(b"\0" * 4_000_000)])
    path = write_zip(
        tmp_path / "c.zip", [("bomb.warc", bomb, DEFLATED), ("p.pdf", text_pdf(), STORED)]
    )
    path_source = create_source(home, path)
    zip_captures, _ = read_captures(path_source)
    assert [capture.damage_reason for capture in zip_captures] == [Reason.BOMB, None]
    assert not path_source.inbox.exists()


def test_too_many_members_are_refused_as_one_capture(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zips, "MEMBERS_MAX", 3)
    members = [(f"{n}.html", PAGE, STORED) for n in range(4)]
    ((capture,), _) = read_captures(create_source(home, write_zip(tmp_path / "c.zip", members)))
    assert (capture.damage_reason, capture.damage) == (Reason.BOMB, "more than 3 members")


def test_an_encrypted_member_is_reported_and_the_others_are_read(
    tmp_path: Path, home: Path
) -> None:
    path = write_zip(
        tmp_path / "c.zip", [("a.pdf", text_pdf(), STORED), ("b.pdf", text_pdf(), STORED)]
    )
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    zip_captures, _ = read_captures(create_source(home, path))
    assert [capture.damage_reason for capture in zip_captures] == [Reason.UNREADABLE_SOURCE, None]


def test_a_member_hidden_by_another_of_the_same_name_is_reported(
    tmp_path: Path, home: Path
) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = write_zip(tmp_path / "c.zip", [("a.pdf", b"one", STORED), ("a.pdf", b"two", STORED)])
    zip_captures, _ = read_captures(create_source(home, path))
    assert [capture.damage_reason for capture in zip_captures] == [Reason.UNREADABLE_SOURCE, None]


@pytest.mark.parametrize("keep", [0.3, 0.9, 0.99])
def test_a_truncated_zip_is_one_damaged_capture(tmp_path: Path, home: Path, keep: float) -> None:
    path = write_zip(tmp_path / "c.zip", [("a.pdf", text_pdf(), STORED)])
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    zip_captures, _ = read_captures(create_source(home, path))
    assert [capture.damage_reason for capture in zip_captures] == [Reason.DAMAGED_RECORD]


def test_damage_of_a_member_and_of_the_zip_are_two_captures(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_zip(
        tmp_path / "c.zip", [("a.warc", join_records(RECORDS), DEFLATED), ("b", PAGE, STORED)]
    )
    damage_member(path, "a.warc", 0)

    def raise_torn(*arguments: object) -> None:
        raise ValueError("torn")

    monkeypatch.setattr(zips._OpenZip, "build_loose", raise_torn)
    zip_captures, _ = read_captures(create_source(home, path))
    assert len({capture.id for capture in zip_captures}) == len(zip_captures) == 2


def test_a_full_disk_while_unpacking_raises_and_is_not_damage(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fonds.ingest.sources.zips.shutil.copyfileobj", raise_full)
    path_source = create_source(
        home, write_zip(tmp_path / "c.zip", [("w.warc", join_records(RECORDS), DEFLATED)])
    )
    with pytest.raises(StorageFullError, match=r"no disk space or quota left for .*inbox"):
        read_captures(path_source)
    assert list(path_source.inbox.iterdir()) == []
