"""The generation of an index: a short name for everything it holds at one moment.

It is a number that grows with each write, and eight digits of a hash over the names of the parts the index
consists of. These names are never reused, so an index that was rebuilt, or continued from a copy, has other
generations. The same generation means the same documents. Another generation may hold the same documents too,
because merging parts changes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

EMPTY_GENERATION = "0"
"""Generation of an index that was never written to."""
HASH_DIGITS = 8


def compute_generation(number: int, parts: Iterable[str]) -> str:
    """Return the generation as text, such as `4711-0f3ac2d1`. The order of the parts does not matter."""
    encoded_parts = "\n".join(sorted(parts)).encode("utf-8", "replace")
    return f"{number}-{sha256(encoded_parts).hexdigest()[:HASH_DIGITS]}"
