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
from fonds.model.rows import DeepAuditRow, FaultRow, Row
from fonds.ports import Records, RecordsOfAll, Stores
from fonds.sqlite_file import only_readable
from fonds.wiring.backends import backend

R = TypeVar("R", bound=Row)

NOTES: tuple[type[Row], ...] = (DeepAuditRow, FaultRow)
"""The kinds of rows a deep audit writes."""

_CHUNK = 500

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NotesAside:
    """Implements the port Records: rows of the kinds in `NOTES` lie in `aside`, all others in `records`."""

    records: RecordsOfAll
    aside: Records

    def put(self, rows: Sequence[Row], *, replace: bool = True) -> None:
        """Two transactions where rows of both are mixed."""
        for one in (self.records, self.aside):
            of_one = [row for row in rows if self._of(type(row)) is one]
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
        return self._of(kind).change(kind, keys, values, where)

    def get(self, kind: type[R], keys: Sequence[object]) -> list[R]:
        """As the port says."""
        return self._of(kind).get(kind, keys)

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
        return self._of(kind).find(kind, where, order=order, after=after, count_max=count_max)

    def first_of_each(
        self, kind: type[R], wheres: Sequence[Mapping[str, object]], order: Sequence[str]
    ) -> list[R | None]:
        """As the port says."""
        return self._of(kind).first_of_each(kind, wheres, order)

    def count(
        self,
        kind: type[Row],
        by: Sequence[str] = (),
        where: Mapping[str, object] | None = None,
        *,
        count_max: int | None = None,
    ) -> dict[tuple[Any, ...], int]:
        """As the port says."""
        return self._of(kind).count(kind, by, where, count_max=count_max)

    def delete(self, kind: type[Row], keys: Sequence[object]) -> None:
        """As the port says."""
        self._of(kind).delete(kind, keys)

    def for_readers(self) -> NotesAside:
        """As the port says."""
        return NotesAside(self.records.for_readers(), self.aside)

    def _of(self, kind: type[Row]) -> Records:
        return self.aside if kind in NOTES else self.records


@contextmanager
def notes_aside(stores: Stores, home: Path, settings: Settings) -> Iterator[Stores]:
    """The stores as they are where the records can be written; else with notes kept aside while this lasts.

    They begin with what is noted already, so that a round goes on where the last one was.
    """
    scheme, _, name = settings.records.partition(":")
    if scheme != "sqlite" or not only_readable(home / name):
        yield stores
        return
    logger.warning("nothing can be written in %s: what is found is told now, and not kept", home)
    with TemporaryDirectory(prefix="fonds-notes-") as folder:
        aside = backend("records", "sqlite:records.sqlite", Path(folder))
        try:
            for kind in NOTES:
                _copy(kind, stores.records, aside)
            yield replace(stores, records=NotesAside(stores.records, aside))
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
