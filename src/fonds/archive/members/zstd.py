"""Zstd frames and the dictionary a file of them may begin with.

Source: RFC 8878, section 3.1; IIPC "Zstandard Compression for WARC Files 1.0" (dictionary frame).
Bound: a frame is walked once, block by block, before it is unpacked; at most 200 times the input beyond
the first MiB comes of it, windows have at most 128 MiB.
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
    """One zstd frame; its end is found by walking its blocks before anything is unpacked."""

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
        """The offset just past the input looked at so far."""
        return self._stop

    def read(self, size_max: int) -> bytes:
        """The next unpacked bytes; b"" at the end. Raises MemberError."""
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
                f"the zstd frame at offset {self.offset} breaks off at {self._stop}",
            )
        self.end = self._stop


class _Slice:
    """The bytes of a file between two offsets, as zstandard wants to read them."""

    def __init__(self, raw: RawFile, start: int, stop: int) -> None:
        self._raw = raw
        self.position = start
        self._stop = stop

    def read(self, size: int = -1) -> bytes:
        wanted = self._stop - self.position
        piece = self._raw.read_at(self.position, min(wanted, size) if size >= 0 else wanted)
        self.position += len(piece)
        return piece


def _find_first_block(raw: RawFile, offset: int) -> tuple[int, int] | None:
    """Where the first block of the zstd frame at `offset` begins and how long it is; None when invalid."""
    descriptor = raw.read_at(offset + 4, 1)
    if not descriptor or descriptor[0] & 8:
        return None
    bits = descriptor[0]
    single_segment = bits >> 5 & 1
    content_size_bytes = (single_segment, 2, 4, 8)[bits >> 6]
    at = offset + 5 + (1 - single_segment) + (0, 1, 2, 4)[bits & 3] + content_size_bytes
    header = raw.read_at(at, 3)
    value = int.from_bytes(header, "little")
    size_bytes = 1 if value >> 1 & 3 == 1 else value >> 3
    if len(header) < 3 or value >> 1 & 3 == 3 or size_bytes > _BLOCK_MAX_BYTES:
        return None
    return at, size_bytes


def walk_frame(raw: RawFile, offset: int) -> tuple[int, Reason | None]:
    """The offset just past a zstd frame and None, or where it breaks off and why."""
    first = _find_first_block(raw, offset)
    if first is None:
        cut = offset + 18 > raw.size_bytes
        return raw.size_bytes, Reason.TRUNCATED_RECORD if cut else Reason.DAMAGED_RECORD
    at = first[0]
    while True:
        header = raw.read_at(at, 3)
        if len(header) < 3:
            return raw.size_bytes, Reason.TRUNCATED_RECORD
        value = int.from_bytes(header, "little")
        if value >> 1 & 3 == 3:
            return at, Reason.DAMAGED_RECORD
        at += 3 + (1 if value >> 1 & 3 == 1 else value >> 3)
        if value & 1:
            break
    at += 4 if raw.read_at(offset + 4, 1)[0] & 4 else 0
    if at > raw.size_bytes:
        return raw.size_bytes, Reason.TRUNCATED_RECORD
    return at, None


def probe_frame(raw: RawFile, offset: int, dictionary: Dictionary) -> tuple[bytes, int]:
    """The first bytes of a frame, unpacked from its first block alone, b"" when it is none; and how many
    bytes were looked at for that."""
    first = _find_first_block(raw, offset)
    if first is None:
        return b"", 0
    block_start, block_bytes = first
    packed = raw.read_at(offset, block_start + 3 + block_bytes - offset)
    try:
        probe: bytes = _create_decompressor(dictionary).stream_reader(packed).read(64)
    except zstandard.ZstdError:
        return b"", len(packed)
    return probe, len(packed)


def skip_skippable_frame(raw: RawFile, offset: int) -> int | None:
    """The offset just past the skippable frame at `offset`, None when there is none or it is cut."""
    head = raw.read_at(offset, 8)
    if len(head) < 8 or not _SKIPPABLE.match(head):
        return None
    after = offset + 8 + int.from_bytes(head[4:8], "little")
    return after if after <= raw.size_bytes else None


def read_dictionary(raw: RawFile) -> Dictionary:
    """The dictionary in the skippable frame a file begins with, unpacked when packed itself, or None."""
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
