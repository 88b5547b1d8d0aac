"""The archive in a bucket: when files are moved, where they are read, and every moment of a
kill."""

from __future__ import annotations

import os
import threading
from collections import Counter
from pathlib import Path

import pytest

from fixtures.archives import build_entry
from fixtures.buckets import FolderBucket
from fonds.archive.store import mover as moving
from fonds.archive.store import volume
from fonds.archive.store.mover import WarcUploader, build_key
from fonds.archive.store.options import ArchiveOptions
from fonds.model.capture import Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import (
    PermanentError,
    StoreUnavailableError,
    TransientError,
)
from unit.archive.archive_in_bucket import (
    count_responses,
    list_bucket_files,
    list_local_files,
    open_archive,
)

COUNT = 12
"""Number of entries in a test, five per file."""


@pytest.fixture
def bucket(tmp_path: Path) -> FolderBucket:
    return FolderBucket(tmp_path / "bucket")


def test_finished_files_are_moved_to_the_folder_of_their_day_and_read_there(
    tmp_path: Path, bucket: FolderBucket
) -> None:
    archive = open_archive(tmp_path, bucket)
    archived = archive.write([build_entry(number) for number in range(COUNT)])
    archive.finish()
    assert list_local_files(tmp_path) == []
    names = sorted(path.relative_to(bucket.folder).as_posix() for path in list_bucket_files(bucket))
    assert len(names) == 6
    warcs = {record.place.path for record in archived}
    assert {name.rpartition("/")[2] for name in names if name.endswith(".warc.gz")} == warcs
    for name in names:
        year, month, day, file = name.split("/")
        assert f"-{year}{month}{day}" in file
    for number, record in enumerate(archived):
        assert archive.read(record.place).body == build_entry(number).body


@pytest.mark.parametrize("size_bytes", [10, 70_000, 300_000])
def test_a_record_takes_one_request(size_bytes: int, tmp_path: Path, bucket: FolderBucket) -> None:
    bodies = [os.urandom(size_bytes) for _ in range(5)]
    archive = open_archive(tmp_path, bucket)
    archived = archive.write([build_entry(n, body=body) for n, body in enumerate(bodies)])
    archive.finish()
    bucket.acts.clear()
    assert [archive.read(record.place).body for record in archived] == bodies
    assert bucket.acts == ["fetch"] * 5


def test_a_file_that_is_being_written_is_read_locally(tmp_path: Path, bucket: FolderBucket) -> None:
    archive = open_archive(tmp_path, bucket)
    (archived,) = archive.write([build_entry()])
    bucket.acts.clear()
    assert archive.read(archived.place).body == build_entry().body
    assert bucket.acts == []


def test_a_full_file_is_moved_while_the_next_is_written(
    tmp_path: Path, bucket: FolderBucket
) -> None:
    is_moved = threading.Event()
    bucket.after = lambda act, key: is_moved.set() if key.endswith(".warc.gz") else None
    archive = open_archive(tmp_path, bucket)
    archive.write([build_entry(number) for number in range(6)])
    archive.write([build_entry(7)])
    assert is_moved.wait(60)
    archive.close()


@pytest.mark.parametrize("name", ["upload", "compute_sha256", "get_size"])
def test_files_wait_locally_while_the_bucket_is_unavailable(
    name: str, tmp_path: Path, bucket: FolderBucket
) -> None:
    def fail(act: str, key: str) -> None:
        if act == name:
            raise StoreUnavailableError("the connection broke")

    bucket.before = fail
    archive = open_archive(tmp_path, bucket)
    archived = archive.write([build_entry(number) for number in range(COUNT)])
    archive.finish()
    assert len(list_local_files(tmp_path)) == 6
    assert archive.list_unsent()
    assert archive.read(archived[0].place).body == build_entry(0).body
    bucket.before = lambda act, key: None
    reopened = open_archive(tmp_path, bucket)
    reopened.recover(lambda _: None)
    reopened.finish()
    assert list_local_files(tmp_path) == []
    assert reopened.list_unsent() == {}
    assert count_responses(bucket.folder) == Counter({build_entry(n).url: 1 for n in range(COUNT)})


def test_the_uploader_retries_until_the_bucket_is_available(
    tmp_path: Path, bucket: FolderBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "PAUSE_FIRST_S", 0.001)
    has_failed, is_moved = threading.Event(), threading.Event()
    bucket.is_unavailable = True
    archive = open_archive(tmp_path, bucket)
    archive.write([build_entry(number) for number in range(6)])

    def note_upload(act: str, key: str) -> None:
        if key.endswith(".warc.gz"):
            is_moved.set()

    bucket.after = note_upload
    mover = WarcUploader(tmp_path / "archive", bucket)
    archive.finish()
    mover.wake()
    for _ in range(60_000):
        if mover.trouble is not None:
            has_failed.set()
            break
        is_moved.wait(0.001)
    assert has_failed.is_set()
    bucket.is_unavailable = False
    assert is_moved.wait(60)
    mover.close()
    archive.close()


def test_an_archive_refuses_to_write_beyond_the_local_limit(
    tmp_path: Path, bucket: FolderBucket
) -> None:
    bucket.is_unavailable = True
    archive = open_archive(tmp_path, bucket, waiting_max_bytes=1500)
    archive.write([build_entry(number) for number in range(5)])
    archive.write([build_entry(5)])
    archive.finish()
    assert sum(archive.list_unsent().values()) > 1500
    with pytest.raises(StoreUnavailableError, match="are waiting to be moved"):
        archive.write([build_entry(6)])
    bucket.is_unavailable = False
    archive.finish()
    assert len(archive.write([build_entry(6)])) == 1
    archive.finish()


