"""JSON decoding, preparation of types for msgspec, and formatting of counts for people.

msgspec caches information about a class on the class before it has processed all fields. If another
thread decodes the class meanwhile, that thread reads missing data, and the process crashes. Types
that are decoded in several threads are therefore prepared first, one at a time.
"""

from __future__ import annotations

import json
import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_PREPARED_TYPES: set[object] = set()
_LOCK = threading.Lock()


def prepare_type(kind: type[T]) -> type[T]:
    """Prepare a type for decoding with msgspec in several threads, and return the type.

    Repeated calls are cheap.
    """
    if kind not in _PREPARED_TYPES:
        with _LOCK:
            msgspec.json.Decoder(kind)
            _PREPARED_TYPES.add(kind)
    return kind


def decode_json(data: str | bytes) -> Any:
    """Decode JSON that any program may have written. Raises ValueError if `data` is not JSON.

    The decoder of Python accepts more than JSON, such as a lone surrogate or NaN, and is slower. It
    decodes only what msgspec refuses.
    """
    try:
        return msgspec.json.decode(data)
    except ValueError:
        return json.loads(data)


EXACT_MAX = 2**53 - 1
"""Largest integer that every JSON reader reads exactly (RFC 8259, section 6)."""


def pluralize(count: int, first: str, plural: str | None = None) -> str:
    """Return a count followed by its noun: `1 file`, `0 files`, `1,204 files`.

    `first` is the singular noun. `plural` defaults to `first` with an "s".
    """
    return f"{count:,} {first if count == 1 else plural or first + 's'}"
