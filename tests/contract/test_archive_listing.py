"""What every archive says of its files without reading a record, and how it makes an index again."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.archives import entry, files, index_of
from fonds.model.archive import IndexedRecord
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.ports import WarcArchive


def test_a_finished_file_is_told_with_its_length_and_its_records(
    archive: WarcArchive, tmp_path: Path
) -> None:
    archived = archive.write([entry(1), entry(2)])
    archive.finish()
    held = archive.inspect(archived[0].place.path)
    assert held is not None
    assert not held.is_open
    assert held.size_bytes == files(tmp_path, ".warc.gz")[0].stat().st_size
    assert held.records is not None
    assert [
        (record.url, record.offset, record.size_bytes, record.is_revisit) for record in held.records
    ] == [
        (f"http://example.org/{n}", place.offset, place.size_bytes, False)
        for n, place in ((1, archived[0].place), (2, archived[1].place))
    ]
    assert all(len(record.sha1hex) == 40 for record in held.records)


def test_an_open_file_has_no_index_yet(archive: WarcArchive) -> None:
    (one,) = archive.write([entry()])
    held = archive.inspect(one.place.path)
    assert held is not None
    assert (held.is_open, held.records) == (True, None)


def test_what_is_gone_is_nothing(archive: WarcArchive, tmp_path: Path) -> None:
    assert archive.inspect("fonds-20260101000000-00000-here-00000000.warc.gz") is None
    assert archive.inspect(str(tmp_path / "none.warc.gz")) is None
    assert archive.inspect(str(tmp_path)) is None


def test_of_others_files_the_length_is_known_here_and_nothing_elsewhere(
    archive: WarcArchive, tmp_path: Path
) -> None:
    (tmp_path / "theirs.warc").write_bytes(b"ten bytes.")
    held = archive.inspect(str(tmp_path / "theirs.warc"))
    assert held is not None
    assert (held.size_bytes, held.records) == (10, None)
    for path in ("https://example.org/a.warc.gz", "s3://bucket/a.warc.gz", "relative/a.warc.gz"):
        away = archive.inspect(path)
        assert away is not None
        assert away.size_bytes is None


@pytest.mark.parametrize("open_archive", ["local", "cached"], indirect=True)
def test_an_index_is_made_again_from_the_records(archive: WarcArchive, tmp_path: Path) -> None:
    archived = archive.write([entry(n) for n in range(3)])
    archive.finish()
    name = archived[0].place.path
    (index,) = files(tmp_path, ".cdxj")
    before = index.read_bytes()
    for wrecked in (b"", before[: len(before) // 2], b"\xff junk\n"):
        index.write_bytes(wrecked)
        held = archive.inspect(name)
        assert held is not None
        assert held.records is not None
        assert len(held.records) < 3
        mended = archive.inspect(name, repair=True)
        assert mended is not None
        assert mended.records is not None
        assert [type(record) for record in mended.records] == [IndexedRecord] * 3
        assert len(index_of(index)) == 3
    index.unlink()
    gone = archive.inspect(name)
    assert gone is not None
    assert gone.records is None
    assert archive.inspect(name, repair=True) == mended


def test_every_file_of_ours_is_named_once_and_can_be_read_from_its_first_byte(
    archive: WarcArchive,
) -> None:
    assert list(archive.iter_names()) == []
    archived = archive.write([entry(n) for n in range(7)])
    names = {one.place.path for one in archived}
    assert len(names) == 2
    assert sorted(archive.iter_names()) == sorted(names)
    archive.finish()
    assert sorted(archive.iter_names()) == sorted(names)
    for one in archived:
        with archive.open(one.place.path) as stream:
            assert stream.read(3) == b"\x1f\x8b\x08"
            stream.seek(one.place.offset)
            assert stream.read(3) == b"\x1f\x8b\x08"


def test_what_cannot_be_opened_is_refused(archive: WarcArchive, tmp_path: Path) -> None:
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
