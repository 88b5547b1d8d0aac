"""Cache of the objects that find near-duplicates, one object per collection in use.

The numeric libraries are loaded on first use.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from fonds.grouping.names import CollectionName

if TYPE_CHECKING:
    from fonds.grouping.changes.duplicates import DuplicateFinder


COUNT_MAX = 16


class DuplicateFinders:
    """Cache of the finders of near-duplicates, one per collection. Thread-safe.

    It keeps at most `COUNT_MAX` finders, those of the collections last used.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._finders: dict[CollectionName, DuplicateFinder] = {}

    def get(self, name: CollectionName) -> DuplicateFinder:
        """Return the finder of near-duplicates for a collection; create it if it is not cached."""
        from fonds.grouping.changes.duplicates import (
            DuplicateFinder,  # Loads numpy, scipy, scikit-learn.
        )

        with self._lock:
            finder = self._finders.pop(name, None) or DuplicateFinder(name)
            self._finders[name] = finder
            while len(self._finders) > COUNT_MAX:
                self._finders.pop(next(iter(self._finders)))
        return finder
