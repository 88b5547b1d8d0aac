"""Encode and decode the cells of the journal-extract table (one row per file).

The functions do not depend on the database that stores the table.

Source: seed document 000, "PDF Table".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from fonds.model.archive import OriginalCapture
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.encoding import decode_json
from fonds.model.file import FileMeta
from fonds.model.keys import parse_record_id

F_C = "f:c"
FILE_SIZE = "file:size"
FILE_MIME = "file:mime"
FILE_CDX = "file:cdx"
FILE_META = "file:meta"
GROBID_STATUS_CODE = "grobid0:status_code"
GROBID_QUALITY = "grobid0:quality"
GROBID_STATUS = "grobid0:status"
GROBID_TEI_XML = "grobid0:tei_xml"
GROBID_TEI_JSON = "grobid0:tei_json"
GROBID_METADATA = "grobid0:metadata"
BIB_STATUS = "bib0:bib_status"
BIB_QUALITY = "bib0:bib_quality"
BIB_JSON = "bib0:bib_json"
BIB_METADATA = "bib0:bib_metadata"
MATCH_STATUS = "match0:mstatus"
MATCH_DOI = "match0:doi"
MATCH_INFO = "match0:minfo"

CELL_MAX_BYTES = 8 * 2**20
"""Maximum bytes of a cell of the journal-extract table. HBase rejects cells over 10 MB."""

_INTEGER = struct.Struct(">q")
_UNKNOWN = "-"
_DIGITS_MAX = 19
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Location:
    """Content of the cell `file:cdx`: one capture of a file, and the location of its WARC record.

    `surt`: URL with the host reversed, for sorting.
    `datetime14`: capture time in UTC as YYYYMMDDhhmmss.
    `warc`: path of the WARC, unchanged from the cell.
    `offset`: bytes from the start of the WARC to the record.
    `size_bytes`: compressed size of the record; None if unknown.
    """

    surt: str
    url: str
    datetime14: str
    warc: str
    offset: int
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class FirstSeen:
    """Content of the cell `f:c`: the first capture of a file, as the crawler Heritrix recorded it.

    `date`: capture time in ISO 8601.
    `warc`: file name of the WARC; None if unknown.
    `offset`: bytes from the start of the WARC to the record; None if unknown.
    `count`: how many times the crawler saw the same bytes; None if unknown.
    `record_id`: URI of the WARC record, without the angle brackets of `WARC-Record-ID`; None if
        unknown.
    """

    url: str
    date: str
    warc: str | None
    offset: int | None
    count: int | None
    record_id: str | None


def build_file_cells(file: FileMeta) -> dict[str, bytes]:
    """Return the cells `file:size`, `file:mime` and `file:meta` of a file, by column. `file:meta`
    has the size, types and hashes.
    """
    return {
        FILE_SIZE: encode_integer(file.size),
        FILE_MIME: _clean(file.mime).encode(),
        FILE_META: encode_compact_json(msgspec.to_builtins(file)),
    }


def build_cdx_cell(capture: Capture, place: Place, surt: str) -> dict[str, bytes]:
    """Return the cell `file:cdx` of a capture in a WARC, by column. All its JSON values are
    strings, with `-` for an unknown size.

    Raises ValueError if the place is not in a WARC.
    """
    if place.kind is not PlaceKind.WARC:
        raise ValueError(f"{place} is not in a WARC")
    location = Location(
        surt, capture.url, capture.datetime14, place.path, place.offset, place.size_bytes
    )
    return {FILE_CDX: encode_location(location)}


def encode_location(location: Location) -> bytes:
    """Encode the cell `file:cdx` (one capture of a file) as JSON. All its values are strings, with
    `-` for an unknown size.
    """
    return encode_compact_json(
        {
            "surt": location.surt,
            "url": location.url,
            "dt": location.datetime14,
            "warc": location.warc,
            "offset": str(location.offset),
            "c_size": _UNKNOWN if location.size_bytes is None else str(location.size_bytes),
        }
    )


def build_first_seen_cell(
    capture: Capture, place: Place, *, count: int = 1, record_id: str | None = None
) -> dict[str, bytes]:
    """Return the cell `f:c` (first capture of a file) for a capture, by column, in the format of
    the crawler Heritrix: numbers as JSON numbers, unknown values left out.
    """
    in_warc = place.kind is PlaceKind.WARC
    first_seen = FirstSeen(
        url=capture.url,
        date=_format_iso8601(capture.captured_at),
        warc=place.path.rpartition("/")[2] if in_warc else None,
        offset=place.offset if in_warc else None,
        count=count,
        record_id=record_id,
    )
    return {F_C: encode_first_seen(first_seen)}


def encode_first_seen(first_seen: FirstSeen) -> bytes:
    """Encode the cell `f:c` (first capture of a file) as JSON; fields that are None are left
    out.
    """
    values = {
        "u": first_seen.url,
        "d": first_seen.date,
        "c": first_seen.count,
        "f": first_seen.warc,
        "o": first_seen.offset,
        "i": first_seen.record_id,
    }
    return encode_compact_json({name: value for name, value in values.items() if value is not None})


def build_grobid_cells(
    status: Mapping[str, object], code: int, quality: str | None, full: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Return the cells of the column family `grobid0`, by column name.

    - `status`: result of GROBID's processing, stored as JSON.
    - `code`: HTTP status of GROBID's response; negative if no server responded.
    - `quality`: quality of the result, as text; None stores no cell.
    - `full`: the cells with the texts of the paper, by column name.
    """
    cells = {GROBID_STATUS_CODE: encode_integer(code), GROBID_STATUS: encode_compact_json(status)}
    if quality is not None:
        cells[GROBID_QUALITY] = quality.encode()
    return {**cells, **full}


