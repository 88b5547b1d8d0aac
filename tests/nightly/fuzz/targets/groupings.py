"""Row keys and stored values of groupings: refused as damaged, or equal when written again."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import numpy as np

from fonds.grouping.stored import dictionary, inverted_index, matrices, vectors
from fonds.grouping.stored.keys import (
    build_cluster_row,
    build_document_row,
    parse_cluster_row,
    parse_document_row,
)
from fonds.grouping.stored.packing import encode_varints, seal_payload
from fonds.model.errors import DamagedInputError
from fonds.model.vectors import Dictionary, Postings, Vector
from nightly.fuzz.guarantees import require

CHUNK_HEAD = (0).to_bytes(4, "big") + (1).to_bytes(4, "big")


def check(data: bytes) -> None:
    """Check row keys and a value. The first byte selects its kind; a valid checksum is added."""
    for parts_of, row in (
        (parse_cluster_row, build_cluster_row),
        (parse_document_row, build_document_row),
    ):
        try:
            parts = parts_of(data)  # type: ignore[operator]
        except DamagedInputError:
            continue
        require(row(*parts) == data, "a row key is rebuilt from its parts", parts)  # type: ignore[operator]
    kind, payload = data[:1], data[1:]
    if kind not in REWRITERS:
        return
    rewrite = REWRITERS[kind]
    try:
        value = rewrite(seal_payload(kind, zlib.compress(payload) if kind == b"d" else payload))
    except DamagedInputError:
        return
    require(rewrite(value) == value, "a value is written unchanged", value[:200])


def _index(value: bytes) -> bytes:
    (part,) = inverted_index.decode_postings([CHUNK_HEAD + value])
    return inverted_index.encode_postings(part)[0][len(CHUNK_HEAD) :]


def _matrix(value: bytes) -> bytes:
    matrix, version = matrices.decode_matrix([CHUNK_HEAD + value])
    return matrices.encode_matrix(matrix, version)[0][len(CHUNK_HEAD) :]


def _dictionary(value: bytes) -> bytes:
    read = dictionary.decode_dictionary([CHUNK_HEAD + value])
    return dictionary.encode_dictionary(read)[0][len(CHUNK_HEAD) :]


REWRITERS: dict[bytes, Callable[[bytes], bytes]] = {
    b"f": lambda value: vectors.encode_idf_vector(vectors.decode_idf_vector(value)),
    b"w": lambda value: vectors.encode_tfidf_vector(vectors.decode_tfidf_vector(value)),
    b"d": _dictionary,
    b"i": _index,
    b"m": _matrix,
}


def seeds() -> Iterator[bytes]:
    """Yield a row key of each type, a value of each kind, and empty ones."""
    yield build_document_row("news", "2026\x00-11", "a/ü")
    yield build_cluster_row("news", "2026-11", "DEFAULT", 1_790_000_000, "oil, prices")
    for features in ([], [0], [3, 9, 70_000]):
        ones = np.ones(len(features), np.float32)
        vector = Vector(7, np.array(features, np.int64), ones)
        yield b"f" + vectors.encode_idf_vector(vector)[8:]
        yield b"w" + vectors.encode_tfidf_vector(vector)[8:]
    terms = Dictionary(1, 9, ("ship", "ships", "ü"), np.array([9, 1, 300 % 9]))
    yield b"d" + zlib.decompress(dictionary.encode_dictionary(terms)[0][16:])
    part = Postings(1, 4, np.array([2, 0, 1]), np.array([0, 5, 300]), np.ones(3, np.float32) / 3)
    yield b"i" + inverted_index.encode_postings(part)[0][16:]
    yield b"m" + matrices.encode_matrix(np.eye(3, 2, dtype=np.float32), 2)[0][16:]
    yield b"m" + encode_varints(np.array([1, 0, 0, 0, 3])) + bytes(12)
