"""Our WARCs are read completely; every altered, lost or mixed-up record is reported."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.archives import BACKENDS, build_entry, build_metadata
from fixtures.buckets import FolderBucket
from fonds.archive.store.options import ArchiveOptions
from fonds.archive.store.s3 import S3Archive
from fonds.archive.warc.scanner import RecordHead, read_heads
from fonds.audit.warcs import verify
from fonds.model.archive import OriginalCapture
from fonds.ports import WarcArchive


@pytest.fixture(params=["local", "bucket"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> WarcArchive:
    if request.param == "local":
        return BACKENDS["local"](tmp_path)
    options = ArchiveOptions(waiting_folder=tmp_path / "archive")
    return S3Archive("s3://bucket", options, lambda _: FolderBucket(tmp_path / "archive-moved"))


def write_warc(archive: WarcArchive) -> str:
    entries = [build_entry(n, metadata_json=build_metadata(n)) for n in range(4)]
    entries[3] = build_entry(
        3,
        metadata_json=build_metadata(3),
        body=entries[0].body,
        original=OriginalCapture(entries[0].url, entries[0].captured_at),
    )
    (first, *_) = archive.write(entries)
    return first.place.path


def test_a_finished_file_has_no_faults(archive: WarcArchive) -> None:
    name = write_warc(archive)
    open_report = verify(archive, name)
    assert (open_report.is_open, open_report.faults) == (True, [])
    archive.finish()
    report = verify(archive, name)
    assert report.faults == []
    assert report.records == {"warcinfo": 1, "response": 3, "revisit": 1, "metadata": 4}
    assert report.matching_digest_count >= 9
    assert report.unchecked_digest_count == 0


def split_members(data: bytes) -> list[bytes]:
    heads = [head for head in read_heads(io.BytesIO(data)) if isinstance(head, RecordHead)]
    ends = [head.offset for head in heads[1:]] + [len(data)]
    return [data[head.offset : end] for head, end in zip(heads, ends, strict=True)]


def _alter(parts: list[bytes], number: int, old: bytes, new: bytes) -> bytes:
    plain = gzip.decompress(parts[number])
    assert old in plain
    parts[number] = gzip.compress(plain.replace(old, new))
    return b"".join(parts)


ALTERATIONS: dict[str, tuple[Callable[[list[bytes]], bytes], str]] = {
    "a byte of a body": (
        lambda parts: _alter(parts, 1, b"<html>", b"<HTML>"),
        "WARC-Payload-Digest is",
    ),
    "a byte of the metadata": (
        lambda parts: _alter(parts, 4, b'"Story 1"', b'"Story 7"'),
        "WARC-Block-Digest is",
    ),
    "the pairs mixed up": (
        lambda parts: b"".join([*parts[:2], parts[3], parts[2], *parts[4:]]),
        "the metadata record does not belong to the record before it",
    ),
    "a record lost": (
        lambda parts: b"".join([*parts[:1], *parts[3:]]),
        "the CDXJ lists a record that does not exist",
    ),
    "a record more": (
        lambda parts: b"".join([*parts, parts[3]]),
        "the CDXJ has no line for this record",
    ),
    "another name": (
        lambda parts: _alter(parts, 0, b"WARC-Filename: fonds", b"WARC-Filename: fundus"),
        "the file does not begin with a warcinfo record with its own name",
    ),
    "the end cut off": (lambda parts: b"".join(parts)[:-30], "the file ends"),
    "two records in one member": (
        lambda parts: b"".join(
            [*parts[:-2], gzip.compress(gzip.decompress(parts[-2]) + gzip.decompress(parts[-1]))]
        ),
        "the record does not have its own gzip member",
    ),
    "a digest left out": (
        lambda parts: _alter(parts, 2, b"WARC-Block-Digest", b"X-Block-Digest"),
        "the metadata record has no digest",
    ),
    "another URL's time": (
        lambda parts: _alter(parts, 3, b"WARC-Date: 2024", b"WARC-Date: 2023"),
        "the CDXJ has another",
    ),
}


@pytest.mark.parametrize("alteration", ALTERATIONS)
def test_every_alteration_is_reported(
    archive: WarcArchive, tmp_path: Path, alteration: str
) -> None:
    name = write_warc(archive)
    archive.finish()
    (path,) = tmp_path.rglob(name)
    alter, message = ALTERATIONS[alteration]
    path.write_bytes(alter(split_members(path.read_bytes())))
    assert message in " | ".join(fault.message for fault in verify(archive, name).faults)


def test_a_missing_or_wrong_index_is_reported_and_rebuilt(
    archive: WarcArchive, tmp_path: Path
) -> None:
    name = write_warc(archive)
    archive.finish()
    (index,) = tmp_path.rglob("*.cdxj")
    lines = index.read_bytes().splitlines(keepends=True)
    index.write_bytes(b"".join(lines[1:]))
    assert "the CDXJ has no line for this record" in verify(archive, name).faults[0].message
    index.unlink()
    assert "no CDXJ" in verify(archive, name).faults[0].message
    archive.inspect(name, repair=True)
    archive.finish()
    assert verify(archive, name).faults == []


def test_files_of_other_programs_are_also_verified(archive: WarcArchive, tmp_path: Path) -> None:
    path = tmp_path / "theirs.warc"
    path.write_bytes(b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n")
    report = verify(archive, str(path))
    assert (report.records, report.faults) == ({"resource": 1}, [])
    path.write_bytes(b"")
    assert verify(archive, str(path)).faults[0].message == "the file has no records"
    assert verify(archive, str(tmp_path / "none.warc")).faults[0].message == "no such file"


@pytest.mark.parametrize("alteration", ["a byte of a body", "another name", "a digest left out"])
def test_a_file_that_is_still_written_is_checked_as_far_as_it_goes(
    archive: WarcArchive, tmp_path: Path, alteration: str
) -> None:
    name = write_warc(archive)
    (path,) = tmp_path.rglob(name)
    content = path.read_bytes()
    path.write_bytes(content[:-30])
    assert verify(archive, name).faults == []
    alter, message = ALTERATIONS[alteration]
    path.write_bytes(alter(split_members(content)))
    report = verify(archive, name)
    assert report.is_open
    assert message in " | ".join(fault.message for fault in report.faults)
    path.write_bytes(
        content.replace(split_members(content)[2], b"x" * len(split_members(content)[2]))
    )
    assert verify(archive, name).faults != []
