"""Generation of a full-text index: a short text that identifies the content of the index at one
moment.

A generation is a number that grows with each write, followed by eight digits of a hash. The hash is
computed from the names of the files (parts) that make up the index. The names are never reused. A
rebuilt index, or an index continued from a copy, therefore has other generations.

Equal generations mean equal documents. Different generations can have equal documents too, because
merging parts changes the generation.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

EMPTY_GENERATION = "0"
"""Generation of an index to which nothing was ever written."""
HASH_DIGITS = 8


def compute_generation(number: int, parts: Iterable[str]) -> str:
    """Return the generation of an index as text, such as `4711-0f3ac2d1`.

    `number` grows with each write. `parts` are the names of the parts of the index in any order.
    """
    encoded_parts = "\n".join(sorted(parts)).encode("utf-8", "replace")
    return f"{number}-{sha256(encoded_parts).hexdigest()[:HASH_DIGITS]}"
