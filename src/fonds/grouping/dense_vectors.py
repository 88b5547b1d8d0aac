"""Dense vectors made of texts where a configuration names an encoder; the model is loaded once a process.

What was made is kept in the document's row (`processing:vector_<encoder>`) and taken from there by whoever
needs it next, as long as the cell says by itself that it is of this model and this text. It goes with
the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import Lock

import numpy as np

from fonds.grouping.algorithms.encoder import NUMBERS, Encoder, read_part
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
    """Vectors that count, documents x numbers; and the cells of those that were made just now."""

    numbers: Floats | None
    new_cells: EncodedCells = field(default_factory=dict)


def get_dimensions(configuration: Configuration) -> int:
    """How many numbers the dense vectors have that count; 0 where terms alone do."""
    return NUMBERS if configuration.encoder is not None else configuration.dense or 0


def check_encoder(configuration: Configuration) -> None:
    """Raises ConfigurationError, which names the extra, where a model is asked for that is not installed."""
    if configuration.encoder is not None:
        with _ENCODER_LOCK:
            _load_encoder()


def encode_documents(
    encoder: str, documents: Sequence[Document], stored_cells: Mapping[str, Cells]
) -> DenseVectors:
    """Vectors of the texts, float32, each of length 1 to a thousandth: those of `stored_cells` that hold,
    the others made now, and both as a row keeps them. Raises ConfigurationError without the extra."""
    column, made = build_encoded_column(encoder), {}
    vectors = np.zeros((len(documents), NUMBERS), np.float32)
    with _ENCODER_LOCK:
        model = _load_encoder()
        for place, one in enumerate(documents):
            cell = stored_cells.get(one.id, {}).get(column, b"")
            if not is_valid_cell(cell, one.text, model.version):
                numbers = model.encode([one.text])[0]
                cell = encode_text_vector(model.version, hash_text(one.text), numbers)
                made[one.id] = {column: cell}
            vectors[place] = decode_text_vector(cell).numbers
    return DenseVectors(vectors, made)


def hash_text(text: str) -> bytes:
    """Stands for what an encoder reads of a text."""
    return hash_mark(encode_utf8(read_part(text)))


def is_valid_cell(cell: bytes, text: str, version: bytes | None = None) -> bool:
    """Whether a cell is whole and of this text, and of the model of this version; None: of any."""
    try:
        found = decode_text_vector(cell)
    except DamagedInputError:
        return False
    return found.digest == hash_text(text) and version in (None, found.version)


def store_cells(tables: Tables, name: CollectionName, encoded_cells: EncodedCells) -> None:
    """Write cells into the rows of documents that are there with the text they are of. For who holds the
    collection's lease."""
    rows = {name.build_document_row(id_): cells for id_, cells in encoded_cells.items()}
    there = tables.get_rows(DOCUMENTS, list(rows), ["main:id", "main:text"])
    puts = []
    for row, found in there.items():
        said = decode_text(found, "main:text")
        own = {column: cell for column, cell in rows[row].items() if is_valid_cell(cell, said)}
        if "main:id" in found and own:
            puts.append((row, own))
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
    """The vectors that count, documents x `numbers`: made of the texts where a configuration says so, those
    of `stored_cells` not again; else those documents were posted with, zeros for one of another length."""
    if not numbers:
        return DenseVectors(None)
    if configuration.encoder is not None:
        return encode_documents(configuration.encoder, documents, stored_cells)
    found = np.zeros((len(documents), numbers), np.float32)
    for place, one in enumerate(documents):
        if len(one.vector) == numbers:
            found[place] = one.vector
    return DenseVectors(found)
