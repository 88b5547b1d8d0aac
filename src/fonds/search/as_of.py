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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from itertools import islice
from typing import Any

from fonds.derivatives.document_rows import CurrentRow, IndexedKind
from fonds.derivatives.index_update import iter_complete_documents
from fonds.derivatives.kind import DerivativeKind
from fonds.derivatives.kinds import indexed_kinds
from fonds.model.document import IndexDocument
from fonds.model.keys import compute_order_key
from fonds.model.rows import EmbargoRow, FileMetaRow, TakedownRow
from fonds.model.rows.row import TimeRange
from fonds.model.search import SearchQuery
from fonds.ports import Blobs, Records, Stores
from fonds.ports.scan import iter_chunks
from fonds.search.scan import confirm_generation, count_matches, iter_documents
from fonds.search.verification import WORDS, ChangedDocument

# Which version of a document stood in the index at an earlier moment, out of the rows there are now.


@dataclass(frozen=True, slots=True)
class DocumentState:
    """`row_then` is the row the document was made of at that moment, None where no file of it was here;
    `is_read_since` that this row was written later, so that what it said then is not known.
    `current_sha1hex` is the SHA-1 of the file it is made of now."""

    row_then: Any | None
    current_sha1hex: str
    is_read_since: bool

    @property
    def is_other_version(self) -> bool:
        """Whether the index had another version of it."""
        return self.row_then is not None and self.row_then.sha1hex != self.current_sha1hex


def load_states(
    records: Records,
    kind: DerivativeKind,
    indexed_kind: IndexedKind,
    ids: Sequence[str],
    moment: datetime,
) -> dict[str, DocumentState]:
    """How the documents with these ids stood at a moment, by id; those without a file are absent."""
    versions = indexed_kind.versions(records, ids)
    arrival_times = _load_arrival_times(
        records, [sha1hex for version in versions.values() for sha1hex in version], moment
    )
    then = {
        id_: next(
            (
                key
                for key in reversed(some)
                if key in arrival_times and arrival_times[key] <= moment
            ),
            "",
        )
        for id_, some in versions.items()
        if some
    }
    rows: Mapping[str, Any] = {
        getattr(row, "sha1hex"): row  # noqa: B009
        for row in records.get(kind.row, sorted({key for key in then.values() if key}))
    }
    found = {}
    for id_, key in then.items():
        row = rows.get(key)
        is_read_since = row is not None and row.updated > moment
        found[id_] = DocumentState(row, versions[id_][-1], is_read_since)
    return found


def _load_arrival_times(
    records: Records, sha1hexes: Iterable[str], moment: datetime
) -> dict[str, datetime]:
    """Since when these files are here; of those that were under embargo at `moment` and are no more,
    since when they are shown."""
    keys = sorted(set(sha1hexes))
    came = {row.sha1hex: row.row_created for row in records.get(FileMetaRow, keys)}
    for row in records.get(EmbargoRow, keys):
        if row.lifting is not None and row.sha1hex in came and row.row_created <= moment:
            came[row.sha1hex] = max(came[row.sha1hex], row.lifting)
    return came


def iter_row_documents(
    records: Records, blobs: Blobs, kind: IndexedKind, rows: Sequence[Any]
) -> Iterator[IndexDocument]:
    """The documents of these rows, with their texts, one at a time."""
    yield from iter_complete_documents(kind, records, blobs, [CurrentRow(row) for row in rows])


RESULTS_MAX = 20_000
"""So many documents that are found now are looked at."""
CHANGED_MAX = 20_000
"""So many rows that were written since, of each kind, and so many takedowns and embargoes."""
VERSIONS_MAX = 2_000
"""So many versions of before are searched, in batches."""
BATCH, BATCH_MAX_CHARS = 500, 16_000_000
AFTER_ALL = 2**64
NO_VERSIONS_MESSAGE = "a search as of a day goes by the version shown then: leave version:all out"


@dataclass(frozen=True, slots=True)
class ChangeSort:
    """What became of documents: in words, and whether they were found then (None: not known) and are now."""

    words: str
    was_found: bool | None
    is_still_found: bool


