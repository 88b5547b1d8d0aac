"""What every archive leaves behind when its process is killed, and how it is mended."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.archives import BACKENDS, entry, files, index_of
from fonds.archive.warc.scanner import RecordHead, read_heads
from fonds.model.archive import ArchivedRecord, ArchiveEntry
from fonds.ports import Archive


@pytest.fixture
def open_archive() -> Callable[[Path], Archive]:
    """The folder: in a bucket, too, files lie here until they are finished, and a client of S3 does not
    outlive a fork. `tests/servers/test_s3_archive.py` kills processes that use one."""
    return BACKENDS["local"]


def written_by_a_killed_process(
    open_archive: Callable[[Path], Archive], home: Path, entries: list[ArchiveEntry]
) -> list[ArchivedRecord]:
    """What a process wrote that ended without finishing anything."""
    forked = multiprocessing.get_context("fork")
    receiving, sending = forked.Pipe(duplex=False)

    def work() -> None:
        sending.send(open_archive(home).write(entries))
        os._exit(9)

    process = forked.Process(target=work)
    process.start()
    archived = receiving.recv()
    process.join()
    receiving.close()
    sending.close()
    assert process.exitcode == 9
    return archived


def test_recovery_cuts_what_nobody_refers_to(
    open_archive: Callable[[Path], Archive], tmp_path: Path
) -> None:
    archived = written_by_a_killed_process(open_archive, tmp_path, [entry(1), entry(2), entry(3)])
    last = archived[1].place
    archive = open_archive(tmp_path)
    asked: list[str] = []

    def known(path: str) -> int:
        asked.append(path)
        return last.offset + (last.size_bytes or 0)

    archive.recover(known)
    assert asked == [last.path]
    assert (tmp_path / "archive" / last.path).stat().st_size == last.offset + (last.size_bytes or 0)
    assert files(tmp_path, ".open") == []
    lines = index_of(files(tmp_path, ".cdxj")[0])
    assert [line.url for line in lines] == ["http://example.org/1", "http://example.org/2"]
    assert archive.read(last).body == b"<html>2</html>"


def test_recovery_keeps_the_metadata_of_the_last_record(
    open_archive: Callable[[Path], Archive], tmp_path: Path
) -> None:
    archived = written_by_a_killed_process(
        open_archive, tmp_path, [entry(1, metadata_json=b"{}"), entry(2, metadata_json=b"{}")]
    )
    place = archived[0].place
    open_archive(tmp_path).recover(lambda _: place.offset + (place.size_bytes or 0))
    with (tmp_path / "archive" / place.path).open("rb") as stream:
        found = [head.type for head in read_heads(stream) if isinstance(head, RecordHead)]
    assert found == ["warcinfo", "response", "metadata"]
    assert (tmp_path / "archive" / place.path).stat().st_size == archived[1].place.offset


def test_recovery_mends_a_record_cut_in_the_middle(
    open_archive: Callable[[Path], Archive], tmp_path: Path
) -> None:
    first, second = written_by_a_killed_process(open_archive, tmp_path, [entry(1), entry(2)])
    path = tmp_path / "archive" / first.place.path
    os.truncate(path, path.stat().st_size - 30)
    open_archive(tmp_path).recover(lambda _: second.place.offset)
    with path.open("rb") as stream:
        assert [type(thing) for thing in read_heads(stream)] == [RecordHead] * 2


def test_recovery_removes_a_file_nobody_refers_to(
    open_archive: Callable[[Path], Archive], tmp_path: Path
) -> None:
    written_by_a_killed_process(open_archive, tmp_path, [entry(1)])
    open_archive(tmp_path).recover(lambda _: None)
    assert list((tmp_path / "archive").iterdir()) == []


def test_recovery_without_archive_or_files_is_harmless(
    open_archive: Callable[[Path], Archive], tmp_path: Path
) -> None:
    archive = open_archive(tmp_path)
    archive.recover(lambda _: 5)
    archive.write([entry(1)])
    archive.finish()
    archive.recover(lambda _: pytest.fail("a finished file is asked for"))


def test_recovery_leaves_the_file_this_process_writes(archive: Archive) -> None:
    (one,) = archive.write([entry(1)])
    archive.recover(lambda _: None)
    assert archive.read(one.place).body == b"<html>1</html>"
    archive.write([entry(2)])


def test_several_threads_may_recover_at_once(
    open_archive: Callable[[Path], Archive], tmp_path: Path
) -> None:
    (one,) = written_by_a_killed_process(open_archive, tmp_path, [entry(1)])
    end = one.place.offset + (one.place.size_bytes or 0)
    archives = [open_archive(tmp_path) for _ in range(4)]
    threads = [threading.Thread(target=a.recover, args=(lambda _: end,)) for a in archives]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert archives[0].read(one.place).body == b"<html>1</html>"
    assert files(tmp_path, ".open") == []
