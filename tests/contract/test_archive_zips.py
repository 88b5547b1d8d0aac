"""Members of ZIP files, as every archive reads or refuses them."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from pathlib import Path

import pytest

from fixtures import warcs
from fixtures.archives import BODY_MAX_BYTES, refused
from fonds.model.capture import Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.ports import Archive


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
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
    data = zipped({"a/ü.pdf": b"%PDF" * 999, "empty": b""}, method)
    assert read_member(archive, tmp_path, data, "a/ü.pdf") == b"%PDF" * 999
    assert read_member(archive, tmp_path, data, "empty") == b""
    assert read_member(archive, tmp_path, b"a program first" + data, "empty") == b""


def test_a_changed_zip_file_is_read_anew(archive: Archive, tmp_path: Path) -> None:
    assert read_member(archive, tmp_path, zipped({"a": b"old"}), "a") == b"old"
    assert read_member(archive, tmp_path, zipped({"b": b"", "a": b"new one"}), "a") == b"new one"


def encrypted() -> bytes:
    """A ZIP whose only member is said to be encrypted, in both of its headers."""
    data = bytearray(zipped({"a": b"secret"}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def lying_about_its_size() -> bytes:
    """A member that unpacks to far more than its header says."""
    data = bytearray(zipped({"a": bytes(100_000)}))
    start = data.index(b"PK\x01\x02") + 24
    data[start : start + 4] = struct.pack("<I", 50)
    return bytes(data)


BAD_ZIPS = {
    "no such member": (zipped({"b": b""}), Reason.MISSING_SOURCE),
    "an encrypted member": (encrypted(), Reason.UNREADABLE_SOURCE),
    "an unknown method": (zipped({"a": b"x"}, zipfile.ZIP_LZMA), Reason.UNREADABLE_SOURCE),
    "a bomb": (zipped({"a": bytes(BODY_MAX_BYTES - 1)}), None),
    "a large member": (zipped({"a": os.urandom(BODY_MAX_BYTES + 1)}), Reason.TOO_LARGE),
    "a member larger than it says": (lying_about_its_size(), Reason.DAMAGED_RECORD),
    "a wrong checksum": (
        warcs.flipped(zipped({"a": b"some data"}, zipfile.ZIP_STORED), 34),
        Reason.DAMAGED_RECORD,
    ),
    "a damaged stream": (
        warcs.flipped(zipped({"a": b"some data" * 99}), 33),
        Reason.DAMAGED_RECORD,
    ),
    "a cut file": (zipped({"a": b"some data" * 99})[:-20], Reason.DAMAGED_RECORD),
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
        # Below a MiB no ratio counts: a page of blanks is no bomb.
        assert len(archive.read(place).body) == BODY_MAX_BYTES - 1
    else:
        assert refused(archive, place).reason is reason
