"""A capture as an index tells of it: its record, which sorts by SHA-1, and which of a file's is the best.

The better capture, by the first of these that tells two apart: its WARC has a path (`item/file`), by which
it can be fetched; it was taken over HTTP; its length is known; it is newer; its address, WARC and place come
first in the order of their bytes. All of it stands in `file:cdx`, so that what was written before is held
against what comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from fonds.archive.cdx import CdxLine
from fonds.model.capture import REVISIT_MIME
from fonds.model.keys import parse_sha1
from fonds.stores.journal_table.cells import Location

SHA1HEX_CHARS = 40
_NINES = str.maketrans("0123456789", "9876543210")
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True, order=True)
class CaptureRank:
    """How good a capture is; the least is the best. `newness` is the time with its digits turned round."""

    is_path_missing: bool
    is_not_http: bool
    is_size_missing: bool
    newness: str
    place: tuple[str, str, int, str, int, str]


@dataclass(frozen=True, slots=True)
class IndexedCapture:
    """A capture as an index tells of it; `mime` is normalised, `status` the HTTP status or None."""

    sha1hex: str
    location: Location
    mime: str
    status: int | None

    @property
    def is_revisit(self) -> bool:
        """Whether it holds no body."""
        return self.mime == REVISIT_MIME

    @property
    def rank(self) -> CaptureRank:
        """How good it is beside others of its file."""
        return rank_capture(self.location, self.mime)


def rank_capture(location: Location, mime: str) -> CaptureRank:
    """How good a capture is by what `file:cdx` and `file:mime` say."""
    size_bytes = -1 if location.size_bytes is None else location.size_bytes
    at = (location.url, location.warc, location.offset, location.surt, size_bytes, mime)
    return CaptureRank(
        is_path_missing="/" not in location.warc,
        is_not_http=not location.url[:4].lower().startswith("http"),
        is_size_missing=location.size_bytes is None,
        newness=location.datetime14.translate(_NINES),
        place=at,
    )


def encode_record(line: CdxLine, mime: str) -> bytes:
    """The record of a line that was kept; `mime` is its type, normalised."""
    raw = parse_sha1(line.digest or "")
    if raw is None:
        raise ValueError(f"a capture without a SHA-1: {line}")
    size = -1 if line.size_bytes is None else line.size_bytes
    values = (
        line.surt,
        line.url,
        line.datetime14,
        line.filename,
        line.offset,
        size,
        mime,
        line.status,
    )
    return raw.hex().encode() + b" " + _encode(_clean(values))


def decode_record(record: bytes) -> IndexedCapture:
    """The capture of a record."""
    surt, url, datetime14, warc, offset, size, mime, status = _decode(record[SHA1HEX_CHARS + 1 :])
    location = Location(surt, url, datetime14, warc, offset, None if size < 0 else size)
    return IndexedCapture(record[:SHA1HEX_CHARS].decode(), location, mime, status)


def _clean(values: Sequence[Any]) -> Sequence[Any]:
    """Without lone surrogates, which JSON has no way to write."""
    return [
        one
        if not isinstance(one, str) or one.isascii()
        else one.encode("utf-8", "replace").decode()
        for one in values
    ]
