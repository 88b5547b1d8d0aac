"""Finished files moved into a bucket by two processes, and killed at every moment."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.archives import build_entry
from fixtures.buckets import FolderBucket
from fonds.archive.store.mover import WarcUploader
from fonds.model.archive import ArchivedRecord
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


def test_parallel_uploaders_move_a_folder_without_damage(
    tmp_path: Path, bucket: FolderBucket
) -> None:
    bucket.is_unavailable = True
    archive = open_archive(tmp_path, bucket)
    archive.write([build_entry(number) for number in range(COUNT)])
    archive.finish()
    bucket.is_unavailable = False
    movers = [WarcUploader(tmp_path / "archive", bucket) for _ in range(4)]
    threads = [threading.Thread(target=mover.move_all) for mover in movers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    movers[0].move_all()
    assert list_local_files(tmp_path) == []
    assert count_responses(bucket.folder) == Counter({build_entry(n).url: 1 for n in range(COUNT)})


def test_files_of_a_warc_that_is_being_moved_are_left_alone(
    tmp_path: Path, bucket: FolderBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.is_unavailable = True
    archive = open_archive(tmp_path, bucket)
    archive.write([build_entry()])
    archive.finish()
    bucket.is_unavailable = False
    removed: list[tuple[str, list[str]]] = []
    unlink = Path.unlink

    def move_between(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        n_before = len(bucket.acts)
        WarcUploader(tmp_path / "archive", bucket).move_all()
        removed.append((path.suffix, bucket.acts[n_before:]))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", move_between)
        WarcUploader(tmp_path / "archive", bucket).move_all()
    assert removed == [(".gz", []), (".cdxj", [])]
    assert list_local_files(tmp_path) == []


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, 8))
@pytest.mark.parametrize("act", ["get_size", "compute_sha256", "upload", "unlink"])
def test_a_mover_killed_between_any_two_operations_loses_and_repeats_nothing(
    tmp_path: Path, bucket: FolderBucket, act: str, nth: int, moment: str
) -> None:
    """Each file is checked, sent, checked and read back, then removed; twelve entries make three
    files."""
    archived = _write_and_kill(tmp_path, bucket, act, nth, moment)
    sizes_bytes = {record.place.path: 0 for record in archived}
    for record in archived:
        sizes_bytes[record.place.path] = max(
            sizes_bytes[record.place.path], record.place.offset + (record.place.size_bytes or 0)
        )
    archive = open_archive(tmp_path, bucket)
    for number, record in enumerate(archived):
        assert archive.read(record.place).body == build_entry(number).body
    archive.recover(sizes_bytes.get)
    archive.finish()
    assert list_local_files(tmp_path) == []
    assert len(list_bucket_files(bucket)) == 6
    assert count_responses(bucket.folder) == Counter({build_entry(n).url: 1 for n in range(COUNT)})
    for number, record in enumerate(archived):
        assert archive.read(record.place).body == build_entry(number).body
    archive.close()


def _write_and_kill(
    home: Path, bucket: FolderBucket, act: str, nth: int, moment: str
) -> list[ArchivedRecord]:
    """Return what a process wrote that died before or after its `nth` call of `act`."""
    forked = multiprocessing.get_context("fork")
    receiver, sender = forked.Pipe(duplex=False)

    def write_and_move() -> None:
        calls = 0

        def make_dying(function: Callable[..., object]) -> Callable[..., object]:
            def call(*args: object, **kwargs: object) -> object:
                nonlocal calls
                calls += 1
                if calls == nth and moment == "before":
                    os._exit(9)
                value = function(*args, **kwargs)
                if calls == nth:
                    os._exit(9)
                return value

            return call

        archive = open_archive(home, bucket)
        sender.send(archive.write([build_entry(number) for number in range(COUNT)]))
        if act == "unlink":
            Path.unlink = make_dying(Path.unlink)  # type: ignore[assignment,method-assign]
        else:
            setattr(bucket, act, make_dying(getattr(bucket, act)))
        archive._mover.wake = lambda: None  # type: ignore[method-assign]
        archive._local_archive._finished = lambda: None
        archive.finish()
        os._exit(0)

    process = forked.Process(target=write_and_move)
    process.start()
    archived: list[ArchivedRecord] = receiver.recv()
    process.join()
    receiver.close()
    sender.close()
    assert process.exitcode == 9 if nth <= 6 else process.exitcode in (0, 9)
    return archived
