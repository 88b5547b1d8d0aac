"""Storage of leases in SQL, in the table `lease` or in two columns of the rows of another table."""

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
"""ASCII characters that are not escaped in a lease key, besides letters, digits and `_.-~`."""

LeasedRow = PaceRow | SourceRow | TimetableRow


def get_cell(row: LeaseRow | LeasedRow) -> LeaseCell:
    """Return the holder and version of a lease, which a table row stores in two columns, as a
    LeaseCell.
    """
    return LeaseCell(row.lease_holder, row.lease_version)


@dataclass(frozen=True, slots=True)
class LeaseTable:
    """Storage of leases in the SQL table `lease`, with one row per lease that a process has.

    Any text can name a lease. Characters that SQL text cannot hold, such as NUL, are
    percent-encoded in the key. This storage writes no further columns: a LeaseChange passed to it
    must have empty `columns` and `where`.
    """

    records: Records

    def load(self, names: Sequence[str]) -> dict[str, LeaseCell]:
        """Return the stored value of each lease by name. A name without a row is a free lease.

        A free lease gets a random version. If versions started at 0, a value could recur and be
        mistaken for a value that a process observed long ago.
        """
        cells = {name: LeaseCell(None, secrets.randbits(VERSION_BITS)) for name in names}
        names_by_key = {_build_key(name): name for name in names}
        rows = self.records.get(LeaseRow, list(names_by_key))
        return cells | {names_by_key[row.name]: get_cell(row) for row in rows}

    def swap(self, changes: Sequence[LeaseChange]) -> set[str]:
        """Write those changes whose lease still has the stored value `before`; return the names of
        these leases.

        Acquiring a lease inserts a row, and releasing a lease deletes the row.
        """
        inserted_rows = {
            change.name: LeaseRow(
                _build_key(change.name), change.after.holder, change.after.version
            )
            for change in changes
            if change.before.holder is None and change.after.holder is not None
        }
        inserted_names = self._insert(inserted_rows) if inserted_rows else set()
        held_changes = [change for change in changes if change.before.holder is not None]
        rows = [
            RowChange(_build_key(change.name), _build_values(change), _build_where(change))
            for change in held_changes
        ]
        changed_flags = self.records.change_each(LeaseRow, rows) if rows else []
        return inserted_names | {
            change.name
            for change, is_changed in zip(held_changes, changed_flags, strict=True)
            if is_changed
        }

    def _insert(self, rows: Mapping[str, LeaseRow]) -> set[str]:
        self.records.put(list(rows.values()), replace=False)
        stored_rows = self.records.get(LeaseRow, [row.name for row in rows.values()])
        return {name for name, row in rows.items() if row in stored_rows}


@dataclass(frozen=True, slots=True)
class LeaseColumns:
    """Storage of leases in the columns `lease_holder` and `lease_version` of another table's rows.

    `kind` is the type of these rows, such as SourceRow. Other columns that a change names are
    written in the same step as the lease, or not at all.
    """

    records: Records
    kind: type[LeasedRow]

    def load(self, names: Sequence[str]) -> dict[str, LeaseCell]:
        """Return the stored value of each lease by name. A name without a row is left out."""
        rows = self.records.get(self.kind, names)
        return {str(getattr(row, self.kind.KEY[0])): get_cell(row) for row in rows}

    def swap(self, changes: Sequence[LeaseChange]) -> set[str]:
        """Write those changes whose lease still has the stored value `before`; return the names of
        these leases.

        All changes are written in one transaction.
        """
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
