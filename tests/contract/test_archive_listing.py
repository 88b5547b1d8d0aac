"""Every archive describes its WARCs without reading records, and rebuilds their indexes."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.archives import build_entry, list_files, read_index
from fonds.model.archive import IndexedRecord
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.ports import WarcArchive


def test_a_finished_warc_has_a_size_and_records(archive: WarcArchive, tmp_path: Path) -> None:
    archived = archive.write([build_entry(1), build_entry(2)])
    archive.finish()
    description = archive.inspect(archived[0].place.path)
    assert description is not None
    assert not description.is_open
    assert description.size_bytes == list_files(tmp_path, ".warc.gz")[0].stat().st_size
    assert description.records is not None
    assert [
        (record.url, record.offset, record.size_bytes, record.is_revisit)
        for record in description.records
    ] == [
        (f"http://example.org/{n}", place.offset, place.size_bytes, False)
        for n, place in ((1, archived[0].place), (2, archived[1].place))
    ]
    assert all(len(record.sha1hex) == 40 for record in description.records)


def test_an_open_warc_has_no_index(archive: WarcArchive) -> None:
    (record,) = archive.write([build_entry()])
    description = archive.inspect(record.place.path)
    assert description is not None
    assert (description.is_open, description.records) == (True, None)


def test_a_missing_warc_has_no_description(archive: WarcArchive, tmp_path: Path) -> None:
    assert archive.inspect("fonds-20260101000000-00000-here-00000000.warc.gz") is None
    assert archive.inspect(str(tmp_path / "none.warc.gz")) is None
    assert archive.inspect(str(tmp_path)) is None


def test_a_foreign_warc_has_only_a_size_if_it_is_local(
    archive: WarcArchive, tmp_path: Path
) -> None:
    (tmp_path / "theirs.warc").write_bytes(b"ten bytes.")
    description = archive.inspect(str(tmp_path / "theirs.warc"))
    assert description is not None
    assert (description.size_bytes, description.records) == (10, None)
    for path in ("https://example.org/a.warc.gz", "s3://bucket/a.warc.gz", "relative/a.warc.gz"):
        remote = archive.inspect(path)
        assert remote is not None
        assert remote.size_bytes is None


@pytest.mark.parametrize("open_archive", ["local", "cached"], indirect=True)
def test_a_damaged_index_is_rebuilt_from_the_records(archive: WarcArchive, tmp_path: Path) -> None:
    archived = archive.write([build_entry(n) for n in range(3)])
    archive.finish()
    name = archived[0].place.path
    (index,) = list_files(tmp_path, ".cdxj")
    before = index.read_bytes()
    for damaged in (b"", before[: len(before) // 2], b"\xff junk\n"):
        index.write_bytes(damaged)
        description = archive.inspect(name)
        assert description is not None
        assert description.records is not None
        assert len(description.records) < 3
        repaired = archive.inspect(name, repair=True)
        assert repaired is not None
        assert repaired.records is not None
        assert [type(record) for record in repaired.records] == [IndexedRecord] * 3
        assert len(read_index(index)) == 3
    index.unlink()
    without_index = archive.inspect(name)
    assert without_index is not None
    assert without_index.records is None
    assert archive.inspect(name, repair=True) == repaired


def test_every_own_warc_is_listed_once_and_seekable(
    archive: WarcArchive,
) -> None:
    assert list(archive.iter_names()) == []
    archived = archive.write([build_entry(n) for n in range(7)])
    names = {record.place.path for record in archived}
    assert len(names) == 2
    assert sorted(archive.iter_names()) == sorted(names)
    archive.finish()
    assert sorted(archive.iter_names()) == sorted(names)
    for record in archived:
        with archive.open(record.place.path) as stream:
            assert stream.read(3) == b"\x1f\x8b\x08"
            stream.seek(record.place.offset)
            assert stream.read(3) == b"\x1f\x8b\x08"


def test_opening_a_missing_or_invalid_path_is_refused(archive: WarcArchive, tmp_path: Path) -> None:
    (tmp_path / "theirs.warc").write_bytes(b"ten bytes.")
    with archive.open(str(tmp_path / "theirs.warc")) as stream:
        assert stream.read() == b"ten bytes."
    for path, reason in (
        ("fonds-20260101000000-00000-here-00000000.warc.gz", Reason.MISSING_SOURCE),
        (str(tmp_path), Reason.UNREADABLE_SOURCE),
        ("folder/relative.warc.gz", Reason.MISSING_SOURCE),
        ("../up.warc.gz", Reason.UNREADABLE_SOURCE),
        ("a\x00b", Reason.UNREADABLE_SOURCE),
    ):
        with pytest.raises(PermanentError) as raised, archive.open(path) as stream:
            stream.read(1)
        assert raised.value.reason is reason
