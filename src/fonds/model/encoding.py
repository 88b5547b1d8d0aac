"""Types made ready for msgspec, one at a time.

msgspec notes what it knows of a class on the class itself before it has gone through all fields: another
thread that meets the class meanwhile reads what is not there yet, and the process dies.
So whatever is decoded in threads is prepared first.
"""

from __future__ import annotations

import threading
from typing import TypeVar

import msgspec

T = TypeVar("T")

_READY: set[object] = set()
_LOCK = threading.Lock()


def prepare_type(kind: type[T]) -> type[T]:
    """The type itself, once all is known of it that decoding and converting need; cheap when called again."""
    if kind not in _READY:
        with _LOCK:
            msgspec.json.Decoder(kind)
            _READY.add(kind)
    return kind


# Whole numbers: their bound in JSON, and how people read them.


EXACT_MAX = 2**53 - 1
"""The greatest whole number that every reader of JSON reads as it was written (RFC 8259, section 6)."""


def pluralize(count: int, first: str, plural: str | None = None) -> str:
    """Return a count with its noun: `1 file`, `0 files`, `1,204 files`."""
    return f"{count:,} {first if count == 1 else plural or first + 's'}"
