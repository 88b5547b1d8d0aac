"""Raw bytes of a file in pieces, with the headers of the WARC record that contains them.

Limits: a piece has 4,096 bytes. At most 100 header fields are shown, and 2,000 characters of each
value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fonds.archive.replay.bodies import build_place
from fonds.model.archive import Payload
from fonds.model.capture import REVISIT_MIME
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.model.rows import CdxRow
from fonds.model.secrets import redact_secrets
from fonds.ports import Archive
from fonds.viewer.description import FileDescription

PIECE_BYTES, ROW_BYTES = 4_096, 16
FIELDS_MAX, FIELD_MAX_CHARS = 100, 2_000
PLACES_MAX = 20


@dataclass(frozen=True, slots=True)
class HeaderField:
    """Name and value of one field in the header of an HTTP response or WARC record."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class HeaderBlock:
    """Header of an HTTP response or WARC record.

    - `line`: status line; "" if there is none.
    - `fields`: the first 100 header fields.
    - `total`: number of all header fields.
    """

    line: str
    fields: Sequence[HeaderField]
    total: int


@dataclass(frozen=True, slots=True)
class HexRow:
    """Up to 16 bytes of a file.

    - `offset`: offset of the first byte, from 0.
    - `hex`: bytes in hexadecimal.
    - `ascii`: bytes as ASCII, with a dot for each byte that is not printable.
    """

    offset: int
    hex: str
    ascii: str


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """WARC record from which the bytes of a file were read.

    - `capture`: row of the capture whose record this is.
    - `payload`: the bytes of the file, with content codings removed.
    """

    capture: CdxRow
    payload: Payload


def read_raw(archive: Archive, description: FileDescription) -> ReadRecord:
    """Read the bytes of a file from its first capture that still has them.

    At most 20 captures are tried. Raises PermanentError, with the last location tried, if none has
    the bytes, and TransientError if the archive does not respond.
    """
    full_records = [row for row in description.captures if row.mimetype != REVISIT_MIME]
    last_error = PermanentError(Reason.MISSING_SOURCE, "no WARC has a capture of this file")
    for row in full_records[:PLACES_MAX]:
        try:
            return ReadRecord(row, archive.read(build_place(row), description.sha1hex))
        except PermanentError as error:
            last_error = error
    raise last_error


def build_hex_rows(body: bytes, first: int) -> list[HexRow]:
    """Return the up to 4,096 bytes of a file's body that begin at byte `first`, in rows of 16
    bytes.
    """
    piece = body[first : first + PIECE_BYTES]
    rows = range(0, len(piece), ROW_BYTES)
    return [
        _build_row(first + position, piece[position : position + ROW_BYTES]) for position in rows
    ]


def _build_row(offset: int, chunk: bytes) -> HexRow:
    return HexRow(
        offset,
        chunk.hex(" "),
        "".join(chr(value) if 0x20 <= value < 0x7F else "." for value in chunk),
    )


def build_http_head(payload: Payload) -> HeaderBlock | None:
    """Return the HTTP header of a captured response; None if the record has none."""
    http = payload.http
    return _build_head(http.status_line, http.headers) if http is not None else None


def build_record_head(payload: Payload) -> HeaderBlock | None:
    """Return the header of the WARC record from which a file was read; None if the bytes do not
    come from a WARC record.
    """
    return _build_head("", payload.warc_headers.items()) if payload.warc_headers else None


def _build_head(line: str, fields: Iterable[tuple[str, str]]) -> HeaderBlock:
    all_fields = list(fields)
    shown_fields = [
        HeaderField(_escape_controls(name), _escape_controls(value))
        for name, value in all_fields[:FIELDS_MAX]
    ]
    return HeaderBlock(_escape_controls(line), shown_fields, len(all_fields))


def _escape_controls(text: str) -> str:
    redacted_text = redact_secrets(text[: FIELD_MAX_CHARS + 1])
    return (
        redacted_text
        if len(redacted_text) <= FIELD_MAX_CHARS
        else f"{redacted_text[: FIELD_MAX_CHARS - 1]}…"
    )
