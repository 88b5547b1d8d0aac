"""Finder of near-duplicates of documents among those already in a collection.

Candidates among indexed documents come from the inverted index. Candidates among documents added
later come from the log of changes, which is read once and cached. The text of each candidate is
read and its terms are compared. So a link uses the same measure as a rebuild
(`grouping/algorithms/duplicates.py`) and the current text.
Limits: the last 100,000 documents added after the index was built, and the limits on postings and
candidates of `grouping/algorithms/duplicates.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fonds.grouping.algorithms.corpus import TermReader
from fonds.grouping.algorithms.duplicates import (
    Hashes,
    InvertedTerms,
    TermSets,
    compare_terms,
    invert_term_sets,
    join_term_sets,
)
from fonds.grouping.algorithms.term_counts import fill_languages
from fonds.grouping.columns import Column
from fonds.grouping.document import Document
from fonds.grouping.inverted_index import IndexedDocuments, read_index
from fonds.grouping.names import CollectionName
from fonds.grouping.redo_log import (
    IndexState,
    iter_chunks,
    list_changed_ids,
    parse_index_state,
)
from fonds.grouping.tables import (
    DOCUMENTS,
    Cells,
    Tables,
    decode_int,
    decode_text,
)
from fonds.model.errors import DamagedInputError
from fonds.text.similarity import TERMS_RESEMBLANCE_MIN

LATER_MAX = 100_000
VOCABULARY_MAX = 500_000
BATCH_SIZE = 500
_READ_COLUMNS = (Column.ID, Column.TEXT, Column.LANGUAGE)

NearDuplicates = dict[str, list[str]]
"""Ids of the near-duplicates of each document, by document id; most similar first."""


@dataclass(frozen=True, slots=True)
class _DocumentRun:
    """Batch of documents that were added after the stored inverted index was built.

    `ids`: ids of the documents.
    `sets`: distinct terms of each document.
    `terms`: inverted index of these terms.
    """

    ids: list[str]
    sets: TermSets
    terms: InvertedTerms


@dataclass(slots=True)
class _LaterDocuments:
    """Documents added after the inverted index was built, in runs (batches) of decreasing size."""

    runs: list[_DocumentRun] = field(default_factory=list)

    def add(self, ids: list[str], sets: TermSets) -> None:
        """Add documents as a new run, merged with the latest runs that are at most twice as large.

        If the runs then have more than `LATER_MAX` documents in all, drop the oldest runs."""
        while self.runs and len(self.runs[-1].ids) <= 2 * len(ids):
            last_run = self.runs.pop()
            ids, sets = last_run.ids + ids, join_term_sets([last_run.sets, sets])
        self.runs.append(_DocumentRun(ids, sets, invert_term_sets(sets)))
        while (
            len(self.runs) > 1
            and sum(len(document_run.ids) for document_run in self.runs) > LATER_MAX
        ):
            del self.runs[0]


class DuplicateFinder:
    """Finder of near-duplicates of documents in one collection. Thread-safe.

    It caches the inverted index, and the terms of documents added after the index was built.
    """

    def __init__(self, name: CollectionName) -> None:
        self._name = name
        self._lock = threading.RLock()
        self._reader = TermReader()
        self._state: IndexState | None = None
        self._grouped: IndexedDocuments | None = None
        self._later = _LaterDocuments()
        self._reached = 0
        self._last_query: tuple[list[str], TermSets] | None = None

    def refresh(self, tables: Tables, cells: Cells) -> bool:
        """Update the cached inverted index and the cached later documents of the collection.

        The index is read again if it was replaced. Documents changed since the last call are read
        from the log of changes.
        `cells`: cells of the collection's row.
        Return whether the collection has an inverted index; without one, nothing is read.
        """
        state = parse_index_state(cells)
        with self._lock:
            if state is None:
                self._state = None
                return False
            if state != self._state:
                self._grouped = self._load_index(tables, state)
                self._state, self._later, self._reached = (
                    state,
                    _LaterDocuments(),
                    state.last_change,
                )
            last_done = decode_int(cells, Column.SEQUENCE)
            ids, last = list_changed_ids(tables, self._name, self._reached, last_done)
            for batch in iter_chunks(ids[-LATER_MAX:], BATCH_SIZE):
                self._later.add(*self._load_terms(tables, batch))
            self._reached = last
        return True

    def find(self, tables: Tables, cells: Cells, documents: Sequence[Document]) -> NearDuplicates:
        """Find the near-duplicates of documents in the collection and among each other.

        A document in `documents` is compared only with those before it in `documents`.

        `cells`: cells of the collection's row.
        Return an empty mapping while the collection has no inverted index.
        """
        with self._lock:
            if not documents or not self.refresh(tables, cells):
                return {}
            ids = [document.id for document in documents]
            sets = self._build_sets(documents)
            self._last_query = (ids, sets)
            own_ids = frozenset(ids)
            pairs = [
                (position, id_)
                for position, id_ in self._iter_candidates(sets)
                if id_ not in own_ids
            ]
            candidate_ids, candidate_terms = self._load_terms(
                tables, sorted({id_ for _, id_ in pairs})
            )
        terms = {id_: candidate_terms.get_terms(place) for place, id_ in enumerate(candidate_ids)}
        places, earlier = invert_term_sets(sets).find_candidates(sets)
        for position, earlier_position in zip(places.tolist(), earlier.tolist(), strict=True):
            if earlier_position < position:
                pairs.append((position, ids[earlier_position]))
                terms[ids[earlier_position]] = sets.get_terms(earlier_position)
        return _find_near_duplicates(ids, sets, pairs, terms)

    def mark_written(self, sequence: int) -> None:
        """Record that the documents of the last call of `find` were stored.

        The finder then need not read these documents again.
        `sequence`: number of the collection change that stored them.
        """
        with self._lock:
            if (
                self._last_query is not None
                and self._state is not None
                and sequence == self._reached + 1
            ):
                self._later.add(*self._last_query)
                self._reached = sequence
            self._last_query = None

    def _load_index(self, tables: Tables, state: IndexState) -> IndexedDocuments | None:
        """Return the stored inverted index of the collection; None if it is damaged.

        The audit reports the damage. Documents can still be put meanwhile.
        """
        try:
            return read_index(tables, self._name, state.timestamp)
        except DamagedInputError:
            return None

    def _iter_candidates(self, sets: TermSets) -> Iterator[tuple[int, str]]:
        """Iterate over documents and their possible near-duplicates in the collection.

        Each item is a pair: the index of a document in `sets`, and the id of its candidate.
        """
        runs: list[tuple[Sequence[str], InvertedTerms]] = [
            (document_run.ids, document_run.terms) for document_run in self._later.runs
        ]
        if self._grouped is not None:
            runs.append((self._grouped.ids, self._grouped.terms))
        for ids, terms in runs:
            places, documents = terms.find_candidates(sets)
            for position, number_ in zip(places.tolist(), documents.tolist(), strict=True):
                yield position, ids[number_]

    def _load_terms(self, tables: Tables, ids: Sequence[str]) -> tuple[list[str], TermSets]:
        """Return those of the given document ids that exist, and the term sets of their texts."""
        existing_ids: list[str] = []
        sets: list[TermSets] = []
        for batch in iter_chunks(ids, BATCH_SIZE):
            rows = tables.get_rows(
                DOCUMENTS, [self._name.build_document_row(id_) for id_ in batch], _READ_COLUMNS
            ).values()
            documents = [
                Document(
                    decode_text(row, Column.ID),
                    decode_text(row, Column.TEXT),
                    language=_get_language(row),
                )
                for row in rows
                if Column.ID in row
            ]
            existing_ids += [document.id for document in documents]
            sets.append(self._build_sets(documents))
        return existing_ids, join_term_sets(sets)

    def _build_sets(self, documents: Sequence[Document]) -> TermSets:
        """Return the sets of distinct terms in the texts of documents.

        Documents without a language are read in the usual language of the collection's index.
        """
        if len(self._reader.vocabulary.numbers) > VOCABULARY_MAX:
            self._reader = TermReader()
        usual_language = self._state.language if self._state is not None else ""
        languages = fill_languages(
            [document.language or None for document in documents], usual_language
        )
        return self._reader.build_sets([document.text for document in documents], languages)


def _get_language(row: Cells) -> str:
    return decode_text(row, Column.LANGUAGE)


def _find_near_duplicates(
    ids: Sequence[str],
    sets: TermSets,
    pairs: Sequence[tuple[int, str]],
    terms: Mapping[str, Hashes],
) -> NearDuplicates:
    """Return the candidates whose resemblance to a document reaches the minimum, by document id.

    `ids`, `sets`: ids and term sets of the documents.
    `pairs`: pairs of an index in `ids` and the id of a candidate for that document.
    `terms`: term hashes of each candidate, by id; candidates without them are skipped.
    """
    resemblances: dict[str, dict[str, float]] = {}
    for position, id_ in pairs:
        if (
            id_ in terms
            and (resemblance := compare_terms(sets.get_terms(position), terms[id_]))
            >= TERMS_RESEMBLANCE_MIN
        ):
            resemblances.setdefault(ids[position], {})[id_] = resemblance
    return {
        id_: sorted(candidates, key=lambda other: (-candidates[other], other))
        for id_, candidates in resemblances.items()
    }
