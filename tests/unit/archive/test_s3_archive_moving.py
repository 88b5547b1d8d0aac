"""Finished files moved into a bucket: two processes at it, and every moment to be killed in."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.archives import entry
from fixtures.buckets import FolderBucket
from fonds.archive.store.mover import WarcUploader
from fonds.model.archive import ArchivedRecord
from unit.archive.archive_in_bucket import here, kept, opened, records

COUNT = 12
"""Entries of a test, five in a file."""


@pytest.fixture
def bucket(tmp_path: Path) -> FolderBucket:
    return FolderBucket(tmp_path / "bucket")


def test_two_processes_move_one_folder_without_harm(tmp_path: Path, bucket: FolderBucket) -> None:
    bucket.away = True
    archive = opened(tmp_path, bucket)
    archive.write([entry(number) for number in range(COUNT)])
    archive.finish()
    bucket.away = False
    movers = [WarcUploader(tmp_path / "archive", bucket) for _ in range(4)]
    threads = [threading.Thread(target=mover.move_all) for mover in movers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    movers[0].move_all()
    assert here(tmp_path) == []
    assert records(bucket.folder) == Counter({entry(n).url: 1 for n in range(COUNT)})


def test_while_one_moves_a_warc_nobody_else_touches_what_is_left_of_it(
    tmp_path: Path, bucket: FolderBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.away = True
    archive = opened(tmp_path, bucket)
    archive.write([entry()])
    archive.finish()
    bucket.away = False
    removed: list[tuple[str, list[str]]] = []
    unlink = Path.unlink

    def look_in_between(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        before = len(bucket.acts)
        WarcUploader(tmp_path / "archive", bucket).move_all()
        removed.append((path.suffix, bucket.acts[before:]))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", look_in_between)
        WarcUploader(tmp_path / "archive", bucket).move_all()
    assert removed == [(".gz", []), (".cdxj", [])]
    assert here(tmp_path) == []


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, 8))
@pytest.mark.parametrize("act", ["get_size", "compute_sha256", "upload", "unlink"])
def test_killed_between_any_two_acts_nothing_is_lost_nor_doubled(
    tmp_path: Path, bucket: FolderBucket, act: str, nth: int, moment: str
) -> None:
    """Each file is sized, sent, sized and read back, then removed; twelve entries make three of them."""
    archived = _killed(tmp_path, bucket, act, nth, moment)
    known = {one.place.path: 0 for one in archived}
    for one in archived:
        known[one.place.path] = max(
            known[one.place.path], one.place.offset + (one.place.size_bytes or 0)
        )
    archive = opened(tmp_path, bucket)
    for number, one in enumerate(archived):
        assert archive.read(one.place).body == entry(number).body
    archive.recover(known.get)
    archive.finish()
    assert here(tmp_path) == []
    assert len(kept(bucket)) == 6
    assert records(bucket.folder) == Counter({entry(n).url: 1 for n in range(COUNT)})
    for number, one in enumerate(archived):
        assert archive.read(one.place).body == entry(number).body
    archive.close()


def _killed(
    home: Path, bucket: FolderBucket, act: str, nth: int, moment: str
) -> list[ArchivedRecord]:
    """What a process had written that died before or after it did `act` for the `nth` time."""
    forked = multiprocessing.get_context("fork")
    receiving, sending = forked.Pipe(duplex=False)

    def work() -> None:
        calls = 0

        def dying(real: Callable[..., object]) -> Callable[..., object]:
            def called(*args: object, **kwargs: object) -> object:
                nonlocal calls
                calls += 1
                if calls == nth and moment == "before":
                    os._exit(9)
                value = real(*args, **kwargs)
                if calls == nth:
                    os._exit(9)
                return value

            return called

        archive = opened(home, bucket)
        sending.send(archive.write([entry(number) for number in range(COUNT)]))
        if act == "unlink":
            Path.unlink = dying(Path.unlink)  # type: ignore[assignment,method-assign]
        else:
            setattr(bucket, act, dying(getattr(bucket, act)))
        archive._mover.wake = lambda: None  # type: ignore[method-assign]
        archive._local_archive._finished = lambda: None
        archive.finish()
        os._exit(0)

    process = forked.Process(target=work)
    process.start()
    archived: list[ArchivedRecord] = receiving.recv()
    process.join()
    receiving.close()
    sending.close()
    assert process.exitcode == 9 if nth <= 6 else process.exitcode in (0, 9)
    return archived
