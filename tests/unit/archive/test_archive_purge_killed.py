"""A process that purges a WARC in a folder is killed by SIGKILL at each of its file operations."""

from __future__ import annotations

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fixtures.archives import build_entry
from fonds.archive.store.folder import FolderArchive
from fonds.audit.warcs import verify
from fonds.model.archive import ArchivedRecord
from purged_files import holders, purge_body

SECRET = os.urandom(5_000)
EVENTS = ("open", "os.rename", "os.remove", "os.truncate")


def write_archive(folder: Path) -> tuple[FolderArchive, list[ArchivedRecord]]:
    archive = FolderArchive(folder)
    archived = archive.write([build_entry(1), build_entry(2, body=SECRET), build_entry(3)])
    archive.finish()
    return archive, archived


def purge_and_kill(folder: Path, archived: ArchivedRecord, number: int, syncs: bool) -> bool:
    """Purge in a child process that kills itself at file operation `number`. Return whether it
    was killed."""
    child = os.fork()
    if child == 0:
        n_left = number

        def count_operation(*_: object) -> None:
            nonlocal n_left
            if n_left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            n_left -= 1

        def hook(event: str, args: tuple[Any, ...]) -> None:
            if event in EVENTS and str(folder) in str(args[0]):
                count_operation()

        real_fsync = os.fsync

        def counting_fsync(descriptor: int) -> None:
            count_operation()
            real_fsync(descriptor)

        archive = FolderArchive(folder)
        try:
            if syncs:
                os.fsync = counting_fsync
            else:
                sys.addaudithook(hook)
            purge_body(archive, archived.place, SECRET)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.parametrize("syncs", [False, True])
def test_a_killed_purge_keeps_other_records_and_a_rerun_completes_it(
    tmp_path: Path, syncs: bool
) -> None:
    number, is_killed = 0, True
    while is_killed:
        folder = tmp_path / f"archive-{number}"
        archive, archived = write_archive(folder)
        is_killed = purge_and_kill(folder, archived[1], number, syncs)
        for index in (0, 2):
            assert archive.read(archived[index].place).body == build_entry(index + 1).body
        reopened = FolderArchive(folder)
        reopened.recover(lambda _: None)
        assert not purge_body(reopened, archived[1].place, SECRET).waiting_reason
        assert holders(folder, SECRET) == []
        assert len(list(folder.iterdir())) == 2
        for index in (0, 2):
            assert reopened.read(archived[index].place).body == build_entry(index + 1).body
        assert verify(reopened, archived[0].place.path).faults == []
        number += 1
        assert number < 60
    assert number > (3 if syncs else 6)


def test_a_reader_during_a_purge_sees_the_old_or_the_new_file(tmp_path: Path) -> None:
    archive, archived = write_archive(tmp_path / "archive")
    with (tmp_path / "archive" / archived[1].place.path).open("rb") as before:
        assert purge_body(archive, archived[1].place, SECRET).records == 1
        # A reader that had the file open continues to read the old bytes.
        before.seek(archived[2].place.offset)
        record_bytes = before.read(archived[2].place.size_bytes)
    with (tmp_path / "archive" / archived[1].place.path).open("rb") as after:
        after.seek(archived[2].place.offset)
        assert after.read(archived[2].place.size_bytes) == record_bytes


def test_parallel_readers_find_every_other_record_during_purges(tmp_path: Path) -> None:
    archive = FolderArchive(tmp_path / "archive")
    bodies = [os.urandom(3_000) for _ in range(40)]
    archived = archive.write([build_entry(n, body=body) for n, body in enumerate(bodies)])
    archive.finish()
    is_done = threading.Event()

    def read() -> int:
        reader, rounds = FolderArchive(tmp_path / "archive"), 0
        while not is_done.is_set() or rounds == 0:
            for number in range(0, 40, 2):
                assert reader.read(archived[number].place).body == bodies[number]
            rounds += 1
        return rounds

    with ThreadPoolExecutor(2) as readers:
        results = [readers.submit(read) for _ in range(2)]
        try:
            for number in range(1, 40, 2):
                assert purge_body(archive, archived[number].place, bodies[number]).records == 1
        finally:
            is_done.set()
        assert all(result.result() > 0 for result in results)
