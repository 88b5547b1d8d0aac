"""Recovery of an archive after its process was killed."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.archives import BACKENDS, build_entry, build_metadata, list_files, read_index
from fonds.archive.warc.scanner import RecordHead, read_heads
from fonds.model.archive import ArchivedRecord, ArchiveEntry
from fonds.ports import Archive


@pytest.fixture
def open_archive() -> Callable[[Path], Archive]:
    """The folder archive. An S3 archive also writes open WARCs to a folder, but an S3 client does not
    survive a fork. `tests/servers/test_s3_archive.py` kills processes with an S3 archive."""
    return BACKENDS["local"]


def write_in_killed_process(
    open_archive: Callable[[Path], Archive], home: Path, entries: list[ArchiveEntry]
) -> list[ArchivedRecord]:
    """Write entries in a process that ends without finishing its WARC."""
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


def test_recovery_truncates_a_warc_after_its_last_known_record(
    open_archive: Callable[[Path], Archive], tmp_path: Path
) -> None:
    archived = write_in_killed_process(
        open_archive, tmp_path, [build_entry(1), build_entry(2), build_entry(3)]
    )
    last = archived[1].place
    archive = open_archive(tmp_path)
    requested_paths: list[str] = []

    def find_end(path: str) -> int:
        requested_paths.append(path)
        return last.offset + (last.size_bytes or 0)

    archive.recover(find_end)
    assert requested_paths == [last.path]
    assert (tmp_path / "archive" / last.path).stat().st_size == last.offset + (last.size_bytes or 0)
    assert list_files(tmp_path, ".open") == []
    lines = read_index(list_files(tmp_path, ".cdxj")[0])
    assert [line.url for line in lines] == ["http://example.org/1", "http://example.org/2"]
    assert archive.read(last).body == b"<html>2</html>"


def test_recovery_keeps_the_metadata_of_the_last_record(
    open_archive: Callable[[Path], Archive], tmp_path: Path
) -> None:
    archived = write_in_killed_process(
        open_archive,
        tmp_path,
        [build_entry(n, metadata_json=build_metadata(n)) for n in (1, 2)],
    )
    place = archived[0].place
    open_archive(tmp_path).recover(lambda _: place.offset + (place.size_bytes or 0))
    with (tmp_path / "archive" / place.path).open("rb") as stream:
        types = [head.type for head in read_heads(stream) if isinstance(head, RecordHead)]
    assert types == ["warcinfo", "response", "metadata"]
    assert (tmp_path / "archive" / place.path).stat().st_size == archived[1].place.offset


def test_recovery_removes_a_truncated_record(
    open_archive: Callable[[Path], Archive], tmp_path: Path
) -> None:
    first, second = write_in_killed_process(
        open_archive, tmp_path, [build_entry(1), build_entry(2)]
    )
    path = tmp_path / "archive" / first.place.path
    os.truncate(path, path.stat().st_size - 30)
    open_archive(tmp_path).recover(lambda _: second.place.offset)
    with path.open("rb") as stream:
        assert [type(head) for head in read_heads(stream)] == [RecordHead] * 2


def test_recovery_removes_a_warc_without_known_records(
    open_archive: Callable[[Path], Archive], tmp_path: Path
) -> None:
    write_in_killed_process(open_archive, tmp_path, [build_entry(1)])
    open_archive(tmp_path).recover(lambda _: None)
    assert list((tmp_path / "archive").iterdir()) == []


def test_recovery_without_archive_or_open_warcs_does_nothing(
    open_archive: Callable[[Path], Archive], tmp_path: Path
) -> None:
    archive = open_archive(tmp_path)
    archive.recover(lambda _: 5)
    archive.write([build_entry(1)])
    archive.finish()
    archive.recover(lambda _: pytest.fail("a finished WARC was recovered"))


def test_recovery_keeps_the_open_warc_of_this_process(archive: Archive) -> None:
    (record,) = archive.write([build_entry(1)])
    archive.recover(lambda _: None)
    assert archive.read(record.place).body == b"<html>1</html>"
    archive.write([build_entry(2)])


def test_concurrent_recoveries_are_safe(
    open_archive: Callable[[Path], Archive], tmp_path: Path
) -> None:
    (record,) = write_in_killed_process(open_archive, tmp_path, [build_entry(1)])
    end = record.place.offset + (record.place.size_bytes or 0)
    archives = [open_archive(tmp_path) for _ in range(4)]
    threads = [threading.Thread(target=a.recover, args=(lambda _: end,)) for a in archives]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert archives[0].read(record.place).body == b"<html>1</html>"
    assert list_files(tmp_path, ".open") == []
