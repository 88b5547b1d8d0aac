"""Which files are under embargo: the one question that decides what the index may hold."""

from __future__ import annotations

from collections.abc import Iterable

from fonds.model.rows import EmbargoRow
from fonds.ports import Records


def embargoed(records: Records, sha1hexes: Iterable[str]) -> dict[str, EmbargoRow]:
    """Those of these files that are hidden now, with why and until when."""
    rows = records.get(EmbargoRow, list(sha1hexes))
    return {row.sha1hex: row for row in rows if row.lifting is None}
