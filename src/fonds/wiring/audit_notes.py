"""Where nothing can be written in a home, what a deep audit notes as it goes is kept aside for its time."""

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
"""The kinds of rows a deep audit writes."""

_CHUNK = 500

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AuditNoteRecords:
    """Implements the port Records: rows of the kinds in `NOTES` lie in `note_records`, all others in
    `records`."""

    records: UnfilteredRecords
    note_records: Records

    def put(self, rows: Sequence[Row], *, replace: bool = True) -> None:
        """Two transactions where rows of both are mixed."""
        for one in (self.records, self.note_records):
            of_one = [row for row in rows if self._choose_records(type(row)) is one]
            if of_one:
                one.put(of_one, replace=replace)

    def change(
        self,
        kind: type[Row],
        keys: Sequence[object],
        values: Mapping[str, object],
        where: Mapping[str, object] | None = None,
    ) -> int:
        """As the port says."""
        return self._choose_records(kind).change(kind, keys, values, where)

    def change_each(self, kind: type[Row], changes: Sequence[RowChange]) -> list[bool]:
        """As the port says."""
        return self._choose_records(kind).change_each(kind, changes)

    def get(self, kind: type[R], keys: Sequence[object]) -> list[R]:
        """As the port says."""
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
        """As the port says."""
        return self._choose_records(kind).find(
            kind, where, order=order, after=after, count_max=count_max
        )

    def first_of_each(
        self, kind: type[R], filters: Sequence[Mapping[str, object]], order: Sequence[str]
    ) -> list[R | None]:
        """As the port says."""
        return self._choose_records(kind).first_of_each(kind, filters, order)

    def count(
        self,
        kind: type[Row],
        columns: Sequence[str] = (),
        where: Mapping[str, object] | None = None,
        *,
        count_max: int | None = None,
    ) -> dict[tuple[Any, ...], int]:
        """As the port says."""
        return self._choose_records(kind).count(kind, columns, where, count_max=count_max)

    def delete(self, kind: type[Row], keys: Sequence[object]) -> None:
        """As the port says."""
        self._choose_records(kind).delete(kind, keys)

    def for_readers(self) -> AuditNoteRecords:
        """As the port says."""
        return AuditNoteRecords(self.records.for_readers(), self.note_records)

    def _choose_records(self, kind: type[Row]) -> Records:
        return self.note_records if kind in NOTES else self.records


@contextmanager
def keep_audit_notes_apart(stores: Stores, home: Path, settings: Settings) -> Iterator[Stores]:
    """The stores as they are where the records can be written; else with notes kept aside while this lasts.

    They begin with what is noted already, so that a round goes on where the last one was.
    """
    scheme, _, name = settings.records.partition(":")
    if scheme != "sqlite" or not is_read_only(home / name):
        yield stores
        return
    logger.warning("nothing can be written in %s: what is found is told now, and not kept", home)
    with TemporaryDirectory(prefix="fonds-notes-") as folder:
        aside = open_backend("records", "sqlite:records.sqlite", Path(folder))
        try:
            for kind in NOTES:
                _copy(kind, stores.records, aside)
            yield replace(stores, records=AuditNoteRecords(stores.records, aside))
        finally:
            aside.close()


def _copy(kind: type[Row], records: Records, aside: Records) -> None:
    some: list[Row] = []
    for row in records.find(kind):
        some.append(row)
        if len(some) == _CHUNK:
            aside.put(some)
            some = []
    aside.put(some)
