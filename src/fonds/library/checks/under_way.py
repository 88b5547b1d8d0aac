"""What is on its way while the audit looks: it is left alone."""

from __future__ import annotations

from collections.abc import Collection

from fonds.model.rows import DispositionRow, EntryRow
from fonds.ports import Records


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
