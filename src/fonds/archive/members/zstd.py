"""Decompress the zstd frames of a WARC file, with the dictionary that such a file may begin with.

Source: RFC 8878, section 3.1; IIPC "Zstandard Compression for WARC Files 1.0" (dictionary frame).
Limits: the headers of all blocks of a frame are read once before it is decompressed. Output is at
most 200 times the input plus 1 MiB. Windows have at most 128 MiB.
"""

from __future__ import annotations

import re
from typing import IO, cast

import zstandard

from fonds.archive.members.raw_file import (
    INPUT_BYTES,
    MemberError,
    RawFile,
    check_ratio,
)
from fonds.model.disposition import Reason

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
_DICTIONARY_MAGIC = b"\x5d\x2a\x4d\x18"
_DICTIONARY_MAX_BYTES = 16 * 1024 * 1024
_WINDOW_MAX_BYTES = 128 * 1024 * 1024
_BLOCK_MAX_BYTES = 128 * 1024

Dictionary = zstandard.ZstdCompressionDict | None


class ZstdFrame:
    """One zstd frame in a WARC file, decompressed piece by piece.

    The end of the frame is found from its block headers before anything is decompressed.
    """

    def __init__(self, raw: RawFile, offset: int, dictionary: Dictionary) -> None:
        self.offset = offset
        self.end: int | None = None
        self.damage: MemberError | None = None
        self._dictionary = dictionary
        self._stop, self._broken = walk_frame(raw, offset)
        self._slice = _Slice(raw, offset, self._stop)
        self._output_bytes = 0
        self._reader: zstandard.ZstdDecompressionReader | None = None

    @property
    def reach(self) -> int:
        """File offset just past the frame; for a broken frame, the offset where it breaks off."""
        return self._stop

    def read(self, size_max: int) -> bytes:
        """Return the next decompressed bytes of the frame, at most `size_max`, or b"" at its end.

        Raises MemberError if the frame is damaged or truncated, or its output is too large for its
        input.
        """
        try:
            if self._reader is None:
                unpacker = _create_decompressor(self._dictionary)
                self._reader = unpacker.stream_reader(
                    cast(IO[bytes], self._slice), read_size=INPUT_BYTES
                )
            piece = self._reader.read(size_max)
        except zstandard.ZstdError as fault:
            raise MemberError(
                Reason.DAMAGED_RECORD,
                f"the zstd frame at offset {self.offset} is damaged: {fault}",
            ) from fault
        self._output_bytes += len(piece)
        check_ratio(self._output_bytes, self._slice.position - self.offset)
        if not piece:
            self._finish()
        return piece

    def _finish(self) -> None:
        if self._broken is not None:
            raise MemberError(
                self._broken,
                f"the zstd frame at offset {self.offset} ends early at {self._stop}",
            )
        self.end = self._stop


class _Slice:
    """File-like object over a range of bytes of a file, as the zstandard library requires."""

    def __init__(self, raw: RawFile, start: int, stop: int) -> None:
        self._raw = raw
        self.position = start
        self._stop = stop

    def read(self, size: int = -1) -> bytes:
        remaining_bytes = self._stop - self.position
        piece = self._raw.read_at(
            self.position, min(remaining_bytes, size) if size >= 0 else remaining_bytes
        )
        self.position += len(piece)
        return piece


def _find_first_block(raw: RawFile, offset: int) -> tuple[int, int] | None:
    """Return the file offset and size in bytes of the first block of the zstd frame at `offset`.

    Returns None if the frame header or block header is invalid.
    """
    descriptor = raw.read_at(offset + 4, 1)
    if not descriptor or descriptor[0] & 8:
        return None
    bits = descriptor[0]
    single_segment = bits >> 5 & 1
    content_size_bytes = (single_segment, 2, 4, 8)[bits >> 6]
    block_offset = offset + 5 + (1 - single_segment) + (0, 1, 2, 4)[bits & 3] + content_size_bytes
    header = raw.read_at(block_offset, 3)
    value = int.from_bytes(header, "little")
    size_bytes = 1 if value >> 1 & 3 == 1 else value >> 3
    if len(header) < 3 or value >> 1 & 3 == 3 or size_bytes > _BLOCK_MAX_BYTES:
        return None
    return block_offset, size_bytes


def walk_frame(raw: RawFile, offset: int) -> tuple[int, Reason | None]:
    """Find the end of the zstd frame at `offset` from its block headers.

    Returns the offset just past the frame and None. For a broken frame, returns the offset where it
    breaks off and the reason: TRUNCATED_RECORD or DAMAGED_RECORD.
    """
    first = _find_first_block(raw, offset)
    if first is None:
        is_cut = offset + 18 > raw.size_bytes
        return raw.size_bytes, Reason.TRUNCATED_RECORD if is_cut else Reason.DAMAGED_RECORD
    position = first[0]
    while True:
        header = raw.read_at(position, 3)
        if len(header) < 3:
            return raw.size_bytes, Reason.TRUNCATED_RECORD
        value = int.from_bytes(header, "little")
        if value >> 1 & 3 == 3:
            return position, Reason.DAMAGED_RECORD
        position += 3 + (1 if value >> 1 & 3 == 1 else value >> 3)
        if value & 1:
            break
    position += 4 if raw.read_at(offset + 4, 1)[0] & 4 else 0
    if position > raw.size_bytes:
        return raw.size_bytes, Reason.TRUNCATED_RECORD
    return position, None


def probe_frame(raw: RawFile, offset: int, dictionary: Dictionary) -> tuple[bytes, int]:
    """Decompress up to 64 bytes from the first block of the zstd frame at `offset`.

    Returns the decompressed bytes and the number of input bytes used. The bytes are b"" if there is
    no valid frame.
    """
    first = _find_first_block(raw, offset)
    if first is None:
        return b"", 0
    block_start, block_bytes = first
    packed_data = raw.read_at(offset, block_start + 3 + block_bytes - offset)
    try:
        probe: bytes = _create_decompressor(dictionary).stream_reader(packed_data).read(64)
    except zstandard.ZstdError:
        return b"", len(packed_data)
    return probe, len(packed_data)


def skip_skippable_frame(raw: RawFile, offset: int, head: bytes) -> int | None:
    """Return the offset just past the skippable zstd frame at `offset`.

    `head` is the first bytes at `offset`: eight or more, fewer only at the end of the file. Returns
    None if no skippable frame begins there, or the file ends inside it.
    """
    if len(head) < 8 or not _SKIPPABLE.match(head):
        return None
    end_offset = offset + 8 + int.from_bytes(head[4:8], "little")
    return end_offset if end_offset <= raw.size_bytes else None


def read_dictionary(raw: RawFile) -> Dictionary:
    """Return the zstd dictionary in the skippable frame at the start of a WARC file, or None.

    A compressed dictionary is decompressed.
    """
    head = raw.read_at(0, 8)
    size_bytes = int.from_bytes(head[4:8], "little")
    if head[:4] != _DICTIONARY_MAGIC or not 0 < size_bytes <= _DICTIONARY_MAX_BYTES:
        return None
    content = raw.read_at(8, size_bytes)
    if content.startswith(ZSTD_MAGIC):
        try:
            content = _create_decompressor(None).stream_reader(content).read(_DICTIONARY_MAX_BYTES)
        except zstandard.ZstdError:
            return None
    return zstandard.ZstdCompressionDict(content) if content else None


def _create_decompressor(dictionary: Dictionary) -> zstandard.ZstdDecompressor:
    return zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=_WINDOW_MAX_BYTES)
