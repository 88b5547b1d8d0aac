"""The generation of an index: a short name for all it holds at one moment.

A number that grows with what is written, and eight digits of a hash over the parts the index lies in, whose
names are never given twice: an index that was made anew, or went on from a copy, has others. The same
generation means the same documents. Another need not mean others: merging the parts makes another, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

NOTHING_YET = "0"
"""That of an index that was never written to."""
HASH_DIGITS = 8


def generation(number: int, parts: Iterable[str]) -> str:
    """As it is told, `4711-0f3ac2d1`; the order of the parts does not count."""
    told = "\n".join(sorted(parts)).encode("utf-8", "replace")
    return f"{number}-{sha256(told).hexdigest()[:HASH_DIGITS]}"
