"""Which member begins at an offset of a file, and where the next one is after damage.

Source: RFC 1952 (gzip), RFC 8878 (zstd), WARC/1.1 section 4 (record header), ARC 1.0 (URL-record line).
"""

from __future__ import annotations

import re
import zlib
from typing import BinaryIO

from fonds.formats.members.gzip import GzipMember, PlainStretch
from fonds.formats.members.raw import CACHE_BYTES, RawFile
from fonds.formats.members.zstd import (
    ZSTD_MAGIC,
    Dictionary,
    ZstdFrame,
    after_skippable,
    probe_frame,
    read_dictionary,
)

GZIP_MAGIC = b"\x1f\x8b\x08"
LINE_BYTES_MAX = 8 * 1024

_PROBE_BYTES = 4096

_WARC_LINE = rb"WARC/\d{1,2}\.\d{1,3}[ \t]{0,8}\r?\n"
_ARC_LINE = (
    rb"[A-Za-z][A-Za-z0-9+.-]{1,30}:[^\s][^\n]{0,6000} \d{8,18} [^\n]{1,1000} -?[0-9a-z]{1,12}\r?\n"
)
_RECORD_LINE = re.compile(rb"(?:" + _WARC_LINE + rb"|" + _ARC_LINE + rb")")
RECORD_AT_LINE_START = re.compile(rb"(?<=\n)" + _RECORD_LINE.pattern)
HEADER_END = re.compile(rb"\n\r?\n|\n(?=" + _WARC_LINE + rb")")
"""The blank line behind a WARC header, or another record where the blank line should have come first."""

_MEMBER_START = re.compile(
    rb"\x1f\x8b\x08[\x00-\x1f]|\x28\xb5\x2f\xfd|" + RECORD_AT_LINE_START.pattern
)
_RECORD_PREFIX = re.compile(rb"WARC/\d|[A-Za-z][A-Za-z0-9+.-]{1,30}:[^\s]")

Member = PlainStretch | GzipMember | ZstdFrame


def starts_record(data: bytes) -> bool:
    """Whether unpacked bytes begin with the first line of a WARC or ARC record."""
    return _RECORD_LINE.match(data, 0, LINE_BYTES_MAX) is not None


class Framing:
    """Opens the members of one file and finds the next plausible one after damage."""

    def __init__(self, stream: BinaryIO) -> None:
        self.raw = RawFile(stream)
        self._dictionary: Dictionary = None
        self._dictionary_known = False

    def open(self, offset: int) -> Member | None:
        """The member that begins at `offset`, skippable frames passed over; None at the end of the file."""
        while (after := after_skippable(self.raw, offset)) is not None:
            offset = after
        magic = self.raw.at(offset, 4)
        if magic[:3] == GZIP_MAGIC:
            return GzipMember(self.raw, offset)
        if magic == ZSTD_MAGIC:
            return ZstdFrame(self.raw, offset, self._shared_dictionary())
        return PlainStretch(self.raw, offset) if magic else None

    def is_packed(self, offset: int) -> bool:
        """Whether a gzip member, a zstd frame or a skippable frame begins at `offset`."""
        magic = self.raw.at(offset, 4)
        return (
            magic[:3] == GZIP_MAGIC
            or magic == ZSTD_MAGIC
            or after_skippable(self.raw, offset) is not None
        )

    def find(self, offset: int, stop: int) -> int | None:
        """The first offset from `offset` (at least 1) to `stop` where a record plausibly begins, or None.

        A gzip or zstd magic counts only when what it unpacks to begins like a record.
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
        if found == ZSTD_MAGIC:
            probe = probe_frame(self.raw, offset, self._shared_dictionary())
        elif found.startswith(GZIP_MAGIC):
            try:
                probe = zlib.decompressobj(31).decompress(self.raw.at(offset, _PROBE_BYTES), 64)
            except zlib.error:
                return False
        else:
            return True
        return _RECORD_PREFIX.match(probe) is not None

    def _shared_dictionary(self) -> Dictionary:
        if not self._dictionary_known:
            self._dictionary_known = True
            self._dictionary = read_dictionary(self.raw)
        return self._dictionary
