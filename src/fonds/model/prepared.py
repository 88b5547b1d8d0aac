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
_ONE_AT_A_TIME = threading.Lock()


def prepared(kind: type[T]) -> type[T]:
    """The type itself, once all is known of it that decoding and converting need; cheap when called again."""
    if kind not in _READY:
        with _ONE_AT_A_TIME:
            msgspec.json.Decoder(kind)
            _READY.add(kind)
    return kind