SORTS: Mapping[str, ChangeSort] = {
    "unchanged": ChangeSort(WORDS["unchanged"], True, True),
    "other_version": ChangeSort(WORDS["other_version"], True, True),
    "version_added": ChangeSort("found by a version of their story that came since", False, True),
    "added": ChangeSort(WORDS["added"], False, True),
    "unfound": ChangeSort(
        "found by a version of their story that is not shown any more", True, False
    ),
    "read_again": ChangeSort("read again since, and found now", None, True),
    "read_again_unfound": ChangeSort("read again since, and not found now", None, False),
    "not_compared": ChangeSort("not compared: of another version then", None, True),
    "not_compared_unfound": ChangeSort(
        "not compared: of another version then, and not found now", None, False
    ),
    "taken_down": ChangeSort(WORDS["taken_down"], None, False),
    "under_embargo": ChangeSort(WORDS["under_embargo"], None, False),
}
"""In the order it is told. Of `under_embargo` who may not know of embargoes is told nothing."""

Matching = Callable[[Sequence[IndexDocument], SearchQuery], set[str]]


@dataclass(frozen=True, slots=True)
class ChangeSortCount:
    """How many documents became what; its words, and whether they were found then and are found now."""

    name: str
    words: str
    count: int
    is_found_then: bool | None
    is_found_now: bool


@dataclass(slots=True)
class AsOfResult:
    """What is to be said. `found_then_count` of the documents that can be judged were found at the end of
    `day`; of `unknown_count` others it is not known. `found_now_count` are found now, `total` where more
    were found than were looked at: all numbers but that of what was taken down are then of those that
    stand first in the order by id. `is_all_changed`: every row written since was looked at."""

    day: date
    total: int
    generation: str | None
    knows_embargoes: bool
    has_all_found: bool = True
    is_all_changed: bool = True
    listed: dict[str, list[ChangedDocument]] = field(default_factory=dict)

    def count_document(
        self, became: str, id_: str, sha1hex: str, title: str, reason: str = ""
    ) -> None:
        """Account for one document."""
        self.listed.setdefault(became, []).append(
            ChangedDocument(became, id_, sha1hex, title, reason)
        )

    @property
    def sort_counts(self) -> list[ChangeSortCount]:
        """All sorts who asks may know of."""
        return [
            ChangeSortCount(
                name, one.words, len(self.listed.get(name, ())), one.was_found, one.is_still_found
            )
            for name, one in SORTS.items()
            if name != "under_embargo" or self.knows_embargoes
        ]

    @property
    def found_then_count(self) -> int:
        """How many are known to have been found."""
        return sum(one.count for one in self.sort_counts if one.is_found_then)

    @property
    def unknown_count(self) -> int:
        """How many may have been found."""
        return sum(one.count for one in self.sort_counts if one.is_found_then is None)

    @property
    def found_now_count(self) -> int:
        """How many of those looked at are found now."""
        return sum(one.count for one in self.sort_counts if one.is_found_now)


def end_of_day(day: date) -> datetime:
    """The last moment of a day, in UTC."""
    return datetime.combine(day, time.max, UTC)


@dataclass(frozen=True, slots=True)
class AsOfContext:
    """What answers. `stores` are as who asks is shown them, `unfiltered_records` for who may know of
    embargoes. `matching` gives the ids of those of a few documents that a search finds."""

    stores: Stores
    matching: Matching
    unfiltered_records: Records | None = None
    results_max: int = RESULTS_MAX
    changed_max: int = CHANGED_MAX
    versions_max: int = VERSIONS_MAX

    def __call__(self, query: SearchQuery, day: date) -> AsOfResult:
        """Raises ValueError with a sentence for a search that cannot be asked."""
        index = self.stores.index
        found = count_matches(index, query)
        told = AsOfResult(day, found.total, found.generation, self.unfiltered_records is not None)
        work = _AsOfSearch(self, found.query, end_of_day(day), told)
        work.count_found()
        work.count_changed()
        work.search_versions()
        work.count_gone()
        told.generation = confirm_generation(index, found.generation)
        return told


