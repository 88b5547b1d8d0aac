"""Encoding of dense vectors of documents: those that a client posts and those that a model
computes.

`vector_dense` is posted with the document. Its payload: the numbers as binary32, little-endian,
normalized to length 1, since only the direction counts. `vector_<encoder>` is computed by a model.
Its payload: eight bytes that identify the model and its settings, eight bytes of a digest of the
encoded text, then the numbers as binary16, little-endian, of length 1, or all 0 for an empty text.
A cell is valid for a model and a text if the first sixteen bytes of its payload match, in any row.

Limits: 4,096 numbers. numpy starts threads when it is loaded, so it and `packing` are imported in
functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


NUMBERS_MAX = 4096
_NUMBER_BYTES = 4
_LENGTH_OFF_MAX = 1e-3


def encode_dense_vector(numbers: Sequence[float]) -> bytes:
    """Return the cell `processing:vector_dense` for a posted vector, normalized to length 1.

    The numbers must be finite and not all 0. No numbers give b"".
    """
    import numpy as np

    from fonds.grouping.stored.packing import seal_payload

    if not len(numbers):
        return b""
    normalized_numbers = np.asarray(numbers, dtype=np.float64)
    normalized_numbers = normalized_numbers / np.abs(normalized_numbers).max()
    return seal_payload(
        b"v", (normalized_numbers / np.linalg.norm(normalized_numbers)).astype("<f4").tobytes()
    )


def decode_dense_vector(value: bytes) -> NDArray[np.float32]:
    """Return the numbers in a cell `processing:vector_dense`; an empty array for b"".

    Raises DamagedInputError if the cell is damaged or the vector's length is not 1.
    """
    import numpy as np

    from fonds.grouping.stored.packing import HEAD_BYTES, build_damaged_error, open_payload

    if not value:
        return np.zeros(0, np.float32)
    payload = open_payload(b"v", value, HEAD_BYTES + _NUMBER_BYTES * NUMBERS_MAX)
    if not payload or len(payload) % _NUMBER_BYTES:
        raise build_damaged_error(
            f"{len(payload)} bytes is not a multiple of {_NUMBER_BYTES} bytes per number"
        )
    numbers = np.frombuffer(payload, "<f4").astype(np.float32)
    length = float(np.linalg.norm(numbers.astype(np.float64)))
    if not abs(length - 1) <= _LENGTH_OFF_MAX:
        raise build_damaged_error(f"the vector's length is {length}")
    return numbers


MARK_BYTES = 8
_KIND = b"e"
_HALF_BYTES = 2
_HALF_LENGTH_OFF_MAX = 1e-2


@dataclass(frozen=True, slots=True)
class EncodedVector:
    """Vector that a model computed for a text.

    - `version`: eight bytes that identify the model and its settings.
    - `digest`: eight bytes that identify the text.
    - `numbers`: the vector as float32.
    """

    version: bytes
    digest: bytes
    numbers: NDArray[np.float32]


def hash_mark(data: bytes) -> bytes:
    """Return an eight-byte digest that identifies a model with its settings, or a text."""
    return sha256(data).digest()[:MARK_BYTES]


def encode_text_vector(version: bytes, digest: bytes, numbers: NDArray[np.float32]) -> bytes:
    """Return the cell `processing:vector_<encoder>` for a computed vector of length 1, or of zeros.

    `version`, `digest`: eight bytes each that identify the model and the text.
    """
    from fonds.grouping.stored.packing import seal_payload

    return seal_payload(_KIND, version + digest + numbers.astype("<f2").tobytes())


def decode_text_vector(value: bytes) -> EncodedVector:
    """Decode a cell `processing:vector_<encoder>`.

    Raises DamagedInputError if the cell is damaged or the vector's length is neither 1 nor 0.
    """
    import numpy as np

    from fonds.grouping.stored.packing import HEAD_BYTES, build_damaged_error, open_payload

    head = 2 * MARK_BYTES
    payload = open_payload(_KIND, value, HEAD_BYTES + head + _HALF_BYTES * NUMBERS_MAX)
    if len(payload) <= head or (len(payload) - head) % _HALF_BYTES:
        raise build_damaged_error(
            f"{_HALF_BYTES} bytes per number do not fit {len(payload)} bytes after a head of {head}"
        )
    numbers = np.frombuffer(payload, "<f2", offset=head).astype(np.float32)
    length = float(np.linalg.norm(numbers.astype(np.float64)))
    if length != 0 and not abs(length - 1) <= _HALF_LENGTH_OFF_MAX:
        raise build_damaged_error(f"the vector's length is {length}")
    return EncodedVector(payload[:MARK_BYTES], payload[MARK_BYTES:head], numbers)
