"""The folder of blobs beyond its port: files, syncing, links and errors."""

from __future__ import annotations

import errno
import mimetypes
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fonds.model.archive import Blob
from fonds.model.errors import (
    ConfigurationError,
    StorageFullError,
    StoreUnavailableError,
)
from fonds.model.keys import THUMBNAIL_FOLDER, build_text_blob_key, build_thumbnail_blob_key
from fonds.stores.blobs import FolderBlobs
from fonds.stores.split_blobs import SplitBlobs


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "new" / "blobs"


@pytest.fixture
def blobs(root: Path) -> FolderBlobs:
    return FolderBlobs(root)


def list_files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


def test_a_blob_is_a_plain_file_under_its_key(root: Path, blobs: FolderBlobs) -> None:
    blobs.put([Blob("text/ab/cd/abcd.txt", b"text", "text/plain")])
    assert list_files(root) == [root / "text/ab/cd/abcd.txt"]
    assert (root / "text/ab/cd/abcd.txt").read_bytes() == b"text"


@pytest.mark.parametrize(
    ("key", "content_type"),
    [
        (build_text_blob_key("a" * 40), "text/plain"),
        (build_thumbnail_blob_key("a" * 40), "image/jpeg"),
    ],
)
def test_the_content_type_follows_from_the_extension(key: str, content_type: str) -> None:
    assert mimetypes.guess_type(key)[0] == content_type


def test_put_syncs_contents_and_names(
    root: Path, blobs: FolderBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace

    def note_sync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        calls.append("contents" if path.parent.name == ".parts" else f"names in {path.name}")
        fsync(descriptor)

    def note_replace(part: Path, name: str, *, dst_dir_fd: int) -> None:
        calls.append(f"moved to {name}")
        replace(part, name, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_replace)
    blobs.put([Blob(f"a/{name}", b"data", "text/plain") for name in ("b", "c")])
    renames = ["moved to b", "moved to c"]
    assert calls == ["contents", "contents", f"names in {root.name}", *renames, "names in a"]


def test_old_parts_of_killed_processes_are_removed(root: Path, blobs: FolderBlobs) -> None:
    old_part, fresh_part = root / ".parts" / "old", root / ".parts" / "fresh"
    for part in (old_part, fresh_part):
        part.write_bytes(b"half a bl")
    os.utime(old_part, (0, 0))
    FolderBlobs(root)
    assert not old_part.exists()
    assert fresh_part.exists()


def test_a_failed_put_keeps_the_old_blob(
    root: Path, blobs: FolderBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs.put([Blob("a/b.txt", b"old", "text/plain")])

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoreUnavailableError, match=r"Cannot read or write .*b\.txt"):
        blobs.put([Blob("a/b.txt", b"new", "text/plain")])
    assert list_files(root) == [root / "a/b.txt"]
    assert blobs.get("a/b.txt") == b"old"


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (errno.ENOSPC, StorageFullError),
        (errno.EDQUOT, StorageFullError),
        (errno.EACCES, ConfigurationError),
        (errno.EROFS, ConfigurationError),
        (errno.EIO, StoreUnavailableError),
        (errno.EMFILE, StoreUnavailableError),
    ],
)
def test_system_errors_are_translated(
    blobs: FolderBlobs, monkeypatch: pytest.MonkeyPatch, number: int, error: type[Exception]
) -> None:
    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(error, match=r"x\.bin"):
        blobs.put([Blob("x.bin", b"", "application/octet-stream")])


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root privileges")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_keeps_the_old_blob_and_accepts_smaller_ones(small_disk: Path) -> None:
    blobs = FolderBlobs(small_disk)
    blobs.put([Blob("a", b"old", "text/plain")])
    with pytest.raises(StorageFullError, match="No space left"):
        blobs.put([Blob("a", bytes(2_000_000), "text/plain")])
    assert blobs.get("a") == b"old"
    assert list_files(small_disk) == [small_disk / "a"]
    blobs.put([Blob("a", b"new", "text/plain")])
    assert blobs.get("a") == b"new"


def test_a_blob_and_a_folder_cannot_have_the_same_name(
    blobs: FolderBlobs,
) -> None:
    blobs.put([Blob("a/b", b"", "text/plain")])
    with pytest.raises(ConfigurationError, match="name of a folder"):
        blobs.put([Blob("a", b"", "text/plain")])
    with pytest.raises(ConfigurationError, match="name of a folder"):
        blobs.put([Blob("a/b/c", b"", "text/plain")])


def test_a_root_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConfigurationError, match="Cannot use"):
        FolderBlobs(tmp_path / "file")


def test_links_are_not_blobs(root: Path, blobs: FolderBlobs) -> None:
    secret = root.parent / "secret"
    secret.write_bytes(b"not yours")
    blobs.put([Blob("thumbnail/aa/bb/x.jpg", b"mine", "image/jpeg")])
    (root / "thumbnail/aa/bb/x.jpg").unlink()
    (root / "thumbnail/aa/bb/x.jpg").symlink_to(secret)
    (root / "thumbnail/aa/bb/y.jpg").symlink_to(root / "thumbnail/aa/bb/y.jpg")
    os.mkfifo(root / "thumbnail/aa/bb/z.jpg")
    for name in "xyz":
        assert blobs.get(f"thumbnail/aa/bb/{name}.jpg") is None
        assert blobs.filter_existing([f"thumbnail/aa/bb/{name}.jpg"]) == set()
    blobs.put([Blob("thumbnail/aa/bb/x.jpg", b"again", "image/jpeg")])
    assert blobs.get("thumbnail/aa/bb/x.jpg") == b"again"
    assert secret.read_bytes() == b"not yours"


def test_linked_folders_are_not_entered(root: Path, blobs: FolderBlobs, tmp_path: Path) -> None:
    other_folder = tmp_path / "elsewhere"
    other_folder.mkdir()
    (other_folder / "x.txt").write_bytes(b"not yours")
    (root / "text").symlink_to(other_folder)
    assert blobs.get("text/x.txt") is None
    assert blobs.filter_existing(["text/x.txt"]) == set()
    blobs.delete(["text/x.txt"])
    with pytest.raises(ConfigurationError):
        blobs.put([Blob("text/new.txt", b"mine", "text/plain")])
    assert [path.name for path in other_folder.iterdir()] == ["x.txt"]


def test_the_root_may_be_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    root.parent.mkdir()
    root.symlink_to(tmp_path / "disk")
    FolderBlobs(root).put([Blob("a/b.txt", b"data", "text/plain")])
    assert (tmp_path / "disk/a/b.txt").read_bytes() == b"data"


def test_only_keys_in_the_folder_go_to_the_separate_store(tmp_path: Path) -> None:
    """A public bucket stores thumbnails and no blob whose key only begins like theirs."""
    main, separate = FolderBlobs(tmp_path / "main"), FolderBlobs(tmp_path / "public")
    keys = {"thumbnail/pdf/11/a.jpg": separate, "thumbnail/pdf-text/a.txt": main, "a.txt": main}
    split_blobs = SplitBlobs(main, separate, THUMBNAIL_FOLDER)
    split_blobs.put([Blob(key, key.encode(), "text/plain") for key in keys])
    for key, store in keys.items():
        assert [folder.get(key) is not None for folder in (main, separate)] == [
            folder is store for folder in (main, separate)
        ]
        assert split_blobs.get(key) == key.encode()
    assert split_blobs.get_sizes(list(keys)) == {key: len(key) for key in keys}
    split_blobs.delete(list(keys))
    assert split_blobs.filter_existing(list(keys)) == set()
