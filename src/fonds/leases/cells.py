"""Lease cells in SQL: rows of their own, or two columns of a subject's row."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from fonds.model.lease import LeaseCell, LeaseChange
from fonds.model.row_change import RowChange
from fonds.model.rows import LeaseRow, PaceRow, SourceRow, TimetableRow
from fonds.ports import Records

VERSION_BITS = 52
_UNESCAPED_CHARS = " !\"#$&'()*+,/:;<=>?@[\\]^`{|}"
"""ASCII characters that are not escaped in the key of a lease, besides letters, digits and `_.-~`."""

LeasedRow = PaceRow | SourceRow | TimetableRow


def get_cell(row: LeaseRow | LeasedRow) -> LeaseCell:
    """Return the lease cell of a row."""
    return LeaseCell(row.lease_holder, row.lease_version)


@dataclass(frozen=True, slots=True)
class LeaseTable:
    """Implementation of the port LeaseCells by the table `lease`, which has a row per held lease.

    Any name can have a lease: characters that SQL text cannot hold, such as NUL, are percent-encoded in the
    key. Changes carry no columns and no conditions.
    """

    records: Records

    def load(self, names: Sequence[str]) -> dict[str, LeaseCell]:
        """Load cells. Names without a row are free, each with a random version.

        If versions started at 0, one could recur and be mistaken for a cell observed long ago.
        """
        cells = {name: LeaseCell(None, secrets.randbits(VERSION_BITS)) for name in names}
        names_by_key = {_build_key(name): name for name in names}
        rows = self.records.get(LeaseRow, list(names_by_key))
        return cells | {names_by_key[row.name]: get_cell(row) for row in rows}

    def swap(self, changes: Sequence[LeaseChange]) -> set[str]:
        """Write changes. Acquiring inserts a row, releasing removes it."""
        inserted = {
            change.name: LeaseRow(
                _build_key(change.name), change.after.holder, change.after.version
            )
            for change in changes
            if change.before.holder is None and change.after.holder is not None
        }
        inserted_names = self._insert(inserted) if inserted else set()
        held_changes = [change for change in changes if change.before.holder is not None]
        rows = [
            RowChange(_build_key(change.name), _build_values(change), _build_where(change))
            for change in held_changes
        ]
        changed = self.records.change_each(LeaseRow, rows) if rows else []
        return inserted_names | {
            change.name
            for change, is_changed in zip(held_changes, changed, strict=True)
            if is_changed
        }

    def _insert(self, rows: Mapping[str, LeaseRow]) -> set[str]:
        self.records.put(list(rows.values()), replace=False)
        stored = self.records.get(LeaseRow, [row.name for row in rows.values()])
        return {name for name, row in rows.items() if row in stored}


@dataclass(frozen=True, slots=True)
class LeaseColumns:
    """Port LeaseCells on the columns `lease_holder` and `lease_version` of a kind of row.

    What a holder writes into its row is written in the same step as the lease, or not at all.
    """

    records: Records
    kind: type[LeasedRow]

    def load(self, names: Sequence[str]) -> dict[str, LeaseCell]:
        """Load cells. Names without a row are absent."""
        rows = self.records.get(self.kind, names)
        return {str(getattr(row, self.kind.KEY[0])): get_cell(row) for row in rows}

    def swap(self, changes: Sequence[LeaseChange]) -> set[str]:
        """Write all changes in one transaction."""
        rows = [
            RowChange(
                change.name,
                {
                    **change.columns,
                    "lease_holder": change.after.holder,
                    "lease_version": change.after.version,
                },
                {**change.where, **_build_where(change)},
            )
            for change in changes
        ]
        results = self.records.change_each(self.kind, rows)
        return {
            change.name for change, is_changed in zip(changes, results, strict=True) if is_changed
        }


def _build_key(name: str) -> str:
    return quote(name, safe=_UNESCAPED_CHARS, errors="surrogatepass")


def _build_values(change: LeaseChange) -> Mapping[str, object] | None:
    if change.after.holder is None:
        return None
    return {"lease_holder": change.after.holder, "lease_version": change.after.version}


def _build_where(change: LeaseChange) -> Mapping[str, object]:
    return {"lease_holder": change.before.holder, "lease_version": change.before.version}
