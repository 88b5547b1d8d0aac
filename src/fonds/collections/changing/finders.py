"""What finds near-duplicates, of each collection in use here; the arithmetic is loaded with the first."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from fonds.collections.names import Name

if TYPE_CHECKING:
    from fonds.collections.changing.duplicates import Duplicates

COUNT_MAX = 16


class Finders:
    """One for each of the collections in use here, sixteen at most. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[Name, Duplicates] = {}

    def of(self, name: Name) -> Duplicates:
        """That of a collection."""
        from fonds.collections.changing.duplicates import Duplicates

        with self._lock:
            kept = self._kept.pop(name, None) or Duplicates(name)
            self._kept[name] = kept
            while len(self._kept) > COUNT_MAX:
                self._kept.pop(next(iter(self._kept)))
        return kept
