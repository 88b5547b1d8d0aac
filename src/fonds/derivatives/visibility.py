"""Which files are under embargo: the one question that decides what the index may hold."""

from __future__ import annotations

from collections.abc import Iterable

from fonds.model.rows import EmbargoRow, TakedownRow
from fonds.ports import Records


def find_active_embargoes(records: Records, sha1hexes: Iterable[str]) -> dict[str, EmbargoRow]:
    """Those of these files that are hidden now, with why and until when."""
    rows = records.get(EmbargoRow, list(sha1hexes))
    return {row.sha1hex: row for row in rows if row.lifting is None}


# Which files were taken down, asked by whoever would show, count or make again what there was of them.


def find_takedowns(records: Records, sha1hexes: Iterable[str]) -> dict[str, TakedownRow]:
    """Those of these files that were taken down, or are being."""
    return {row.sha1hex: row for row in records.get(TakedownRow, list(sha1hexes))}
