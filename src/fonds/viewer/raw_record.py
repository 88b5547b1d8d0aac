"""The bytes of a file as they are, a piece at a time, with the headers of the record they are read from.

Bound: `PIECE_BYTES` of the bytes, `FIELDS_MAX` fields of each head, `FIELD_MAX_CHARS` of each value.
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
    """A line of a head."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class HeaderBlock:
    """`fields` are the first of `total`; `line` is the status line, "" for a head that has none."""

    line: str
    fields: Sequence[HeaderField]
    total: int


@dataclass(frozen=True, slots=True)
class HexRow:
    """At most 16 bytes: where the first stands (from 0), all in hex, and as ASCII with a dot for others."""

    offset: int
    hex: str
    ascii: str


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """The record the bytes were read from: the capture it is of, and what it holds, codings undone."""

    capture: CdxRow
    payload: Payload


def read_raw(archive: Archive, description: FileDescription) -> ReadRecord:
    """The first capture of a file that still has its bytes, of at most `PLACES_MAX`.

    Raises PermanentError, with the last place tried, when none has, and TransientError when the archive
    does not answer.
    """
    whole = [row for row in description.captures if row.mimetype != REVISIT_MIME]
    failed = PermanentError(Reason.MISSING_SOURCE, "no capture of this file lies in a WARC")
    for row in whole[:PLACES_MAX]:
        try:
            return ReadRecord(row, archive.read(build_place(row), description.sha1hex))
        except PermanentError as error:
            failed = error
    raise failed


def build_hex_rows(body: bytes, first: int) -> list[HexRow]:
    """The piece of a body that begins at byte `first`, 16 bytes a row."""
    piece = body[first : first + PIECE_BYTES]
    rows = range(0, len(piece), ROW_BYTES)
    return [_build_row(first + at, piece[at : at + ROW_BYTES]) for at in rows]


def _build_row(offset: int, chunk: bytes) -> HexRow:
    return HexRow(
        offset,
        chunk.hex(" "),
        "".join(chr(one) if 0x20 <= one < 0x7F else "." for one in chunk),
    )


def build_http_head(payload: Payload) -> HeaderBlock | None:
    """What the server said, None where the record has no answer of one."""
    http = payload.http
    return _build_head(http.status_line, http.headers) if http is not None else None


def build_record_head(payload: Payload) -> HeaderBlock | None:
    """The header of the WARC record, None where the bytes come from elsewhere."""
    return _build_head("", payload.warc_headers.items()) if payload.warc_headers else None


def _build_head(line: str, fields: Iterable[tuple[str, str]]) -> HeaderBlock:
    some = list(fields)
    kept = [
        HeaderField(_escape_controls(name), _escape_controls(value))
        for name, value in some[:FIELDS_MAX]
    ]
    return HeaderBlock(_escape_controls(line), kept, len(some))


def _escape_controls(text: str) -> str:
    hidden = redact_secrets(text[: FIELD_MAX_CHARS + 1])
    return hidden if len(hidden) <= FIELD_MAX_CHARS else f"{hidden[: FIELD_MAX_CHARS - 1]}…"
