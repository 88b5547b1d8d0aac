"""Document of a collection, and its cells in the table `documents`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from fonds.grouping.columns import Column
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
ENCODED = tuple(f"{Column.VECTOR_PREFIX}{encoder}" for encoder in ENCODERS)
"""Columns of a document's row with the vectors that encoders computed from its text."""
EncodedCells = dict[str, dict[str, bytes]]
"""Cells with vectors that encoders computed from texts, by document id and column."""

TEXTLESS_COLUMNS = (
    Column.ID,
    Column.TITLE,
    Column.URL,
    Column.LANGUAGE,
    Column.TIME,
    Column.SEQUENCE,
)
COLUMNS = (Column.TEXT, Column.VECTOR_DENSE, *ENCODED, *TEXTLESS_COLUMNS)


@dataclass(frozen=True, slots=True)
class Document:
    """Document to group, as an application posts it.

    `id`: id that the application gave the document.
    `text`: complete text, including the title if the title is to count in the grouping.
    `title`, `url`: only displayed and used in filters.
    `language`: two-letter code; '' if the document states none.
    `time`: date in seconds since 1970; None if undated.
    `vector`: dense vector from the application's own language model, () if none; only its direction
        counts.
    """

    id: str
    text: str
    title: str = ""
    url: str = ""
    language: str = ""
    time: int | None = None
    vector: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """Document as read from its row in the table `documents`.

    `document`: the document.
    `sequence`: number of the collection change (batch of added or deleted documents) that last
        wrote the document.
    """

    document: Document
    sequence: int


def validate_document(document: Document) -> Document:
    """Return the document unchanged if it is valid.

    Raises ValueError for an invalid id, time or vector. Raises LimitError for a text over 4 MiB.
    """
    validate_id(document.id)
    size = len(document.text.encode("utf-8", "replace"))
    if size > TEXT_MAX_BYTES:
        raise LimitError(
            Reason.TOO_LARGE,
            (
                f"document {document.id[:100]!r}: the text has {size:,} bytes; the limit is "
                f"{TEXT_MAX_BYTES:,}"
            ),
        )
    if document.time is not None and not 0 <= document.time <= EXACT_MAX:
        raise ValueError(f"document {document.id[:100]!r}: the time must be in seconds since 1970")
    if not is_vector(document.vector):
        raise ValueError(
            f"document {document.id[:100]!r}: the vector must have 1 to {NUMBERS_MAX:,} "
            "finite numbers, not all 0"
        )
    return document


def is_vector(numbers: Sequence[float]) -> bool:
    """Return whether these numbers are a valid dense vector of a document.

    An empty vector is valid. Others need at most 4,096 numbers, which are finite and not all 0.
    """
    if len(numbers) > NUMBERS_MAX:
        return False
    return not numbers or (all(map(isfinite, numbers)) and any(numbers))


def build_cells(name: CollectionName, document: Document, sequence: int) -> dict[str, bytes]:
    """Return the cells of a document's row, except its clusters, computed vectors and checksum.

    Empty values are written too, so nothing of a replaced document remains.
    `sequence`: number of the collection change that writes the document.
    """
    return {
        Column.NAMESPACE: encode_utf8(name.namespace),
        Column.COLLECTION_KEY: encode_utf8(name.key),
        Column.ID: encode_utf8(document.id),
        Column.TEXT: encode_utf8(document.text),
        Column.TITLE: encode_utf8(document.title[:TITLE_MAX_CHARS]),
        Column.URL: encode_utf8(document.url[:URL_MAX_CHARS]),
        Column.LANGUAGE: encode_utf8(document.language.partition("-")[0].lower()[:2]),
        Column.TIME: b"" if document.time is None else encode_utf8(document.time),
        Column.SEQUENCE: encode_utf8(sequence),
        Column.DOCUMENT_ID: encode_utf8(document.id),
        Column.VECTOR_DENSE: encode_dense_vector(document.vector),
    }


def parse_document(cells: Cells) -> StoredDocument:
    """Return the document in the cells of its row. Fields whose columns were not read are empty.

    Raises DamagedInputError if the posted vector cannot be decoded.
    """
    time = decode_int(cells, Column.TIME, -1)
    return StoredDocument(
        Document(
            decode_text(cells, Column.ID),
            decode_text(cells, Column.TEXT),
            decode_text(cells, Column.TITLE),
            decode_text(cells, Column.URL),
            decode_text(cells, Column.LANGUAGE),
            None if time < 0 else time,
            tuple(decode_dense_vector(cells.get(Column.VECTOR_DENSE, b"")).tolist()),
        ),
        decode_int(cells, Column.SEQUENCE),
    )


def build_encoded_column(encoder: str) -> str:
    """Return the name of the column with a document's vector that an encoder computes.

    The encoder computes the vector from the text. The column belongs to the document's row.
    Raises ValueError for an unknown encoder.
    """
    return ENCODED[ENCODERS.index(encoder)]


def collect_encoded_cells(rows: Mapping[bytes, Cells]) -> EncodedCells:
    """Return the cells of encoded vectors in documents' rows, by document id and column.

    Documents without encoded vectors are left out.
    """
    encoded_cells: EncodedCells = {}
    for cells in rows.values():
        cells_of_document = {column: cells[column] for column in ENCODED if cells.get(column)}
        if cells_of_document:
            encoded_cells[decode_text(cells, Column.ID)] = cells_of_document
    return encoded_cells


def build_outdated_cells(existing: Cells, new_cells: Cells) -> dict[str, bytes]:
    """Return empty cells that overwrite a document's encoded vectors if its text changes.

    Return an empty dict if the text does not change.
    `existing`: cells of the current row.
    `new_cells`: cells that will be written, with the new text.
    """
    if existing.get(Column.TEXT) == new_cells[Column.TEXT]:
        return {}
    return {column: b"" for column in ENCODED if existing.get(column)}


def is_same(cells: Cells, new_cells: Cells) -> bool:
    """Return whether a document's stored row already equals the cells to write.

    The change number (`main:sequence`) is not compared. A missing cell equals an empty one.
    """
    return all(
        cells.get(name, b"") == value
        for name, value in new_cells.items()
        if name != Column.SEQUENCE
    )


def build_member_column(conf: str) -> str:
    """Return the name of the column with the label of a document's cluster by a configuration.

    The column belongs to the document's row. `DEFAULT` has the column `main:member_of` of
    Grouperfish's layout. For another configuration, its name is appended.
    """
    return Column.MEMBER_OF if conf == DEFAULT else f"{Column.MEMBER_OF}:{conf}"