@dataclass(frozen=True, slots=True)
class _ReplacedVersion:
    """A version that stood in the index then and does not now."""

    kind: IndexedKind
    id: str
    row: Any
    current_sha1hex: str
    title: str | None


@dataclass(slots=True)
class _AsOfSearch:
    context: AsOfContext
    query: SearchQuery
    moment: datetime
    result: AsOfResult
    last: int = AFTER_ALL
    seen_ids: set[str] = field(default_factory=set)
    versions: list[_ReplacedVersion] = field(default_factory=list)

    def count_found(self) -> None:
        """Account for what the search finds now."""
        most = self.context.results_max
        for chunk in iter_chunks(iter_documents(self.context.stores.index, self.query, most)):
            self.seen_ids.update(one.id for one in chunk)
            left = {one.id: one for one in chunk}
            for kind, one in indexed_kinds():
                rows = self.context.stores.records.get(kind.row, [each.sha1hex for each in chunk])
                ids = [id_ for id_ in map(one.get_id, rows) if id_ in left]
                for id_, how in self._load_states(kind, one, ids).items():
                    self._count_document(one, left.pop(id_), how)
            for each in left.values():
                # It is in the index alone: nothing says since when.
                self._count("not_compared", each)
        if len(self.seen_ids) >= most < self.result.total:
            self.result.has_all_found, self.last = False, max(map(compute_order_key, self.seen_ids))

    def _count_document(
        self, kind: IndexedKind, document: IndexDocument, state: DocumentState
    ) -> None:
        if state.row_then is None:
            self._count("added", document)
        elif state.is_read_since:
            self._count("read_again", document)
        elif state.row_then.sha1hex == document.sha1hex:
            self._count("unchanged", document)
        else:
            title = document.article_title or document.url
            self.versions.append(
                _ReplacedVersion(kind, document.id, state.row_then, document.sha1hex, title)
            )

    def _count(self, became: str, document: IndexDocument) -> None:
        title = document.article_title or document.url
        self.result.count_document(became, document.id, document.sha1hex, title)

    def count_changed(self) -> None:
        """Account for what is not found now and changed since, the rows written first looked at first."""
        for kind, one in indexed_kinds():
            for chunk in iter_chunks(self._iter_written_since(kind)):
                ids = {one.get_id(row): row for row in chunk if self._is_open(one.get_id(row))}
                self.seen_ids |= ids.keys()
                for id_, how in self._load_states(kind, one, list(ids)).items():
                    if how.row_then is not None and how.is_read_since:
                        self.result.count_document(
                            "read_again_unfound", id_, how.row_then.sha1hex, ""
                        )
                    elif how.is_other_version:
                        self.versions.append(
                            _ReplacedVersion(one, id_, how.row_then, how.current_sha1hex, None)
                        )

    def _is_open(self, id_: str) -> bool:
        return id_ not in self.seen_ids and compute_order_key(id_) <= self.last

    def _iter_written_since(self, kind: DerivativeKind) -> Iterator[Any]:
        since = TimeRange(self.moment, datetime.max.replace(tzinfo=UTC))
        most = self.context.changed_max
        rows = self.context.stores.records.find(
            kind.row, {"updated": since}, order=("updated",), count_max=most + 1
        )
        for number, row in enumerate(rows):
            if number == most:
                self.result.is_all_changed = False
                return
            yield row

    def _load_states(
        self, kind: DerivativeKind, indexed_kind: IndexedKind, ids: Sequence[str]
    ) -> dict[str, DocumentState]:
        return load_states(self.context.stores.records, kind, indexed_kind, ids, self.moment)

    def search_versions(self) -> None:
        """Search the versions that stood in the index then."""
        compared = self.versions[: self.context.versions_max]
        for batch in _iter_batches(self.context.stores, compared):
            documents = [document for _, document in batch]
            found = self.context.matching(documents, self.query)
            for version, document in batch:
                self._count_decided(version, document, is_found=document.id in found)
        for version in self.versions[self.context.versions_max :]:
            became = "not_compared" if version.title is not None else "not_compared_unfound"
            self.result.count_document(
                became,
                version.id,
                version.current_sha1hex,
                version.title or "",
                _version_key(version),
            )

    def _count_decided(
        self, version: _ReplacedVersion, document: IndexDocument, *, is_found: bool
    ) -> None:
        if version.title is not None:
            became = "other_version" if is_found else "version_added"
            self.result.count_document(
                became, version.id, version.current_sha1hex, version.title, _version_key(version)
            )
        elif is_found:
            title, why = (
                document.article_title or document.url,
                f"now the file {version.current_sha1hex}",
            )
            self.result.count_document("unfound", version.id, version.row.sha1hex, title, why)

    def count_gone(self) -> None:
        """Account for what was taken down since and, for who may know of it, what is hidden since."""
        records = self.context.stores.records
        since = {"row_created": TimeRange(self.moment, datetime.max.replace(tzinfo=UTC))}
        for row in self._iter_first(records.find(TakedownRow, since)):
            # Which files these were is nothing to be listed for whoever asks.
            self.result.count_document(
                "taken_down", "", "", "", f"{row.reason_class}, {row.row_created:%Y-%m-%d}"
            )
        if self.context.unfiltered_records is None:
            return
        whole_records = self.context.unfiltered_records
        hidden = whole_records.find(EmbargoRow, {**since, "lifting": None})
        for chunk in iter_chunks(self._iter_first(hidden)):
            rows = {row.sha1hex: row for row in chunk}
            came = {
                row.sha1hex
                for row in whole_records.get(FileMetaRow, list(rows))
                if row.row_created <= self.moment
            }
            for key in sorted(came & _read(whole_records, list(rows))):
                why = f"{rows[key].reason_class}, until {rows[key].until:%Y-%m-%d}"
                self.result.count_document("under_embargo", key, key, "", why)

    def _iter_first(self, rows: Iterator[Any]) -> Iterator[Any]:
        yield from islice(rows, self.context.changed_max)
        if next(rows, None) is not None:
            self.result.is_all_changed = False


