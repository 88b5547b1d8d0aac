"""Decompress bzip2 streams, XZ streams and LZ4 frames in WARC files. Their decompressors share one
interface.

Source: the formats of bzip2, XZ (tukaani.org/xz/xz-file-format.txt) and LZ4 frames
(lz4_Frame_format.md).
Limits: 16 KiB of input are decompressed at a time. Output is at most 200 times the input plus 1
MiB. XZ may use 128 MiB of memory.
"""

from __future__ import annotations

import bz2
import lzma
import re
from collections.abc import Callable
from typing import Protocol

import lz4.frame

from fonds.archive.members.raw_file import (
    INPUT_BYTES,
    MemberError,
    RawFile,
    check_ratio,
)
from fonds.model.disposition import Reason

XZ_MEMORY_MAX_BYTES = 128 * 1024 * 1024
PACKED_MAGIC = re.compile(
    rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)|\xfd7zXZ\x00|\x04\x22\x4d\x18"
)
"""Matches the first bytes of a bzip2 stream (with its first block or its end), an XZ stream or an
LZ4 frame.
"""

_FAULTS = (OSError, EOFError, ValueError, lzma.LZMAError, RuntimeError)


class _Unpacker(Protocol):
    """Interface shared by the bzip2, XZ and LZ4 decompressors."""

    @property
    def eof(self) -> bool:
        """Whether the decompressor has reached the end of the compressed stream or frame."""

    @property
    def unused_data(self) -> bytes | None:
        """Input bytes after the end of the compressed stream or frame."""

    @property
    def needs_input(self) -> bool:
        """Whether the decompressor needs more compressed input before it can return more output."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Return at most `max_length` decompressed bytes of `data` and earlier input; -1 means no
        limit.
        """


_UNPACKERS: dict[bytes, tuple[str, Callable[[], _Unpacker]]] = {
    b"BZh": ("bzip2 stream", bz2.BZ2Decompressor),
    b"\xfd7z": (
        "XZ stream",
        lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY_MAX_BYTES),
    ),
    b"\x04\x22\x4d": ("LZ4 frame", lz4.frame.LZ4FrameDecompressor),
}


class PackedMember:
    """One bzip2 stream, XZ stream or LZ4 frame in a WARC file, decompressed piece by piece.

    `offset`: file offset where the member begins.
    `end`: file offset just past the member; None until the member was read to its end.
    `damage`: always None, because `read` raises MemberError at once for damage.
    """

    def __init__(self, raw: RawFile, offset: int) -> None:
        self.offset = offset
        self.end: int | None = None
        self.damage: MemberError | None = None
        self._raw = raw
        self._next = offset
        self._output_bytes = 0
        self._name, unpacker = _UNPACKERS[raw.read_at(offset, 3)]
        self._unpacker = unpacker()

    @property
    def reach(self) -> int:
        """File offset just past the compressed input that was read so far."""
        return self._next if self.end is None else self.end

    def read(self, size_max: int) -> bytes:
        """Return the next decompressed bytes, at most `size_max`; b"" at the end of the stream or
        frame.

        Raises MemberError if the compressed data is damaged or truncated, or its output is too
        large for its input.
        """
        while self.end is None:
            piece = self._unpack(size_max)
            self._output_bytes += len(piece)
            check_ratio(self._output_bytes, self.reach - self.offset)
            if piece:
                return piece
        return b""

    def _unpack(self, size_max: int) -> bytes:
        packed_piece = b""
        if self._unpacker.needs_input:
            packed_piece = self._raw.read_at(self._next, INPUT_BYTES)
            self._next += len(packed_piece)
            if not packed_piece:
                detail = f"the file ends inside the {self._name} at offset {self.offset}"
                raise MemberError(Reason.TRUNCATED_RECORD, detail)
        try:
            piece = self._unpacker.decompress(packed_piece, size_max)
        except _FAULTS as fault:
            detail = f"the {self._name} at offset {self.offset} is damaged: {fault}"
            raise MemberError(Reason.DAMAGED_RECORD, detail) from fault
        if self._unpacker.eof:
            self.end = self._next - len(self._unpacker.unused_data or b"")
        return piece


def probe_packed(raw: RawFile, offset: int, input_bytes: int) -> bool:
    """Return whether a bzip2, XZ or LZ4 member seems to begin at `offset` of a file.

    The first `input_bytes` bytes of the member must decompress without error. They are decompressed
    to at most 64 bytes of output.
    """
    try:
        _UNPACKERS[raw.read_at(offset, 3)][1]().decompress(raw.read_at(offset, input_bytes), 64)
    except _FAULTS:
        return False
    return True
