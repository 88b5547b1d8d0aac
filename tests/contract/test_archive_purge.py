"""A purge replaces records in our WARCs and changes nothing else, in every archive."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fixtures.archives import (
    CAPTURED_AT,
    build_entry,
    build_metadata,
    get_read_error,
    list_files,
    read_index,
)
from fonds.archive.warc.scanner import RecordHead, read_heads
from fonds.audit.warcs import verify
from fonds.model.archive import ArchivedRecord, ArchiveEntry, OriginalCapture
from fonds.model.exchange import Exchange, Hop
from fonds.ports import WarcArchive
from home_rows import NOW
from purged_files import holders, members, purge_body

SECRET = b"<html>whose name nobody else has to know</html>"
SECRET_METADATA = build_metadata(2, "whose name nobody else has to know, as text")


def write_and_finish(archive: WarcArchive, entries: list[ArchiveEntry]) -> list[ArchivedRecord]:
    archived = archive.write(entries)
    archive.finish()
    return archived


def make_entries() -> list[ArchiveEntry]:
    return [
        build_entry(1, metadata_json=build_metadata(1)),
        build_entry(2, body=SECRET, metadata_json=SECRET_METADATA),
        build_entry(3, metadata_json=build_metadata(3)),
        build_entry(
            4,
            url="http://secret.example/",
            body=SECRET,
            original=OriginalCapture("http://example.org/2", CAPTURED_AT),
        ),
    ]


def test_a_purge_removes_all_bytes_and_moves_no_other_record(
    archive: WarcArchive, tmp_path: Path
) -> None:
    entries = make_entries()
    archived = write_and_finish(archive, entries)
    (before,) = [members(path.read_bytes()) for path in list_files(tmp_path, ".warc.gz")]
    done = purge_body(archive, archived[1].place, SECRET)
    assert (done.records, done.waiting_reason) == (3, "")
    (after,) = [members(path.read_bytes()) for path in list_files(tmp_path, ".warc.gz")]
    assert [len(member) for member in after] == [len(member) for member in before]
    changed = [n for n, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    assert changed == [3, 4, 7]
    for path in (*list_files(tmp_path, ".warc.gz"), *list_files(tmp_path, ".cdxj")):
        for needle in (SECRET, SECRET_METADATA, b"example.org/2", b"secret.example"):
            assert holders(path.parent, needle) == []
    for number in (0, 2):
        assert archive.read(archived[number].place).body == entries[number].body
    for number in (1, 3):
        assert "was taken down" in str(get_read_error(archive, archived[number].place))


def test_a_purge_removes_index_lines_and_keeps_the_warc_valid(
    archive: WarcArchive, tmp_path: Path
) -> None:
    archived = write_and_finish(archive, make_entries())
    name = archived[0].place.path
    (before,) = [path.read_text().splitlines() for path in list_files(tmp_path, ".cdxj")]
    purge_body(archive, archived[1].place, SECRET)
    (index,) = list_files(tmp_path, ".cdxj")
    assert [line.url for line in read_index(index)] == [
        "http://example.org/1",
        "http://example.org/3",
    ]
    assert set(index.read_text().splitlines()) < set(before)
    report = verify(archive, name)
    assert (report.faults, report.records["resource"]) == ([], 3)
    description = archive.inspect(name, repair=True)
    archive.finish()
    assert description is not None
    assert [record.offset for record in description.records or ()] == [
        archived[0].place.offset,
        archived[2].place.offset,
    ]


def test_a_repeated_purge_does_nothing_and_another_can_follow(
    archive: WarcArchive, tmp_path: Path
) -> None:
    archived = write_and_finish(archive, make_entries())
    purge_body(archive, archived[1].place, SECRET)
    (before,) = [path.read_bytes() for path in list_files(tmp_path, ".warc.gz")]
    assert purge_body(archive, archived[1].place, SECRET).records == 0
    (after,) = [path.read_bytes() for path in list_files(tmp_path, ".warc.gz")]
    assert before == after
    assert purge_body(archive, archived[0].place, build_entry(1).body).records == 2
    assert archive.read(archived[2].place).body == build_entry(3).body
    assert verify(archive, archived[0].place.path).faults == []


def test_a_purge_of_an_open_warc_waits_until_it_is_finished(archive: WarcArchive) -> None:
    first, second = archive.write([build_entry(1), build_entry(2, body=SECRET)])
    assert "still being written" in purge_body(archive, second.place, SECRET).waiting_reason
    assert archive.read(second.place).body == SECRET
    (third,) = archive.write([build_entry(3)])
    archive.finish()
    assert purge_body(archive, second.place, SECRET).records == 1
    for number, record in ((1, first), (3, third)):
        assert archive.read(record.place).body == build_entry(number).body


def test_a_purge_of_a_missing_warc_changes_nothing(archive: WarcArchive) -> None:
    (archived,) = write_and_finish(archive, [build_entry(2)])
    for name in (
        "gone-20240101000000-00000-x-00000000.warc.gz",
        "../x.warc.gz",
        "/etc/passwd",
        "",
        ".",
    ):
        place = replace(archived.place, path=name)
        assert purge_body(archive, place, SECRET).records == 0


def test_a_purge_removes_the_request_too(archive: WarcArchive, tmp_path: Path) -> None:
    exchange = Exchange(
        (Hop("http://example.org/2", CAPTURED_AT, 200, "HTTP/1.1 200 OK", (), "GET /2 HTTP/1.1"),)
    )
    (archived,) = write_and_finish(
        archive, [build_entry(2, body=SECRET, metadata_json=SECRET_METADATA, exchange=exchange)]
    )
    assert purge_body(archive, archived.place, SECRET).records == 3
    (path,) = list_files(tmp_path, ".warc.gz")
    with path.open("rb") as stream:
        heads = [head for head in read_heads(stream) if isinstance(head, RecordHead)]
    assert [head.type for head in heads] == ["warcinfo", "resource", "resource", "resource"]
    assert {head.captured_at for head in heads[1:]} == {NOW}


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from([10, 300, 5_000, 9_000]), min_size=1, max_size=5), st.data())
def test_any_purge_keeps_all_other_records_readable(
    archive: WarcArchive, sizes: list[int], data: st.DataObject
) -> None:
    entries = [
        build_entry(n, body=os.urandom(size), metadata_json=SECRET_METADATA if n % 2 else None)
        for n, size in enumerate(sizes)
    ]
    archived = write_and_finish(archive, entries)
    purged = data.draw(st.sets(st.integers(0, len(sizes) - 1)))
    for number in purged:
        assert not purge_body(archive, archived[number].place, entries[number].body).waiting_reason
    for number, record in enumerate(archived):
        if number in purged:
            get_read_error(archive, record.place)
        else:
            assert archive.read(record.place).body == entries[number].body
    for name in {record.place.path for record in archived}:
        assert verify(archive, name).faults == []


@pytest.mark.parametrize("ending", ["", "-copied"])
def test_a_warc_with_another_name_in_its_warcinfo_is_not_purged(
    tmp_path: Path, ending: str
) -> None:
    from fonds.archive.store.folder import FolderArchive

    archive = FolderArchive(tmp_path / "archive")
    (archived,) = write_and_finish(archive, [build_entry(2, body=SECRET)])
    own_path = tmp_path / "archive" / archived.place.path
    renamed_path = own_path.with_name(f"other{ending}.warc.gz")
    renamed_path.write_bytes(own_path.read_bytes())
    before = renamed_path.read_bytes()
    place = replace(archived.place, path=renamed_path.name)
    assert purge_body(archive, place, SECRET).records == 0
    assert renamed_path.read_bytes() == before
