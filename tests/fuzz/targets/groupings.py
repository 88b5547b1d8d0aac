"""Row keys and stored values of groupings: refused as damaged, or the same when they are written again."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import numpy as np

from fonds.formats.grouping import dictionary, inverted, matrices, vectors
from fonds.formats.grouping.keys import (
    cluster_row,
    document_row,
    parts_of_cluster,
    parts_of_document,
)
from fonds.formats.grouping.packing import sealed, varints
from fonds.model.errors import DamagedInputError
from fonds.model.vectors import Dictionary, Postings, Vector
from fuzz.promises import holds

CHUNK_HEAD = (0).to_bytes(4, "big") + (1).to_bytes(4, "big")


def check(data: bytes) -> None:
    """The first byte says which; its checksum is mended, so that what follows is read."""
    for parts_of, row in ((parts_of_cluster, cluster_row), (parts_of_document, document_row)):
        try:
            parts = parts_of(data)  # type: ignore[operator]
        except DamagedInputError:
            continue
        holds(row(*parts) == data, "a row is that of its parts", parts)  # type: ignore[operator]
    kind, payload = data[:1], data[1:]
    if kind not in READERS:
        return
    again = READERS[kind]
    try:
        written = again(sealed(kind, zlib.compress(payload) if kind == b"d" else payload))
    except DamagedInputError:
        return
    holds(again(written) == written, "what was read is written the same", written[:200])


def _index(value: bytes) -> bytes:
    (run,) = inverted.from_index([CHUNK_HEAD + value])
    return inverted.to_index(run)[0][len(CHUNK_HEAD) :]


def _matrix(value: bytes) -> bytes:
    matrix, version = matrices.from_matrix([CHUNK_HEAD + value])
    return matrices.to_matrix(matrix, version)[0][len(CHUNK_HEAD) :]


def _dictionary(value: bytes) -> bytes:
    read = dictionary.from_dictionary([CHUNK_HEAD + value])
    return dictionary.to_dictionary(read)[0][len(CHUNK_HEAD) :]


READERS: dict[bytes, Callable[[bytes], bytes]] = {
    b"f": lambda value: vectors.to_vector_idf(vectors.from_vector_idf(value)),
    b"w": lambda value: vectors.to_vector_tfidf(vectors.from_vector_tfidf(value)),
    b"d": _dictionary,
    b"i": _index,
    b"m": _matrix,
}


def seeds() -> Iterator[bytes]:
    """A row of each sort and a value of each kind, and empty ones."""
    yield document_row("news", "2026\x00-11", "a/ü")
    yield cluster_row("news", "2026-11", "DEFAULT", 1_790_000_000, "oil, prices")
    for features in ([], [0], [3, 9, 70_000]):
        ones = np.ones(len(features), np.float32)
        vector = Vector(7, np.array(features, np.int64), ones)
        yield b"f" + vectors.to_vector_idf(vector)[8:]
        yield b"w" + vectors.to_vector_tfidf(vector)[8:]
    terms = Dictionary(1, 9, ("ship", "ships", "ü"), np.array([9, 1, 300 % 9]))
    yield b"d" + zlib.decompress(dictionary.to_dictionary(terms)[0][16:])
    run = Postings(1, 4, np.array([2, 0, 1]), np.array([0, 5, 300]), np.ones(3, np.float32) / 3)
    yield b"i" + inverted.to_index(run)[0][16:]
    yield b"m" + matrices.to_matrix(np.eye(3, 2, dtype=np.float32), 2)[0][16:]
    yield b"m" + varints(np.array([1, 0, 0, 0, 3])) + bytes(12)
