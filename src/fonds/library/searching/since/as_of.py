"""What a search found at the end of a day, and why it finds others now, out of what is kept.

now  = unchanged + other_version + version_added + added + read_again + not_compared
then = unchanged + other_version + unfound, and of read_again + read_again_unfound + not_compared
       + not_compared_unfound + taken_down + under_embargo some: of these it is not known

A text is kept as it was read last: of what was read again since, what it said then is not known. Versions
of a story are all kept: whether the one that stood in the index then was found is decided by the same search
over these versions alone. Bounds: so many documents that are found now, so many rows written since and so
many versions are looked at; where one cuts, that is told. A search by theme goes by the themes there are now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from itertools import islice
from typing import Any

from fonds.kinds import indexed_kinds
from fonds.kinds.indexed import Indexed
from fonds.kinds.kind import DerivativeKind
from fonds.library.chunks import chunks
from fonds.library.searching.since.standing import Standing, documents_of, standings
from fonds.library.searching.since.verifying import WORDS, Told
from fonds.library.searching.whole import found_now, lasted, whole
from fonds.model.document import IndexDocument, SearchQuery
from fonds.model.keys import order_key
from fonds.model.rows import EmbargoRow, FileMetaRow, TakedownRow
from fonds.model.rows.row import Within
from fonds.ports import Records, Stores

FOUND_MAX = 20_000
"""So many documents that are found now are looked at."""
CHANGED_MAX = 20_000
"""So many rows that were written since, of each kind, and so many takedowns and embargoes."""
VERSIONS_MAX = 2_000
"""So many versions of before are searched, in batches."""
BATCH, BATCH_CHARACTERS_MAX = 500, 16_000_000
LAST = 2**64
WITHOUT_VERSIONS = "a search as of a day goes by the version shown then: leave version:all out"


@dataclass(frozen=True, slots=True)
class Sort:
    """What became of documents: in words, and whether they were found then (None: not known) and are now."""

    words: str
    then: bool | None
    now: bool


SORTS: Mapping[str, Sort] = {
    "unchanged": Sort(WORDS["unchanged"], True, True),
    "other_version": Sort(WORDS["other_version"], True, True),
    "version_added": Sort("found by a version of their story that came since", False, True),
    "added": Sort(WORDS["added"], False, True),
    "unfound": Sort("found by a version of their story that is not shown any more", True, False),
    "read_again": Sort("read again since, and found now", None, True),
    "read_again_unfound": Sort("read again since, and not found now", None, False),
    "not_compared": Sort("not compared: of another version then", None, True),
    "not_compared_unfound": Sort(
        "not compared: of another version then, and not found now", None, False
    ),
    "taken_down": Sort(WORDS["taken_down"], None, False),
    "under_embargo": Sort(WORDS["under_embargo"], None, False),
}
"""In the order it is told. Of `under_embargo` who may not know of embargoes is told nothing."""

Matching = Callable[[Sequence[IndexDocument], SearchQuery], set[str]]


@dataclass(frozen=True, slots=True)
class SortCount:
    """How many documents became what; its words, and whether they were found then and are found now."""

    name: str
    words: str
    count: int
    is_found_then: bool | None
    is_found_now: bool


@dataclass(slots=True)
class AsOf:
    """What is to be said. `then` of the documents that can be judged were found at the end of `day`; of
    `unknown` others it is not known. `now` are found now, `total` where more were found than were looked at:
    all numbers but that of what was taken down are then of those that stand first in the order by id.
    `is_all_changed`: every row written since was looked at.
    """

    day: date
    total: int
    generation: str | None
    knows_embargoes: bool
    is_all_found: bool = True
    is_all_changed: bool = True
    listed: dict[str, list[Told]] = field(default_factory=dict)

    def note(self, became: str, id_: str, sha1hex: str, title: str, why: str = "") -> None:
        """Account for one document."""
        self.listed.setdefault(became, []).append(Told(became, id_, sha1hex, title, why))

    @property
    def sorts(self) -> list[SortCount]:
        """All sorts who asks may know of."""
        return [
            SortCount(name, one.words, len(self.listed.get(name, ())), one.then, one.now)
            for name, one in SORTS.items()
            if name != "under_embargo" or self.knows_embargoes
        ]

    @property
    def then(self) -> int:
        """How many are known to have been found."""
        return sum(one.count for one in self.sorts if one.is_found_then)

    @property
    def unknown(self) -> int:
        """How many may have been found."""
        return sum(one.count for one in self.sorts if one.is_found_then is None)

    @property
    def now(self) -> int:
        """How many of those looked at are found now."""
        return sum(one.count for one in self.sorts if one.is_found_now)


def end_of(day: date) -> datetime:
    """The last moment of a day, in UTC."""
    return datetime.combine(day, time.max, UTC)


@dataclass(frozen=True, slots=True)
class Asking:
    """What answers. `stores` are as who asks is shown them, `whole_records` for who may know of embargoes.
    `matching` gives the ids of those of a few documents that a search finds."""

    stores: Stores
    matching: Matching
    whole_records: Records | None = None
    found_max: int = FOUND_MAX
    changed_max: int = CHANGED_MAX
    versions_max: int = VERSIONS_MAX

    def __call__(self, query: SearchQuery, day: date) -> AsOf:
        """Raises ValueError with a sentence for a search that cannot be asked."""
        index = self.stores.index
        found = found_now(index, query)
        told = AsOf(day, found.total, found.generation, self.whole_records is not None)
        work = _Work(self, found.query, end_of(day), told)
        work.found()
        work.changed()
        work.decide()
        work.gone()
        told.generation = lasted(index, found.generation)
        return told


@dataclass(frozen=True, slots=True)
class _Version:
    """A version that stood in the index then and does not now."""

    kind: Indexed
    id: str
    row: Any
    now: str
    title: str | None


@dataclass(slots=True)
class _Work:
    of: Asking
    query: SearchQuery
    at: datetime
    told: AsOf
    last: int = LAST
    seen: set[str] = field(default_factory=set)
    versions: list[_Version] = field(default_factory=list)

    def found(self) -> None:
        """Account for what the search finds now."""
        most = self.of.found_max
        for some in chunks(whole(self.of.stores.index, self.query, most)):
            self.seen.update(one.id for one in some)
            left = {one.id: one for one in some}
            for kind, one in indexed_kinds():
                rows = self.of.stores.records.get(kind.row, [each.sha1hex for each in some])
                ids = [id_ for id_ in map(one.id_of, rows) if id_ in left]
                for id_, how in self._standings(kind, one, ids).items():
                    self._found(one, left.pop(id_), how)
            for each in left.values():
                # It is in the index alone: nothing says since when.
                self._note("not_compared", each)
        if len(self.seen) >= most < self.told.total:
            self.told.is_all_found, self.last = False, max(map(order_key, self.seen))

    def _found(self, one: Indexed, document: IndexDocument, how: Standing) -> None:
        if how.then is None:
            self._note("added", document)
        elif how.is_read_since:
            self._note("read_again", document)
        elif how.then.sha1hex == document.sha1hex:
            self._note("unchanged", document)
        else:
            title = document.article_title or document.url
            self.versions.append(_Version(one, document.id, how.then, document.sha1hex, title))

    def _note(self, became: str, document: IndexDocument) -> None:
        title = document.article_title or document.url
        self.told.note(became, document.id, document.sha1hex, title)

    def changed(self) -> None:
        """Account for what is not found now and changed since, the rows written first looked at first."""
        for kind, one in indexed_kinds():
            for some in chunks(self._written_since(kind)):
                ids = {one.id_of(row): row for row in some if self._is_open(one.id_of(row))}
                self.seen |= ids.keys()
                for id_, how in self._standings(kind, one, list(ids)).items():
                    if how.then is not None and how.is_read_since:
                        self.told.note("read_again_unfound", id_, how.then.sha1hex, "")
                    elif how.is_other:
                        self.versions.append(_Version(one, id_, how.then, how.now, None))

    def _is_open(self, id_: str) -> bool:
        return id_ not in self.seen and order_key(id_) <= self.last

    def _written_since(self, kind: DerivativeKind) -> Iterator[Any]:
        since = Within(self.at, datetime.max.replace(tzinfo=UTC))
        most = self.of.changed_max
        rows = self.of.stores.records.find(
            kind.row, {"updated": since}, order=("updated",), count_max=most + 1
        )
        for number, row in enumerate(rows):
            if number == most:
                self.told.is_all_changed = False
                return
            yield row

    def _standings(
        self, kind: DerivativeKind, one: Indexed, ids: Sequence[str]
    ) -> dict[str, Standing]:
        return standings(self.of.stores.records, kind, one, ids, self.at)

    def decide(self) -> None:
        """Search the versions that stood in the index then."""
        compared = self.versions[: self.of.versions_max]
        for some in _batches(self.of.stores, compared):
            documents = [document for _, document in some]
            found = self.of.matching(documents, self.query)
            for version, document in some:
                self._decided(version, document, is_found=document.id in found)
        for version in self.versions[self.of.versions_max :]:
            became = "not_compared" if version.title is not None else "not_compared_unfound"
            self.told.note(became, version.id, version.now, version.title or "", _then(version))

    def _decided(self, version: _Version, document: IndexDocument, *, is_found: bool) -> None:
        if version.title is not None:
            became = "other_version" if is_found else "version_added"
            self.told.note(became, version.id, version.now, version.title, _then(version))
        elif is_found:
            title, why = document.article_title or document.url, f"now the file {version.now}"
            self.told.note("unfound", version.id, version.row.sha1hex, title, why)

    def gone(self) -> None:
        """Account for what was taken down since and, for who may know of it, what is hidden since."""
        records = self.of.stores.records
        since = {"row_created": Within(self.at, datetime.max.replace(tzinfo=UTC))}
        for row in self._first(records.find(TakedownRow, since)):
            # Which files these were is nothing to be listed for whoever asks.
            self.told.note(
                "taken_down", "", "", "", f"{row.reason_class}, {row.row_created:%Y-%m-%d}"
            )
        if self.of.whole_records is None:
            return
        whole_records = self.of.whole_records
        hidden = whole_records.find(EmbargoRow, {**since, "lifting": None})
        for some in chunks(self._first(hidden)):
            rows = {row.sha1hex: row for row in some}
            came = {
                row.sha1hex
                for row in whole_records.get(FileMetaRow, list(rows))
                if row.row_created <= self.at
            }
            for key in sorted(came & _read(whole_records, list(rows))):
                why = f"{rows[key].reason_class}, until {rows[key].until:%Y-%m-%d}"
                self.told.note("under_embargo", key, key, "", why)

    def _first(self, rows: Iterator[Any]) -> Iterator[Any]:
        yield from islice(rows, self.of.changed_max)
        if next(rows, None) is not None:
            self.told.is_all_changed = False


def _read(records: Records, sha1hexes: Sequence[str]) -> set[str]:
    """Those of these files that were read as something the index holds."""
    return {
        getattr(row, "sha1hex")  # noqa: B009
        for kind, _ in indexed_kinds()
        for row in records.get(kind.row, sha1hexes)
    }


def _then(version: _Version) -> str:
    return f"then the file {version.row.sha1hex}"


def _batches(
    stores: Stores, versions: Sequence[_Version]
) -> Iterator[list[tuple[_Version, IndexDocument]]]:
    """The versions with their documents, as many at once as have no more text than a batch may."""
    some: list[tuple[_Version, IndexDocument]] = []
    characters = 0
    for version, document in _documents(stores, versions):
        characters += len(document.text_content)
        if some and (len(some) == BATCH or characters > BATCH_CHARACTERS_MAX):
            yield some
            some, characters = [], len(document.text_content)
        some.append((version, document))
    if some:
        yield some


def _documents(
    stores: Stores, versions: Sequence[_Version]
) -> Iterator[tuple[_Version, IndexDocument]]:
    """Each version with its document; the records are asked of many at once, the texts one by one."""
    for _, kind in indexed_kinds():
        mine = iter(one for one in versions if one.kind is kind)
        for some in chunks(mine):
            rows = [one.row for one in some]
            yield from zip(
                some, documents_of(stores.records, stores.blobs, kind, rows), strict=True
            )


def checked_day(day: date | None, today: date) -> date:
    """A day that is over. Raises ValueError with a sentence for any other."""
    if day is None:
        raise ValueError("say the end of which day is meant, as YYYY-MM-DD")
    if day >= today:
        raise ValueError(f"{day} is not over in UTC: name a day before {today}")
    return day