def build_bibliography_cells(
    full_json: bytes, metadata: bytes, quality: str, status: Mapping[str, object]
) -> dict[str, bytes]:
    """Return the cells of the column family `bib0`, by column name.

    They contain the metadata that Fonds itself extracted from a paper, without GROBID.

    - `full_json`: complete result of the extraction. If it is over 8 MiB, `metadata` is stored in
      its place.
    - `metadata`: shorter JSON of the result. It is left out if it is over 8 MiB or empty.
    """
    if len(full_json) > CELL_MAX_BYTES:
        full_json = metadata
    texts = {BIB_JSON: full_json, BIB_METADATA: metadata}
    cells = {name: text for name, text in texts.items() if 0 < len(text) <= CELL_MAX_BYTES}
    return {**cells, BIB_QUALITY: quality.encode(), BIB_STATUS: encode_compact_json(status)}


def build_paper_cells(
    full_json: bytes, metadata: bytes, tei: bytes = b""
) -> tuple[dict[str, bytes], list[str]]:
    """Return the cells with the texts of a paper by column name, and the names of the columns whose
    texts are too large.

    A text over 8 MiB is left out, and its column is in the second value. A `full_json` of that size
    is replaced by `metadata`. The blob store has the complete texts.
    """
    texts = {GROBID_TEI_XML: tei, GROBID_TEI_JSON: full_json, GROBID_METADATA: metadata}
    too_long = sorted(name for name, text in texts.items() if len(text) > CELL_MAX_BYTES)
    if GROBID_TEI_JSON in too_long:
        texts[GROBID_TEI_JSON] = metadata
    cells = {name: text for name, text in texts.items() if 0 < len(text) <= CELL_MAX_BYTES}
    return cells, too_long


def read_location(cells: Mapping[str, bytes]) -> Location | None:
    """Decode the cell `file:cdx` (one capture of a file) of a row; return None if the row lacks the
    cell.

    Numbers may be strings or, from older writers, JSON numbers. Raises ValueError if the cell is
    not a JSON object or a field is missing or invalid.
    """
    values = _parse_object(cells, FILE_CDX)
    if values is None:
        return None
    unknown_size = values.get("c_size") == _UNKNOWN
    return Location(
        surt=_get_text(values, "surt", FILE_CDX),
        url=_get_text(values, "url", FILE_CDX),
        datetime14=_get_text(values, "dt", FILE_CDX),
        warc=_get_text(values, "warc", FILE_CDX),
        offset=_get_number(values, "offset", FILE_CDX),
        size_bytes=None if unknown_size else _get_number(values, "c_size", FILE_CDX),
    )


