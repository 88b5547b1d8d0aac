"""A document of a collection, and its row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from fonds.collections.configurations import ENCODERS
from fonds.collections.names import DEFAULT, Name, checked_id
from fonds.collections.tables import Cells, number, text, utf8
from fonds.formats.grouping.dense import NUMBERS_MAX, from_vector_dense, to_vector_dense
from fonds.model.disposition import Reason
from fonds.model.errors import LimitError
from fonds.model.numbers import EXACT_MAX

TEXT_BYTES_MAX = 4 * 1024 * 1024
TITLE_CHARACTERS_MAX = 1000
URL_CHARACTERS_MAX = 4000
SEQUENCE = "main:sequence"
VECTOR = "processing:vector_dense"
ENCODED = tuple(f"processing:vector_{one}" for one in ENCODERS)
"""The columns with the vectors encoders made of the text."""
EncodedCells = dict[str, dict[str, bytes]]
"""Cells of encoded vectors, by the document's id and by column."""

WITHOUT_TEXT = ("main:id", "main:title", "main:url", "main:language", "main:time", SEQUENCE)
COLUMNS = ("main:text", VECTOR, *ENCODED, *WITHOUT_TEXT)


@dataclass(frozen=True, slots=True)
class Document:
    """What is grouped: `id` is the application's own.

    `text` is whole, title included where it has one that is to count; `title` and `url` are for people.
    `language`: two letters, '' where none is said; `time`: seconds since 1970 it is dated, None where it
    has no date. `vector`: numbers of a language model of the application's own, () where it has none; only
    their direction counts.
    """

    id: str
    text: str
    title: str = ""
    url: str = ""
    language: str = ""
    time: int | None = None
    vector: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """A document as it stands in its row; `sequence` is the number of the change that put it there."""

    document: Document
    sequence: int


def checked_document(document: Document) -> Document:
    """The document itself. Raises ValueError for an id, time or vector that is none, LimitError for a
    text of over 4 MiB."""
    checked_id(document.id)
    size = len(document.text.encode("utf-8", "replace"))
    if size > TEXT_BYTES_MAX:
        raise LimitError(
            Reason.TOO_LARGE,
            f"document {document.id[:100]!r}: a text of {size:,} bytes; the most is {TEXT_BYTES_MAX:,}",
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


def cells_of(name: Name, document: Document, sequence: int) -> dict[str, bytes]:
    """The cells of a document's row but its clusters and vectors. Every cell is written each time, so that
    nothing is left of a text it replaces."""
    return {
        "main:namespace": utf8(name.namespace),
        "main:collection_key": utf8(name.key),
        "main:id": utf8(document.id),
        "main:text": utf8(document.text),
        "main:title": utf8(document.title[:TITLE_CHARACTERS_MAX]),
        "main:url": utf8(document.url[:URL_CHARACTERS_MAX]),
        "main:language": utf8(document.language.partition("-")[0].lower()[:2]),
        "main:time": b"" if document.time is None else utf8(document.time),
        SEQUENCE: utf8(sequence),
        "processing:id": utf8(document.id),
        VECTOR: to_vector_dense(document.vector),
    }


def document_of(cells: Cells) -> Kept:
    """The document a row tells of; without its text where that was not read."""
    time = number(cells, "main:time", -1)
    return Kept(
        Document(
            text(cells, "main:id"),
            text(cells, "main:text"),
            text(cells, "main:title"),
            text(cells, "main:url"),
            text(cells, "main:language"),
            None if time < 0 else time,
            tuple(from_vector_dense(cells.get(VECTOR, b"")).tolist()),
        ),
        number(cells, SEQUENCE),
    )


def encoded_column(encoder: str) -> str:
    """The column with the vector this encoder made of the text."""
    return ENCODED[ENCODERS.index(encoder)]


def encoded_cells(rows: Mapping[bytes, Cells]) -> EncodedCells:
    """The cells of encoded vectors in rows of documents, by id; those that have none left out."""
    found: EncodedCells = {}
    for cells in rows.values():
        own = {column: cells[column] for column in ENCODED if cells.get(column)}
        if own:
            found[text(cells, "main:id")] = own
    return found


def outdated(there: Cells, wanted: Cells) -> dict[str, bytes]:
    """What takes the place of encoded vectors in a row that is given another text."""
    if there.get("main:text") == wanted["main:text"]:
        return {}
    return {column: b"" for column in ENCODED if there.get(column)}


def is_same(cells: Cells, wanted: Cells) -> bool:
    """Whether a row says what is to be written, whichever change wrote it; a cell of nothing may
    be absent."""
    return all(cells.get(name, b"") == value for name, value in wanted.items() if name != SEQUENCE)


def member_of(conf: str) -> str:
    """The column with the label of the cluster a document is in: the seed's for `DEFAULT`, with the name of
    the configuration behind it for others."""
    return "main:member_of" if conf == DEFAULT else f"main:member_of:{conf}"
