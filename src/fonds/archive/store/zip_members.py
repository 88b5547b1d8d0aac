"""Read the members of ZIP files by name, within limits. The directories of recent ZIP files are
cached.

Source: PKWARE APPNOTE 6.3, sections 4.3 (structure) and 4.4 (fields).
"""

from __future__ import annotations

import os
import struct
import threading
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

from fonds.model.archive import Payload
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, LimitError, PermanentError

MEMBERS_MAX = 100_000
RATIO_MAX = 200
RATIO_ALLOWANCE_BYTES = 1024 * 1024

_DIRECTORY_MAX_BYTES = 64 * 1024 * 1024
_CACHED_MAX = 4
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_LOCAL_MAGIC = b"PK\x03\x04"
_END_MAGIC = b"PK\x05\x06"
_ENTRY_MAGIC = b"PK\x01\x02"
_END_MAX_BYTES = 22 + 65535 + 1024
_ZIP64_END_BYTES = 76
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 1
_IN_ZIP64 = 0xFFFFFFFF
_PIECE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class _ZipMember:
    """Entry for one member in the directory of a ZIP file.

    `offset`: bytes from the start of the ZIP file to the member's header.
    `packed_bytes`: compressed size.
    `size_bytes`: decompressed size.
    `method`: number of the compression method.
    `flags`: flag bits, such as encryption.
    `crc`: CRC-32 checksum of the content.
    """

    offset: int
    packed_bytes: int
    size_bytes: int
    method: int
    flags: int
    crc: int


Directory = Mapping[str, _ZipMember]
_Key = tuple[int, int, int, int]


class ZipReader:
    """Reads members of ZIP files. Thread-safe.

    Caches the directories of the last four ZIP files, keyed by inode, size and modification time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._directories: OrderedDict[_Key, Directory] = OrderedDict()

    def read(self, stream: BinaryIO, name: str, body_max_bytes: int) -> Payload:
        """Return the content of the member called `name` of an open ZIP file.

        Raises PermanentError (MISSING_SOURCE, UNREADABLE_SOURCE), DamagedInputError for a damaged
        file, and LimitError (TOO_LARGE, BOMB).
        """
        member = self._load_directory(stream).get(name)
        if member is None:
            raise PermanentError(
                Reason.MISSING_SOURCE, ("the ZIP file has no member with this name")
            )
        _check_member(member, body_max_bytes)
        body = _unpack_member(stream, member)
        if zlib.crc32(body) != member.crc:
            raise DamagedInputError(Reason.DAMAGED_RECORD, "the member's checksum does not match")
        return Payload(body, size_bytes=member.packed_bytes)

    def _load_directory(self, stream: BinaryIO) -> Directory:
        status = os.fstat(stream.fileno())
        key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        with self._lock:
            if key not in self._directories:
                self._directories[key] = read_directory(stream)
                while len(self._directories) > _CACHED_MAX:
                    self._directories.popitem(last=False)
            self._directories.move_to_end(key)
            return self._directories[key]


def read_directory(stream: BinaryIO) -> Directory:
    """Return the members (files) of an open ZIP file by name. Of several with the same name, the
    last is returned.

    Raises DamagedInputError for a damaged file, and LimitError for a too large directory.
    """
    _check_directory_size(stream)
    try:
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError) as fault:
        raise DamagedInputError(
            Reason.DAMAGED_RECORD, f"cannot read the ZIP file's directory: {fault}"
        ) from fault
    return {
        info.filename: _ZipMember(
            info.header_offset,
            info.compress_size,
            info.file_size,
            info.compress_type,
            info.flag_bits,
            info.CRC,
        )
        for info in members
    }


def _check_directory_size(stream: BinaryIO) -> None:
    """Raise an error if the directory of a ZIP file is missing, or so large that it would exhaust
    the memory.

    It is called before the library `zipfile` reads the directory. Raises DamagedInputError and
    LimitError.
    """
    size_bytes = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size_bytes - _END_MAX_BYTES))
    tail = stream.read(_END_MAX_BYTES)
    end = tail.rfind(_END_MAGIC)
    if end < 0 or len(tail) - end < 22:
        raise DamagedInputError(
            Reason.DAMAGED_RECORD,
            ("no ZIP directory at the end; the file is truncated or not a ZIP file"),
        )
    directory_bytes = int.from_bytes(tail[end + 12 : end + 16], "little")
    if directory_bytes == _IN_ZIP64:
        record = tail.rfind(b"PK\x06\x06", 0, end)
        directory_bytes = (
            int.from_bytes(tail[record + 40 : record + 48], "little") if record >= 0 else 0
        )
    if directory_bytes > _DIRECTORY_MAX_BYTES:
        raise LimitError(Reason.TOO_LARGE, f"the ZIP file's directory has {directory_bytes} bytes")
    stop = size_bytes - len(tail) + end
    stream.seek(max(0, stop - directory_bytes - _ZIP64_END_BYTES))
    if stream.read(directory_bytes + _ZIP64_END_BYTES).count(_ENTRY_MAGIC) > MEMBERS_MAX:
        raise LimitError(
            Reason.TOO_LARGE, f"the ZIP file has more members than the limit of {MEMBERS_MAX}"
        )


def _check_member(member: _ZipMember, body_max_bytes: int) -> None:
    if member.flags & _ENCRYPTED:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE, ("the member is encrypted. Unpack it with its password first")
        )
    if member.method not in (_STORED, _DEFLATED):
        raise PermanentError(
            Reason.UNREADABLE_SOURCE,
            f"the member uses compression method {member.method}. Repack it with deflate",
        )
    if member.size_bytes > body_max_bytes:
        raise LimitError(
            Reason.TOO_LARGE,
            f"the member has {member.size_bytes} bytes; the limit is {body_max_bytes}",
        )
    if member.size_bytes > RATIO_ALLOWANCE_BYTES + RATIO_MAX * member.packed_bytes:
        raise LimitError(
            Reason.BOMB,
            (
                f"{member.packed_bytes} bytes decompress to {member.size_bytes}, a ratio "
                f"above {RATIO_MAX}:1"
            ),
        )


def _unpack_member(stream: BinaryIO, member: _ZipMember) -> bytes:
    stream.seek(member.offset)
    header = stream.read(_LOCAL_HEADER.size)
    if len(header) < _LOCAL_HEADER.size or not header.startswith(_LOCAL_MAGIC):
        raise DamagedInputError(Reason.DAMAGED_RECORD, "the member's header is damaged")
    *_, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(header)
    stream.seek(name_bytes + extra_bytes, os.SEEK_CUR)
    inflate = zlib.decompressobj(-15) if member.method == _DEFLATED else None
    body = bytearray()
    remaining_bytes = member.packed_bytes
    while remaining_bytes > 0 and (packed_piece := stream.read(min(remaining_bytes, _PIECE_BYTES))):
        remaining_bytes -= len(packed_piece)
        output_max_bytes = member.size_bytes + 1 - len(body)
        try:
            body += inflate.decompress(packed_piece, output_max_bytes) if inflate else packed_piece
        except zlib.error as fault:
            raise DamagedInputError(
                Reason.DAMAGED_RECORD, f"cannot decompress the member: {fault}"
            ) from fault
        if len(body) > member.size_bytes:
            break
    if remaining_bytes > 0 and len(body) < member.size_bytes:
        raise DamagedInputError(Reason.TRUNCATED_RECORD, "the file ends inside the member")
    if len(body) != member.size_bytes:
        raise DamagedInputError(
            Reason.DAMAGED_RECORD, ("the member's size does not match its header")
        )
    return bytes(body)
