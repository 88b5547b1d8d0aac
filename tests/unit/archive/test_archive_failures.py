"""Disks that fill up and folders that cannot be written while an archive is used."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from fonds.archive.store import volume
from fonds.archive.store.folder import FolderArchive
from fonds.archive.store.options import ArchiveOptions
from fonds.model.archive import ArchiveEntry
from fonds.model.errors import (
    ConfigurationError,
    StorageFullError,
    StoreUnavailableError,
)

AT = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)


def make_entry(number: int, size_bytes: int = 1000) -> ArchiveEntry:
    # Random bytes do not compress, so the written size equals the given size.
    return ArchiveEntry(
        str(number), f"http://example.org/{number}", AT, "text/html", os.urandom(size_bytes)
    )


class Disk:
    """Accepts `room_bytes` more bytes, the last write in part, and then is full."""

    def __init__(self) -> None:
        self.room_bytes = 10**9
        self.error = errno.ENOSPC
        self._write = os.write

    def write(self, descriptor: int, data: bytes) -> int:
        if self.room_bytes <= 0:
            raise OSError(self.error, os.strerror(self.error))
        n_written = self._write(descriptor, bytes(data[: self.room_bytes]))
        self.room_bytes -= n_written
        return n_written


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    new_disk = Disk()
    monkeypatch.setattr(volume.os, "write", new_disk.write)
    return new_disk


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[FolderArchive]:
    new_archive = FolderArchive(
        tmp_path / "archive", ArchiveOptions(stories_max=4, clock=lambda: AT)
    )
    yield new_archive
    new_archive.finish()


def list_files(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "archive").iterdir())


def test_a_full_disk_leaves_the_warc_unchanged(
    archive: FolderArchive, disk: Disk, tmp_path: Path
) -> None:
    (first,) = archive.write([make_entry(1)])
    path = tmp_path / "archive" / first.place.path
    before = path.read_bytes()
    disk.room_bytes = 1500
    with pytest.raises(StorageFullError, match="is full"):
        archive.write([make_entry(2), make_entry(3)])
    assert path.read_bytes() == before
    disk.room_bytes = 10**9
    (fourth,) = archive.write([make_entry(4)])
    assert fourth.place.offset == len(before)
    assert len(archive.read(fourth.place).body) == 1000


@pytest.mark.parametrize("room_bytes", [0, 10, 1500, 400_000])
def test_a_disk_that_is_full_from_the_start_leaves_no_file(
    room_bytes: int, archive: FolderArchive, disk: Disk, tmp_path: Path
) -> None:
    disk.room_bytes = room_bytes
    with pytest.raises(StorageFullError):
        archive.write([make_entry(1), make_entry(2, 600_000)])
    assert list_files(tmp_path) == []
    disk.room_bytes = 10**9
    assert len(archive.write([make_entry(1)])) == 1


def test_a_batch_over_several_files_fails_completely(
    archive: FolderArchive, disk: Disk, tmp_path: Path
) -> None:
    (first,) = archive.write([make_entry(1)])
    path = tmp_path / "archive" / first.place.path
    before = path.read_bytes()
    disk.room_bytes = 8000
    with pytest.raises(StorageFullError):
        archive.write([make_entry(n) for n in range(2, 14)])
    assert path.read_bytes() == before
    assert list_files(tmp_path) == [path.name, path.name + ".open"]


def test_an_index_without_space_loses_no_bodies(
    archive: FolderArchive, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def raise_full(path: Path, lines: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patched:
        patched.setattr(volume, "write_index", raise_full)
        archived = archive.write([make_entry(n) for n in range(6)])
        with pytest.raises(StorageFullError):
            archive.write([make_entry(7)])
    assert len(archived) == 6
    archive.write([make_entry(8)])
    assert sum(name.endswith(".cdxj") for name in list_files(tmp_path)) == 1


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.EDQUOT, StorageFullError),
        (errno.EROFS, ConfigurationError),
        (errno.EACCES, ConfigurationError),
        (errno.EIO, StoreUnavailableError),
    ],
)
def test_file_system_errors_have_their_own_classes(
    number: int, kind: type[Exception], archive: FolderArchive, disk: Disk
) -> None:
    disk.room_bytes, disk.error = 0, number
    with pytest.raises(kind):
        archive.write([make_entry(1)])


def test_a_file_in_place_of_the_folder_raises_a_configuration_error(tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(b"")
    with pytest.raises(ConfigurationError):
        FolderArchive(tmp_path / "archive").write([make_entry(1)])


def test_warc_names_contain_prefix_time_serial_host_and_a_random_part(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Files are identified by name only, so names differ even if everything else is equal."""
    monkeypatch.setattr(volume.socket, "gethostname", lambda: "my host/é")
    random_parts = set()
    for serial in range(2):
        monkeypatch.setattr(volume, "_serials", count(serial))
        archive = FolderArchive(tmp_path / "archive", ArchiveOptions(prefix="mc", clock=lambda: AT))
        (archived,) = archive.write([make_entry(1)])
        archive.finish()
        name = rf"mc-20240305060708-{serial:05d}-my-host--([0-9a-f]{{8}})\.warc\.gz"
        matched = re.fullmatch(name, archived.place.path)
        assert matched
        assert volume.is_written_here(archived.place.path)
        random_parts.add(matched[1])
    assert len(random_parts) == 2
    assert not volume.is_written_here("mc-20240305060708-00000-other-host--12345678.warc.gz")


def test_a_moved_folder_keeps_its_places(tmp_path: Path) -> None:
    archive = FolderArchive(tmp_path / "old")
    source_entry = make_entry(1)
    (archived,) = archive.write([source_entry])
    archive.finish()
    (tmp_path / "old").rename(tmp_path / "new")
    assert FolderArchive(tmp_path / "new").read(archived.place).body == source_entry.body


def test_a_failed_batch_is_undone_for_every_prefix(
    archive: FolderArchive, disk: Disk, tmp_path: Path
) -> None:
    first, second = (
        replace(make_entry(n), prefix=prefix) for n, prefix in ((1, "mc"), (2, "mccsv"))
    )
    archive.write([first])
    (path,) = (tmp_path / "archive").glob("mc-*.warc.gz")
    before = path.read_bytes()
    disk.room_bytes = 2500
    with pytest.raises(StorageFullError):
        archive.write([replace(first, capture_id="3"), second, replace(second, capture_id="4")])
    assert path.read_bytes() == before
    assert not list((tmp_path / "archive").glob("mccsv-*"))
    disk.room_bytes = 10**9
    (last,) = archive.write([replace(first, capture_id="5")])
    assert (last.place.path, last.place.offset) == (path.name, len(before))
