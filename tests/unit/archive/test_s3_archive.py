"""The archive in a bucket: what is moved when, what is read from where, and every moment to be killed in."""

from __future__ import annotations

import os
import threading
from collections import Counter
from pathlib import Path

import pytest

from fixtures.archives import entry
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
from unit.archive.archive_in_bucket import here, kept, opened, records

COUNT = 12
"""Entries of a test, five in a file."""


@pytest.fixture
def bucket(tmp_path: Path) -> FolderBucket:
    return FolderBucket(tmp_path / "bucket")


def test_finished_files_go_where_their_day_says_and_are_read_there(
    tmp_path: Path, bucket: FolderBucket
) -> None:
    archive = opened(tmp_path, bucket)
    archived = archive.write([entry(number) for number in range(COUNT)])
    archive.finish()
    assert here(tmp_path) == []
    names = sorted(path.relative_to(bucket.folder).as_posix() for path in kept(bucket))
    assert len(names) == 6
    warcs = {one.place.path for one in archived}
    assert {name.rpartition("/")[2] for name in names if name.endswith(".warc.gz")} == warcs
    for name in names:
        year, month, day, file = name.split("/")
        assert f"-{year}{month}{day}" in file
    for number, one in enumerate(archived):
        assert archive.read(one.place).body == entry(number).body


@pytest.mark.parametrize("size_bytes", [10, 70_000, 300_000])
def test_a_record_is_one_request(size_bytes: int, tmp_path: Path, bucket: FolderBucket) -> None:
    bodies = [os.urandom(size_bytes) for _ in range(5)]
    archive = opened(tmp_path, bucket)
    archived = archive.write([entry(n, body=body) for n, body in enumerate(bodies)])
    archive.finish()
    bucket.acts.clear()
    assert [archive.read(one.place).body for one in archived] == bodies
    assert bucket.acts == ["fetch"] * 5


def test_what_is_being_written_is_read_here(tmp_path: Path, bucket: FolderBucket) -> None:
    archive = opened(tmp_path, bucket)
    (one,) = archive.write([entry()])
    bucket.acts.clear()
    assert archive.read(one.place).body == entry().body
    assert bucket.acts == []


def test_a_full_file_is_moved_while_the_next_is_written(
    tmp_path: Path, bucket: FolderBucket
) -> None:
    moved = threading.Event()
    bucket.after = lambda act, key: moved.set() if key.endswith(".warc.gz") else None
    archive = opened(tmp_path, bucket)
    archive.write([entry(number) for number in range(6)])
    archive.write([entry(7)])
    assert moved.wait(60)
    archive.close()


@pytest.mark.parametrize("name", ["upload", "compute_sha256", "get_size"])
def test_a_bucket_that_is_away_costs_nothing_and_is_waited_for(
    name: str, tmp_path: Path, bucket: FolderBucket
) -> None:
    def fail(act: str, key: str) -> None:
        if act == name:
            raise StoreUnavailableError("gone in the middle")

    bucket.before = fail
    archive = opened(tmp_path, bucket)
    archived = archive.write([entry(number) for number in range(COUNT)])
    archive.finish()
    assert len(here(tmp_path)) == 6
    assert archive.list_unsent()
    assert archive.read(archived[0].place).body == entry(0).body
    bucket.before = lambda act, key: None
    again = opened(tmp_path, bucket)
    again.recover(lambda _: None)
    again.finish()
    assert here(tmp_path) == []
    assert again.list_unsent() == {}
    assert records(bucket.folder) == Counter({entry(n).url: 1 for n in range(COUNT)})


def test_the_thread_tries_again_until_the_bucket_is_back(
    tmp_path: Path, bucket: FolderBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "PAUSE_FIRST_S", 0.001)
    tried, moved = threading.Event(), threading.Event()
    bucket.away = True
    archive = opened(tmp_path, bucket)
    archive.write([entry(number) for number in range(6)])

    def note(act: str, key: str) -> None:
        if key.endswith(".warc.gz"):
            moved.set()

    bucket.after = note
    mover = WarcUploader(tmp_path / "archive", bucket)
    archive.finish()
    mover.wake()
    for _ in range(60_000):
        if mover.trouble is not None:
            tried.set()
            break
        moved.wait(0.001)
    assert tried.is_set()
    bucket.away = False
    assert moved.wait(60)
    mover.close()
    archive.close()


