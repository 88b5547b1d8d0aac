"""Detect which compressed member begins at an offset of a WARC file, and find the next one after
damage.

Source: RFC 1952 (gzip), RFC 8878 (zstd), WARC/1.1 section 4 (record header), ARC 1.0 (URL-record
line).

Limits: a search takes time linear in the bytes that it skips. To check where a member may begin, it
decompresses at most 4 times the file's size plus 64 MiB.
"""

from __future__ import annotations

import re
from typing import BinaryIO

from zlib_ng import zlib_ng

from fonds.archive.members.bzip2_xz_lz4 import (
    PACKED_MAGIC,
    PackedMember,
    probe_packed,
)
from fonds.archive.members.gzip import GzipMember, PlainRange
from fonds.archive.members.raw_file import CACHE_BYTES, RawFile
from fonds.archive.members.record_line import (
    LINE_MAX_BYTES,
    LINE_START,
    is_record_line,
)
from fonds.archive.members.zstd import (
    ZSTD_MAGIC,
    Dictionary,
    ZstdFrame,
    probe_frame,
    read_dictionary,
    skip_skippable_frame,
)
from fonds.text.coding import InflateError

GZIP_MAGIC = b"\x1f\x8b\x08"

_PROBE_BYTES = 4096

_MAGIC_BYTES = 10
_PROBING_BYTES = 64 * 1024 * 1024
_MAGIC = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]|\x28\xb5\x2f\xfd|" + PACKED_MAGIC.pattern)
_MEMBER_START = re.compile(_MAGIC.pattern + rb"|(?<=\n)" + LINE_START)
_RECORD_PREFIX = re.compile(rb"(?i:WARC)/\d|[A-Za-z][A-Za-z0-9+.-]{1,30}:[^\s]")

Member = PlainRange | GzipMember | ZstdFrame | PackedMember


class Framing:
    """Opens the compressed members or plain ranges of one WARC or ARC file, and finds the next
    plausible record after damage.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.raw = RawFile(stream)
        self._dictionary: Dictionary = None
        self._is_dictionary_loaded = False
        self._probe_budget_bytes = 4 * self.raw.size_bytes + _PROBING_BYTES

    def open(self, offset: int) -> Member | None:
        """Open what begins at `offset` of the file: a compressed member (such as a gzip member), or
        uncompressed bytes.

        Skippable zstd frames before it are skipped. Returns None at the end of the file.
        """
        magic = self.raw.read_at(offset, _MAGIC_BYTES)
        while (next_offset := skip_skippable_frame(self.raw, offset, magic)) is not None:
            offset = next_offset
            magic = self.raw.read_at(offset, _MAGIC_BYTES)
        if magic[:3] == GZIP_MAGIC:
            return GzipMember(self.raw, offset)
        if magic[:4] == ZSTD_MAGIC:
            return ZstdFrame(self.raw, offset, self._load_dictionary())
        if PACKED_MAGIC.match(magic):
            return PackedMember(self.raw, offset)
        return PlainRange(self.raw, offset) if magic else None

    def is_packed(self, offset: int) -> bool:
        """Return whether a compressed member or a skippable zstd frame begins at `offset`."""
        magic = self.raw.read_at(offset, _MAGIC_BYTES)
        return (
            magic[:3] == GZIP_MAGIC
            or magic[:4] == ZSTD_MAGIC
            or PACKED_MAGIC.match(magic) is not None
            or skip_skippable_frame(self.raw, offset, magic) is not None
        )

    def find(self, offset: int, stop: int) -> int | None:
        """Return the first offset in [`offset`, `stop`) where a WARC or ARC record plausibly
        begins, or None.

        `offset` must be at least 1. The first bytes of a gzip member or zstd frame count only if
        the decompressed content begins like a record. Once such checks have decompressed 4 times
        the file's size plus 64 MiB, only uncompressed records are found.
        """
        while offset < stop:
            window = self.raw.read_at(offset - 1, CACHE_BYTES)
            for match in _MEMBER_START.finditer(window, 1):
                candidate = offset - 1 + match.start()
                if candidate >= stop:
                    return None
                if self._is_plausible(candidate, match.group()):
                    return candidate
            if offset - 1 + len(window) >= self.raw.size_bytes:
                return None
            # A line that straddles two windows is complete in the second.
            offset += len(window) - 1 - LINE_MAX_BYTES
        return None

    def _is_plausible(self, offset: int, header: bytes) -> bool:
        if not _MAGIC.match(header):
            return is_record_line(header)
        if self._probe_budget_bytes <= 0:
            return False
        if header == ZSTD_MAGIC:
            probe, taken_bytes = probe_frame(self.raw, offset, self._load_dictionary())
            self._probe_budget_bytes -= taken_bytes
            return _RECORD_PREFIX.match(probe) is not None
        self._probe_budget_bytes -= _PROBE_BYTES
        if not header.startswith(GZIP_MAGIC):
            return probe_packed(self.raw, offset, _PROBE_BYTES)
        try:
            probe = zlib_ng.decompressobj(31).decompress(self.raw.read_at(offset, _PROBE_BYTES), 64)
        except InflateError:
            return False
        return _RECORD_PREFIX.match(probe) is not None

    def _load_dictionary(self) -> Dictionary:
        if not self._is_dictionary_loaded:
            self._is_dictionary_loaded = True
            self._dictionary = read_dictionary(self.raw)
        return self._dictionary
