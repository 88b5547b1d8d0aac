"""Dense vectors of documents: posted by the application, or computed from texts by an encoder.

An encoder is a small language model, loaded once per process. Computed vectors are stored in the
document's row (`processing:vector_<encoder>`). A stored vector is reused while its cell matches the
model and the text. The vector is deleted with the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import Lock

import numpy as np

from fonds.grouping.algorithms.encoder import DIMENSIONS, Encoder, read_part
from fonds.grouping.algorithms.term_counts import Floats
from fonds.grouping.columns import Column
from fonds.grouping.configuration import Configuration
from fonds.grouping.document import Document, EncodedCells, build_encoded_column
from fonds.grouping.names import CollectionName
from fonds.grouping.stored.dense_vectors import decode_text_vector, encode_text_vector, hash_mark
from fonds.grouping.tables import DOCUMENTS, Cells, Tables, decode_text, encode_utf8
from fonds.model.errors import DamagedInputError

_ENCODER_LOCK = Lock()


@dataclass(frozen=True, slots=True)
class DenseVectors:
    """Dense vectors of some documents, and new cells to store.

    `numbers`: documents x dimensions, float32; None if the configuration uses terms only.
    `new_cells`: cells of the vectors that an encoder has just computed, by document id and column.
    """

    numbers: Floats | None
    new_cells: EncodedCells = field(default_factory=dict)


def get_dimensions(configuration: Configuration) -> int:
    """Return the length of the dense vectors that a configuration uses; 0 if it uses terms only."""
    return DIMENSIONS if configuration.encoder is not None else configuration.dense or 0


def check_encoder(configuration: Configuration) -> None:
    """Load the encoder that a configuration names, if any, to check that it is installed.

    Raises ConfigurationError, which names the missing extra, if it is not installed.
    """
    if configuration.encoder is not None:
        with _ENCODER_LOCK:
            _load_encoder()


def encode_documents(
    encoder: str, documents: Sequence[Document], stored_cells: Mapping[str, Cells]
) -> DenseVectors:
    """Return the dense vectors that an encoder computes from documents' texts.

    Vectors are float32, of length 1 to within 0.001 (zeros for a blank text), and rounded as in
    their stored cells. Valid cells are reused; other vectors are computed and returned as new
    cells.
    `stored_cells`: cells of encoded vectors, by document id.
    Raises ConfigurationError if the extra `dense` is not installed.
    """
    column, new_cells = build_encoded_column(encoder), {}
    vectors = np.zeros((len(documents), DIMENSIONS), np.float32)
    with _ENCODER_LOCK:
        model = _load_encoder()
        for place, document in enumerate(documents):
            cell = stored_cells.get(document.id, {}).get(column, b"")
            if not is_valid_cell(cell, document.text, model.version):
                numbers = model.encode([document.text])[0]
                cell = encode_text_vector(model.version, hash_text(document.text), numbers)
                new_cells[document.id] = {column: cell}
            vectors[place] = decode_text_vector(cell).numbers
    return DenseVectors(vectors, new_cells)


def hash_text(text: str) -> bytes:
    """Return a hash of the part of a text that an encoder reads.

    A stored vector carries this hash, which shows whether the text has changed since.
    """
    return hash_mark(encode_utf8(read_part(text)))


def is_valid_cell(cell: bytes, text: str, version: bytes | None = None) -> bool:
    """Return whether the cell of an encoded vector is intact and was computed from this text.

    `version`: model version that the cell must have; None accepts any.
    """
    try:
        text_vector = decode_text_vector(cell)
    except DamagedInputError:
        return False
    return text_vector.digest == hash_text(text) and version in (None, text_vector.version)


def store_cells(tables: Tables, name: CollectionName, encoded_cells: EncodedCells) -> None:
    """Write cells of encoded vectors into the rows of their documents.

    Cells of missing documents, and cells that do not match the stored text, are skipped. The caller
    must hold the collection's lease.
    """
    rows = {name.build_document_row(id_): cells for id_, cells in encoded_cells.items()}
    stored_rows = tables.get_rows(DOCUMENTS, list(rows), [Column.ID, Column.TEXT])
    puts = []
    for row, stored_cells in stored_rows.items():
        text = decode_text(stored_cells, Column.TEXT)
        valid_cells = {
            column: cell for column, cell in rows[row].items() if is_valid_cell(cell, text)
        }
        if Column.ID in stored_cells and valid_cells:
            puts.append((row, valid_cells))
    tables.put(DOCUMENTS, puts)


@cache
def _load_encoder() -> Encoder:
    return Encoder()


def build_dense_vectors(
    configuration: Configuration,
    numbers: int,
    documents: Sequence[Document],
    stored_cells: Mapping[str, Cells],
) -> DenseVectors:
    """Return the dense vectors of documents that a configuration uses for grouping.

    If the configuration names an encoder, valid cells in `stored_cells` are reused and the other
    vectors are computed from the texts. Otherwise the vectors are those that the application posted
    with the documents; a vector of another length becomes zeros.
    `numbers`: length of the vectors; 0 means that the configuration uses terms only.
    `stored_cells`: cells of encoded vectors, by document id.
    Raises ConfigurationError if the encoder is not installed.
    """
    if not numbers:
        return DenseVectors(None)
    if configuration.encoder is not None:
        return encode_documents(configuration.encoder, documents, stored_cells)
    vectors = np.zeros((len(documents), numbers), np.float32)
    for place, document in enumerate(documents):
        if len(document.vector) == numbers:
            vectors[place] = document.vector
    return DenseVectors(vectors)
