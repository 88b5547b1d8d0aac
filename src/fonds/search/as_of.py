"""Compare the results of a search now with its results at the end of an earlier day.

Each document belongs to one kind of change (`SORTS`). The counts add up:

    found now = unchanged + other_version + version_added + added + read_again + not_compared
    found then = unchanged + other_version + no_longer_found, plus an unknown part of read_again
           + read_again_no_longer_found + not_compared + not_compared_no_longer_found
           + taken_down + under_embargo

Fonds stores only the newest extraction of a file. If a file was extracted again after that day, its
earlier text is unknown. Fonds stores all versions of a story. The version that was indexed on that
day is searched with the same query.

Three numbers are limited: documents found now (`RESULTS_MAX`), database rows written since that day
(`CHANGED_MAX`) and versions searched (`VERSIONS_MAX`). The result states whether a limit was
reached. A search by theme uses the current themes.
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
from fonds.search.changed_document import ChangedDocument
from fonds.search.scan import confirm_generation, count_matches, iter_documents
from fonds.search.verification import OUTCOME_WORDS

# State of a document at an earlier time, derived from the current rows.


@dataclass(frozen=True, slots=True)
class DocumentState:
    """State of a document at an earlier time, compared with now.

    - `row_as_of`: database row of the text extracted from the version that the index had then; None
      if no file of the document was stored yet.
    - `current_sha1hex`: SHA-1 of the file that the document has now.
    - `is_read_since`: whether text was extracted again, and `row_as_of` replaced, after that time.
      If so, the text that was indexed then is unknown.
    """

    row_as_of: Any | None
    current_sha1hex: str
    is_read_since: bool

    @property
    def is_other_version(self) -> bool:
        """Whether the index had another version of the document at the earlier time than now."""
        return self.row_as_of is not None and self.row_as_of.sha1hex != self.current_sha1hex


def load_states(
    records: Records,
    kind: DerivativeKind,
    indexed_kind: IndexedKind,
    ids: Sequence[str],
    moment: datetime,
) -> dict[str, DocumentState]:
    """Return the state of each document at the time `moment`: which version the index had then.

    The keys of the result are document ids. Documents without a file are omitted.
    """
    versions = indexed_kind.list_versions(records, ids)
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
    """Return the time at which each file became visible to users, by SHA-1.

    It is the time at which the file was stored. If an embargo hid the file at `moment` and has
    ended since, it is the end of the embargo. Files that are not stored are omitted.
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
    """Yield the index documents of files, with their texts, one at a time.

    `rows` are the database rows of the extracted texts; `kind` is the kind of all documents, such
    as PDF.
    """
    yield from iter_complete_documents(kind, records, blobs, [CurrentRow(row) for row in rows])


RESULTS_MAX = 20_000
"""Maximum number of documents that a search finds now and that are compared with an earlier day."""
CHANGED_MAX = 20_000
"""Maximum number of database rows written since the earlier day that are examined, for each
derivative kind.

The rows of takedowns and those of embargoes have the same limit each.
"""
VERSIONS_MAX = 2_000
"""Maximum number of earlier versions of stories that are searched in one comparison."""
BATCH, BATCH_MAX_CHARS = 500, 16_000_000
ORDER_KEY_END = 2**64
NO_VERSIONS_MESSAGE = "version:all cannot be combined with a search as of a day"


@dataclass(frozen=True, slots=True)
class ChangeSort:
    """Kind of change that a document underwent between an earlier day and now.

    - `words`: description for people.
    - `was_found`: whether the search found such documents on the earlier day; None if unknown.
    - `is_still_found`: whether the search finds such documents now.
    """

    words: str
    was_found: bool | None
    is_still_found: bool


SORTS: Mapping[str, ChangeSort] = {
    "unchanged": ChangeSort(OUTCOME_WORDS["unchanged"], True, True),
    "other_version": ChangeSort(OUTCOME_WORDS["other_version"], True, True),
    "version_added": ChangeSort(
        "found by a version of the story that was added since", False, True
    ),
    "added": ChangeSort(OUTCOME_WORDS["added"], False, True),
    "no_longer_found": ChangeSort("found only by an earlier version of the story", True, False),
    "read_again": ChangeSort("extracted again since, and found now", None, True),
    "read_again_no_longer_found": ChangeSort(
        "extracted again since, and not found now", None, False
    ),
    "not_compared": ChangeSort(
        "not compared: another version of the story was current then", None, True
    ),
    "not_compared_no_longer_found": ChangeSort(
        "not compared: another version of the story was current then; not found now", None, False
    ),
    "taken_down": ChangeSort(OUTCOME_WORDS["taken_down"], None, False),
    "under_embargo": ChangeSort(OUTCOME_WORDS["under_embargo"], None, False),
}
"""Kinds of change of a document since an earlier day, by name, in display order.

Only users who may see embargoes see `under_embargo`.
"""

