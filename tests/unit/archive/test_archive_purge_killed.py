"""A process that purges a WARC in a folder is killed by SIGKILL at each thing it does with files there."""

from __future__ import annotations

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fixtures.archives import entry
from fonds.archive.store.folder import FolderArchive
from fonds.audit.warcs import verify
from fonds.model.archive import ArchivedRecord
from purged_files import holders, purge_body

SECRET = os.urandom(5_000)
EVENTS = ("open", "os.rename", "os.remove", "os.truncate")


def written(folder: Path) -> tuple[FolderArchive, list[ArchivedRecord]]:
    archive = FolderArchive(folder)
    archived = archive.write([entry(1), entry(2, body=SECRET), entry(3)])
    archive.finish()
    return archive, archived


def killed_at(folder: Path, archived: ArchivedRecord, number: int, syncs: bool) -> bool:
    """Purge in a process of its own that kills itself at its so manieth act; False where it ended before."""
    child = os.fork()
    if child == 0:
        left = number

        def act(*_: object) -> None:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

        def hook(event: str, args: tuple[Any, ...]) -> None:
            if event in EVENTS and str(folder) in str(args[0]):
                act()

        real = os.fsync

        def fsync(descriptor: int) -> None:
            act()
            real(descriptor)

        archive = FolderArchive(folder)
        try:
            if syncs:
                os.fsync = fsync
            else:
                sys.addaudithook(hook)
            purge_body(archive, archived.place, SECRET)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.parametrize("syncs", [False, True])
def test_killed_at_any_act_readers_find_all_else_and_a_rerun_ends_it(
    tmp_path: Path, syncs: bool
) -> None:
    number, alive = 0, True
    while alive:
        folder = tmp_path / f"archive-{number}"
        archive, archived = written(folder)
        alive = killed_at(folder, archived[1], number, syncs)
        for index in (0, 2):
            assert archive.read(archived[index].place).body == entry(index + 1).body
        fresh = FolderArchive(folder)
        fresh.recover(lambda _: None)
        assert not purge_body(fresh, archived[1].place, SECRET).waiting_reason
        assert holders(folder, SECRET) == []
        assert len(list(folder.iterdir())) == 2
        for index in (0, 2):
            assert fresh.read(archived[index].place).body == entry(index + 1).body
        assert verify(fresh, archived[0].place.path).faults == []
        number += 1
        assert number < 60
    assert number > (3 if syncs else 6)


def test_who_reads_while_it_is_purged_finds_the_old_or_the_new(tmp_path: Path) -> None:
    archive, archived = written(tmp_path / "archive")
    with (tmp_path / "archive" / archived[1].place.path).open("rb") as before:
        assert purge_body(archive, archived[1].place, SECRET).records == 1
        # Who had it open reads on in what was there.
        before.seek(archived[2].place.offset)
        old = before.read(archived[2].place.size_bytes)
    with (tmp_path / "archive" / archived[1].place.path).open("rb") as after:
        after.seek(archived[2].place.offset)
        assert after.read(archived[2].place.size_bytes) == old


def test_readers_at_work_while_files_are_purged_find_every_neighbour(tmp_path: Path) -> None:
    archive = FolderArchive(tmp_path / "archive")
    bodies = [os.urandom(3_000) for _ in range(40)]
    archived = archive.write([entry(n, body=body) for n, body in enumerate(bodies)])
    archive.finish()
    done = threading.Event()

    def read() -> int:
        reader, rounds = FolderArchive(tmp_path / "archive"), 0
        while not done.is_set() or rounds == 0:
            for number in range(0, 40, 2):
                assert reader.read(archived[number].place).body == bodies[number]
            rounds += 1
        return rounds

    with ThreadPoolExecutor(2) as readers:
        reading = [readers.submit(read) for _ in range(2)]
        try:
            for number in range(1, 40, 2):
                assert purge_body(archive, archived[number].place, bodies[number]).records == 1
        finally:
            done.set()
        assert all(one.result() > 0 for one in reading)
