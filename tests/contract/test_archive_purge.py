"""What is taken down is replaced in our WARCs, and nothing else of them changes, on every archive."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fixtures.archives import AT, entry, files, index_of, refused
from fonds.archive.warc.scanner import RecordHead, read_heads
from fonds.audit.warcs import verify
from fonds.model.archive import ArchivedRecord, ArchiveEntry, OriginalCapture
from fonds.model.exchange import Exchange, Hop
from fonds.ports import WarcArchive
from home_rows import NOW
from purged_files import holders, members, purge_body

SECRET = b"<html>whose name nobody else has to know</html>"
TOLD = json.dumps({"text": "whose name nobody else has to know, as text"}).encode()


def written(archive: WarcArchive, entries: list[ArchiveEntry]) -> list[ArchivedRecord]:
    archived = archive.write(entries)
    archive.finish()
    return archived


def neighbours() -> list[ArchiveEntry]:
    return [
        entry(1, metadata_json=b'{"of": "one"}'),
        entry(2, body=SECRET, metadata_json=TOLD),
        entry(3, metadata_json=b'{"of": "three"}'),
        entry(
            4,
            url="http://secret.example/",
            body=SECRET,
            original=OriginalCapture("http://example.org/2", AT),
        ),
    ]


def test_the_bytes_are_in_no_file_and_all_else_is_where_it_was(
    archive: WarcArchive, tmp_path: Path
) -> None:
    entries = neighbours()
    archived = written(archive, entries)
    (before,) = [members(path.read_bytes()) for path in files(tmp_path, ".warc.gz")]
    done = purge_body(archive, archived[1].place, SECRET)
    assert (done.records, done.waiting_reason) == (3, "")
    (after,) = [members(path.read_bytes()) for path in files(tmp_path, ".warc.gz")]
    assert [len(one) for one in after] == [len(one) for one in before]
    changed = [n for n, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
    assert changed == [3, 4, 7]
    for path in (*files(tmp_path, ".warc.gz"), *files(tmp_path, ".cdxj")):
        for needle in (SECRET, TOLD, b"example.org/2", b"secret.example"):
            assert holders(path.parent, needle) == []
    for number in (0, 2):
        assert archive.read(archived[number].place).body == entries[number].body
    for number in (1, 3):
        assert "was taken down" in str(refused(archive, archived[number].place))


def test_the_index_names_them_no_more_and_the_file_is_right(
    archive: WarcArchive, tmp_path: Path
) -> None:
    archived = written(archive, neighbours())
    name = archived[0].place.path
    (before,) = [path.read_text().splitlines() for path in files(tmp_path, ".cdxj")]
    purge_body(archive, archived[1].place, SECRET)
    (index,) = files(tmp_path, ".cdxj")
    assert [line.url for line in index_of(index)] == [
        "http://example.org/1",
        "http://example.org/3",
    ]
    assert set(index.read_text().splitlines()) < set(before)
    report = verify(archive, name)
    assert (report.faults, report.records["resource"]) == ([], 3)
    held = archive.inspect(name, repair=True)
    archive.finish()
    assert held is not None
    assert [one.offset for one in held.records or ()] == [
        archived[0].place.offset,
        archived[2].place.offset,
    ]


def test_again_is_harmless_and_another_can_follow(archive: WarcArchive, tmp_path: Path) -> None:
    archived = written(archive, neighbours())
    purge_body(archive, archived[1].place, SECRET)
    (before,) = [path.read_bytes() for path in files(tmp_path, ".warc.gz")]
    assert purge_body(archive, archived[1].place, SECRET).records == 0
    (after,) = [path.read_bytes() for path in files(tmp_path, ".warc.gz")]
    assert before == after
    assert purge_body(archive, archived[0].place, entry(1).body).records == 2
    assert archive.read(archived[2].place).body == entry(3).body
    assert verify(archive, archived[0].place.path).faults == []


def test_what_is_written_to_waits_until_it_is_finished(archive: WarcArchive) -> None:
    first, second = archive.write([entry(1), entry(2, body=SECRET)])
    assert "still being written" in purge_body(archive, second.place, SECRET).waiting_reason
    assert archive.read(second.place).body == SECRET
    (third,) = archive.write([entry(3)])
    archive.finish()
    assert purge_body(archive, second.place, SECRET).records == 1
    for number, one in ((1, first), (3, third)):
        assert archive.read(one.place).body == entry(number).body


def test_of_a_file_that_is_not_there_nothing_is_left(archive: WarcArchive) -> None:
    (archived,) = written(archive, [entry(2)])
    for name in (
        "gone-20240101000000-00000-x-00000000.warc.gz",
        "../x.warc.gz",
        "/etc/passwd",
        "",
        ".",
    ):
        place = replace(archived.place, path=name)
        assert purge_body(archive, place, SECRET).records == 0


def test_a_request_beside_it_goes_too(archive: WarcArchive, tmp_path: Path) -> None:
    told = Exchange(
        (Hop("http://example.org/2", AT, 200, "HTTP/1.1 200 OK", (), "GET /2 HTTP/1.1"),)
    )
    (archived,) = written(archive, [entry(2, body=SECRET, metadata_json=TOLD, exchange=told)])
    assert purge_body(archive, archived.place, SECRET).records == 3
    (path,) = files(tmp_path, ".warc.gz")
    with path.open("rb") as stream:
        heads = [head for head in read_heads(stream) if isinstance(head, RecordHead)]
    assert [head.type for head in heads] == ["warcinfo", "resource", "resource", "resource"]
    assert {head.captured_at for head in heads[1:]} == {NOW}


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from([10, 300, 5_000, 9_000]), min_size=1, max_size=5), st.data())
def test_whatever_is_purged_of_whatever_file_the_rest_reads_as_before(
    archive: WarcArchive, sizes: list[int], data: st.DataObject
) -> None:
    entries = [
        entry(n, body=os.urandom(size), metadata_json=TOLD if n % 2 else None)
        for n, size in enumerate(sizes)
    ]
    archived = written(archive, entries)
    gone = data.draw(st.sets(st.integers(0, len(sizes) - 1)))
    for number in gone:
        assert not purge_body(archive, archived[number].place, entries[number].body).waiting_reason
    for number, one in enumerate(archived):
        if number in gone:
            refused(archive, one.place)
        else:
            assert archive.read(one.place).body == entries[number].body
    for name in {one.place.path for one in archived}:
        assert verify(archive, name).faults == []


@pytest.mark.parametrize("ending", ["", "-copied"])
def test_a_warc_that_says_another_name_is_left_alone(tmp_path: Path, ending: str) -> None:
    from fonds.archive.store.folder import FolderArchive

    archive = FolderArchive(tmp_path / "archive")
    (archived,) = written(archive, [entry(2, body=SECRET)])
    ours = tmp_path / "archive" / archived.place.path
    other = ours.with_name(f"other{ending}.warc.gz")
    other.write_bytes(ours.read_bytes())
    before = other.read_bytes()
    place = replace(archived.place, path=other.name)
    assert purge_body(archive, place, SECRET).records == 0
    assert other.read_bytes() == before
