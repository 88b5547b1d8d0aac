"""Temporary notes of a deep audit, for homes that are read-only."""

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
from fonds.wiring.stores import open_backend

R = TypeVar("R", bound=Row)

NOTES: tuple[type[Row], ...] = (DeepAuditRow, FaultRow)
"""Row types that a deep audit writes."""

_CHUNK = 500

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AuditNoteRecords:
    """Implements the port Records. Row types in `NOTES` are stored in `note_records`, all others in
    `records`.
    """

    records: UnfilteredRecords
    note_records: Records

    def put(self, rows: Sequence[Row], *, replace: bool = True) -> None:
        """See the port; writes two transactions if rows of both are mixed."""
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
        """See the port."""
        return self._choose_records(kind).change(kind, keys, values, where)

    def change_each(self, kind: type[Row], changes: Sequence[RowChange]) -> list[bool]:
        """See the port."""
        return self._choose_records(kind).change_each(kind, changes)

    def get(self, kind: type[R], keys: Sequence[object]) -> list[R]:
        """See the port."""
        return self._choose_records(kind).get(kind, keys)

    def find(
        self,
        kind: type[R],
        where: Mapping[str, object] | None = None,
        *,
        order: Sequence[str] = (),
        after: Mapping[str, object] | None = None,
        count_max: int | None = None,
    ) -> Iterator[R]:
        """See the port."""
        return self._choose_records(kind).find(
            kind, where, order=order, after=after, count_max=count_max
        )

    def first_of_each(
        self, kind: type[R], filters: Sequence[Mapping[str, object]], order: Sequence[str]
    ) -> list[R | None]:
        """See the port."""
        return self._choose_records(kind).first_of_each(kind, filters, order)

    def count(
        self,
        kind: type[Row],
        columns: Sequence[str] = (),
        where: Mapping[str, object] | None = None,
        *,
        count_max: int | None = None,
    ) -> dict[tuple[Any, ...], int]:
        """See the port."""
        return self._choose_records(kind).count(kind, columns, where, count_max=count_max)

    def delete(self, kind: type[Row], keys: Sequence[object]) -> None:
        """See the port."""
        self._choose_records(kind).delete(kind, keys)

    def for_readers(self) -> AuditNoteRecords:
        """See the port."""
        return AuditNoteRecords(self.records.for_readers(), self.note_records)

    def _choose_records(self, kind: type[Row]) -> Records:
        return self.note_records if kind in NOTES else self.records


@contextmanager
def store_audit_notes_separately(
    stores: Stores, home: Path, settings: Settings
) -> Iterator[Stores]:
    """Yield the stores; if the records are read-only, with audit notes in a temporary database.

    Existing notes are copied there first, so that an audit continues where the last one stopped.
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
