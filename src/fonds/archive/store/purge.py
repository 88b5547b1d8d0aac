"""What was taken down, replaced in a copy of a WARC of ours that then takes its place.

A tombstone is as long as the record it stands for, so that no place of another record changes, and whoever
reads while one file takes the other's place finds its record in both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fonds.archive.cdx import CdxLine, IndexReader
from fonds.archive.members.record_stream import RecordStream
from fonds.archive.store.mover import WarcBucket, WarcUploader, build_key
from fonds.archive.store.volume import (
    COMPANION_TYPES,
    COMPANIONS_MAX,
    SUFFIX,
    index_path,
    is_written_here,
    lock_marker,
    part_path,
    sync_folder,
)
from fonds.archive.warc.fields import read_fields
from fonds.archive.warc.scanner import Damage, RecordHead, read_heads
from fonds.archive.warc.tombstone import build_tombstone_member
from fonds.model.archive import PurgeResult
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, StoreUnavailableError
from fonds.model.keys import encode_sha1_base32
from fonds.model.record_offset import offset_text
from fonds.model.restrictions import Tombstone

PIECE_BYTES = 16 * 1024**2
VERSION_BYTES = 8
_FONDS_SOFTWARE = b"software: Fonds/"

Tick = Callable[[int], None]
"""Told how many bytes of a file were gone through so far, the last time before the copy takes its place."""


@dataclass(frozen=True, slots=True)
class PurgeableRecord:
    """A record to be replaced: where it is, how long on disk, its type, and the version of its header."""

    offset: int
    size_bytes: int
    type: str
    version: str


def is_own_warc_name(name: str) -> bool:
    """Whether this can be the name of a WARC of ours at all."""
    is_bare = "/" not in name and "\x00" not in name and not name.startswith(".")
    return is_bare and name.endswith(SUFFIX)


def purge_local_warc(path: Path, tombstone: Tombstone, tick: Tick) -> PurgeResult:
    """Replace what is to go in a finished file of this machine, then in its CDXJ. Raises OSError and
    DamagedInputError."""
    part = part_path(path)
    try:
        with path.open("rb") as stream:
            found = find_records(stream, path.name, tombstone.sha1hex)
            if found:
                _copy(stream, part, tick)
        if found:
            write_tombstones(part, path.name, found, tombstone)
            tick(part.stat().st_size)
            part.replace(path)
            sync_folder(path.parent)
        if found is not None:
            purge_index(index_path(path), tombstone.sha1hex)
    finally:
        part.unlink(missing_ok=True)
    return build_purge_result(found)


def build_purge_result(records: Sequence[PurgeableRecord] | None) -> PurgeResult:
    """What is told of records that were replaced."""
    some = records or ()
    return PurgeResult(len(some), sum(one.size_bytes for one in some))


def find_records(stream: BinaryIO, name: str, sha1hex: str) -> list[PurgeableRecord] | None:
    """The records of a file's bytes, those that say they were met again, and what stands beside them.

    None for a WARC that does not say that Fonds wrote it under this name. Raises DamagedInputError
    where it cannot be told which record stands there.
    """
    if not _is_ours(stream, name):
        return None
    heads = list(_iter_heads(stream, encode_sha1_base32(bytes.fromhex(sha1hex))))
    return [
        PurgeableRecord(
            one.offset, one.size_bytes or 0, one.type, _read_version(stream, one.offset)
        )
        for one in heads
    ]


def _is_ours(stream: BinaryIO, name: str) -> bool:
    first = next(read_heads(stream), None)
    if isinstance(first, Damage):
        raise _build_hidden_error(first.offset, first.detail)
    if first is None or first.type != "warcinfo":
        return False
    records = RecordStream(stream, 0)
    records.begin()
    fields = read_fields(records)
    said = records.read(len(_FONDS_SOFTWARE))
    return fields.fields.get("WARC-Filename") == name and said == _FONDS_SOFTWARE


def _iter_heads(stream: BinaryIO, digest: str) -> Iterator[RecordHead]:
    beside = 0
    for thing in read_heads(stream):
        head = thing.record if isinstance(thing, Damage) else thing
        wanted = head is not None and head.digest == digest
        beside = COMPANIONS_MAX if wanted else beside
        goes = wanted or (beside > 0 and head is not None and head.type in COMPANION_TYPES)
        if head is None or (goes and (isinstance(thing, Damage) or head.size_bytes is None)):
            told = thing.detail if isinstance(thing, Damage) else "the record is cut"
            raise _build_hidden_error(thing.offset, told)
        if goes:
            beside -= not wanted
            yield head
        else:
            beside = 0


def _build_hidden_error(offset: int, message: str) -> DamagedInputError:
    return DamagedInputError(
        Reason.DAMAGED_RECORD,
        f"at offset {offset_text(offset)}: {message}; what was taken down may stand there",
    )


def _read_version(stream: BinaryIO, offset: int) -> str:
    records = RecordStream(stream, offset)
    records.begin()
    return records.peek(VERSION_BYTES).decode("ascii", "replace")


def _copy(stream: BinaryIO, part: Path, tick: Tick) -> None:
    """A copy of a file, which may be written only by whom that may be."""
    stream.seek(0)
    with part.open("wb") as copy:
        os.fchmod(copy.fileno(), os.fstat(stream.fileno()).st_mode & 0o777)
        while piece := stream.read(PIECE_BYTES):
            copy.write(piece)
            tick(copy.tell())


def write_tombstones(
    part: Path, name: str, records: Sequence[PurgeableRecord], tombstone: Tombstone
) -> None:
    """Write tombstones over records of a copy; it is on the disk, and was read again, when this returns.

    Raises OSError, and DamagedInputError when what is to go can be found in it still.
    """
    with part.open("r+b") as copy:
        size_bytes = copy.seek(0, os.SEEK_END)
        for one in records:
            copy.seek(one.offset)
            pieces = build_tombstone_member(
                one.size_bytes, tombstone, replaced=one.type, version=one.version
            )
            copy.writelines(pieces)
        copy.flush()
        os.fsync(copy.fileno())
        same_size = copy.seek(0, os.SEEK_END) == size_bytes
        if not same_size or find_records(copy, name, tombstone.sha1hex) != []:
            raise DamagedInputError(
                Reason.DAMAGED_RECORD, f"{name} could not be written anew; it stays as it was"
            )


def purge_index(index: Path, sha1hex: str) -> None:
    """Take out of a CDXJ the lines of these bytes: whole under its name, or not at all. Raises OSError."""
    part = part_path(index)
    try:
        before = index.read_bytes() if index.exists() else b""
        after = drop_index_lines(before, sha1hex)
        if after != before:
            write_part(part, after)
            part.replace(index)
    finally:
        # Also one that was left behind by whoever wrote the index and was killed.
        part.unlink(missing_ok=True)
    sync_folder(index.parent)


def write_part(part: Path, data: bytes) -> None:
    """Bytes on the disk, under a name of their own."""
    with part.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def drop_index_lines(lines: bytes, sha1hex: str) -> bytes:
    """A CDXJ without the lines of these bytes; all others to the byte."""
    digest, reader = encode_sha1_base32(bytes.fromhex(sha1hex)), IndexReader()
    return b"".join(
        line
        for line in lines.splitlines(keepends=True)
        if digest.encode() not in line or not _is_line_of(reader, line, digest)
    )


def _is_line_of(reader: IndexReader, line: bytes, digest: str) -> bool:
    found = reader.parse(line.decode("utf-8", "replace"))
    return isinstance(found, CdxLine) and found.digest == digest


# What was taken down, replaced in a WARC of ours that was moved to a bucket.
#
# It is fetched, written anew and sent again under its own key: a bucket shows an object whole, as it was
# or as it is, and since no record moves, whoever reads a part of it finds the same bytes in both.


@dataclass(frozen=True, slots=True)
class UploadedWarcPurge:
    """Purges WARCs of a bucket by way of a folder of this machine, where one of them has room."""

    folder: Path
    bucket: WarcBucket
    mover: WarcUploader

    def __call__(self, name: str, tombstone: Tombstone, tick: Tick) -> PurgeResult:
        """As the port's `purge` says, of a file that is finished. Raises OSError too."""
        if not self.mover.move(name):
            return PurgeResult(
                waits=f"{name} is being sent to {self.bucket.display_url} by another process"
            )
        size_bytes = self.bucket.get_size(build_key(name))
        if size_bytes is None:
            there = f"{name} is neither here nor in {self.bucket.display_url}"
            told = f"{there}: another machine wrote it and may not have sent it yet"
            return PurgeResult(waits="" if is_written_here(name) else told)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / name
        with lock_marker(path) as mine:
            if not mine:
                return PurgeResult(waits=f"{name} is being fetched by another process")
            try:
                return self._purge(path, size_bytes, tombstone, tick)
            finally:
                part_path(path).unlink(missing_ok=True)
                part_path(index_path(path)).unlink(missing_ok=True)

    def _purge(self, path: Path, size_bytes: int, tombstone: Tombstone, tick: Tick) -> PurgeResult:
        part = part_path(path)
        self._fetch(build_key(path.name), part, size_bytes, tick)
        with part.open("rb") as stream:
            found = find_records(stream, path.name, tombstone.sha1hex)
        if found:
            write_tombstones(part, path.name, found, tombstone)
            tick(size_bytes)
            self.mover.upload(part, path.name)
        if found is not None:
            self._purge_index(index_path(path), tombstone.sha1hex)
        return build_purge_result(found)

    def _purge_index(self, index: Path, sha1hex: str) -> None:
        part, key = part_path(index), build_key(index.name)
        size_bytes = self.bucket.get_size(key)
        if not size_bytes:
            return
        self._fetch(key, part, size_bytes, lambda _: None)
        before = part.read_bytes()
        after = drop_index_lines(before, sha1hex)
        if after != before:
            write_part(part, after)
            self.mover.upload(part, index.name)

    def _fetch(self, key: str, part: Path, size_bytes: int, tick: Tick) -> None:
        with part.open("wb") as stream:
            for start in range(0, size_bytes, PIECE_BYTES):
                wanted = min(PIECE_BYTES, size_bytes - start)
                piece, whole = self.bucket.fetch(key, start, wanted)
                if len(piece) != wanted or whole != size_bytes:
                    raise StoreUnavailableError(
                        f"{key} of {self.bucket.display_url} changed meanwhile"
                    )
                stream.write(piece)
                tick(start + wanted)
