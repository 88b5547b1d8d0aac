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

from fonds.formats.cdx import CdxLine, IndexReader
from fonds.formats.members import RecordStream
from fonds.formats.warc import Damage, RecordHead, read_heads
from fonds.formats.warc.fields import read_fields
from fonds.formats.warc.tombstone import tombstone_member
from fonds.model.archive import Purged
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.model.keys import sha1_base32
from fonds.model.record_offset import offset_text
from fonds.model.takedown import Tombstone
from fonds.stores.archive.appender import sync_folder
from fonds.stores.archive.volume import BESIDE_MAX, BESIDE_TYPES, SUFFIX, index_of, part_of

PIECE_BYTES = 16 * 1024**2
VERSION_BYTES = 8
_WRITTEN_BY = b"software: Fonds/"

Tick = Callable[[int], None]
"""Told how many bytes of a file were gone through so far, the last time before the copy takes its place."""


@dataclass(frozen=True, slots=True)
class Doomed:
    """A record to be replaced: where it is, how long on disk, its type, and the version of its header."""

    offset: int
    size_bytes: int
    type: str
    version: str


def is_named(name: str) -> bool:
    """Whether this can be the name of a WARC of ours at all."""
    is_bare = "/" not in name and "\x00" not in name and not name.startswith(".")
    return is_bare and name.endswith(SUFFIX)


def purge_here(path: Path, tombstone: Tombstone, tick: Tick) -> Purged:
    """Replace what is to go in a finished file of this machine, then in its CDXJ. Raises OSError and
    DamagedInputError."""
    part = part_of(path)
    try:
        with path.open("rb") as stream:
            found = doomed(stream, path.name, tombstone.sha1hex)
            if found:
                _copy(stream, part, tick)
        if found:
            bury(part, path.name, found, tombstone)
            tick(part.stat().st_size)
            part.replace(path)
            sync_folder(path.parent)
        if found is not None:
            purge_index(index_of(path), tombstone.sha1hex)
    finally:
        part.unlink(missing_ok=True)
    return counted(found)


def counted(found: Sequence[Doomed] | None) -> Purged:
    """What is told of records that were replaced."""
    some = found or ()
    return Purged(len(some), sum(one.size_bytes for one in some))


def doomed(stream: BinaryIO, name: str, sha1hex: str) -> list[Doomed] | None:
    """The records of a file's bytes, those that say they were met again, and what stands beside them.

    None for a WARC that does not say that Fonds wrote it under this name. Raises DamagedInputError
    where it cannot be told which record stands there.
    """
    if not _is_ours(stream, name):
        return None
    heads = list(_heads(stream, sha1_base32(bytes.fromhex(sha1hex))))
    return [
        Doomed(one.offset, one.size_bytes or 0, one.type, _version(stream, one.offset))
        for one in heads
    ]


def _is_ours(stream: BinaryIO, name: str) -> bool:
    first = next(read_heads(stream), None)
    if isinstance(first, Damage):
        raise _hidden(first.offset, first.detail)
    if first is None or first.type != "warcinfo":
        return False
    records = RecordStream(stream, 0)
    records.begin()
    fields = read_fields(records)
    said = records.read(len(_WRITTEN_BY))
    return fields.fields.get("WARC-Filename") == name and said == _WRITTEN_BY


def _heads(stream: BinaryIO, digest: str) -> Iterator[RecordHead]:
    beside = 0
    for thing in read_heads(stream):
        head = thing.record if isinstance(thing, Damage) else thing
        wanted = head is not None and head.digest == digest
        beside = BESIDE_MAX if wanted else beside
        goes = wanted or (beside > 0 and head is not None and head.type in BESIDE_TYPES)
        if head is None or (goes and (isinstance(thing, Damage) or head.size_bytes is None)):
            told = thing.detail if isinstance(thing, Damage) else "the record is cut"
            raise _hidden(thing.offset, told)
        if goes:
            beside -= not wanted
            yield head
        else:
            beside = 0


def _hidden(offset: int, told: str) -> DamagedInputError:
    return DamagedInputError(
        Reason.DAMAGED_RECORD,
        f"at offset {offset_text(offset)}: {told}; what was taken down may stand there",
    )


def _version(stream: BinaryIO, offset: int) -> str:
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


def bury(part: Path, name: str, found: Sequence[Doomed], tombstone: Tombstone) -> None:
    """Write tombstones over records of a copy; it is on the disk, and was read again, when this returns.

    Raises OSError, and DamagedInputError when what is to go can be found in it still.
    """
    with part.open("r+b") as copy:
        size_bytes = copy.seek(0, os.SEEK_END)
        for one in found:
            copy.seek(one.offset)
            pieces = tombstone_member(
                one.size_bytes, tombstone, replaced=one.type, version=one.version
            )
            copy.writelines(pieces)
        copy.flush()
        os.fsync(copy.fileno())
        same_size = copy.seek(0, os.SEEK_END) == size_bytes
        if not same_size or doomed(copy, name, tombstone.sha1hex) != []:
            raise DamagedInputError(
                Reason.DAMAGED_RECORD, f"{name} could not be written anew; it stays as it was"
            )


def purge_index(index: Path, sha1hex: str) -> None:
    """Take out of a CDXJ the lines of these bytes: whole under its name, or not at all. Raises OSError."""
    part = part_of(index)
    try:
        before = index.read_bytes() if index.exists() else b""
        after = without(before, sha1hex)
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


def without(lines: bytes, sha1hex: str) -> bytes:
    """A CDXJ without the lines of these bytes; all others to the byte."""
    digest, reader = sha1_base32(bytes.fromhex(sha1hex)), IndexReader()
    return b"".join(
        line
        for line in lines.splitlines(keepends=True)
        if digest.encode() not in line or not _names(reader, line, digest)
    )


def _names(reader: IndexReader, line: bytes, digest: str) -> bool:
    found = reader.parse(line.decode("utf-8", "replace"))
    return isinstance(found, CdxLine) and found.digest == digest
