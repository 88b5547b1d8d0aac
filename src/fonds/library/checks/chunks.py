"""Rows some hundred at a time, and what is on its way meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from typing import TypeVar

from fonds.model.rows import DispositionRow, EntryRow
from fonds.ports import Records

CHUNK = 500
T = TypeVar("T")


def chunks(rows: Iterator[T], size: int = CHUNK) -> Iterator[list[T]]:
    """All rows, so many at a time."""
    while chunk := list(islice(rows, size)):
        yield chunk


def under_way(records: Records, entry_ids: Collection[str]) -> set[str]:
    """Those entries of which a message is open: what is missing of them may be about to come."""
    if not entry_ids:
        return set()
    rows = records.find(EntryRow, {"entry_id": sorted(entry_ids)})
    return {row.entry_id for row in rows if row.open_count > 0 or row.outcome == "pending"}


def worked_on(records: Records, sha1hexes: Collection[str]) -> set[str]:
    """Those files about which a message is open."""
    if not sha1hexes:
        return set()
    where = {"about": sorted(sha1hexes), "is_open": True}
    return {row.about for row in records.find(DispositionRow, where) if row.about}
