"""Read captures from a ZIP: PDFs, pages, and WARCs, for example in a WACZ."""

from __future__ import annotations

import io
import lzma
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, BinaryIO, cast

from fonds.ingest.sources.container import Container, detect_container, is_archive_name
from fonds.ingest.sources.damage_runs import Item
from fonds.ingest.sources.warcs import WARCS, read_warc
from fonds.model.capture import DAMAGE, Capture, Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import find_shortage
from fonds.model.rows import InputRow
from fonds.urls.parts import member_url


class Window(io.RawIOBase):
    """File object for a byte range of another stream, such as a WARC stored uncompressed
    in a ZIP.

    The range has `size_bytes` bytes of `stream` and begins at offset `start_bytes`.
    """

    def __init__(self, stream: BinaryIO, start_bytes: int, size_bytes: int) -> None:
        self._stream = stream
        self._start = start_bytes
        self._size = size_bytes
        self._position = 0

    def readable(self) -> bool:
        """Return True, since the stream can be read."""
        return True

    def seekable(self) -> bool:
        """Return True, since the position in the stream can be changed."""
        return True

    def tell(self) -> int:
        """Return the current position in the byte range, in bytes from its start."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move within the byte range. Reading at a position after its end returns no bytes."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]
        """Fill `buffer` from the byte range, and return the number of bytes read."""
        self._stream.seek(self._start + self._position)
        data = self._stream.read(max(0, min(len(buffer), self._size - self._position)))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


MEMBERS_MAX = 100_000
RATIO_MAX = 200
UNPACKED_MAX_BYTES = 16 * 1024**3
HEAD_BYTES = 64 * 1024
ENCRYPTED_FLAG = 0x1
LOCAL_HEADER_BYTES = 30
# Errors of reading a damaged member; each unpacker of the standard library has its own.
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
)


def read_zip(path: Path, row: InputRow, collection: str, inbox: Path) -> Iterator[Item]:
    """Yield a number (from 0) and then the captures for each member (file) of a ZIP, from number
    `row.position` on.

    A member that is a WARC yields the captures of its records. Any other member yields one capture.
    WARCs that are compressed in the ZIP are decompressed to the folder `inbox`.
    """
    reading = _OpenZip(path, row, collection, inbox)
    try:
        with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if len(members) > MEMBERS_MAX:
                yield reading.build_damaged(None, Reason.BOMB, f"more than {MEMBERS_MAX} members")
                return
            for number, member in enumerate(members):
                if number >= row.position:
                    yield number
                    yield from _iter_member(reading, stream, archive, _ZipMember(number, member))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, ValueError) as error:
        yield reading.build_damaged(
            None, Reason.DAMAGED_RECORD, f"not a complete ZIP file: {error}"
        )


@dataclass(frozen=True, slots=True)
class _ZipMember:
    number: int
    info: zipfile.ZipInfo


@dataclass(frozen=True, slots=True)
class _OpenZip:
    """ZIP file that is being read, with the values that all of its captures share.

    - `path`: path of the ZIP.
    - `row`: input row of the ZIP.
    - `collection`: collection of the captures.
    - `inbox`: folder to which compressed WARCs in the ZIP are decompressed.
    """

    path: Path
    row: InputRow
    collection: str
    inbox: Path

    def build_damaged(self, member: _ZipMember | None, reason: Reason, detail: str) -> Capture:
        """Build the capture that reports that a member of the ZIP cannot be read, or the whole ZIP
        if `member` is None.
        """
        suffix = "whole" if member is None else f"{member.number:012x}"
        return Capture(
            id=f"{self.row.input_id}-{suffix}-damage",
            input_id=self.row.input_id,
            place=Place(PlaceKind.FILE, str(self.path)),
            url=self.path.as_uri(),
            captured_at=self.row.updated,
            record_type=DAMAGE,
            collection=self.collection,
            damage=detail,
            damage_reason=reason,
        )

    def build_loose(self, member: _ZipMember) -> Capture:
        """Build the capture of a ZIP member that is a single file, such as a PDF, rather than a
        WARC.

        The capture time is the member's modification time in the ZIP, taken as UTC. If that is
        invalid, the capture time is the time of the input row.
        """
        info = member.info
        try:
            moment = datetime(*info.date_time, tzinfo=UTC)
        except ValueError:
            moment = self.row.updated
        return Capture(
            id=f"{self.row.input_id}-{member.number:012x}",
            input_id=self.row.input_id,
            place=Place(
                PlaceKind.ZIP, str(self.path), size_bytes=info.compress_size, member=info.filename
            ),
            url=member_url(self.path.as_uri(), info.filename),
            captured_at=moment,
            record_type="file",
            collection=self.collection,
        )

    def iter_records(
        self, stream: BinaryIO, path: Path, base_bytes: int, prefix: str | None = None
    ) -> Iterator[Capture | Mapping[str, int]]:
        """Yield the captures of a WARC in the ZIP, and counts of its other records as mappings.

        No positions are yielded, because reading a ZIP resumes at a member, never at a record.
        `base_bytes` is the offset of the WARC in the file `path`. If `prefix` is given, the capture
        ids begin with it instead of the input id.
        """
        unread_row = replace(self.row, position=0)
        for item in read_warc(stream, unread_row, self.collection, path, base_bytes=base_bytes):
            if isinstance(item, Capture):
                yield (
                    item
                    if prefix is None
                    else replace(item, id=self._build_member_id(item.id, prefix))
                )
            elif isinstance(item, Mapping):
                yield item

    def _build_member_id(self, capture_id: str, prefix: str) -> str:
        """Return the capture id of a record in a WARC file that is a member of a ZIP file.

        The id contains the number of the member in the ZIP file, because two members may have
        records at the same offset.
        """
        return prefix + capture_id.removeprefix(self.row.input_id)


def _iter_member(
    reading: _OpenZip, stream: IO[bytes], archive: zipfile.ZipFile, member: _ZipMember
) -> Iterator[Capture | Mapping[str, int]]:
    name = member.info.filename
    if member.info.flag_bits & ENCRYPTED_FLAG:
        yield reading.build_damaged(member, Reason.UNREADABLE_SOURCE, f"{name} is encrypted")
        return
    if archive.getinfo(name) is not member.info:
        detail = f"{name} is hidden by a later member of the same name"
        yield reading.build_damaged(member, Reason.UNREADABLE_SOURCE, detail)
        return
    try:
        is_empty = True
        for item in _iter_member_captures(reading, stream, archive, member):
            is_empty = False
            yield item
        if is_empty:
            yield reading.build_damaged(member, Reason.EMPTY_BODY, f"{name} contains no records")
    except UNREADABLE as error:
        if (shortage := find_shortage(error)) is not None:
            raise shortage from error
        yield reading.build_damaged(member, Reason.DAMAGED_RECORD, f"{name}: {error}")


def _iter_member_captures(
    reading: _OpenZip, stream: IO[bytes], archive: zipfile.ZipFile, member: _ZipMember
) -> Iterator[Capture | Mapping[str, int]]:
    """Yield the captures of one member of a ZIP: one for each record of a WARC, one for any other
    file.

    A ZIP in the ZIP, and a WARC that would become too large, yield a capture that reports this.
    Raises OSError, or an error of zipfile or of a decompressor (`UNREADABLE`), if the member is
    damaged.
    """
    info, row = member.info, reading.row
    with archive.open(info) as unpacked_stream:
        head = unpacked_stream.read(HEAD_BYTES)
    kind = detect_container(head)
    is_warc = kind in WARCS or (kind is None and is_archive_name(info.filename))
    if kind is Container.ZIP and _is_nested(info.filename, head):
        detail = f"{info.filename} is a ZIP inside a ZIP. Extract it and ingest it separately"
        yield reading.build_damaged(member, Reason.UNREADABLE_SOURCE, detail)
    elif not is_warc:
        yield reading.build_loose(member)
    elif info.compress_type == zipfile.ZIP_STORED:
        base_bytes = _find_data_offset(stream, info)
        window = cast(BinaryIO, Window(cast(BinaryIO, stream), base_bytes, info.file_size))
        yield from reading.iter_records(window, reading.path, base_bytes)
    elif info.file_size > min(UNPACKED_MAX_BYTES, RATIO_MAX * max(info.compress_size, 1)):
        detail = f"{info.filename} would decompress to {info.file_size} bytes"
        yield reading.build_damaged(member, Reason.BOMB, detail)
    else:
        warc_path = _unpack_member(
            archive, info, reading.inbox / f"{row.input_id}-{member.number:06d}.warc"
        )
        with warc_path.open("rb") as records:
            yield from reading.iter_records(
                records, warc_path, 0, f"{row.input_id}.{member.number}"
            )


def _is_nested(name: str, head: bytes) -> bool:
    """Return whether a member of a ZIP is itself an archive (ZIP or WACZ), judging by its name and
    first bytes.

    Office documents are ZIP files too, but they are no archives in this sense.
    """
    return name.lower().endswith((".zip", ".wacz")) or b"datapackage.json" in head


def _find_data_offset(stream: IO[bytes], member: zipfile.ZipInfo) -> int:
    """Return the offset in the ZIP file at which the bytes of an uncompressed member begin, after
    its local header.
    """
    stream.seek(member.header_offset)
    header = stream.read(LOCAL_HEADER_BYTES)
    name_bytes, extra_bytes = struct.unpack_from("<HH", header, 26)
    return member.header_offset + LOCAL_HEADER_BYTES + int(name_bytes) + int(extra_bytes)


def _unpack_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> Path:
    """Decompress a member of a ZIP to the path `target`, unless a file of its size is there, and
    return the path.

    Raises OSError if the file cannot be written.
    """
    if target.exists() and target.stat().st_size == member.file_size:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".part")
    try:
        with archive.open(member) as unpacked_stream, partial.open("wb") as out:
            shutil.copyfileobj(unpacked_stream, out)
        partial.replace(target)
    except OSError as error:
        error.filename = error.filename or str(target)
        raise
    finally:
        partial.unlink(missing_ok=True)
    return target
