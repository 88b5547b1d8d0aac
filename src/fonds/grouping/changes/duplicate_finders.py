"""Finders of near-duplicates, one per collection in use; the arithmetic is loaded with the first."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from fonds.grouping.names import CollectionName

if TYPE_CHECKING:
    from fonds.grouping.changes.duplicates import DuplicateFinder


COUNT_MAX = 16


class DuplicateFinders:
    """One for each of the collections in use here, sixteen at most. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._finders: dict[CollectionName, DuplicateFinder] = {}

    def get(self, name: CollectionName) -> DuplicateFinder:
        """Return the finder of a collection."""
        from fonds.grouping.changes.duplicates import (
            DuplicateFinder,  # loads numpy, scipy, scikit-learn
        )

        with self._lock:
            kept = self._finders.pop(name, None) or DuplicateFinder(name)
            self._finders[name] = kept
            while len(self._finders) > COUNT_MAX:
                self._finders.pop(next(iter(self._finders)))
        return kept