Matching = Callable[[Sequence[IndexDocument], SearchQuery], set[str]]


@dataclass(frozen=True, slots=True)
class ChangeSortCount:
    """Number of documents with one kind of change between an earlier day and now.

    - `name`: key of the kind of change in `SORTS`.
    - `words`: description of the kind of change for people.
    - `count`: number of documents.
    - `is_found_then`: whether the search found such documents on the earlier day; None if unknown.
    - `is_found_now`: whether the search finds such documents now.
    """

    name: str
    words: str
    count: int
    is_found_then: bool | None
    is_found_now: bool


@dataclass(slots=True)
class AsOfResult:
    """Comparison of a search's results now with its results at the end of an earlier day.

    - `day`: the earlier day (UTC).
    - `total`: number of documents found now.
    - `generation`: id of the index state during the comparison; None if unknown, or if it changed.
    - `knows_embargoes`: whether the user may see documents under embargo.
    - `has_all_found`: whether all documents found now were compared. If not, all counts except
      those of files taken down or under embargo cover only the first documents in order of id.
    - `is_all_changed`: whether all database rows written since that day were examined.
    - `listed`: documents by kind of change (a key of `SORTS`).
    """

    day: date
    total: int
    generation: str | None
    knows_embargoes: bool
    has_all_found: bool = True
    is_all_changed: bool = True
    listed: dict[str, list[ChangedDocument]] = field(default_factory=dict)

    def count_document(
        self, change: str, id_: str, sha1hex: str, title: str, reason: str = ""
    ) -> None:
        """Add one document to the list of its kind of change since the earlier day.

        `change` is the kind, a key of `SORTS`.
        """
        self.listed.setdefault(change, []).append(
            ChangedDocument(change, id_, sha1hex, title, reason)
        )

    @property
    def sort_counts(self) -> list[ChangeSortCount]:
        """Number of documents for each kind of change since the earlier day, in display order.

        Documents under embargo are included only if the user may see them.
        """
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
        """Number of documents that the search is known to have found on the earlier day."""
        return sum(sort_count.count for sort_count in self.sort_counts if sort_count.is_found_then)

    @property
    def unknown_count(self) -> int:
        """Number of documents that the search may or may not have found on the earlier day."""
        return sum(
            sort_count.count for sort_count in self.sort_counts if sort_count.is_found_then is None
        )

    @property
    def found_now_count(self) -> int:
        """Number of compared documents that the search finds now."""
        return sum(sort_count.count for sort_count in self.sort_counts if sort_count.is_found_now)


def end_of_day(day: date) -> datetime:
    """Return the last moment of a day in UTC."""
    return datetime.combine(day, time.max, UTC)