def _read(records: Records, sha1hexes: Sequence[str]) -> set[str]:
    """Those of these files that were read as something the index holds."""
    return {
        getattr(row, "sha1hex")  # noqa: B009
        for kind, _ in indexed_kinds()
        for row in records.get(kind.row, sha1hexes)
    }


def _version_key(version: _ReplacedVersion) -> str:
    return f"then the file {version.row.sha1hex}"


def _iter_batches(
    stores: Stores, versions: Sequence[_ReplacedVersion]
) -> Iterator[list[tuple[_ReplacedVersion, IndexDocument]]]:
    """The versions with their documents, as many at once as have no more text than a batch may."""
    some: list[tuple[_ReplacedVersion, IndexDocument]] = []
    characters = 0
    for version, document in _iter_documents(stores, versions):
        characters += len(document.text_content)
        if some and (len(some) == BATCH or characters > BATCH_MAX_CHARS):
            yield some
            some, characters = [], len(document.text_content)
        some.append((version, document))
    if some:
        yield some


def _iter_documents(
    stores: Stores, versions: Sequence[_ReplacedVersion]
) -> Iterator[tuple[_ReplacedVersion, IndexDocument]]:
    """Each version with its document; the records are asked of many at once, the texts one by one."""
    for _, kind in indexed_kinds():
        mine = iter(version for version in versions if version.kind is kind)
        for chunk in iter_chunks(mine):
            rows = [one.row for one in chunk]
            yield from zip(
                chunk, iter_row_documents(stores.records, stores.blobs, kind, rows), strict=True
            )


def validate_day(day: date | None, today: date) -> date:
    """A day that is over. Raises ValueError with a sentence for any other."""
    if day is None:
        raise ValueError("say the end of which day is meant, as YYYY-MM-DD")
    if day >= today:
        raise ValueError(f"{day} is not over in UTC: name a day before {today}")
    return day