def read_first_seen(cells: Mapping[str, bytes]) -> FirstSeen | None:
    """Decode the cell `f:c` (first capture of a file) of a row; return None if the row lacks the
    cell.

    Raises ValueError if the cell is not a JSON object, lacks URL or date, or has an invalid field.
    """
    values = _parse_object(cells, F_C)
    if values is None:
        return None
    return FirstSeen(
        url=_get_text(values, "u", F_C),
        date=_get_text(values, "d", F_C),
        warc=_get_text(values, "f", F_C) if "f" in values else None,
        offset=_get_number(values, "o", F_C) if "o" in values else None,
        count=_get_number(values, "c", F_C) if "c" in values else None,
        record_id=_get_text(values, "i", F_C) if "i" in values else None,
    )


def parse_first_archived(cells: Mapping[str, bytes]) -> OriginalCapture | None:
    """Return the first capture of a file, as stated in the cell `f:c`, for use in a revisit record.

    Return None if the cell is missing or invalid. A time without a zone is taken as UTC. The record
    id is None unless the cell has a valid WARC record id.
    """
    try:
        first_seen = read_first_seen(cells)
        first_seen_at = datetime.fromisoformat(first_seen.date) if first_seen is not None else None
    except ValueError:
        return None
    if first_seen is None or first_seen_at is None:
        return None
    first_seen_utc = (
        first_seen_at.replace(tzinfo=UTC)
        if first_seen_at.tzinfo is None
        else first_seen_at.astimezone(UTC)
    )
    return OriginalCapture(
        first_seen.url, first_seen_utc, parse_record_id(first_seen.record_id or "")
    )


def set_dupe_count(cell: bytes, count: int) -> bytes:
    """Return the cell `f:c` (first capture of a file) with its field `c` set to `count`.

    The field says how often the crawler saw the same bytes. An invalid cell is returned unchanged.
    """
    try:
        values = read_object(F_C, cell)
    except ValueError:
        return cell
    return cell if values.get("c") == count else encode_compact_json({**values, "c": count})


def read_file(cells: Mapping[str, bytes]) -> FileMeta | None:
    """Decode the cell `file:meta` (size, types and hashes of a file) of a row; return None if the
    row lacks the cell.

    Raises ValueError if the cell is not a JSON object or a field is missing or invalid.
    """
    values = _parse_object(cells, FILE_META)
    if values is None:
        return None
    texts = ("mime", "magic", "magic_mime", "sha1", "md5", "sha256")
    return FileMeta(
        size=_get_number(values, "size", FILE_META),
        **{name: _get_text(values, name, FILE_META) for name in texts},
    )


def encode_integer(value: int) -> bytes:
    """Encode an integer as 8 bytes, signed and big-endian."""
    return _INTEGER.pack(value)


def decode_integer(cell: bytes) -> int:
    """Decode a signed big-endian integer of 8 bytes. Raises ValueError for any other length."""
    if len(cell) != _INTEGER.size:
        raise ValueError(f"an integer has {_INTEGER.size} bytes, not {len(cell)}")
    (value,) = _INTEGER.unpack(cell)
    return int(value)


def _format_iso8601(moment: datetime) -> str:
    """Format a time in UTC to the second, as `YYYY-MM-DDThh:mm:ssZ`."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _clean(text: str) -> str:
    return _SURROGATE.sub("", text)


def encode_compact_json(values: Mapping[str, object]) -> bytes:
    """Encode a JSON object as UTF-8 without whitespace. Lone surrogates are removed, because JSON
    parsers reject them.
    """
    try:
        return msgspec.json.encode(values)
    except UnicodeEncodeError:
        clean = {
            key: _clean(value) if isinstance(value, str) else value for key, value in values.items()
        }
        return msgspec.json.encode(clean)


def read_object(column: str, cell: bytes) -> dict[str, Any]:
    """Decode a cell that contains a JSON object. `column` is used in error messages.

    Raises ValueError if the cell is not a JSON object.
    """
    try:
        values = decode_json(cell)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{column} is not JSON: {cell[:80]!r}") from error
    if not isinstance(values, dict):
        raise ValueError(f"{column} is not a JSON object: {cell[:80]!r}")
    return values


def _parse_object(cells: Mapping[str, bytes], column: str) -> dict[str, Any] | None:
    cell = cells.get(column)
    return None if cell is None else read_object(column, cell)


def _get_text(values: Mapping[str, Any], name: str, column: str) -> str:
    value = values.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{column} has no text in {name!r}: {value!r:.80}")
    return value


def _get_number(values: Mapping[str, Any], name: str, column: str) -> int:
    text = str(values.get(name))
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS_MAX:
        raise ValueError(f"{column} has no number in {name!r}: {text[:80]!r}")
    return int(text)
