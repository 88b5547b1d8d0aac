"""Dense vectors of documents: posted with them, or computed from the text by an encoder.

The encoder is loaded once per process. Computed vectors are stored in the document's row
(`processing:vector_<encoder>`) and reused while the cell matches the model and the text. They are
deleted with the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import Lock

import numpy as np

from fonds.grouping.algorithms.encoder import DIMENSIONS, Encoder, read_part
from fonds.grouping.algorithms.term_counts import Floats
from fonds.grouping.configuration import Configuration
from fonds.grouping.document import Document, EncodedCells, build_encoded_column
from fonds.grouping.names import CollectionName
from fonds.grouping.stored.dense_vectors import decode_text_vector, encode_text_vector, hash_mark
from fonds.grouping.tables import DOCUMENTS, Cells, Tables, decode_text, encode_utf8
from fonds.model.errors import DamagedInputError

_ENCODER_LOCK = Lock()


@dataclass(frozen=True, slots=True)
class DenseVectors:
    """Dense vectors to use, documents x dimensions, and the cells of those that were just computed."""

    numbers: Floats | None
    new_cells: EncodedCells = field(default_factory=dict)


def get_dimensions(configuration: Configuration) -> int:
    """Return the length of the dense vectors to use; 0 if only terms are used."""
    return DIMENSIONS if configuration.encoder is not None else configuration.dense or 0


def check_encoder(configuration: Configuration) -> None:
    """Raise ConfigurationError, which names the extra, if the configured encoder is not installed."""
    if configuration.encoder is not None:
        with _ENCODER_LOCK:
            _load_encoder()


def encode_documents(
    encoder: str, documents: Sequence[Document], stored_cells: Mapping[str, Cells]
) -> DenseVectors:
    """Return the vectors of the texts, float32, each of length 1 to within 0.001.

    Each has the precision of the stored cell. Valid cells in `stored_cells` are reused; the others
    are computed. Raises ConfigurationError without the extra.
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
    """Return the hash of what an encoder reads of a text."""
    return hash_mark(encode_utf8(read_part(text)))


def is_valid_cell(cell: bytes, text: str, version: bytes | None = None) -> bool:
    """Return whether a cell is intact and matches a text and a model version (None: any)."""
    try:
        text_vector = decode_text_vector(cell)
    except DamagedInputError:
        return False
    return text_vector.digest == hash_text(text) and version in (None, text_vector.version)


def store_cells(tables: Tables, name: CollectionName, encoded_cells: EncodedCells) -> None:
    """Write cells into the rows of documents that are there with the text they are of. For who holds the
    collection's lease."""
    rows = {name.build_document_row(id_): cells for id_, cells in encoded_cells.items()}
    stored_rows = tables.get_rows(DOCUMENTS, list(rows), ["main:id", "main:text"])
    puts = []
    for row, stored_cells in stored_rows.items():
        text = decode_text(stored_cells, "main:text")
        valid_cells = {
            column: cell for column, cell in rows[row].items() if is_valid_cell(cell, text)
        }
        if "main:id" in stored_cells and valid_cells:
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
    """Return the dense vectors to use, documents x `numbers`.

    With an encoder, reuse valid cells in `stored_cells` and compute the others. Otherwise use the
    posted vectors, zeros for a wrong length.
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
