"""Documents that are near-duplicates of ones that are there already: found by the inverted index, and
compared as a rebuild compares them.

Those that were there when the index was made are found by it; later ones by what the changes since say, read
once and kept. Of each candidate the text is read and its terms are compared: what is linked is a
near-duplicate by the measure of `grouping/text/duplicates.py`, and of what is there now.

Bound: the last 100,000 later documents, and the postings and candidates of `grouping/text/candidates.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fonds.collections.building.inverted_index import Grouped, read_index
from fonds.collections.changing.redo import SEQUENCE, Indexed, changed_ids, chunks, indexed
from fonds.collections.documents import Document
from fonds.collections.names import Name
from fonds.collections.tables import DOCUMENTS, Cells, Tables, number, text
from fonds.grouping.text.candidates import (
    Inverted,
    TermSets,
    inverted,
    joined,
    resemblance,
)
from fonds.grouping.text.counting import spoken
from fonds.grouping.text.duplicates import RESEMBLANCE_MIN, Hashes
from fonds.grouping.text.reading import Reader
from fonds.model.errors import DamagedInputError

LATER_MAX = 100_000
WORDS_KEPT_MAX = 500_000
AT_ONCE = 500
_SAID = ("main:id", "main:text", "main:language")

Alike = dict[str, list[str]]
"""The near-duplicates of documents by id, those that resemble each most first."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Later documents, and the postings of their terms."""

    ids: list[str]
    sets: TermSets
    terms: Inverted


@dataclass(slots=True)
class _Later:
    """Documents that came after the index, in runs each of which is larger than those behind it."""

    runs: list[_Run] = field(default_factory=list)

    def add(self, ids: list[str], sets: TermSets) -> None:
        """More of them. The oldest go when there are too many."""
        while self.runs and len(self.runs[-1].ids) <= 2 * len(ids):
            last = self.runs.pop()
            ids, sets = last.ids + ids, joined([last.sets, sets])
        self.runs.append(_Run(ids, sets, inverted(sets)))
        while len(self.runs) > 1 and sum(len(run.ids) for run in self.runs) > LATER_MAX:
            del self.runs[0]


class Duplicates:
    """The near-duplicates of one collection, as far as this process knows them. Safe for several threads."""

    def __init__(self, name: Name) -> None:
        self._name = name
        self._lock = threading.RLock()
        self._reader = Reader()
        self._told: Indexed | None = None
        self._grouped: Grouped | None = None
        self._later = _Later()
        self._reached = 0
        self._asked: tuple[list[str], TermSets] | None = None

    def refresh(self, tables: Tables, cells: Cells) -> bool:
        """Read what is new of the index and of later documents; whether there is any. `cells`: the
        collection's row."""
        told = indexed(cells)
        with self._lock:
            if told is None:
                self._told = None
                return False
            if told != self._told:
                self._grouped = self._index(tables, told)
                self._told, self._later, self._reached = told, _Later(), told.until
            done = number(cells, SEQUENCE)
            ids, last = changed_ids(tables, self._name, self._reached, done)
            for some in chunks(ids[-LATER_MAX:], AT_ONCE):
                self._later.add(*self._read(tables, some))
            self._reached = last
        return True

    def of(self, tables: Tables, cells: Cells, documents: Sequence[Document]) -> Alike:
        """The near-duplicates of documents among those that are there, and among those before them in
        `documents`; nothing while the collection has no index."""
        with self._lock:
            if not documents or not self.refresh(tables, cells):
                return {}
            ids = [one.id for one in documents]
            sets = self._sets(documents)
            self._asked = (ids, sets)
            own = frozenset(ids)
            pairs = [(at, id_) for at, id_ in self._candidates(sets) if id_ not in own]
            there, theirs = self._read(tables, sorted({id_ for _, id_ in pairs}))
        terms = {id_: theirs.of(place) for place, id_ in enumerate(there)}
        places, earlier = inverted(sets).candidates(sets)
        for at, before in zip(places.tolist(), earlier.tolist(), strict=True):
            if before < at:
                pairs.append((at, ids[before]))
                terms[ids[before]] = sets.of(before)
        return _alike(ids, sets, pairs, terms)

    def put(self, sequence: int) -> None:
        """What was asked about last was put by the change of this number: it need not be read again."""
        with self._lock:
            if self._asked is not None and self._told is not None and sequence == self._reached + 1:
                self._later.add(*self._asked)
                self._reached = sequence
            self._asked = None

    def _index(self, tables: Tables, told: Indexed) -> Grouped | None:
        """The stored index; None for one that is damaged, which the audit tells of and documents do not wait
        for."""
        try:
            return read_index(tables, self._name, told.timestamp)
        except DamagedInputError:
            return None

    def _candidates(self, sets: TermSets) -> Iterator[tuple[int, str]]:
        """Pairs of a place in `sets` and the id of a document that may be its near-duplicate."""
        runs: list[tuple[Sequence[str], Inverted]] = [
            (run.ids, run.terms) for run in self._later.runs
        ]
        if self._grouped is not None:
            runs.append((self._grouped.ids, self._grouped.terms))
        for ids, terms in runs:
            places, found = terms.candidates(sets)
            for at, number_ in zip(places.tolist(), found.tolist(), strict=True):
                yield at, ids[number_]

    def _read(self, tables: Tables, ids: Sequence[str]) -> tuple[list[str], TermSets]:
        """Those of these documents that are there, and their terms."""
        there: list[str] = []
        sets: list[TermSets] = []
        for some in chunks(ids, AT_ONCE):
            rows = tables.rows(
                DOCUMENTS, [self._name.document(id_) for id_ in some], _SAID
            ).values()
            documents = [
                Document(text(row, "main:id"), text(row, "main:text"), language=_language(row))
                for row in rows
                if "main:id" in row
            ]
            there += [one.id for one in documents]
            sets.append(self._sets(documents))
        return there, joined(sets)

    def _sets(self, documents: Sequence[Document]) -> TermSets:
        """The terms of documents, those that say no language read in the usual one."""
        if len(self._reader.vocabulary.numbers) > WORDS_KEPT_MAX:
            self._reader = Reader()
        usual = self._told.language if self._told is not None else ""
        languages = spoken([one.language or None for one in documents], usual)
        return self._reader.sets([one.text for one in documents], languages)


def _language(row: Cells) -> str:
    return text(row, "main:language")


def _alike(
    ids: Sequence[str],
    sets: TermSets,
    pairs: Sequence[tuple[int, str]],
    terms: Mapping[str, Hashes],
) -> Alike:
    """Those of the pairs that are near-duplicates."""
    found: dict[str, dict[str, float]] = {}
    for at, id_ in pairs:
        if id_ in terms and (likeness := resemblance(sets.of(at), terms[id_])) >= RESEMBLANCE_MIN:
            found.setdefault(ids[at], {})[id_] = likeness
    return {
        id_: sorted(others, key=lambda other: (-others[other], other))
        for id_, others in found.items()
    }
