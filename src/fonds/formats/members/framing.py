"""Which member begins at an offset of a file, and where the next one is after damage.

Source: RFC 1952 (gzip), RFC 8878 (zstd), WARC/1.1 section 4 (record header), ARC 1.0 (URL-record line).

Bound: a search is linear in what it passes over; to judge what it finds, 4 times the file's size and
64 MiB are unpacked at most.
"""

from __future__ import annotations

import re
import zlib
from typing import BinaryIO

from fonds.formats.members.gzip import GzipMember, PlainStretch
from fonds.formats.members.packed import PACKED_MAGIC, PackedMember, probe_packed
from fonds.formats.members.raw import CACHE_BYTES, RawFile
from fonds.formats.members.record_line import LINE_BYTES_MAX, LINE_START, is_record_line
from fonds.formats.members.zstd import (
    ZSTD_MAGIC,
    Dictionary,
    ZstdFrame,
    after_skippable,
    probe_frame,
    read_dictionary,
)

GZIP_MAGIC = b"\x1f\x8b\x08"

_PROBE_BYTES = 4096

_MAGIC_BYTES = 10
_PROBING_BYTES = 64 * 1024 * 1024
_MAGIC = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]|\x28\xb5\x2f\xfd|" + PACKED_MAGIC.pattern)
_MEMBER_START = re.compile(_MAGIC.pattern + rb"|(?<=\n)" + LINE_START)
_RECORD_PREFIX = re.compile(rb"(?i:WARC)/\d|[A-Za-z][A-Za-z0-9+.-]{1,30}:[^\s]")

Member = PlainStretch | GzipMember | ZstdFrame | PackedMember


class Framing:
    """Opens the members of one file and finds the next plausible one after damage."""

    def __init__(self, stream: BinaryIO) -> None:
        self.raw = RawFile(stream)
        self._dictionary: Dictionary = None
        self._dictionary_known = False
        self._probing_left = 4 * self.raw.size_bytes + _PROBING_BYTES

    def open(self, offset: int) -> Member | None:
        """The member that begins at `offset`, skippable frames passed over; None at the end of the file."""
        while (after := after_skippable(self.raw, offset)) is not None:
            offset = after
        magic = self.raw.at(offset, _MAGIC_BYTES)
        if magic[:3] == GZIP_MAGIC:
            return GzipMember(self.raw, offset)
        if magic[:4] == ZSTD_MAGIC:
            return ZstdFrame(self.raw, offset, self._shared_dictionary())
        if PACKED_MAGIC.match(magic):
            return PackedMember(self.raw, offset)
        return PlainStretch(self.raw, offset) if magic else None

    def is_packed(self, offset: int) -> bool:
        """Whether a packed member or a skippable frame begins at `offset`."""
        magic = self.raw.at(offset, _MAGIC_BYTES)
        return (
            magic[:3] == GZIP_MAGIC
            or magic[:4] == ZSTD_MAGIC
            or PACKED_MAGIC.match(magic) is not None
            or after_skippable(self.raw, offset) is not None
        )

    def find(self, offset: int, stop: int) -> int | None:
        """The first offset from `offset` (at least 1) to `stop` where a record plausibly begins, or None.

        A magic of gzip or zstd counts only when what it unpacks to begins like a record; once too much was
        unpacked for that, none counts any more.
        """
        while offset < stop:
            window = self.raw.at(offset - 1, CACHE_BYTES)
            for match in _MEMBER_START.finditer(window, 1):
                at = offset - 1 + match.start()
                if at >= stop:
                    return None
                if self._is_plausible(at, match.group()):
                    return at
            if offset - 1 + len(window) >= self.raw.size_bytes:
                return None
            # A line that straddles two windows is seen whole in the second.
            offset += len(window) - 1 - LINE_BYTES_MAX
        return None

    def _is_plausible(self, offset: int, found: bytes) -> bool:
        if not _MAGIC.match(found):
            return is_record_line(found)
        if self._probing_left <= 0:
            return False
        if found == ZSTD_MAGIC:
            probe, taken_bytes = probe_frame(self.raw, offset, self._shared_dictionary())
            self._probing_left -= taken_bytes
            return _RECORD_PREFIX.match(probe) is not None
        self._probing_left -= _PROBE_BYTES
        if not found.startswith(GZIP_MAGIC):
            return probe_packed(self.raw, offset, _PROBE_BYTES)
        try:
            probe = zlib.decompressobj(31).decompress(self.raw.at(offset, _PROBE_BYTES), 64)
        except zlib.error:
            return False
        return _RECORD_PREFIX.match(probe) is not None

    def _shared_dictionary(self) -> Dictionary:
        if not self._dictionary_known:
            self._dictionary_known = True
            self._dictionary = read_dictionary(self.raw)
        return self._dictionary
