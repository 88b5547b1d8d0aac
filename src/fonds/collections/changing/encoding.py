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

from fonds.collections.configurations import Configuration
from fonds.collections.documents import Document, EncodedCells, encoded_column
from fonds.collections.names import Name
from fonds.collections.tables import DOCUMENTS, Cells, Tables, text, utf8
from fonds.formats.grouping.encoded import from_vector_encoded, mark_of, to_vector_encoded
from fonds.grouping.dense import NUMBERS, Encoder, read_part
from fonds.grouping.space.weighting import Floats
from fonds.model.errors import DamagedInputError

_ONE = Lock()


@dataclass(frozen=True, slots=True)
class Dense:
    """Vectors that count, documents x numbers; and the cells of those that were made just now."""

    numbers: Floats | None
    made: EncodedCells = field(default_factory=dict)


def numbers_of(configuration: Configuration) -> int:
    """How many numbers the dense vectors have that count; 0 where terms alone do."""
    return NUMBERS if configuration.encoder is not None else configuration.dense or 0


def check_encoder(configuration: Configuration) -> None:
    """Raises ConfigurationError, which names the extra, where a model is asked for that is not installed."""
    if configuration.encoder is not None:
        with _ONE:
            _encoder()


def encoded(encoder: str, documents: Sequence[Document], kept: Mapping[str, Cells]) -> Dense:
    """Vectors of the texts, float32, each of length 1 to a thousandth: those of `kept` that hold, the others
    made now, and both as a row keeps them. Raises ConfigurationError without the extra."""
    column, made = encoded_column(encoder), {}
    vectors = np.zeros((len(documents), NUMBERS), np.float32)
    with _ONE:
        model = _encoder()
        for place, one in enumerate(documents):
            cell = kept.get(one.id, {}).get(column, b"")
            if not holds(cell, one.text, model.version):
                numbers = model.encode([one.text])[0]
                cell = to_vector_encoded(model.version, digest(one.text), numbers)
                made[one.id] = {column: cell}
            vectors[place] = from_vector_encoded(cell).numbers
    return Dense(vectors, made)


def digest(text: str) -> bytes:
    """Stands for what an encoder reads of a text."""
    return mark_of(utf8(read_part(text)))


def holds(cell: bytes, text: str, version: bytes | None = None) -> bool:
    """Whether a cell is whole and of this text, and of the model of this version; None: of any."""
    try:
        found = from_vector_encoded(cell)
    except DamagedInputError:
        return False
    return found.digest == digest(text) and version in (None, found.version)


def keep(tables: Tables, name: Name, made: EncodedCells) -> None:
    """Write cells into the rows of documents that are there with the text they are of. For who holds the
    collection's claim."""
    rows = {name.document(id_): cells for id_, cells in made.items()}
    there = tables.rows(DOCUMENTS, list(rows), ["main:id", "main:text"])
    puts = []
    for row, found in there.items():
        said = text(found, "main:text")
        own = {column: cell for column, cell in rows[row].items() if holds(cell, said)}
        if "main:id" in found and own:
            puts.append((row, own))
    tables.put(DOCUMENTS, puts)


@cache
def _encoder() -> Encoder:
    return Encoder()


def dense_of(
    configuration: Configuration,
    numbers: int,
    documents: Sequence[Document],
    kept: Mapping[str, Cells],
) -> Dense:
    """The vectors that count, documents x `numbers`: made of the texts where a configuration says so, those
    of `kept` not again; else those documents were posted with, zeros for one of another length."""
    if not numbers:
        return Dense(None)
    if configuration.encoder is not None:
        return encoded(configuration.encoder, documents, kept)
    found = np.zeros((len(documents), numbers), np.float32)
    for place, one in enumerate(documents):
        if len(one.vector) == numbers:
            found[place] = one.vector
    return Dense(found)