def test_no_more_is_written_than_may_wait_here(tmp_path: Path, bucket: FolderBucket) -> None:
    bucket.away = True
    archive = opened(tmp_path, bucket, waiting_max_bytes=1500)
    archive.write([entry(number) for number in range(5)])
    archive.write([entry(5)])
    archive.finish()
    assert sum(archive.list_unsent().values()) > 1500
    with pytest.raises(StoreUnavailableError, match="are waiting to be moved"):
        archive.write([entry(6)])
    bucket.away = False
    archive.finish()
    assert len(archive.write([entry(6)])) == 1
    archive.finish()


def test_a_bucket_that_gives_other_bytes_than_were_sent_does_not_cost_the_file(
    tmp_path: Path, bucket: FolderBucket
) -> None:
    def spoil(act: str, key: str) -> None:
        path = bucket.folder / key
        path.write_bytes(path.read_bytes()[:-1] + b"?")

    bucket.after = spoil
    archive = opened(tmp_path, bucket)
    (one,) = archive.write([entry()])
    archive.finish()
    assert one.place.path in here(tmp_path)
    bucket.after = lambda act, key: None
    archive.finish()
    assert here(tmp_path) == []
    assert archive.read(one.place).body == entry().body


def test_a_file_that_is_nowhere_is_missing_or_somebody_elses_still(
    tmp_path: Path, bucket: FolderBucket
) -> None:
    archive = opened(tmp_path, bucket)
    ours = f"fonds-20240305060708-00000-{volume.get_host_name()}-12345678.warc.gz"
    with pytest.raises(PermanentError) as raised:
        archive.read(Place(PlaceKind.WARC, ours, 5, 5))
    assert raised.value.reason is Reason.MISSING_SOURCE
    theirs = "fonds-20240305060708-00000-another-12345678.warc.gz"
    with pytest.raises(TransientError, match="Another machine"):
        archive.read(Place(PlaceKind.WARC, theirs, 5, 5))
    bucket.away = True
    with pytest.raises(StoreUnavailableError):
        archive.read(Place(PlaceKind.WARC, ours, 5, 5))


def test_files_of_a_folder_archive_are_taken_along(tmp_path: Path, bucket: FolderBucket) -> None:
    """Who changes the setting from `file:archive` to `s3://…` keeps every key."""
    from fonds.archive.store.folder import FolderArchive

    before = FolderArchive(tmp_path / "archive", ArchiveOptions(stories_max=5))
    archived = before.write([entry(number) for number in range(COUNT)])
    before.finish()
    archive = opened(tmp_path, bucket)
    archive.recover(lambda _: None)
    archive.finish()
    assert here(tmp_path) == []
    assert [archive.read(one.place).body for one in archived] == [
        entry(number).body for number in range(COUNT)
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
def test_a_key_follows_from_the_name_alone(name: str, key: str) -> None:
    assert build_key(name) == key


@pytest.mark.parametrize("at_once", [False, True])
def test_what_was_moved_is_told_with_its_index_and_mended_by_coming_back(
    tmp_path: Path, bucket: FolderBucket, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    archive = opened(tmp_path, bucket)
    if at_once:  # However soon it is moved again.
        monkeypatch.setattr(WarcUploader, "wake", WarcUploader.move_all)
    places = [one.place for one in archive.write([entry(n) for n in range(3)])]
    archive.finish()
    assert here(tmp_path) == []
    name = places[0].path
    held = archive.inspect(name)
    assert held is not None
    assert held.records is not None
    assert [record.offset for record in held.records] == [place.offset for place in places]
    index = bucket.folder / build_key(name.replace(".warc.gz", ".cdxj"))
    whole = index.read_bytes()
    index.write_bytes(whole.splitlines(keepends=True)[0])
    lacking = archive.inspect(name)
    assert lacking is not None
    assert len(lacking.records or ()) == 1
    assert archive.inspect(name, repair=True) == held
    archive.finish()
    assert here(tmp_path) == []
    assert index.read_bytes() == whole
    assert archive.inspect("fonds-20260101000000-00000-none-00000000.warc.gz", repair=True) is None
    assert archive.read(places[1]).body == entry(1).body
    archive.close()


def test_names_are_those_of_the_bucket_and_of_this_machine(tmp_path: Path) -> None:
    bucket = FolderBucket(tmp_path / "bucket")
    archive = opened(tmp_path, bucket)
    (moved,) = archive.write([entry(1)])
    archive.finish()
    assert archive.list_unsent() == {}
    (here,) = archive.write([entry(2)])
    (bucket.folder / "stray.warc.gz").mkdir()
    (bucket.folder / "2026").mkdir(exist_ok=True)
    (bucket.folder / "2026" / moved.place.path).write_bytes(b"not where ours lie")
    assert list(archive.iter_names()) == [here.place.path, moved.place.path]
    with archive.open(moved.place.path) as stream:
        assert stream.read(3) == b"\x1f\x8b\x08"
