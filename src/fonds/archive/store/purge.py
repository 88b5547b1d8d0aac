"""Purge the records of a file under takedown from the WARC files that Fonds wrote, local or in a
bucket.

Records are replaced by tombstones in a copy, which then replaces the WARC file. A tombstone is a
record exactly as long as the record that it replaces. So no other record moves, and readers find
their record before and after the replacement.

A WARC in a bucket is downloaded, rewritten and uploaded again under the same key. A bucket shows
either the old or the new object.
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
    build_index_path,
    build_part_path,
    is_written_here,
    lock_marker,
    sync_folder,
)
from fonds.archive.warc.fields import read_fields
from fonds.archive.warc.scanner import Damage, RecordHead, read_heads
from fonds.archive.warc.tombstone import build_tombstone_member
from fonds.model.archive import PurgeResult
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, StoreUnavailableError
from fonds.model.keys import encode_sha1_base32
from fonds.model.record_offset import format_offset
from fonds.model.restrictions import Tombstone

PIECE_BYTES = 16 * 1024**2
VERSION_BYTES = 8
_FONDS_SOFTWARE = b"software: Fonds/"

Tick = Callable[[int], None]
"""Function that receives the number of bytes processed so far, to report progress of a purge.

It is called for the last time before the WARC file is replaced.
"""


@dataclass(frozen=True, slots=True)
class PurgeableRecord:
    """WARC record of a file under takedown, to be replaced by a tombstone.

    `offset`: bytes from the start of the WARC file to the record.
    `size_bytes`: length of the record on disk.
    `type`: WARC record type.
    `version`: WARC version in the record's header, such as `WARC/1.1`.
    """

    offset: int
    size_bytes: int
    type: str
    version: str


def is_own_warc_name(name: str) -> bool:
    """Return whether `name` can be the name of a WARC file that Fonds wrote."""
    is_bare = "/" not in name and "\x00" not in name and not name.startswith(".")
    return is_bare and name.endswith(SUFFIX)


def purge_local_warc(path: Path, tombstone: Tombstone, tick: Tick) -> PurgeResult:
    """Replace each record of a file under takedown by a tombstone, in a finished local WARC file.

    Then the lines of these records are removed from the CDXJ index. Returns the number and size of
    the replaced records. Raises OSError, and DamagedInputError if a record of the file may remain;
    the WARC file is then unchanged.
    """
    part = build_part_path(path)
    try:
        with path.open("rb") as stream:
            records = find_records(stream, path.name, tombstone.sha1hex)
            if records:
                _copy(stream, part, tick)
        if records:
            write_tombstones(part, path.name, records, tombstone)
            tick(part.stat().st_size)
            part.replace(path)
            sync_folder(path.parent)
        if records is not None:
            purge_index(build_index_path(path), tombstone.sha1hex)
    finally:
        part.unlink(missing_ok=True)
    return build_purge_result(records)


def build_purge_result(records: Sequence[PurgeableRecord] | None) -> PurgeResult:
    """Build the result of a purge from the records that were replaced: their number and their total
    size in bytes.

    `records` is None if Fonds did not write the WARC, which counts as no records.
    """
    replaced_records = records or ()
    return PurgeResult(len(replaced_records), sum(record.size_bytes for record in replaced_records))


def find_records(stream: BinaryIO, name: str, sha1hex: str) -> list[PurgeableRecord] | None:
    """Find the WARC records of a file with this SHA-1: its bodies, its revisits, and their metadata
    and request records.

    Returns None if the WARC does not state that Fonds wrote it under the name `name`. Raises
    DamagedInputError if damage may hide a record of the file.
    """
    if not _is_own_warc(stream, name):
        return None
    heads = list(_iter_heads(stream, encode_sha1_base32(bytes.fromhex(sha1hex))))
    return [
        PurgeableRecord(
            head.offset, head.size_bytes or 0, head.type, _read_version(stream, head.offset)
        )
        for head in heads
    ]


def _is_own_warc(stream: BinaryIO, name: str) -> bool:
    first_head = next(read_heads(stream), None)
    if isinstance(first_head, Damage):
        raise _build_hidden_error(first_head.offset, first_head.detail)
    if first_head is None or first_head.type != "warcinfo":
        return False
    records = RecordStream(stream, 0)
    records.begin()
    fields = read_fields(records)
    software = records.read(len(_FONDS_SOFTWARE))
    return fields.fields.get("WARC-Filename") == name and software == _FONDS_SOFTWARE


def _iter_heads(stream: BinaryIO, digest: str) -> Iterator[RecordHead]:
    companions_left = 0
    for item in read_heads(stream):
        head = item.record if isinstance(item, Damage) else item
        is_match = head is not None and head.digest == digest
        companions_left = COMPANIONS_MAX if is_match else companions_left
        is_removed = is_match or (
            companions_left > 0 and head is not None and head.type in COMPANION_TYPES
        )
        if head is None or (is_removed and (isinstance(item, Damage) or head.size_bytes is None)):
            detail = item.detail if isinstance(item, Damage) else "the record is truncated"
            raise _build_hidden_error(item.offset, detail)
        if is_removed:
            companions_left -= not is_match
            yield head
        else:
            companions_left = 0


def _build_hidden_error(offset: int, message: str) -> DamagedInputError:
    return DamagedInputError(
        Reason.DAMAGED_RECORD,
        f"at offset {format_offset(offset)}: {message}. The removed bytes may be there",
    )


def _read_version(stream: BinaryIO, offset: int) -> str:
    records = RecordStream(stream, offset)
    records.begin()
    return records.peek(VERSION_BYTES).decode("ascii", "replace")


def _copy(stream: BinaryIO, part: Path, tick: Tick) -> None:
    """Copy an open file to the path `part`, with the same permissions.

    `tick` is called with the number of bytes copied so far.
    """
    stream.seek(0)
    with part.open("wb") as copy:
        os.fchmod(copy.fileno(), os.fstat(stream.fileno()).st_mode & 0o777)
        while piece := stream.read(PIECE_BYTES):
            copy.write(piece)
            tick(copy.tell())


def write_tombstones(
    part: Path, name: str, records: Sequence[PurgeableRecord], tombstone: Tombstone
) -> None:
    """Write tombstones over `records` in the copy `part` of a WARC file, sync it to disk and check
    it.

    Raises OSError. Raises DamagedInputError if records of the removed file can still be found in
    the copy.
    """
    with part.open("r+b") as copy:
        size_bytes = copy.seek(0, os.SEEK_END)
        for record in records:
            copy.seek(record.offset)
            pieces = build_tombstone_member(
                record.size_bytes, tombstone, replaced_type=record.type, version=record.version
            )
            copy.writelines(pieces)
        copy.flush()
        os.fsync(copy.fileno())
        is_same_size = copy.seek(0, os.SEEK_END) == size_bytes
        if not is_same_size or find_records(copy, name, tombstone.sha1hex) != []:
            raise DamagedInputError(
                Reason.DAMAGED_RECORD, f"cannot rewrite {name}; the file is unchanged"
            )


def purge_index(index: Path, sha1hex: str) -> None:
    """Remove the lines about the file with the SHA-1 `sha1hex` from a CDXJ index.

    The index is replaced atomically. Raises OSError.
    """
    part = build_part_path(index)
    try:
        old_lines = index.read_bytes() if index.exists() else b""
        new_lines = drop_index_lines(old_lines, sha1hex)
        if new_lines != old_lines:
            write_part(part, new_lines)
            part.replace(index)
    finally:
        # This also removes a part file left by a killed process.
        part.unlink(missing_ok=True)
    sync_folder(index.parent)


def write_part(part: Path, data: bytes) -> None:
    """Write bytes durably to the temporary file `part`. The caller later moves it over the file
    that it replaces.
    """
    with part.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def drop_index_lines(lines: bytes, sha1hex: str) -> bytes:
    """Return the bytes of a CDXJ index without the lines about the file with the SHA-1 `sha1hex`.

    All other lines stay identical.
    """
    digest, reader = encode_sha1_base32(bytes.fromhex(sha1hex)), IndexReader()
    return b"".join(
        line
        for line in lines.splitlines(keepends=True)
        if digest.encode() not in line or not _is_line_of(reader, line, digest)
    )


def _is_line_of(reader: IndexReader, line: bytes, digest: str) -> bool:
    parsed_line = reader.parse(line.decode("utf-8", "replace"))
    return isinstance(parsed_line, CdxLine) and parsed_line.digest == digest


@dataclass(frozen=True, slots=True)
class UploadedWarcPurge:
    """Replaces each record of a file under takedown by a tombstone, in WARC files in a bucket.

    `folder`: local folder to which a WARC file is downloaded; it needs room for one file.
    `bucket`: the bucket with the WARC files.
    `mover`: uploads the rewritten files.
    """

    folder: Path
    bucket: WarcBucket
    mover: WarcUploader

    def __call__(self, name: str, tombstone: Tombstone, tick: Tick) -> PurgeResult:
        """Purge the records of a file under takedown from the finished WARC file `name`. A local
        WARC is uploaded first.

        Returns the number of replaced records, or the reason why the purge must wait. Raises
        DamagedInputError if damage may hide a record, StoreUnavailableError if the bucket fails,
        and OSError.
        """
        if not self.mover.move(name):
            return PurgeResult(
                waiting_reason=f"another process is sending {name} to {self.bucket.display_url}"
            )
        size_bytes = self.bucket.get_size(build_key(name))
        if size_bytes is None:
            problem = f"{name} is missing here and in {self.bucket.display_url}"
            reason = f"{problem}. Another machine wrote it and may not have sent it yet"
            return PurgeResult(waiting_reason="" if is_written_here(name) else reason)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / name
        with lock_marker(path) as is_locked:
            if not is_locked:
                return PurgeResult(waiting_reason=f"another process is fetching {name}")
            try:
                return self._purge(path, size_bytes, tombstone, tick)
            finally:
                build_part_path(path).unlink(missing_ok=True)
                build_part_path(build_index_path(path)).unlink(missing_ok=True)

    def _purge(self, path: Path, size_bytes: int, tombstone: Tombstone, tick: Tick) -> PurgeResult:
        part = build_part_path(path)
        self._fetch(build_key(path.name), part, size_bytes, tick)
        with part.open("rb") as stream:
            records = find_records(stream, path.name, tombstone.sha1hex)
        if records:
            write_tombstones(part, path.name, records, tombstone)
            tick(size_bytes)
            self.mover.upload(part, path.name)
        if records is not None:
            self._purge_index(build_index_path(path), tombstone.sha1hex)
        return build_purge_result(records)

    def _purge_index(self, index: Path, sha1hex: str) -> None:
        part, key = build_part_path(index), build_key(index.name)
        size_bytes = self.bucket.get_size(key)
        if not size_bytes:
            return
        self._fetch(key, part, size_bytes, lambda _: None)
        old_lines = part.read_bytes()
        new_lines = drop_index_lines(old_lines, sha1hex)
        if new_lines != old_lines:
            write_part(part, new_lines)
            self.mover.upload(part, index.name)

    def _fetch(self, key: str, part: Path, size_bytes: int, tick: Tick) -> None:
        with part.open("wb") as stream:
            for start in range(0, size_bytes, PIECE_BYTES):
                piece_bytes = min(PIECE_BYTES, size_bytes - start)
                piece, total_bytes = self.bucket.fetch(key, start, piece_bytes)
                if len(piece) != piece_bytes or total_bytes != size_bytes:
                    raise StoreUnavailableError(
                        f"{key} in {self.bucket.display_url} changed in the meantime"
                    )
                stream.write(piece)
                tick(start + piece_bytes)
