"""Find files under embargo and files that were taken down.

Neither may be in the search index.
"""

from __future__ import annotations

from collections.abc import Iterable

from fonds.model.rows import EmbargoRow, TakedownRow
from fonds.ports import Records


def find_active_embargoes(records: Records, sha1hexes: Iterable[str]) -> dict[str, EmbargoRow]:
    """Return the active embargoes of files, by SHA-1. Files without an embargo are omitted."""
    rows = records.get(EmbargoRow, list(sha1hexes))
    return {row.sha1hex: row for row in rows if row.lifting is None}


def find_takedowns(records: Records, sha1hexes: Iterable[str]) -> dict[str, TakedownRow]:
    """Return the takedowns of files, completed or in progress, by SHA-1.

    Other files are omitted.
    """
    return {row.sha1hex: row for row in records.get(TakedownRow, list(sha1hexes))}
