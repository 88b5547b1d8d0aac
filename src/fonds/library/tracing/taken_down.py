"""Which files were taken down, asked by whoever would show, count or make again what there was of them."""

from __future__ import annotations

from collections.abc import Iterable

from fonds.model.rows import TakedownRow
from fonds.ports import Records


def taken_down(records: Records, sha1hexes: Iterable[str]) -> dict[str, TakedownRow]:
    """Those of these files that were taken down, or are being."""
    return {row.sha1hex: row for row in records.get(TakedownRow, list(sha1hexes))}
