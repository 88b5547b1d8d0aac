"""A document of a collection, and its row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from fonds.grouping.configuration import ENCODERS
from fonds.grouping.names import DEFAULT, CollectionName, validate_id
from fonds.grouping.stored.dense_vectors import (
    NUMBERS_MAX,
    decode_dense_vector,
    encode_dense_vector,
)
from fonds.grouping.tables import Cells, decode_int, decode_text, encode_utf8
from fonds.model.disposition import Reason
from fonds.model.encoding import EXACT_MAX
from fonds.model.errors import LimitError

TEXT_MAX_BYTES = 4 * 1024 * 1024
TITLE_MAX_CHARS = 1000
URL_MAX_CHARS = 4000
SEQUENCE = "main:sequence"
VECTOR = "processing:vector_dense"
ENCODED = tuple(f"processing:vector_{one}" for one in ENCODERS)
"""The columns with the vectors encoders made of the text."""
EncodedCells = dict[str, dict[str, bytes]]
"""Cells of encoded vectors, by the document's id and by column."""

TEXTLESS_COLUMNS = ("main:id", "main:title", "main:url", "main:language", "main:time", SEQUENCE)
COLUMNS = ("main:text", VECTOR, *ENCODED, *TEXTLESS_COLUMNS)


@dataclass(frozen=True, slots=True)
class Document:
    """What is grouped: `id` is the application's own.

    `text` is whole, title included where it has one that is to count; `title` and `url` are for
    people. `language`: two letters, '' where none is said; `time`: seconds since 1970 it is dated, None
    where it has no date. `vector`: numbers of a language model of the application's own, () where it has
    none; only their direction counts."""

    id: str
    text: str
    title: str = ""
    url: str = ""
    language: str = ""
    time: int | None = None
    vector: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as it stands in its row; `sequence` is the number of the change that put it there."""

    document: Document
    sequence: int


def validate_document(document: Document) -> Document:
    """The document itself. Raises ValueError for an id, time or vector that is none, LimitError for a
    text of over 4 MiB."""
    validate_id(document.id)
    size = len(document.text.encode("utf-8", "replace"))
    if size > TEXT_MAX_BYTES:
        raise LimitError(
            Reason.TOO_LARGE,
            f"document {document.id[:100]!r}: a text of {size:,} bytes; the most is {TEXT_MAX_BYTES:,}",
        )
    if document.time is not None and not 0 <= document.time <= EXACT_MAX:
        raise ValueError(f"document {document.id[:100]!r}: a time is in seconds since 1970")
    if not is_vector(document.vector):
        raise ValueError(
            f"document {document.id[:100]!r}: a vector has up to {NUMBERS_MAX:,} finite numbers, not all 0"
        )
    return document


def is_vector(numbers: Sequence[float]) -> bool:
    """Whether these are the numbers of a vector, or none at all."""
    if len(numbers) > NUMBERS_MAX:
        return False
    return not numbers or (all(map(isfinite, numbers)) and any(numbers))


def build_cells(name: CollectionName, document: Document, sequence: int) -> dict[str, bytes]:
    """The cells of a document's row but its clusters and vectors. Every cell is written each time, so that
    nothing is left of a text it replaces."""
    return {
        "main:namespace": encode_utf8(name.namespace),
        "main:collection_key": encode_utf8(name.key),
        "main:id": encode_utf8(document.id),
        "main:text": encode_utf8(document.text),
        "main:title": encode_utf8(document.title[:TITLE_MAX_CHARS]),
        "main:url": encode_utf8(document.url[:URL_MAX_CHARS]),
        "main:language": encode_utf8(document.language.partition("-")[0].lower()[:2]),
        "main:time": b"" if document.time is None else encode_utf8(document.time),
        SEQUENCE: encode_utf8(sequence),
        "processing:id": encode_utf8(document.id),
        VECTOR: encode_dense_vector(document.vector),
    }


def parse_document(cells: Cells) -> StoredDocument:
    """The document a row tells of; without its text where that was not read."""
    time = decode_int(cells, "main:time", -1)
    return StoredDocument(
        Document(
            decode_text(cells, "main:id"),
            decode_text(cells, "main:text"),
            decode_text(cells, "main:title"),
            decode_text(cells, "main:url"),
            decode_text(cells, "main:language"),
            None if time < 0 else time,
            tuple(decode_dense_vector(cells.get(VECTOR, b"")).tolist()),
        ),
        decode_int(cells, SEQUENCE),
    )


def build_encoded_column(encoder: str) -> str:
    """The column with the vector this encoder made of the text."""
    return ENCODED[ENCODERS.index(encoder)]


def collect_encoded_cells(rows: Mapping[bytes, Cells]) -> EncodedCells:
    """The cells of encoded vectors in rows of documents, by id; those that have none left out."""
    found: EncodedCells = {}
    for cells in rows.values():
        own = {column: cells[column] for column in ENCODED if cells.get(column)}
        if own:
            found[decode_text(cells, "main:id")] = own
    return found


def build_outdated_cells(existing: Cells, new_cells: Cells) -> dict[str, bytes]:
    """What takes the place of encoded vectors in a row that is given another text."""
    if existing.get("main:text") == new_cells["main:text"]:
        return {}
    return {column: b"" for column in ENCODED if existing.get(column)}


def is_same(cells: Cells, new_cells: Cells) -> bool:
    """Whether a row says what is to be written, whichever change wrote it; a cell of nothing may
    be absent."""
    return all(
        cells.get(name, b"") == value for name, value in new_cells.items() if name != SEQUENCE
    )


def build_member_column(conf: str) -> str:
    """The column with the label of the cluster a document is in: the seed's for `DEFAULT`, with the name of
    the configuration behind it for others."""
    return "main:member_of" if conf == DEFAULT else f"main:member_of:{conf}"