def test_a_file_that_differs_in_the_bucket_is_kept_and_sent_again(
    tmp_path: Path, bucket: FolderBucket
) -> None:
    def spoil(act: str, key: str) -> None:
        path = bucket.folder / key
        path.write_bytes(path.read_bytes()[:-1] + b"?")

    bucket.after = spoil
    archive = open_archive(tmp_path, bucket)
    (archived,) = archive.write([build_entry()])
    archive.finish()
    assert archived.place.path in list_local_files(tmp_path)
    bucket.after = lambda act, key: None
    archive.finish()
    assert list_local_files(tmp_path) == []
    assert archive.read(archived.place).body == build_entry().body


def test_a_missing_file_is_a_permanent_error_unless_another_machine_wrote_it(
    tmp_path: Path, bucket: FolderBucket
) -> None:
    archive = open_archive(tmp_path, bucket)
    our_name = f"fonds-20240305060708-00000-{volume.get_host_name()}-12345678.warc.gz"
    with pytest.raises(PermanentError) as raised:
        archive.read(Place(PlaceKind.WARC, our_name, 5, 5))
    assert raised.value.reason is Reason.MISSING_SOURCE
    other_name = "fonds-20240305060708-00000-another-12345678.warc.gz"
    with pytest.raises(TransientError, match="Another machine"):
        archive.read(Place(PlaceKind.WARC, other_name, 5, 5))
    bucket.is_unavailable = True
    with pytest.raises(StoreUnavailableError):
        archive.read(Place(PlaceKind.WARC, our_name, 5, 5))


def test_files_of_a_folder_archive_are_moved_to_the_bucket(
    tmp_path: Path, bucket: FolderBucket
) -> None:
    """Changing the setting from `file:archive` to `s3://…` keeps every key."""
    from fonds.archive.store.folder import FolderArchive

    old_archive = FolderArchive(tmp_path / "archive", ArchiveOptions(stories_max=5))
    archived = old_archive.write([build_entry(number) for number in range(COUNT)])
    old_archive.finish()
    archive = open_archive(tmp_path, bucket)
    archive.recover(lambda _: None)
    archive.finish()
    assert list_local_files(tmp_path) == []
    assert [archive.read(record.place).body for record in archived] == [
        build_entry(number).body for number in range(COUNT)
    ]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        (
            "fonds-20240305060708-00000-h-1.warc.gz",
            "2024/03/05/fonds-20240305060708-00000-h-1.warc.gz",
        ),
        ("a-20240305060708-00001-h.cdxj", "2024/03/05/a-20240305060708-00001-h.cdxj"),
        ("somebody.warc.gz", "somebody.warc.gz"),
    ],
)
def test_the_key_depends_only_on_the_name(name: str, key: str) -> None:
    assert build_key(name) == key


@pytest.mark.parametrize("is_moved_at_once", [False, True])
def test_a_moved_file_is_inspected_with_its_index_and_repaired(
    tmp_path: Path, bucket: FolderBucket, monkeypatch: pytest.MonkeyPatch, is_moved_at_once: bool
) -> None:
    archive = open_archive(tmp_path, bucket)
    if is_moved_at_once:  # The repaired file may be moved again at any moment.
        monkeypatch.setattr(WarcUploader, "wake", WarcUploader.move_all)
    places = [archived.place for archived in archive.write([build_entry(n) for n in range(3)])]
    archive.finish()
    assert list_local_files(tmp_path) == []
    name = places[0].path
    inventory = archive.inspect(name)
    assert inventory is not None
    assert inventory.records is not None
    assert [record.offset for record in inventory.records] == [place.offset for place in places]
    index = bucket.folder / build_key(name.replace(".warc.gz", ".cdxj"))
    index_bytes = index.read_bytes()
    index.write_bytes(index_bytes.splitlines(keepends=True)[0])
    incomplete = archive.inspect(name)
    assert incomplete is not None
    assert len(incomplete.records or ()) == 1
    assert archive.inspect(name, repair=True) == inventory
    archive.finish()
    assert list_local_files(tmp_path) == []
    assert index.read_bytes() == index_bytes
    assert archive.inspect("fonds-20260101000000-00000-none-00000000.warc.gz", repair=True) is None
    assert archive.read(places[1]).body == build_entry(1).body
    archive.close()


def test_names_include_the_bucket_and_the_local_folder(tmp_path: Path) -> None:
    bucket = FolderBucket(tmp_path / "bucket")
    archive = open_archive(tmp_path, bucket)
    (moved,) = archive.write([build_entry(1)])
    archive.finish()
    assert archive.list_unsent() == {}
    (local,) = archive.write([build_entry(2)])
    (bucket.folder / "stray.warc.gz").mkdir()
    (bucket.folder / "2026").mkdir(exist_ok=True)
    (bucket.folder / "2026" / moved.place.path).write_bytes(b"not in the folder of its day")
    assert list(archive.iter_names()) == [local.place.path, moved.place.path]
    with archive.open(moved.place.path) as stream:
        assert stream.read(3) == b"\x1f\x8b\x08"
