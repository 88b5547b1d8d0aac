"""Which file an entry goes to: by its prefix, and so that no file has more than it may."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from fixtures.archives import entry, files, index_of
from fonds.archive.store.folder import PREFIXES_OPEN_MAX, FolderArchive
from fonds.archive.store.options import ArchiveOptions
from fonds.ports import WarcArchive

NAME = re.compile(r"(?P<prefix>.+)-(?P<time>\d{14})-(?P<serial>\d{5})-(?P<host>.+)\.warc\.gz")


def prefix_of(name: str) -> str:
    match = NAME.fullmatch(name)
    assert match is not None, name
    return match["prefix"]


def test_entries_go_to_files_of_their_prefixes_and_come_back_in_their_order(
    archive: WarcArchive, tmp_path: Path
) -> None:
    prefixes = ["mc", "", "mchist2011", "mc", "mchist2012", ""]
    entries = [entry(n, prefix=one) for n, one in enumerate(prefixes)]
    archived = [*archive.write(entries[:3]), *archive.write(entries[3:])]
    assert [one.capture_id for one in archived] == [one.capture_id for one in entries]
    assert [prefix_of(one.place.path) for one in archived] == [
        prefix or "fonds" for prefix in prefixes
    ]
    assert archived[0].place.path == archived[3].place.path
    for one, there in zip(entries, archived, strict=True):
        assert archive.read(there.place).body == one.body
    archive.finish()
    held = {path.name: len(index_of(path)) for path in files(tmp_path, ".cdxj")}
    assert sorted(held.values()) == [1, 1, 2, 2]


def test_of_many_prefixes_the_files_are_finished_in_turn(
    archive: WarcArchive, tmp_path: Path
) -> None:
    for year in range(1990, 1990 + 3 * PREFIXES_OPEN_MAX):
        archive.write([entry(year, prefix=f"mchist{year}")])
        archive.write([entry(1000 + year, prefix="mc")])
        still_open = len(list((tmp_path / "archive").glob("*.open")))
        assert still_open <= PREFIXES_OPEN_MAX + 1
    archive.finish()
    assert list((tmp_path / "archive").glob("*.open")) == []
    names = [prefix_of(path.name) for path in files(tmp_path, ".warc.gz")]
    assert sorted(set(names)) == ["mc", *(f"mchist{year}" for year in range(1990, 2014))]


@settings(max_examples=examples(15), deadline=None)
@given(
    sizes=st.lists(st.integers(0, 30_000), min_size=1, max_size=30),
    file_max_bytes=st.integers(1_000, 60_000),
    stories_max=st.integers(1, 7),
)
def test_no_file_is_longer_than_it_may_be_but_for_one_long_body_alone(
    tmp_path_factory: object, sizes: list[int], file_max_bytes: int, stories_max: int
) -> None:
    folder = tmp_path_factory.mktemp("archive")  # type: ignore[attr-defined]
    options = ArchiveOptions(file_max_bytes=file_max_bytes, stories_max=stories_max)
    archive = FolderArchive(folder, options)
    # Random bytes do not shrink.
    entries = [entry(n, body=os.urandom(size)) for n, size in enumerate(sizes)]
    for start in range(0, len(entries), 4):
        archive.write([replace(one, metadata_json=b"{}") for one in entries[start : start + 4]])
    archive.finish()
    for path in folder.glob("*.warc.gz"):
        (index,) = folder.glob(path.name.replace(".warc.gz", ".cdxj"))
        stories = len(index_of(index))
        assert stories <= stories_max
        assert path.stat().st_size <= file_max_bytes or stories == 1
    assert sum(len(index_of(path)) for path in folder.glob("*.cdxj")) == len(sizes)
