"""Every archive reads members of ZIP files, and refuses bad ones."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from pathlib import Path

import pytest

from fixtures import warcs
from fixtures.archives import BODY_MAX_BYTES, get_read_error
from fonds.model.capture import Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.ports import Archive


def make_zip(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return out.getvalue()


def read_member(archive: Archive, home: Path, data: bytes, name: str) -> bytes:
    (home / "a.zip").write_bytes(data)
    return archive.read(Place(PlaceKind.ZIP, str(home / "a.zip"), member=name)).body


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_of_zip_files_are_read(method: int, archive: Archive, tmp_path: Path) -> None:
    data = make_zip({"a/ü.pdf": b"%PDF" * 999, "empty": b""}, method)
    assert read_member(archive, tmp_path, data, "a/ü.pdf") == b"%PDF" * 999
    assert read_member(archive, tmp_path, data, "empty") == b""
    assert read_member(archive, tmp_path, b"a program first" + data, "empty") == b""


def test_a_changed_zip_file_is_read_again(archive: Archive, tmp_path: Path) -> None:
    assert read_member(archive, tmp_path, make_zip({"a": b"old"}), "a") == b"old"
    assert read_member(archive, tmp_path, make_zip({"b": b"", "a": b"new one"}), "a") == b"new one"


def make_encrypted_zip() -> bytes:
    """Return a ZIP whose only member is marked as encrypted in both headers."""
    data = bytearray(make_zip({"a": b"secret"}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def make_zip_with_wrong_size() -> bytes:
    """Return a ZIP whose member is much larger than its header states."""
    data = bytearray(make_zip({"a": bytes(100_000)}))
    start = data.index(b"PK\x01\x02") + 24
    data[start : start + 4] = struct.pack("<I", 50)
    return bytes(data)


BAD_ZIPS = {
    "no such member": (make_zip({"b": b""}), Reason.MISSING_SOURCE),
    "an encrypted member": (make_encrypted_zip(), Reason.UNREADABLE_SOURCE),
    "an unknown method": (make_zip({"a": b"x"}, zipfile.ZIP_LZMA), Reason.UNREADABLE_SOURCE),
    "a bomb": (make_zip({"a": bytes(BODY_MAX_BYTES - 1)}), None),
    "a large member": (make_zip({"a": os.urandom(BODY_MAX_BYTES + 1)}), Reason.TOO_LARGE),
    "a member larger than it says": (make_zip_with_wrong_size(), Reason.DAMAGED_RECORD),
    "a wrong checksum": (
        warcs.flip_byte(make_zip({"a": b"some data"}, zipfile.ZIP_STORED), 34),
        Reason.DAMAGED_RECORD,
    ),
    "a damaged stream": (
        warcs.flip_byte(make_zip({"a": b"some data" * 99}), 33),
        Reason.DAMAGED_RECORD,
    ),
    "a cut file": (make_zip({"a": b"some data" * 99})[:-20], Reason.DAMAGED_RECORD),
    "no ZIP at all": (b"not a ZIP" * 99, Reason.DAMAGED_RECORD),
    "nothing": (b"", Reason.DAMAGED_RECORD),
    "a directory of four gigabytes": (
        b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 9, 9, 0xFFFFFFF0, 0, 0),
        Reason.TOO_LARGE,
    ),
}


@pytest.mark.parametrize("name", BAD_ZIPS)
def test_a_bad_zip_is_refused(name: str, archive: Archive, tmp_path: Path) -> None:
    data, reason = BAD_ZIPS[name]
    (tmp_path / "a.zip").write_bytes(data)
    place = Place(PlaceKind.ZIP, str(tmp_path / "a.zip"), member="a")
    if reason is None:
        # Below 1 MiB, the compression ratio is not checked: a blank page is not a bomb.
        assert len(archive.read(place).body) == BODY_MAX_BYTES - 1
    else:
        assert get_read_error(archive, place).reason is reason
