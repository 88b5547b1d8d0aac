"""ZIPs: loose members, WARCs inside, and every way a member can be bad without spoiling the others."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import pytest

from fixtures.pdfs import text_pdf
from fixtures.warcs import PAGE, URL, gzipped, http_response, plain, warc_record, warcinfo
from fonds.archive.warc.scanner import RecordHead, read_heads
from fonds.ingest.sources import zips
from fonds.model.capture import PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import StorageFullError

from .conftest import captures, only_input, resumed_everywhere, source

RECORDS = [warcinfo(), http_response(), http_response(b"two")]
STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED


def _zip(path: Path, members: list[tuple[str, bytes, int]]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data, method in members:
            archive.writestr(zipfile.ZipInfo(name, (2024, 3, 5, 6, 7, 8)), data, method)
    return path


def _spoil(path: Path, name: str, at: int = 30) -> None:
    """Turn a byte of a member's data over, `at` bytes behind its local header."""
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo(name).header_offset
    data = bytearray(path.read_bytes())
    name_bytes, extra_bytes = struct.unpack_from("<HH", data, start + 26)
    data[start + 30 + name_bytes + extra_bytes + at] ^= 0xFF
    path.write_bytes(data)


def test_loose_members_are_captures(tmp_path: Path, home: Path) -> None:
    path = _zip(
        tmp_path / "b.zip",
        [("a/", b"", STORED), ("a/paper.pdf", text_pdf(), DEFLATED), ("page å.html", PAGE, STORED)],
    )
    one = source(home, path)
    assert only_input(one).kind == "zip"
    found, _ = captures(one)
    assert [(c.place.kind, c.place.member) for c in found] == [
        (PlaceKind.ZIP, "a/paper.pdf"),
        (PlaceKind.ZIP, "page å.html"),
    ]
    assert [c.datetime14 for c in found] == ["20240305060708"] * 2
    assert found[1].url == f"{path.as_uri()}#page%20%C3%A5.html"


@pytest.mark.parametrize("pack", [plain, gzipped])
def test_a_stored_warc_is_read_where_it_lies(tmp_path: Path, home: Path, pack: object) -> None:
    data = pack(RECORDS)  # type: ignore[operator]
    path = _zip(tmp_path / "c.wacz", [("first.pdf", text_pdf(), STORED), ("w.warc", data, STORED)])
    found, tally = captures(source(home, path))
    records = [capture for capture in found if capture.place.kind is PlaceKind.WARC]
    assert [(c.place.path, c.url) for c in records] == [(str(path), URL)] * 2
    assert tally == {"not-a-capture": 1}
    with path.open("rb") as stream:
        for capture in records:
            head = next(iter(read_heads(stream, capture.place.offset)))
            assert isinstance(head, RecordHead)
            assert (head.offset, head.url) == (capture.place.offset, URL)
            stream.seek(0)


def test_a_deflated_warc_is_unpacked_once_and_kept(tmp_path: Path, home: Path) -> None:
    data = plain(RECORDS)
    path = _zip(tmp_path / "c.zip", [("w.warc", data, DEFLATED)])
    one = source(home, path)
    found, _ = captures(one)
    (kept,) = one.inbox.iterdir()
    assert kept.read_bytes() == data
    assert {capture.place.path for capture in found} == {str(kept)}
    before = kept.stat().st_mtime_ns
    assert captures(one)[0] == found
    assert kept.stat().st_mtime_ns == before


def test_two_warcs_of_one_zip_have_ids_of_their_own(tmp_path: Path, home: Path) -> None:
    data = plain(RECORDS)
    members = [("a.warc", data, DEFLATED), ("b.warc", data, DEFLATED), ("c.warc", data, STORED)]
    found, tally = captures(source(home, _zip(tmp_path / "c.zip", members)))
    assert len(found) == 6
    assert len({capture.id for capture in found}) == 6
    assert tally == {"not-a-capture": 3}


def test_reading_goes_on_from_every_member(tmp_path: Path, home: Path) -> None:
    data = plain(RECORDS)
    members = [
        ("a.warc", data, DEFLATED),
        ("p.pdf", text_pdf(), DEFLATED),
        ("c.warc", data, STORED),
    ]
    resumed_everywhere(source(home, _zip(tmp_path / "c.zip", members)))


