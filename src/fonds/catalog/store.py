"""The catalogue in a table: records put, and found again by what is known of a work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fonds.catalog.keys import (
    FAMILY,
    POINTER,
    WORK,
    author_prefix,
    column_of,
    identifier_prefix,
    ids_of,
    name_part,
    pointers,
    title_prefix,
    whole_title_prefix,
    work_key,
)
from fonds.catalog.works.slugs import slug
from fonds.catalog.works.work import SOURCES, Work, from_json, merged, to_json
from fonds.ports import Table

LISTED_MAX = 50
"""Works of one title, or of one author and year, that are looked at; of more it is said that there are."""
PREFIX_MIN_LETTERS = 12
"""A shorter title is looked for as it is, not as the beginning of others."""
_COLUMNS = tuple(column_of(source) for source in SOURCES)


@dataclass(frozen=True, slots=True)
class Found:
    """Ids of works, and whether there are more than are listed."""

    ids: tuple[str, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Catalog:
    """A catalogue; `name` is its table's."""

    table: Table
    name: str

    def declare(self) -> None:
        """Make the table exist; again is harmless."""
        self.table.declare(self.name, [FAMILY], compressions={FAMILY: "SNAPPY"})

    def is_empty(self) -> bool:
        """Whether no work is in it."""
        return not self.table.scan(self.name, WORK, count_max=1)

    def put(self, works: Sequence[Work]) -> None:
        """Records, each in the place of its source's former one; the last of several of one source counts.

        Idempotent. What leads to a work is there before it, and what led to its former record is gone.
        """
        fresh: dict[str, dict[str, Work]] = {}
        for work in works:
            fresh.setdefault(work.id, {})[work.source] = work
        former = self._records(list(fresh))
        wanted: set[bytes] = set()
        stale: set[bytes] = set()
        for id_, records in fresh.items():
            before = former.get(id_, {})
            wanted |= _pointers(before | records)
            stale |= _pointers(before)
        self.table.put(self.name, [(key, {POINTER: b""}) for key in sorted(wanted)])
        if stale - wanted:
            self.table.delete(self.name, sorted(stale - wanted))
        rows = [
            (work_key(id_), {column_of(source): to_json(one) for source, one in records.items()})
            for id_, records in sorted(fresh.items())
        ]
        self.table.put(self.name, rows)

    def works(self, ids: Sequence[str]) -> dict[str, Work]:
        """The works that are there, by id; what several sources say is one."""
        found = {id_: merged(records) for id_, records in self._records(ids).items()}
        return {id_: work for id_, work in found.items() if work is not None}

    def records(self, work_id: str) -> dict[str, Work]:
        """What each source says of a work."""
        return self._records([work_id]).get(work_id, {})

    def by_identifier(self, identifier: str) -> Found:
        """Works with `doi:…`, `arxiv:…`, `pmid:…` or `pmcid:…`, also where they go by another name."""
        found = self._listed(identifier_prefix(identifier))
        return Found((identifier, *(one for one in found.ids if one != identifier)), found.more)

    def by_title(self, title: str, surname: str | None = None) -> Found:
        """Works whose titles are this or begin so; of a very common title those of this first author."""
        told = slug(title)
        if not told:
            return Found(())
        if len(told) >= PREFIX_MIN_LETTERS:
            found = self._listed(title_prefix(told))
            if not found.more:
                return found
        found = self._listed(whole_title_prefix(told))
        if found.more and surname:
            narrow = self._listed(whole_title_prefix(told, surname))
            return Found(narrow.ids if not narrow.more else (), narrow.more)
        return Found(() if found.more else found.ids, found.more)

    def by_author(self, surname: str, year: int | None, volume: str | None = None) -> Found:
        """Works of a first author, in a year and volume where they are told; none where there are many."""
        if not name_part(surname):
            return Found(())
        found = self._listed(author_prefix(surname, year, volume))
        return Found(() if found.more else found.ids, found.more)

    def _listed(self, prefix: bytes) -> Found:
        rows = self.table.scan(self.name, prefix, count_max=LISTED_MAX + 1)
        ids = ids_of(key for key, _ in rows[:LISTED_MAX])
        return Found(tuple(ids), len(rows) > LISTED_MAX)

    def _records(self, ids: Sequence[str]) -> dict[str, dict[str, Work]]:
        keys = {work_key(id_): id_ for id_ in ids}
        rows = self.table.get(self.name, list(keys), _COLUMNS) if keys else {}
        return {keys[key]: _read(cells) for key, cells in rows.items()}


def _read(cells: Mapping[str, bytes]) -> dict[str, Work]:
    """The records of a row, by source; one that cannot be read is none, and is replaced by the next load."""
    found = {}
    for source in SOURCES:
        if (cell := cells.get(column_of(source))) is not None:
            try:
                found[source] = from_json(cell)
            except ValueError:
                continue
    return found


def _pointers(records: Mapping[str, Work]) -> set[bytes]:
    """What leads to a work: by each source's record, and by all of them together."""
    whole = merged(records)
    return set().union(*(pointers(one) for one in (*records.values(), *([whole] if whole else []))))
