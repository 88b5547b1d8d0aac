"""Temporary storage for the notes of a deep audit (its progress and faults), for libraries on
read-only disks.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from fonds.config import Settings
from fonds.model.row_change import RowChange
from fonds.model.rows import DeepAuditRow, FaultRow, Row
from fonds.ports import Records, Stores, UnfilteredRecords
from fonds.stores.sqlite_file import is_read_only
from fonds.wiring.backends import open_backend

R = TypeVar("R", bound=Row)

NOTES: tuple[type[Row], ...] = (DeepAuditRow, FaultRow)
"""Row types that a deep audit writes: its progress and the faults it found."""

_CHUNK = 500

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AuditNoteRecords:
    """Records (SQL rows) that keep the notes of a deep audit (its progress and faults) in a
    separate database.

    Implements the port `Records`.

    `records`: the database for all row types except those in `NOTES`.
    `note_records`: the database for the row types in `NOTES`.
    """

    records: UnfilteredRecords
    note_records: Records

    def put(self, rows: Sequence[Row], *, replace: bool = True) -> None:
        """Insert rows, or replace rows with the same key. Without `replace`, existing rows stay
        unchanged.

        Audit notes (progress and faults of a deep audit) go to one database, all other rows to
        another. Each database has its own transaction.
        """
        for target in (self.records, self.note_records):
            own_rows = [row for row in rows if self._choose_records(type(row)) is target]
            if own_rows:
                target.put(own_rows, replace=replace)

    def change(
        self,
        kind: type[Row],
        keys: Sequence[object],
        values: Mapping[str, object],
        where: Mapping[str, object] | None = None,
    ) -> int:
        """Set columns of the rows with these keys that match `where`. Return the number of changed
        rows.

        The row type `kind` decides which database is used: that of audit notes (progress and faults
        of a deep audit) or that of all other rows.
        """
        return self._choose_records(kind).change(kind, keys, values, where)

    def change_each(self, kind: type[Row], changes: Sequence[RowChange]) -> list[bool]:
        """Apply each change to its row, if the row still has the values that the change expects.

        Returns for each change whether it was applied. The row type `kind` decides which database
        is used: that of audit notes (progress and faults of a deep audit) or that of all other
        rows.
        """
        return self._choose_records(kind).change_each(kind, changes)

    def get(self, kind: type[R], keys: Sequence[object]) -> list[R]:
        """Return the rows of a type that have these keys. Missing rows are left out.

        The row type `kind` decides which database is used: that of audit notes (progress and faults
        of a deep audit) or that of all other rows.
        """
        return self._choose_records(kind).get(kind, keys)

    def find_missing(self, kind: type[Row], keys: Sequence[object]) -> list[object]:
        """Return those of the keys for which no row of a type exists.

        The row type `kind` decides which database is used: that of audit notes (progress and faults
        of a deep audit) or that of all other rows.
        """
        return self._choose_records(kind).find_missing(kind, keys)

    def find(
        self,
        kind: type[R],
        where: Mapping[str, object] | None = None,
        *,
        order: Sequence[str] = (),
        after: Mapping[str, object] | None = None,
        count_max: int | None = None,
    ) -> Iterator[R]:
        """Yield the rows of a type whose columns match `where`, in the given order.

        `order`: column names, with `-` for descending; the default is the primary key.
        `after`: values of these columns in the row after which to start; None starts at the first
            row.
        `count_max`: maximum number of rows; None for all.

        The row type `kind` decides which database is used: that of audit notes (progress and faults
        of a deep audit) or that of all other rows.
        """
        return self._choose_records(kind).find(
            kind, where, order=order, after=after, count_max=count_max
        )

    def first_of_each(
        self, kind: type[R], filters: Sequence[Mapping[str, object]], order: Sequence[str]
    ) -> list[R | None]:
        """Return for each filter the first matching row in the given order, or None if no row
        matches.

        The row type `kind` decides which database is used: that of audit notes (progress and faults
        of a deep audit) or that of all other rows.
        """
        return self._choose_records(kind).first_of_each(kind, filters, order)

    def count(
        self,
        kind: type[Row],
        columns: Sequence[str] = (),
        where: Mapping[str, object] | None = None,
        *,
        count_max: int | None = None,
    ) -> dict[tuple[Any, ...], int]:
        """Count the rows that match `where`, by the values of `columns`; `{(): n}` without columns.

        Counting stops at `count_max` rows. The row type `kind` decides which database is used: that
        of audit notes (progress and faults of a deep audit) or that of all other rows.
        """
        return self._choose_records(kind).count(kind, columns, where, count_max=count_max)

    def delete(self, kind: type[Row], keys: Sequence[object]) -> None:
        """Delete the rows of a type that have these keys. Missing rows are no error.

        The row type `kind` decides which database is used: that of audit notes (progress and faults
        of a deep audit) or that of all other rows.
        """
        self._choose_records(kind).delete(kind, keys)

    def for_readers(self) -> AuditNoteRecords:
        """Return these records without rows that are hidden from readers, such as files under
        embargo.

        Audit notes (progress and faults of a deep audit) are not filtered.
        """
        return AuditNoteRecords(self.records.for_readers(), self.note_records)

    def _choose_records(self, kind: type[Row]) -> Records:
        return self.note_records if kind in NOTES else self.records


@contextmanager
def store_audit_notes_separately(
    stores: Stores, home: Path, settings: Settings
) -> Iterator[Stores]:
    """Yield the stores of a library, with a temporary database for audit notes if the database of
    the records is read-only.

    Audit notes are the progress and the faults of a deep audit. Existing notes are copied to the
    temporary database first, so that a deep audit continues where the last one stopped. The
    temporary database is deleted at the end. `home` is the library folder.
    """
    scheme, _, name = settings.records.partition(":")
    if scheme != "sqlite" or not is_read_only(home / name):
        yield stores
        return
    logger.warning("%s is read-only; the findings are shown but not stored", home)
    with TemporaryDirectory(prefix="fonds-notes-") as folder:
        note_records = open_backend("records", "sqlite:records.sqlite", Path(folder))
        try:
            for kind in NOTES:
                _copy(kind, stores.records, note_records)
            yield replace(stores, records=AuditNoteRecords(stores.records, note_records))
        finally:
            note_records.close()


def _copy(kind: type[Row], records: Records, note_records: Records) -> None:
    chunk: list[Row] = []
    for row in records.find(kind):
        chunk.append(row)
        if len(chunk) == _CHUNK:
            note_records.put(chunk)
            chunk = []
    note_records.put(chunk)