@dataclass(frozen=True, slots=True)
class AsOfContext:
    """Stores and limits for comparing searches now with their results on an earlier day.

    Call it with a query and a day.

    - `stores`: stores that contain only what the user may see.
    - `matching`: function that returns the ids of the given documents that match a query.
    - `unfiltered_records`: SQL tables with the rows of all files; None unless the user may see
      embargoes.
    - `results_max`: maximum number of documents found now that are compared.
    - `changed_max`: maximum number of database rows written since the day that are examined, per
      kind of extracted data.
    - `versions_max`: maximum number of earlier versions of stories that are searched.
    """

    stores: Stores
    matching: Matching
    unfiltered_records: Records | None = None
    results_max: int = RESULTS_MAX
    changed_max: int = CHANGED_MAX
    versions_max: int = VERSIONS_MAX

    def __call__(self, query: SearchQuery, day: date) -> AsOfResult:
        """Compare the results of a query now with its results at the end of a day (UTC).

        Raises ValueError if the query is invalid.
        """
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
    """Version of a document that the index had on an earlier day and no longer has.

    - `kind`: kind of document (PDF, story and so on); it builds documents from database rows.
    - `id`: id of the document.
    - `row`: database row of the text extracted from the version of that day.
    - `current_sha1hex`: SHA-1 of the file that the document has now.
    - `title`: current title or URL; None if the search does not find the document now.
    """

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
        """Count the documents that the search finds now, by how they changed since the earlier day.

        Documents of which the index had another version on that day are collected in `versions`, to
        be searched later.
        """
        count_max = self.context.results_max
        for chunk in iter_chunks(iter_documents(self.context.stores.index, self.query, count_max)):
            self.seen_ids.update(document.id for document in chunk)
            unmatched_documents = {document.id: document for document in chunk}
            for kind, indexed_kind in indexed_kinds():
                rows = self.context.stores.records.get(
                    kind.row, [document.sha1hex for document in chunk]
                )
                ids = [id_ for id_ in map(indexed_kind.get_id, rows) if id_ in unmatched_documents]
                for id_, state in self._load_states(kind, indexed_kind, ids).items():
                    self._count_document(indexed_kind, unmatched_documents.pop(id_), state)
            for document in unmatched_documents.values():
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

    def _count(self, change: str, document: IndexDocument) -> None:
        title = document.article_title or document.url
        self.result.count_document(change, document.id, document.sha1hex, title)

    def count_changed(self) -> None:
        """Count documents that changed since the earlier day and that the search does not find now.

        Their database rows are examined in the order in which they were last written.
        """
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
                            "read_again_no_longer_found", id_, state.row_as_of.sha1hex, ""
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
        """Search the versions that the index had on the earlier day, and count their documents.

        Versions beyond the limit `versions_max` count as not compared.
        """
        compared_versions = self.versions[: self.context.versions_max]
        for batch in _iter_batches(self.context.stores, compared_versions):
            documents = [document for _, document in batch]
            matching_ids = self.context.matching(documents, self.query)
            for version, document in batch:
                self._count_compared(version, document, is_found=document.id in matching_ids)
        for version in self.versions[self.context.versions_max :]:
            change = "not_compared" if version.title is not None else "not_compared_no_longer_found"
            self.result.count_document(
                change,
                version.id,
                version.current_sha1hex,
                version.title or "",
                _version_key(version),
            )

    def _count_compared(
        self, version: _ReplacedVersion, document: IndexDocument, *, is_found: bool
    ) -> None:
        if version.title is not None:
            change = "other_version" if is_found else "version_added"
            self.result.count_document(
                change, version.id, version.current_sha1hex, version.title, _version_key(version)
            )
        elif is_found:
            title, reason = (
                document.article_title or document.url,
                f"now file {version.current_sha1hex}",
            )
            self.result.count_document(
                "no_longer_found", version.id, version.row.sha1hex, title, reason
            )

    def count_removed(self) -> None:
        """Count the files that were taken down since the earlier day.

        If the user may see embargoes, count the files that were put under embargo since that day
        too.
        """
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
        embargo_rows = all_records.find(EmbargoRow, {**since, "lifting": None})
        for chunk in iter_chunks(self._limit_rows(embargo_rows)):
            rows = {row.sha1hex: row for row in chunk}
            existing_sha1hexes = {
                row.sha1hex
                for row in all_records.get(FileMetaRow, list(rows))
                if row.row_created <= self.moment
            }
            for key in sorted(existing_sha1hexes & _find_read_files(all_records, list(rows))):
                reason = f"{rows[key].reason_class}, until {rows[key].until:%Y-%m-%d}"
                self.result.count_document("under_embargo", key, key, "", reason)

    def _limit_rows(self, rows: Iterator[Any]) -> Iterator[Any]:
        yield from islice(rows, self.context.changed_max)
        if next(rows, None) is not None:
            self.result.is_all_changed = False


def _find_read_files(records: Records, sha1hexes: Sequence[str]) -> set[str]:
    """Return the SHA-1s of those files from which Fonds has extracted text for the index."""
    return {
        getattr(row, "sha1hex")  # noqa: B009
        for kind, _ in indexed_kinds()
        for row in records.get(kind.row, sha1hexes)
    }


def _version_key(version: _ReplacedVersion) -> str:
    return f"then file {version.row.sha1hex}"


def _iter_batches(
    stores: Stores, versions: Sequence[_ReplacedVersion]
) -> Iterator[list[tuple[_ReplacedVersion, IndexDocument]]]:
    """Yield replaced versions of documents, each with the index document built from it, in batches.

    A batch has at most `BATCH` documents and, if it has several, about `BATCH_MAX_CHARS` characters
    of text.
    """
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
    """Yield earlier versions of documents, each with the index document built from it.

    Database rows are read in chunks, texts one at a time.
    """
    for _, kind in indexed_kinds():
        kind_versions = iter(version for version in versions if version.kind is kind)
        for chunk in iter_chunks(kind_versions):
            rows = [item.row for item in chunk]
            yield from zip(
                chunk, iter_row_documents(stores.records, stores.blobs, kind, rows), strict=True
            )


def validate_day(day: date | None, today: date) -> date:
    """Return `day` if it is before `today` (UTC).

    Raises ValueError with a message for users if `day` is None, today or later.
    """
    if day is None:
        raise ValueError("give a day, such as 2024-05-31")
    if day >= today:
        raise ValueError(f"{day} is not over yet (UTC). Choose a day before {today}")
    return day
