"""Captures from a CDX index: their sortable encoding, and their rank among the captures of one
file.

The first of these criteria that differs decides which capture is better:
1. Its WARC has a path (`item/file`) by which it can be fetched.
2. It was captured over HTTP.
3. The length of its WARC record is known.
4. It is newer.
5. Its URL, WARC name, offset, SURT, length and media type come first in sort order.

The table cells `file:cdx` and `file:mime` store all these values. So stored captures can be
compared with new ones.
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
    """Sort key for the captures of a file; the lowest key belongs to the best capture.

    `is_path_missing`: the WARC has no path (`item/file`) by which it can be fetched.
    `is_not_http`: the URL is not http(s).
    `is_size_missing`: the size of the WARC record is unknown.
    `newness`: the capture time with each digit d replaced by 9 - d, so that newer captures sort
        first.
    `place`: URL, WARC, offset, SURT, size and media type, which decide between otherwise equal
        captures.
    """

    is_path_missing: bool
    is_not_http: bool
    is_size_missing: bool
    newness: str
    place: tuple[str, str, int, str, int, str]


@dataclass(frozen=True, slots=True)
class IndexedCapture:
    """A capture that was read from a CDX index.

    `sha1hex`: SHA-1 of the captured file in hex.
    `location`: URL and time of the capture, and the position of its WARC record.
    `mime`: normalized media type; `warc/revisit` for a revisit.
    `status`: HTTP status; None if unknown.
    """

    sha1hex: str
    location: Location
    mime: str
    status: int | None

    @property
    def is_revisit(self) -> bool:
        """Whether the capture is a revisit, whose WARC record has no body."""
        return self.mime == REVISIT_MIME

    @property
    def rank(self) -> CaptureRank:
        """Rank of this capture among the captures of its file; the lowest rank is the best
        capture.
        """
        return rank_capture(self.location, self.mime)


def rank_capture(location: Location, mime: str) -> CaptureRank:
    """Return the rank of a capture from its location and media type; the lowest rank is the best.

    The table stores these two values in the cells `file:cdx` and `file:mime`.
    """
    size_bytes = -1 if location.size_bytes is None else location.size_bytes
    tie_breaker = (location.url, location.warc, location.offset, location.surt, size_bytes, mime)
    return CaptureRank(
        is_path_missing="/" not in location.warc,
        is_not_http=not location.url[:4].lower().startswith("http"),
        is_size_missing=location.size_bytes is None,
        newness=location.datetime14.translate(_NINES),
        place=tie_breaker,
    )


def encode_record(line: CdxLine, mime: str) -> bytes:
    """Encode a CDX line as bytes that sort by the SHA-1 of the file.

    The import of CDX indexes sorts these records to group captures by file. `mime` is the
    normalized media type. Raises ValueError if the line has no SHA-1.
    """
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
    """Decode the bytes that `encode_record` wrote into the capture of the CDX line."""
    surt, url, datetime14, warc, offset, size, mime, status = _decode(record[SHA1HEX_CHARS + 1 :])
    location = Location(surt, url, datetime14, warc, offset, None if size < 0 else size)
    return IndexedCapture(record[:SHA1HEX_CHARS].decode(), location, mime, status)


def _clean(values: Sequence[Any]) -> Sequence[Any]:
    """Return `values` with `?` in place of each lone surrogate in a string.

    JSON cannot encode lone surrogates. Values of other types are returned unchanged.
    """
    return [
        value
        if not isinstance(value, str) or value.isascii()
        else value.encode("utf-8", "replace").decode()
        for value in values
    ]
