"""Captures out of a ZIP: PDFs, pages, and the WARCs of a WACZ."""

from __future__ import annotations

import lzma
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, BinaryIO, cast
from urllib.parse import quote

from fonds.extract.container import Container, container, is_archive_name
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.rows import InputRow
from fonds.model.shortage import shortage
from fonds.sources.warcs import WARCS, read_warc
from fonds.sources.window import Window

MEMBERS_MAX = 100_000
RATIO_MAX = 200
UNPACKED_MAX_BYTES = 16 * 1024**3
HEAD_BYTES = 64 * 1024
ENCRYPTED_FLAG = 0x1
LOCAL_HEADER_BYTES = 30
# What reading a damaged member raises; the unpackers of the standard library each have their own.
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


def read_zip(
    path: Path, row: InputRow, collection: str, inbox: Path
) -> Iterator[Capture | Mapping[str, int] | int]:
    """One capture a member, those of its WARCs instead of the WARC; positions are member numbers."""
    try:
        with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if len(members) > MEMBERS_MAX:
                detail = f"over {MEMBERS_MAX} members"
                yield _damaged(row, collection, path, None, Reason.BOMB, detail)
                return
            for number, member in enumerate(members):
                if number >= row.position:
                    yield number
                    yield from _member(
                        stream, archive, member, number, row, collection, path, inbox
                    )
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, ValueError) as error:
        detail = f"not a whole ZIP: {error}"
        yield _damaged(row, collection, path, None, Reason.DAMAGED_RECORD, detail)


def _member(
    stream: IO[bytes],
    archive: zipfile.ZipFile,
    member: zipfile.ZipInfo,
    number: int,
    row: InputRow,
    collection: str,
    path: Path,
    inbox: Path,
) -> Iterator[Capture | Mapping[str, int]]:
    if member.flag_bits & ENCRYPTED_FLAG:
        detail = f"{member.filename} is encrypted"
        yield _damaged(row, collection, path, number, Reason.UNREADABLE_SOURCE, detail)
        return
    if archive.getinfo(member.filename) is not member:
        detail = f"{member.filename} is hidden by a later member of the same name"
        yield _damaged(row, collection, path, number, Reason.UNREADABLE_SOURCE, detail)
        return
    try:
        yield from _whole_member(stream, archive, member, number, row, collection, path, inbox)
    except UNREADABLE as error:
        if (short := shortage(error)) is not None:
            raise short from error
        detail = f"{member.filename}: {error}"
        yield _damaged(row, collection, path, number, Reason.DAMAGED_RECORD, detail)


def _whole_member(
    stream: IO[bytes],
    archive: zipfile.ZipFile,
    member: zipfile.ZipInfo,
    number: int,
    row: InputRow,
    collection: str,
    path: Path,
    inbox: Path,
) -> Iterator[Capture | Mapping[str, int]]:
    """What lies in one member. Raises one of UNREADABLE when its bytes are damaged."""
    with archive.open(member) as unpacked:
        head = unpacked.read(HEAD_BYTES)
    kind = container(head)
    is_warc = kind in WARCS or (kind is None and is_archive_name(member.filename))
    if kind is Container.ZIP and _is_nested(member.filename, head):
        detail = f"{member.filename} is a ZIP in a ZIP: take it out, and take it in by itself"
        yield _damaged(row, collection, path, number, Reason.UNREADABLE_SOURCE, detail)
    elif not is_warc:
        yield _loose(row, collection, path, number, member)
    elif member.compress_type == zipfile.ZIP_STORED:
        base_bytes = _data_offset(stream, member)
        window = cast(BinaryIO, Window(cast(BinaryIO, stream), base_bytes, member.file_size))
        yield from _records(window, row, collection, path, base_bytes)
    elif member.file_size > min(UNPACKED_MAX_BYTES, RATIO_MAX * max(member.compress_size, 1)):
        detail = f"{member.filename} would unpack to {member.file_size} bytes"
        yield _damaged(row, collection, path, number, Reason.BOMB, detail)
    else:
        kept = _unpack(archive, member, inbox / f"{row.input_id}-{number:06d}.warc")
        with kept.open("rb") as records:
            inside = f"{row.input_id}.{number}"
            yield from _records(records, row, collection, kept, 0, inside)


def _is_nested(name: str, head: bytes) -> bool:
    """Whether a ZIP within is one to look into: office documents and others are ZIPs too."""
    return name.lower().endswith((".zip", ".wacz")) or b"datapackage.json" in head


def _records(
    stream: BinaryIO,
    row: InputRow,
    collection: str,
    path: Path,
    base_bytes: int,
    prefix: str | None = None,
) -> Iterator[Capture | Mapping[str, int]]:
    """The records of a WARC inside, without its positions: a ZIP goes on from member to member."""
    whole = replace(row, position=0)
    for found in read_warc(stream, whole, collection, path, base_bytes=base_bytes):
        if isinstance(found, Capture):
            yield found if prefix is None else replace(found, id=_within(found.id, row, prefix))
        elif isinstance(found, Mapping):
            yield found


def _within(capture_id: str, row: InputRow, prefix: str) -> str:
    """Ids of records of an unpacked member: two members may have records at the same offset."""
    return prefix + capture_id.removeprefix(row.input_id)


def _data_offset(stream: IO[bytes], member: zipfile.ZipInfo) -> int:
    """Where a stored member's bytes begin: behind its local header, whose lengths are its own."""
    stream.seek(member.header_offset)
    header = stream.read(LOCAL_HEADER_BYTES)
    name_bytes, extra_bytes = struct.unpack_from("<HH", header, 26)
    return member.header_offset + LOCAL_HEADER_BYTES + int(name_bytes) + int(extra_bytes)


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> Path:
    """The member as a file of the inbox, written once and kept. Raises OSError."""
    if target.exists() and target.stat().st_size == member.file_size:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".part")
    try:
        with archive.open(member) as unpacked, partial.open("wb") as out:
            shutil.copyfileobj(unpacked, out)
        partial.replace(target)
    except OSError as error:
        error.filename = error.filename or str(target)
        raise
    finally:
        partial.unlink(missing_ok=True)
    return target


def _loose(
    row: InputRow, collection: str, path: Path, number: int, member: zipfile.ZipInfo
) -> Capture:
    try:
        moment = datetime(*member.date_time, tzinfo=UTC)
    except ValueError:
        moment = row.updated
    return Capture(
        id=f"{row.input_id}-{number:012x}",
        input_id=row.input_id,
        place=Place(
            PlaceKind.ZIP, str(path), size_bytes=member.compress_size, member=member.filename
        ),
        url=f"{path.as_uri()}#{quote(member.filename)}",
        captured_at=moment,
        record_type="file",
        collection=collection,
    )


def _damaged(
    row: InputRow, collection: str, path: Path, number: int | None, reason: Reason, detail: str
) -> Capture:
    """A capture that says what cannot be read: a member, or for `number` None the ZIP."""
    where = "whole" if number is None else f"{number:012x}"
    return Capture(
        id=f"{row.input_id}-{where}-damage",
        input_id=row.input_id,
        place=Place(PlaceKind.FILE, str(path)),
        url=path.as_uri(),
        captured_at=row.updated,
        record_type="damage",
        collection=collection,
        damage=detail,
        damage_reason=reason,
    )
