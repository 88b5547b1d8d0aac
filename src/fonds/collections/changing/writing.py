"""Documents put into a collection and taken out of it, each change whole, in every clustering there is.

    changes = Changes(tables, claims, now)
    changes.put(Name("news", "2026-11"), [Document("a", "…")])
    changes.delete(name, ["a"])

A document put is placed in every clustering that is served before `put` returns, by the model it was built
with. One deleted is in none any more, served or kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from fonds.collections.changing.finders import Finders
from fonds.collections.changing.linking import rearranged
from fonds.collections.changing.moving import move
from fonds.collections.changing.redo import SEQUENCE, Writes, perform, recover
from fonds.collections.changing.together import Outcome, Together
from fonds.collections.claims import Claim, Claims
from fonds.collections.clusterings import (
    Known,
    Models,
    configurations_of,
    is_served,
    known,
    processed,
    ready,
)
from fonds.collections.documents import (
    ENCODED,
    VECTOR,
    Document,
    EncodedCells,
    cells_of,
    checked_document,
    encoded_cells,
    is_same,
    member_of,
    outdated,
)
from fonds.collections.names import Name, checked, claim_of_collection
from fonds.collections.reading.curated import barred_of, exclusions_of
from fonds.collections.tables import (
    ASSIGNMENTS,
    CHANGES,
    CLUSTERINGS,
    CLUSTERS,
    COLLECTION_SIZE,
    COLLECTIONS,
    DOCUMENTS,
    EXCLUSIONS,
    MEMBERS,
    MODIFIED,
    READINGS,
    REMOVED,
    THEMES,
    Cells,
    Tables,
    number,
    utf8,
)
from fonds.model.errors import TransientError

DOCUMENTS_AT_ONCE = 500
BYTES_AT_ONCE = 3 * 1024 * 1024
WAIT_S = 120.0
"""So long one waits for others who change the same collection."""


def clear(tables: Tables, name: Name) -> None:
    """Remove all rows of a collection, its own last: of one that is removed, or was once."""
    for table in (CHANGES, READINGS, MEMBERS, ASSIGNMENTS, CLUSTERS, CLUSTERINGS):
        tables.clear(table, name.row)
    for table in (EXCLUSIONS, THEMES, DOCUMENTS):
        tables.clear(table, name.row)
    tables.clear(COLLECTIONS, name.row)


@dataclass(slots=True)
class Put:
    """How many documents were new, replaced another text, or were there already as they are."""

    added: int = 0
    replaced: int = 0
    unchanged: int = 0


@dataclass(frozen=True, slots=True)
class Held:
    """A collection whose claim this process has; `cells` are those of its row, of the family `main`."""

    name: Name
    cells: Mapping[str, bytes]
    claim: Claim


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes collections. `now` gives seconds since 1970. Safe for several threads."""

    tables: Tables
    claims: Claims
    now: Callable[[], int]
    models: Models = field(default_factory=lambda: Models())
    finders: Finders = field(default_factory=Finders)
    together: Together = field(default_factory=lambda: Together(DOCUMENTS_AT_ONCE, BYTES_AT_ONCE))

    def put(self, name: Name, documents: Sequence[Document]) -> Put:
        """Put documents, in batches that are whole each; the last of several with one id wins. What several
        threads put at once goes into one change.

        The collection is made when it is not there. Raises ValueError for a name, id or time that is none,
        LimitError for a text of over 4 MiB, TakenError when others change it for two minutes on end.
        """
        checked(name)
        wanted = {one.id: checked_document(one) for one in documents}
        counts: Counter[Outcome] = Counter()
        for batch in _batches(list(wanted.values())):
            size = sum(_size(one) for one in batch)
            counts.update(self.together.put(name, batch, size, self._put_batch).values())
        return Put(counts[Outcome.ADDED], counts[Outcome.REPLACED], counts[Outcome.UNCHANGED])

    def delete(self, name: Name, ids: Sequence[str]) -> int:
        """Take documents out everywhere; how many there were. Those that are not there are no error."""
        count = 0
        distinct = list(dict.fromkeys(ids))
        for at in range(0, len(distinct), DOCUMENTS_AT_ONCE):
            with self.held(name) as held:
                count += self._delete(held, distinct[at : at + DOCUMENTS_AT_ONCE])
        return count

    def _read_models(self, name: Name) -> None:
        """Read what takes a while to read before others have to wait for it."""
        cells = self.tables.row(COLLECTIONS, name.row, ["main:"])
        if cells and configurations_of(cells):
            for one in known(self.tables, name):
                if is_served(one, cells):
                    self.models.of(self.tables, one)
            self.finders.of(name).refresh(self.tables, cells)

    @contextmanager
    def held(self, name: Name, *, long: bool = False) -> Iterator[Held]:
        """The collection for this process alone, what another left half done being done first; `long` for
        what may take longer than a lease."""
        claims = self.claims.renewed if long else self.claims.held
        with claims(claim_of_collection(name), WAIT_S) as claim:
            cells = self.tables.row(COLLECTIONS, name.row, ["main:"]) or {}
            if REMOVED not in cells and recover(self.tables, name, cells, self.claims, claim):
                cells = self.tables.row(COLLECTIONS, name.row, ["main:"]) or {}
            yield Held(name, cells, claim)

    def _put_batch(self, name: Name, batch: Sequence[Document]) -> dict[str, Outcome]:
        self._read_models(name)
        with self.held(name) as held:
            return self._put(held, batch)

    def _put(self, held: Held, batch: Sequence[Document]) -> dict[str, Outcome]:
        if REMOVED in held.cells:
            raise TransientError(f"{held.name} is being removed; try again when that has ended")
        name, sequence = held.name, number(held.cells, SEQUENCE) + 1
        if "main:namespace" not in held.cells:
            clear(self.tables, name)
        rows = {name.document(one.id): one for one in batch}
        there = self.tables.rows(DOCUMENTS, list(rows), ["main:", VECTOR, *ENCODED])
        encoded = encoded_cells(there)
        writes, changed = Writes(), []
        outcomes = {}
        for row, one in rows.items():
            wanted = cells_of(name, one, sequence)
            if row in there and is_same(there[row] | {"processing:id": utf8(one.id)}, wanted):
                outcomes[one.id] = Outcome.UNCHANGED
                continue
            outcomes[one.id] = Outcome.REPLACED if row in there else Outcome.ADDED
            writes.put(DOCUMENTS, row, wanted | outdated(there.get(row, {}), wanted))
            changed.append(one)
        new = {id_ for id_, outcome in outcomes.items() if outcome is Outcome.ADDED}
        if not changed and held.cells:
            return outcomes
        clusterings = ready(known(self.tables, name), held.cells)
        served = [each for each in clusterings if is_served(each, held.cells)]
        finder = self.finders.of(name) if served else None
        alike = finder.of(self.tables, held.cells, changed) if finder else {}
        for clustering in served:
            self._assign(clustering, changed, new, alike, encoded, writes)
        moment = utf8(self.now())
        cells = {MODIFIED: moment} | {processed(each.conf): moment for each in served}
        ids = [one.id for one in changed]
        self._perform(held, ids, number(held.cells, COLLECTION_SIZE) + len(new), cells, writes)
        if finder:
            finder.put(sequence)
        return outcomes

    def _assign(
        self,
        one: Known,
        documents: Sequence[Document],
        new: set[str],
        alike: Mapping[str, Sequence[str]],
        encoded: EncodedCells,
        writes: Writes,
    ) -> None:
        from fonds.collections.changing.placing import place

        served = self.models.of(self.tables, one)
        if served is None or not documents:
            return
        ids = [document.id for document in documents]
        barred = barred_of(self.tables, one, ids)
        placed = place(served, documents, encoded, barred)
        own = dict(zip(ids, placed.placements, strict=True))
        old = [id_ for id_ in ids if id_ not in new]
        before, after = rearranged(self.tables, one, old, own, alike, barred)
        apart = move(self.tables, one, before, after, writes)
        for id_, cells in placed.encoded.items():
            encoded.setdefault(id_, {}).update(cells)
            writes.put(DOCUMENTS, one.name.document(id_), cells)
        for id_, vectors in zip(ids, placed.vectors, strict=True):
            row = one.name.document(id_)
            label = next((p.label for p in after[id_] if p.conf == one.conf), "")
            writes.put(DOCUMENTS, row, {member_of(one.conf): utf8(label)})
            writes.put(DOCUMENTS, row, _vector_cells(vectors))
        added = {
            "later": len(new),
            "later_outliers": max(apart["outlier"], 0),
            "later_terms": placed.terms,
            "later_unknown": placed.unknown,
        }
        writes.put(CLUSTERINGS, one.row, _counted(one.cells, added))

    def _delete(self, held: Held, ids: Sequence[str]) -> int:
        name = held.name
        there = self.tables.rows(DOCUMENTS, [name.document(id_) for id_ in ids], ["main:id"])
        gone = [id_ for id_ in ids if name.document(id_) in there]
        if not gone:
            return 0
        writes = Writes()
        for id_ in gone:
            writes.remove(DOCUMENTS, name.document(id_))
        for id_ in exclusions_of(self.tables, name, gone):
            writes.remove(EXCLUSIONS, name.document(id_))
        clusterings = ready(known(self.tables, name), held.cells)
        for one in clusterings:
            move(self.tables, one, *rearranged(self.tables, one, gone, {}, {}), writes)
        size = max(number(held.cells, COLLECTION_SIZE) - len(gone), 0)
        self._perform(held, gone, size, {}, writes)
        return len(gone)

    def _perform(
        self, held: Held, ids: Sequence[str], size: int, more: Cells, writes: Writes
    ) -> None:
        name = held.name
        cells = {
            "main:namespace": utf8(name.namespace),
            "main:collection_key": utf8(name.key),
            COLLECTION_SIZE: utf8(size),
            **more,
        }
        writes.put(COLLECTIONS, name.row, cells)
        perform(self.tables, name, held.cells, ids, writes, self.claims, held.claim)


def _vector_cells(vectors: tuple[bytes, bytes] | None) -> Cells:
    """The vectors' cells; empty ones where a document has none, so that none of a text before stays."""
    idf, tfidf = vectors or (b"", b"")
    return {"processing:vector_idf": idf, "processing:vector_tfidf": tfidf}


def _counted(cells: Cells, added: Mapping[str, int]) -> Cells:
    return {
        f"main:{name}": utf8(number(cells, f"main:{name}") + count) for name, count in added.items()
    }


def _size(document: Document) -> int:
    """How many bytes text and vector have at most."""
    numbers = 4 * len(document.vector)
    if len(document.text) < 1000:
        return 4 * len(document.text) + numbers
    return len(document.text.encode("utf-8", "replace")) + numbers


def _batches(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """Documents in runs that fit one change."""
    batch: list[Document] = []
    size = 0
    for one in documents:
        own = _size(one)
        if batch and (len(batch) >= DOCUMENTS_AT_ONCE or size + own > BYTES_AT_ONCE):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += own
    if batch:
        yield batch
