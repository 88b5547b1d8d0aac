"""`vector_<encoder>`: what a model made of a document's text, kept so that it is not made again.

Payload: eight bytes that say which model made it, and how; eight of a digest of what it read; the numbers as
binary16, little-endian, of length 1, or all 0 of a text of nothing. A cell whose first sixteen bytes are
those of a model and of a text holds for them, wherever it is found. Bound: 4,096 numbers. Arithmetic starts
threads when it is loaded; who only names the columns loads none.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from fonds.formats.grouping.dense import NUMBERS_MAX

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MARK_BYTES = 8
_KIND = b"e"
_NUMBER_BYTES = 2
_LENGTH_OFF_MAX = 1e-2


@dataclass(frozen=True, slots=True)
class Encoded:
    """A vector as it is kept: `version` of the model, `digest` of what it read, `numbers` as float32."""

    version: bytes
    digest: bytes
    numbers: NDArray[np.float32]


def mark_of(data: bytes) -> bytes:
    """Eight bytes that stand for what a model is, or for what it reads."""
    return sha256(data).digest()[:MARK_BYTES]


def to_vector_encoded(version: bytes, digest: bytes, numbers: NDArray[np.float32]) -> bytes:
    """The cell of a vector of length 1, or of zeros."""
    from fonds.formats.grouping.packing import sealed

    return sealed(_KIND, version + digest + numbers.astype("<f2").tobytes())


def from_vector_encoded(value: bytes) -> Encoded:
    """What a cell holds. Raises DamagedInputError."""
    import numpy as np

    from fonds.formats.grouping.packing import HEAD_BYTES, damaged, opened

    head = 2 * MARK_BYTES
    payload = opened(_KIND, value, HEAD_BYTES + head + _NUMBER_BYTES * NUMBERS_MAX)
    if len(payload) <= head or (len(payload) - head) % _NUMBER_BYTES:
        raise damaged(f"{len(payload)} bytes are no numbers of {_NUMBER_BYTES} behind {head}")
    numbers = np.frombuffer(payload, "<f2", offset=head).astype(np.float32)
    length = float(np.linalg.norm(numbers.astype(np.float64)))
    if length != 0 and not abs(length - 1) <= _LENGTH_OFF_MAX:
        raise damaged(f"a vector of length {length}")
    return Encoded(payload[:MARK_BYTES], payload[MARK_BYTES:head], numbers)
