"""The WARC of an entry depends on its prefix, and no WARC exceeds its limits."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from fixtures.archives import build_entry, build_metadata, list_files, read_index
from fonds.archive.store.folder import PREFIXES_OPEN_MAX, FolderArchive
from fonds.archive.store.options import ArchiveOptions
from fonds.ports import WarcArchive

NAME = re.compile(r"(?P<prefix>.+)-(?P<time>\d{14})-(?P<serial>\d{5})-(?P<host>.+)\.warc\.gz")


def parse_prefix(name: str) -> str:
    match = NAME.fullmatch(name)
    assert match is not None, name
    return match["prefix"]


def test_entries_are_written_to_the_warc_of_their_prefix_in_order(
    archive: WarcArchive, tmp_path: Path
) -> None:
    prefixes = ["mc", "", "mchist2011", "mc", "mchist2012", ""]
    entries = [build_entry(n, prefix=prefix) for n, prefix in enumerate(prefixes)]
    archived = [*archive.write(entries[:3]), *archive.write(entries[3:])]
    assert [record.capture_id for record in archived] == [entry.capture_id for entry in entries]
    assert [parse_prefix(record.place.path) for record in archived] == [
        prefix or "fonds" for prefix in prefixes
    ]
    assert archived[0].place.path == archived[3].place.path
    for written_entry, record in zip(entries, archived, strict=True):
        assert archive.read(record.place).body == written_entry.body
    archive.finish()
    counts = {path.name: len(read_index(path)) for path in list_files(tmp_path, ".cdxj")}
    assert sorted(counts.values()) == [1, 1, 2, 2]


def test_at_most_a_few_prefixes_have_open_warcs(archive: WarcArchive, tmp_path: Path) -> None:
    for year in range(1990, 1990 + 3 * PREFIXES_OPEN_MAX):
        archive.write([build_entry(year, prefix=f"mchist{year}")])
        archive.write([build_entry(1000 + year, prefix="mc")])
        still_open = len(list((tmp_path / "archive").glob("*.open")))
        assert still_open <= PREFIXES_OPEN_MAX + 1
    archive.finish()
    assert list((tmp_path / "archive").glob("*.open")) == []
    names = [parse_prefix(path.name) for path in list_files(tmp_path, ".warc.gz")]
    assert sorted(set(names)) == ["mc", *(f"mchist{year}" for year in range(1990, 2014))]


@settings(max_examples=examples(15), deadline=None)
@given(
    sizes=st.lists(st.integers(0, 30_000), min_size=1, max_size=30),
    file_max_bytes=st.integers(1_000, 60_000),
    stories_max=st.integers(1, 7),
)
def test_no_warc_exceeds_its_limits_except_for_one_long_body(
    tmp_path_factory: object, sizes: list[int], file_max_bytes: int, stories_max: int
) -> None:
    folder = tmp_path_factory.mktemp("archive")  # type: ignore[attr-defined]
    options = ArchiveOptions(file_max_bytes=file_max_bytes, stories_max=stories_max)
    archive = FolderArchive(folder, options)
    # Random bytes do not compress.
    entries = [build_entry(n, body=os.urandom(size)) for n, size in enumerate(sizes)]
    for start in range(0, len(entries), 4):
        batch = entries[start : start + 4]
        archive.write(
            [replace(written_entry, metadata_json=build_metadata()) for written_entry in batch]
        )
    archive.finish()
    for path in folder.glob("*.warc.gz"):
        (index,) = folder.glob(path.name.replace(".warc.gz", ".cdxj"))
        stories = len(read_index(index))
        assert stories <= stories_max
        assert path.stat().st_size <= file_max_bytes or stories == 1
    assert sum(len(read_index(path)) for path in folder.glob("*.cdxj")) == len(sizes)
