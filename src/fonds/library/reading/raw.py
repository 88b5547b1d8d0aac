"""The bytes of a file as they are, a piece at a time, with the headers of the record they are read from.

Bound: `PIECE_BYTES` of the bytes, `FIELDS_MAX` fields of each head, `FIELD_MAX_CHARS` of each value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fonds.library.description import Description
from fonds.model.archive import Payload
from fonds.model.capture import REVISIT_MIME
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.model.rows import CdxRow
from fonds.model.secrets import without_secrets
from fonds.ports import Archive
from fonds.replay.bodies import place_of

PIECE_BYTES, ROW_BYTES = 4_096, 16
FIELDS_MAX, FIELD_MAX_CHARS = 100, 2_000
READ_MAX_PLACES = 20


@dataclass(frozen=True, slots=True)
class Field:
    """A line of a head."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Head:
    """`fields` are the first of `total`; `line` is the status line, "" for a head that has none."""

    line: str
    fields: Sequence[Field]
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


def read_raw(archive: Archive, found: Description) -> ReadRecord:
    """The first capture of a file that still has its bytes, of at most `READ_MAX_PLACES`.

    Raises PermanentError, with the last place tried, when none has, and TransientError when the archive
    does not answer.
    """
    whole = [row for row in found.captures if row.mimetype != REVISIT_MIME]
    failed = PermanentError(Reason.MISSING_SOURCE, "no capture of this file lies in a WARC")
    for row in whole[:READ_MAX_PLACES]:
        try:
            return ReadRecord(row, archive.read(place_of(row), found.sha1hex))
        except PermanentError as error:
            failed = error
    raise failed


def hex_rows(body: bytes, first: int) -> list[HexRow]:
    """The piece of a body that begins at byte `first`, 16 bytes a row."""
    piece = body[first : first + PIECE_BYTES]
    rows = range(0, len(piece), ROW_BYTES)
    return [_row(first + at, piece[at : at + ROW_BYTES]) for at in rows]


def _row(offset: int, some: bytes) -> HexRow:
    return HexRow(
        offset,
        some.hex(" "),
        "".join(chr(one) if 0x20 <= one < 0x7F else "." for one in some),
    )


def http_head(payload: Payload) -> Head | None:
    """What the server said, None where the record has no answer of one."""
    http = payload.http
    return _head(http.status_line, http.headers) if http is not None else None


def record_head(payload: Payload) -> Head | None:
    """The header of the WARC record, None where the bytes come from elsewhere."""
    return _head("", payload.warc_headers.items()) if payload.warc_headers else None


def _head(line: str, fields: Iterable[tuple[str, str]]) -> Head:
    some = list(fields)
    kept = [Field(_shown(name), _shown(value)) for name, value in some[:FIELDS_MAX]]
    return Head(_shown(line), kept, len(some))


def _shown(text: str) -> str:
    hidden = without_secrets(text[: FIELD_MAX_CHARS + 1])
    return hidden if len(hidden) <= FIELD_MAX_CHARS else f"{hidden[: FIELD_MAX_CHARS - 1]}…"
