"""Encoding of a model's matrices (projection, centroids, evidence) as binary16, in chunks.

Payload of a chunk: varints for the dictionary's version, the number of its first row, the number of
rows in the chunk, and the numbers of rows and columns of the matrix; the scale of each column as
binary32; then the values row by row, little-endian. Each column is divided by its scale, its
largest magnitude, so that small numbers keep three digits.

Limits: 10,000,000 rows, 4,096 columns, 8 MiB per chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fonds.grouping.stored.chunks import CHUNK_MAX_BYTES, CHUNKS_MAX, list_pieces, number_pieces
from fonds.grouping.stored.packing import (
    build_damaged_error,
    encode_varints,
    open_payload,
    read_varints,
    seal_payload,
)
from fonds.model.vectors import Weights

if TYPE_CHECKING:
    import numpy as np


ROWS_MAX = 10_000_000
COLUMNS_MAX = 4096
_ROOM = CHUNK_MAX_BYTES - 64 - 4 * COLUMNS_MAX


def encode_matrix(matrix: Weights, version: int) -> list[bytes]:
    """Return the cells of a float32 matrix of a model, one per chunk; at least one.

    `version`: version of the dictionary that the matrix belongs to.
    """
    rows, columns = matrix.shape
    scale = np.maximum(np.abs(matrix).max(axis=0, initial=0), np.finfo(np.float32).tiny)
    chunk_rows = max(1, _ROOM // max(2 * columns, 1))
    chunks = []
    for first in range(0, max(rows, 1), chunk_rows):
        part = matrix[first : first + chunk_rows]
        head = encode_varints(np.array([version, first, len(part), rows, columns], dtype=np.int64))
        values = (part / scale).astype("<f2").tobytes()
        chunks.append(seal_payload(b"m", head + scale.astype("<f4").tobytes() + values))
    return number_pieces(chunks)


def decode_matrix(chunks: Sequence[bytes]) -> tuple[Weights, int]:
    """Decode a model's matrix from the cells of its chunks, given in order.

    Return the matrix as float32, and the version of the dictionary that it belongs to.
    Raises DamagedInputError if a chunk is missing or damaged.
    """
    parts: list[Weights] = []
    shapes = set()
    row = 0
    for piece in list_pieces(chunks):
        payload = open_payload(b"m", piece, CHUNK_MAX_BYTES)
        head, start = read_varints(payload, 5)
        version, first, count, rows, columns = (int(number) for number in head)
        if rows > ROWS_MAX or columns > COLUMNS_MAX or first != row or count > rows - row:
            raise build_damaged_error(f"rows {first} to {first + count} of {rows} by {columns}")
        if len(payload) - start != 4 * columns + 2 * count * columns:
            raise build_damaged_error("the number of values does not match the matrix's header")
        scale = np.frombuffer(payload, "<f4", columns, start)
        values = np.frombuffer(payload, "<f2", offset=start + 4 * columns)
        parts.append(values.reshape(count, columns).astype(np.float32) * scale)
        shapes.add((version, rows, columns))
        row += count
    if len(shapes) != 1 or row != rows or len(parts) > CHUNKS_MAX:
        raise build_damaged_error("the chunks belong to different matrices, or some are missing")
    matrix = np.concatenate(parts)
    if not bool(np.isfinite(matrix).all()):
        raise build_damaged_error("a value is not a number")
    return matrix, version