@pytest.mark.parametrize("method", [DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, STORED])
@pytest.mark.parametrize("bad", ["first.warc", "second.warc"])
@pytest.mark.parametrize("at", [0, 30, 90])
def test_a_damaged_member_spoils_no_other(
    tmp_path: Path, home: Path, method: int, bad: str, at: int
) -> None:
    data = plain([warc_record(bytes(range(256)) * 8)] * 3)
    path = _zip(
        tmp_path / "c.zip",
        [
            ("first.warc", data, method),
            ("second.warc", data, method),
            ("p.pdf", text_pdf(), STORED),
        ],
    )
    _spoil(path, bad, at)
    found, _ = captures(source(home, path))
    assert len({capture.id for capture in found}) == len(found)
    assert [capture.place.member for capture in found][-1] == "p.pdf"
    good = [capture for capture in found if capture.damage is None]
    assert len(good) >= 4


def test_a_member_that_would_unpack_to_far_more_is_refused(tmp_path: Path, home: Path) -> None:
    bomb = plain([warc_record(b"\0" * 4_000_000)])
    path = _zip(tmp_path / "c.zip", [("bomb.warc", bomb, DEFLATED), ("p.pdf", text_pdf(), STORED)])
    one = source(home, path)
    found, _ = captures(one)
    assert [capture.damage_reason for capture in found] == [Reason.BOMB, None]
    assert not one.inbox.exists()


def test_too_many_members_are_refused_in_one_line(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zips, "MEMBERS_MAX", 3)
    members = [(f"{n}.html", PAGE, STORED) for n in range(4)]
    ((capture,), _) = captures(source(home, _zip(tmp_path / "c.zip", members)))
    assert (capture.damage_reason, capture.damage) == (Reason.BOMB, "more than 3 members")


def test_an_encrypted_member_is_told_and_the_others_are_read(tmp_path: Path, home: Path) -> None:
    path = _zip(tmp_path / "c.zip", [("a.pdf", text_pdf(), STORED), ("b.pdf", text_pdf(), STORED)])
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    found, _ = captures(source(home, path))
    assert [capture.damage_reason for capture in found] == [Reason.UNREADABLE_SOURCE, None]


def test_a_member_hidden_by_another_of_its_name_is_told(tmp_path: Path, home: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = _zip(tmp_path / "c.zip", [("a.pdf", b"one", STORED), ("a.pdf", b"two", STORED)])
    found, _ = captures(source(home, path))
    assert [capture.damage_reason for capture in found] == [Reason.UNREADABLE_SOURCE, None]


@pytest.mark.parametrize("keep", [0.3, 0.9, 0.99])
def test_a_zip_cut_short_is_one_damage(tmp_path: Path, home: Path, keep: float) -> None:
    path = _zip(tmp_path / "c.zip", [("a.pdf", text_pdf(), STORED)])
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    found, _ = captures(source(home, path))
    assert [capture.damage_reason for capture in found] == [Reason.DAMAGED_RECORD]


def test_damage_of_a_member_and_of_the_zip_are_two_captures(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _zip(tmp_path / "c.zip", [("a.warc", plain(RECORDS), DEFLATED), ("b", PAGE, STORED)])
    _spoil(path, "a.warc", 0)

    def torn(*arguments: object) -> None:
        raise ValueError("torn")

    monkeypatch.setattr(zips._OpenZip, "build_loose", torn)
    found, _ = captures(source(home, path))
    assert len({capture.id for capture in found}) == len(found) == 2


def test_a_full_disk_while_unpacking_is_no_damage_of_the_zip(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fonds.ingest.sources.zips.shutil.copyfileobj", full)
    one = source(home, _zip(tmp_path / "c.zip", [("w.warc", plain(RECORDS), DEFLATED)]))
    with pytest.raises(StorageFullError, match=r"no disk space or quota left for .*inbox"):
        captures(one)
    assert list(one.inbox.iterdir()) == []
