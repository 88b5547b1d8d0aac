"""Bodies in WARCs of others that are given by name: their path is looked up once."""

from __future__ import annotations

import shutil
from hashlib import sha1
from pathlib import Path

import pytest

from fixtures.archives import build_entry
from fonds.archive.store.folder import FolderArchive
from fonds.archive.store.options import ArchiveOptions
from fonds.model.capture import Place, PlaceKind
from fonds.model.errors import PermanentError

NAME = "item/crawl.warc.gz"


def test_a_named_warc_is_looked_up_once_and_again_after_it_moved(tmp_path: Path) -> None:
    entries = [build_entry(number) for number in range(3)]
    writer = FolderArchive(tmp_path / "writer")
    records = writer.write(entries)
    writer.finish()
    (source,) = (tmp_path / "writer").glob("*.warc.gz")
    paths = [shutil.copy(source, tmp_path / "first.warc.gz")]
    requested_names: list[str] = []

    def list_paths(name: str) -> list[str]:
        requested_names.append(name)
        return [str(path) for path in paths]

    archive = FolderArchive(tmp_path / "archive", ArchiveOptions(list_paths=list_paths))

    def read(number: int) -> bytes:
        place = records[number].place
        named_place = Place(PlaceKind.WARC, NAME, place.offset, place.size_bytes)
        return archive.read(named_place, sha1(entries[number].body).hexdigest()).body

    assert [read(number) for number in range(3)] == [entry.body for entry in entries]
    assert requested_names == [NAME]
    paths[0] = shutil.move(paths[0], tmp_path / "second.warc.gz")
    assert [read(number) for number in range(3)] == [entry.body for entry in entries]
    assert requested_names == [NAME] * 2
    Path(paths[0]).unlink()
    with pytest.raises(PermanentError, match="not at its last known location"):
        read(0)
