"""Find what a search found at the end of a day, and explain the difference to its results now.

now  = unchanged + other_version + version_added + added + read_again + not_compared
then = unchanged + other_version + unfound, plus an unknown part of read_again
       + read_again_unfound + not_compared + not_compared_unfound + taken_down + under_embargo

Only the last extraction of a file is stored, so the earlier text of a file extracted again is
unknown. All versions of a story are stored. The version indexed at that time is searched with the
same query. There are limits for documents found now, rows written since, and versions; the result
says when one is reached. A search by theme uses the current themes.
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
from fonds.search.verification import OUTCOME_WORDS, ChangedDocument

# State of a document at an earlier time, derived from the current rows.


@dataclass(frozen=True, slots=True)
class DocumentState:
    """State of a document at an earlier time.

    `row_as_of` is the row the document was built from, None if none of its files existed.
    `is_read_since` means that this row was written later, so that its earlier content is unknown.
    `current_sha1hex` is the SHA-1 of the file that the document has now.
    """

    row_as_of: Any | None
    current_sha1hex: str
    is_read_since: bool

    @property
    def is_other_version(self) -> bool:
        """Whether the index had another version of the document."""
        return self.row_as_of is not None and self.row_as_of.sha1hex != self.current_sha1hex


def load_states(
    records: Records,
    kind: DerivativeKind,
    indexed_kind: IndexedKind,
    ids: Sequence[str],
    moment: datetime,
) -> dict[str, DocumentState]:
    """Return the states of these documents at `moment`, by id. Documents without a file are absent."""
    versions = indexed_kind.versions(records, ids)
    arrival_times = _load_arrival_times(
        records, [sha1hex for version in versions.values() for sha1hex in version], moment
    )
    sha1_by_id = {
        id_: next(
            (
                key
                for key in reversed(sha1hexes)
                if key in arrival_times and arrival_times[key] <= moment
            ),
            "",
        )
        for id_, sha1hexes in versions.items()
        if sha1hexes
    }
    rows: Mapping[str, Any] = {
        getattr(row, "sha1hex"): row  # noqa: B009
        for row in records.get(kind.row, sorted({key for key in sha1_by_id.values() if key}))
    }
    states = {}
    for id_, key in sha1_by_id.items():
        row = rows.get(key)
        is_read_since = row is not None and row.updated > moment
        states[id_] = DocumentState(row, versions[id_][-1], is_read_since)
    return states


def _load_arrival_times(
    records: Records, sha1hexes: Iterable[str], moment: datetime
) -> dict[str, datetime]:
    """Return the arrival time of each file.

    For a file that was under embargo at `moment` and is not any more, it is the end of the embargo.
    """
    keys = sorted(set(sha1hexes))
    arrival_times = {row.sha1hex: row.row_created for row in records.get(FileMetaRow, keys)}
    for row in records.get(EmbargoRow, keys):
        if row.lifting is not None and row.sha1hex in arrival_times and row.row_created <= moment:
            arrival_times[row.sha1hex] = max(arrival_times[row.sha1hex], row.lifting)
    return arrival_times


def iter_row_documents(
    records: Records, blobs: Blobs, kind: IndexedKind, rows: Sequence[Any]
) -> Iterator[IndexDocument]:
    """Yield the documents of these rows with their texts, one at a time."""
    yield from iter_complete_documents(kind, records, blobs, [CurrentRow(row) for row in rows])


RESULTS_MAX = 20_000
"""Maximum number of documents found now that are examined."""
CHANGED_MAX = 20_000
"""Maximum number of examined rows of each kind written since, and of takedowns and embargoes."""
VERSIONS_MAX = 2_000
"""Maximum number of earlier versions that are searched, in batches."""
BATCH, BATCH_MAX_CHARS = 500, 16_000_000
ORDER_KEY_END = 2**64
NO_VERSIONS_MESSAGE = "a search as of a day goes by the version shown then: leave version:all out"


@dataclass(frozen=True, slots=True)
class ChangeSort:
    """Kind of change of documents.

    `words` describes it. `was_found` says whether they were found then, None if unknown.
    """

    words: str
    was_found: bool | None
    is_still_found: bool


SORTS: Mapping[str, ChangeSort] = {
    "unchanged": ChangeSort(OUTCOME_WORDS["unchanged"], True, True),
    "other_version": ChangeSort(OUTCOME_WORDS["other_version"], True, True),
    "version_added": ChangeSort("found by a version of their story that came since", False, True),
    "added": ChangeSort(OUTCOME_WORDS["added"], False, True),
    "unfound": ChangeSort(
        "found by a version of their story that is not shown any more", True, False
    ),
    "read_again": ChangeSort("read again since, and found now", None, True),
    "read_again_unfound": ChangeSort("read again since, and not found now", None, False),
    "not_compared": ChangeSort("not compared: of another version then", None, True),
    "not_compared_unfound": ChangeSort(
        "not compared: of another version then, and not found now", None, False
    ),
    "taken_down": ChangeSort(OUTCOME_WORDS["taken_down"], None, False),
    "under_embargo": ChangeSort(OUTCOME_WORDS["under_embargo"], None, False),
}
"""Kinds of change in display order. Only users who may see embargoes see `under_embargo`."""

Matching = Callable[[Sequence[IndexDocument], SearchQuery], set[str]]


@dataclass(frozen=True, slots=True)
class ChangeSortCount:
    """Number of documents with one kind of change; None in `is_found_then` means unknown."""

    name: str
    words: str
    count: int
    is_found_then: bool | None
    is_found_now: bool


@dataclass(slots=True)
class AsOfResult:
    """Result of a comparison with an earlier day.

    - `found_then_count`: documents known to have been found at the end of `day`.
    - `unknown_count`: documents that may have been found then.
    - `found_now_count`: examined documents that are found now. `total`: all found now.
    - `has_all_found`: whether all documents found now were examined. If not, all counts
      but those of removed and hidden files cover only the first documents in order of id.
    - `is_all_changed`: whether all rows written since were examined.
    """

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
        """Add a document with its kind of change."""
        self.listed.setdefault(became, []).append(
            ChangedDocument(became, id_, sha1hex, title, reason)
        )

    @property
    def sort_counts(self) -> list[ChangeSortCount]:
        """Counts of all kinds of change that the user may see."""
        return [
            ChangeSortCount(
                name,
                sort.words,
                len(self.listed.get(name, ())),
                sort.was_found,
                sort.is_still_found,
            )
            for name, sort in SORTS.items()
            if name != "under_embargo" or self.knows_embargoes
        ]

    @property
    def found_then_count(self) -> int:
        """Number of documents known to have been found then."""
        return sum(sort_count.count for sort_count in self.sort_counts if sort_count.is_found_then)

    @property
    def unknown_count(self) -> int:
        """Number of documents that may have been found then."""
        return sum(
            sort_count.count for sort_count in self.sort_counts if sort_count.is_found_then is None
        )

    @property
    def found_now_count(self) -> int:
        """Number of examined documents that are found now."""
        return sum(sort_count.count for sort_count in self.sort_counts if sort_count.is_found_now)


def end_of_day(day: date) -> datetime:
    """Return the last moment of a day, in UTC."""
    return datetime.combine(day, time.max, UTC)


@dataclass(frozen=True, slots=True)
class AsOfContext:
    """Context of a comparison; call it with a query and a day.

    `stores` are filtered for the user.
    `unfiltered_records` is set for a user who may see embargoes.
    `matching` returns the ids of those documents that match a query.
    """

    stores: Stores
    matching: Matching
    unfiltered_records: Records | None = None
    results_max: int = RESULTS_MAX
    changed_max: int = CHANGED_MAX
    versions_max: int = VERSIONS_MAX

    def __call__(self, query: SearchQuery, day: date) -> AsOfResult:
        """Compare the search with the end of a day. Raises ValueError for an invalid search."""
        index = self.stores.index
        matches = count_matches(index, query)
        result = AsOfResult(
            day, matches.total, matches.generation, self.unfiltered_records is not None
        )
        work = _AsOfSearch(self, matches.query, end_of_day(day), result)
        work.count_found()
        work.count_changed()
        work.search_versions()
        work.count_removed()
        result.generation = confirm_generation(index, matches.generation)
        return result


@dataclass(frozen=True, slots=True)
class _ReplacedVersion:
    """Version that was indexed then and is not indexed now."""

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
    last: int = ORDER_KEY_END
    seen_ids: set[str] = field(default_factory=set)
    versions: list[_ReplacedVersion] = field(default_factory=list)

    def count_found(self) -> None:
        """Count the documents that the search finds now."""
        count_max = self.context.results_max
        for chunk in iter_chunks(iter_documents(self.context.stores.index, self.query, count_max)):
            self.seen_ids.update(document.id for document in chunk)
            unmatched = {document.id: document for document in chunk}
            for kind, indexed_kind in indexed_kinds():
                rows = self.context.stores.records.get(
                    kind.row, [document.sha1hex for document in chunk]
                )
                ids = [id_ for id_ in map(indexed_kind.get_id, rows) if id_ in unmatched]
                for id_, state in self._load_states(kind, indexed_kind, ids).items():
                    self._count_document(indexed_kind, unmatched.pop(id_), state)
            for document in unmatched.values():
                # It is only in the index, so its earlier state is unknown.
                self._count("not_compared", document)
        if len(self.seen_ids) >= count_max < self.result.total:
            self.result.has_all_found, self.last = False, max(map(compute_order_key, self.seen_ids))

    def _count_document(
        self, kind: IndexedKind, document: IndexDocument, state: DocumentState
    ) -> None:
        if state.row_as_of is None:
            self._count("added", document)
        elif state.is_read_since:
            self._count("read_again", document)
        elif state.row_as_of.sha1hex == document.sha1hex:
            self._count("unchanged", document)
        else:
            title = document.article_title or document.url
            self.versions.append(
                _ReplacedVersion(kind, document.id, state.row_as_of, document.sha1hex, title)
            )

    def _count(self, became: str, document: IndexDocument) -> None:
        title = document.article_title or document.url
        self.result.count_document(became, document.id, document.sha1hex, title)

    def count_changed(self) -> None:
        """Count documents that changed since and are not found now, those written first first."""
        for kind, indexed_kind in indexed_kinds():
            for chunk in iter_chunks(self._iter_written_since(kind)):
                ids = {
                    indexed_kind.get_id(row): row
                    for row in chunk
                    if self._is_uncounted(indexed_kind.get_id(row))
                }
                self.seen_ids |= ids.keys()
                for id_, state in self._load_states(kind, indexed_kind, list(ids)).items():
                    if state.row_as_of is not None and state.is_read_since:
                        self.result.count_document(
                            "read_again_unfound", id_, state.row_as_of.sha1hex, ""
                        )
                    elif state.is_other_version:
                        self.versions.append(
                            _ReplacedVersion(
                                indexed_kind, id_, state.row_as_of, state.current_sha1hex, None
                            )
                        )

    def _is_uncounted(self, id_: str) -> bool:
        return id_ not in self.seen_ids and compute_order_key(id_) <= self.last

    def _iter_written_since(self, kind: DerivativeKind) -> Iterator[Any]:
        since = TimeRange(self.moment, datetime.max.replace(tzinfo=UTC))
        count_max = self.context.changed_max
        rows = self.context.stores.records.find(
            kind.row, {"updated": since}, order=("updated",), count_max=count_max + 1
        )
        for number, row in enumerate(rows):
            if number == count_max:
                self.result.is_all_changed = False
                return
            yield row

    def _load_states(
        self, kind: DerivativeKind, indexed_kind: IndexedKind, ids: Sequence[str]
    ) -> dict[str, DocumentState]:
        return load_states(self.context.stores.records, kind, indexed_kind, ids, self.moment)

    def search_versions(self) -> None:
        """Search the versions that were indexed then."""
        compared = self.versions[: self.context.versions_max]
        for batch in _iter_batches(self.context.stores, compared):
            documents = [document for _, document in batch]
            matching_ids = self.context.matching(documents, self.query)
            for version, document in batch:
                self._count_compared(version, document, is_found=document.id in matching_ids)
        for version in self.versions[self.context.versions_max :]:
            became = "not_compared" if version.title is not None else "not_compared_unfound"
            self.result.count_document(
                became,
                version.id,
                version.current_sha1hex,
                version.title or "",
                _version_key(version),
            )

    def _count_compared(
        self, version: _ReplacedVersion, document: IndexDocument, *, is_found: bool
    ) -> None:
        if version.title is not None:
            became = "other_version" if is_found else "version_added"
            self.result.count_document(
                became, version.id, version.current_sha1hex, version.title, _version_key(version)
            )
        elif is_found:
            title, reason = (
                document.article_title or document.url,
                f"now the file {version.current_sha1hex}",
            )
            self.result.count_document("unfound", version.id, version.row.sha1hex, title, reason)

    def count_removed(self) -> None:
        """Count files that were removed since and, if the user may see them, files hidden since."""
        records = self.context.stores.records
        since = {"row_created": TimeRange(self.moment, datetime.max.replace(tzinfo=UTC))}
        for row in self._limit_rows(records.find(TakedownRow, since)):
            # Do not list which files were removed.
            self.result.count_document(
                "taken_down", "", "", "", f"{row.reason_class}, {row.row_created:%Y-%m-%d}"
            )
        if self.context.unfiltered_records is None:
            return
        all_records = self.context.unfiltered_records
        hidden = all_records.find(EmbargoRow, {**since, "lifting": None})
        for chunk in iter_chunks(self._limit_rows(hidden)):
            rows = {row.sha1hex: row for row in chunk}
            arrived = {
                row.sha1hex
                for row in all_records.get(FileMetaRow, list(rows))
                if row.row_created <= self.moment
            }
            for key in sorted(arrived & _find_read_files(all_records, list(rows))):
                reason = f"{rows[key].reason_class}, until {rows[key].until:%Y-%m-%d}"
                self.result.count_document("under_embargo", key, key, "", reason)

    def _limit_rows(self, rows: Iterator[Any]) -> Iterator[Any]:
        yield from islice(rows, self.context.changed_max)
        if next(rows, None) is not None:
            self.result.is_all_changed = False


def _find_read_files(records: Records, sha1hexes: Sequence[str]) -> set[str]:
    """Return the files whose extraction the index holds."""
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
    """Yield the versions with their documents, in batches limited by number and text size."""
    batch: list[tuple[_ReplacedVersion, IndexDocument]] = []
    characters = 0
    for version, document in _iter_documents(stores, versions):
        characters += len(document.text_content)
        if batch and (len(batch) == BATCH or characters > BATCH_MAX_CHARS):
            yield batch
            batch, characters = [], len(document.text_content)
        batch.append((version, document))
    if batch:
        yield batch


def _iter_documents(
    stores: Stores, versions: Sequence[_ReplacedVersion]
) -> Iterator[tuple[_ReplacedVersion, IndexDocument]]:
    """Yield each version with its document. Records are read in chunks, texts one at a time."""
    for _, kind in indexed_kinds():
        kind_versions = iter(version for version in versions if version.kind is kind)
        for chunk in iter_chunks(kind_versions):
            rows = [item.row for item in chunk]
            yield from zip(
                chunk, iter_row_documents(stores.records, stores.blobs, kind, rows), strict=True
            )


def validate_day(day: date | None, today: date) -> date:
    """Return the day if it is over. Raises ValueError with a sentence for people otherwise."""
    if day is None:
        raise ValueError("say the end of which day is meant, as YYYY-MM-DD")
    if day >= today:
        raise ValueError(f"{day} is not over in UTC: name a day before {today}")
    return day
