"""`vector_dense`: the vector a document was posted with, made by whatever model its application has.

Payload: the numbers as binary32, little-endian; they are of length 1, since only the direction counts.
Bound: 4,096 numbers. Arithmetic starts threads when it is loaded; who only asks for bounds loads none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NUMBERS_MAX = 4096
_NUMBER_BYTES = 4
_LENGTH_OFF_MAX = 1e-3


def to_vector_dense(numbers: Sequence[float]) -> bytes:
    """The cell `processing:vector_dense` of finite numbers that are not all 0; b"" of none."""
    import numpy as np

    from fonds.formats.grouping.packing import sealed

    if not len(numbers):
        return b""
    long = np.asarray(numbers, dtype=np.float64)
    long = long / np.abs(long).max()
    return sealed(b"v", (long / np.linalg.norm(long)).astype("<f4").tobytes())


def from_vector_dense(value: bytes) -> NDArray[np.float32]:
    """The numbers, none of b"". Raises DamagedInputError."""
    import numpy as np

    from fonds.formats.grouping.packing import HEAD_BYTES, damaged, opened

    if not value:
        return np.zeros(0, np.float32)
    payload = opened(b"v", value, HEAD_BYTES + _NUMBER_BYTES * NUMBERS_MAX)
    if not payload or len(payload) % _NUMBER_BYTES:
        raise damaged(f"{len(payload)} bytes are no numbers of {_NUMBER_BYTES}")
    numbers = np.frombuffer(payload, "<f4").astype(np.float32)
    length = float(np.linalg.norm(numbers.astype(np.float64)))
    if not abs(length - 1) <= _LENGTH_OFF_MAX:
        raise damaged(f"a vector of length {length}")
    return numbers
