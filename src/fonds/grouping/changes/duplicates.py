"""Documents that are near-duplicates of ones that are there already: found by the inverted index, and
compared as a rebuild compares them.

Those that were there when the index was made are found by it; later ones by what the changes since say, read
once and kept. Of each candidate the text is read and its terms are compared: what is linked is a
near-duplicate by the measure of `grouping/algorithms/duplicates.py`, and of what is there now.

Bound: the last 100,000 later documents, and the postings and candidates of
`grouping/algorithms/duplicates.py`."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fonds.grouping.algorithms.corpus import TermReader
from fonds.grouping.algorithms.duplicates import (
    RESEMBLANCE_MIN,
    Hashes,
    InvertedTerms,
    TermSets,
    compute_resemblance,
    invert_term_sets,
    join_term_sets,
)
from fonds.grouping.algorithms.term_counts import fill_languages
from fonds.grouping.document import Document
from fonds.grouping.inverted_index import IndexedDocuments, read_index
from fonds.grouping.names import CollectionName
from fonds.grouping.redo_log import (
    SEQUENCE,
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

LATER_MAX = 100_000
VOCABULARY_MAX = 500_000
BATCH_SIZE = 500
_READ_COLUMNS = ("main:id", "main:text", "main:language")

NearDuplicates = dict[str, list[str]]
"""The near-duplicates of documents by id, those that resemble each most first."""


@dataclass(frozen=True, slots=True)
class _DocumentRun:
    """Later documents, and the postings of their terms."""

    ids: list[str]
    sets: TermSets
    terms: InvertedTerms


@dataclass(slots=True)
class _LaterDocuments:
    """Documents that came after the index, in runs each of which is larger than those behind it."""

    runs: list[_DocumentRun] = field(default_factory=list)

    def add(self, ids: list[str], sets: TermSets) -> None:
        """More of them. The oldest go when there are too many."""
        while self.runs and len(self.runs[-1].ids) <= 2 * len(ids):
            last = self.runs.pop()
            ids, sets = last.ids + ids, join_term_sets([last.sets, sets])
        self.runs.append(_DocumentRun(ids, sets, invert_term_sets(sets)))
        while len(self.runs) > 1 and sum(len(run.ids) for run in self.runs) > LATER_MAX:
            del self.runs[0]


class DuplicateFinder:
    """The near-duplicates of one collection, as far as this process knows them. Safe for several threads."""

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
        """Read what is new of the index and of later documents; whether there is any. `cells`: the
        collection's row."""
        told = parse_index_state(cells)
        with self._lock:
            if told is None:
                self._state = None
                return False
            if told != self._state:
                self._grouped = self._load_index(tables, told)
                self._state, self._later, self._reached = told, _LaterDocuments(), told.last_change
            done = decode_int(cells, SEQUENCE)
            ids, last = list_changed_ids(tables, self._name, self._reached, done)
            for some in iter_chunks(ids[-LATER_MAX:], BATCH_SIZE):
                self._later.add(*self._load_terms(tables, some))
            self._reached = last
        return True

    def find(self, tables: Tables, cells: Cells, documents: Sequence[Document]) -> NearDuplicates:
        """The near-duplicates of documents among those that are there, and among those before them in
        `documents`; nothing while the collection has no index."""
        with self._lock:
            if not documents or not self.refresh(tables, cells):
                return {}
            ids = [one.id for one in documents]
            sets = self._build_sets(documents)
            self._last_query = (ids, sets)
            own = frozenset(ids)
            pairs = [(at, id_) for at, id_ in self._iter_candidates(sets) if id_ not in own]
            there, theirs = self._load_terms(tables, sorted({id_ for _, id_ in pairs}))
        terms = {id_: theirs.get_terms(place) for place, id_ in enumerate(there)}
        places, earlier = invert_term_sets(sets).find_candidates(sets)
        for at, before in zip(places.tolist(), earlier.tolist(), strict=True):
            if before < at:
                pairs.append((at, ids[before]))
                terms[ids[before]] = sets.get_terms(before)
        return _find_near_duplicates(ids, sets, pairs, terms)

    def mark_written(self, sequence: int) -> None:
        """What was asked about last was put by the change of this number: it need not be read again."""
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
        """The stored index; None for one that is damaged, which the audit tells of and documents do not wait
        for."""
        try:
            return read_index(tables, self._name, state.timestamp)
        except DamagedInputError:
            return None

    def _iter_candidates(self, sets: TermSets) -> Iterator[tuple[int, str]]:
        """Pairs of a place in `sets` and the id of a document that may be its near-duplicate."""
        runs: list[tuple[Sequence[str], InvertedTerms]] = [
            (run.ids, run.terms) for run in self._later.runs
        ]
        if self._grouped is not None:
            runs.append((self._grouped.ids, self._grouped.terms))
        for ids, terms in runs:
            places, found = terms.find_candidates(sets)
            for at, number_ in zip(places.tolist(), found.tolist(), strict=True):
                yield at, ids[number_]

    def _load_terms(self, tables: Tables, ids: Sequence[str]) -> tuple[list[str], TermSets]:
        """Those of these documents that are there, and their terms."""
        there: list[str] = []
        sets: list[TermSets] = []
        for some in iter_chunks(ids, BATCH_SIZE):
            rows = tables.get_rows(
                DOCUMENTS, [self._name.build_document_row(id_) for id_ in some], _READ_COLUMNS
            ).values()
            documents = [
                Document(
                    decode_text(row, "main:id"),
                    decode_text(row, "main:text"),
                    language=_get_language(row),
                )
                for row in rows
                if "main:id" in row
            ]
            there += [one.id for one in documents]
            sets.append(self._build_sets(documents))
        return there, join_term_sets(sets)

    def _build_sets(self, documents: Sequence[Document]) -> TermSets:
        """The terms of documents, those that say no language read in the usual one."""
        if len(self._reader.vocabulary.numbers) > VOCABULARY_MAX:
            self._reader = TermReader()
        usual = self._state.language if self._state is not None else ""
        languages = fill_languages([one.language or None for one in documents], usual)
        return self._reader.build_sets([one.text for one in documents], languages)


def _get_language(row: Cells) -> str:
    return decode_text(row, "main:language")


def _find_near_duplicates(
    ids: Sequence[str],
    sets: TermSets,
    pairs: Sequence[tuple[int, str]],
    terms: Mapping[str, Hashes],
) -> NearDuplicates:
    """Those of the pairs that are near-duplicates."""
    found: dict[str, dict[str, float]] = {}
    for at, id_ in pairs:
        if (
            id_ in terms
            and (likeness := compute_resemblance(sets.get_terms(at), terms[id_])) >= RESEMBLANCE_MIN
        ):
            found.setdefault(ids[at], {})[id_] = likeness
    return {
        id_: sorted(others, key=lambda other: (-others[other], other))
        for id_, others in found.items()
    }
