"""Put documents into a collection or delete them, atomically and in all its clusterings.

    writer = CollectionWriter(tables, leases, now)
    writer.put(Name("news", "2026-11"), [Document("a", "…")])
    writer.delete(name, ["a"])

Before `put` returns, each served clustering has assigned the documents to its clusters with its
model. `delete` removes documents from all clusterings, served or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from fonds.grouping.changes.batcher import PutBatcher, PutOutcome
from fonds.grouping.changes.cells import add_moves
from fonds.grouping.changes.duplicate_finders import DuplicateFinders
from fonds.grouping.changes.duplicate_links import relink_duplicates
from fonds.grouping.checksums import (
    build_changed_checksum_cell,
    build_checksum_cell,
    has_valid_checksum,
)
from fonds.grouping.clustering import (
    OUTLIER,
    ModelCache,
    StoredClustering,
    filter_ready,
    is_served,
    list_served_configurations,
    list_stored_clusterings,
    processed_column,
)
from fonds.grouping.columns import MAIN_FAMILY, Column
from fonds.grouping.document import (
    ENCODED,
    Document,
    EncodedCells,
    build_cells,
    build_member_column,
    build_outdated_cells,
    collect_encoded_cells,
    is_same,
    validate_document,
)
from fonds.grouping.names import CollectionName, name_collection_lease, validate_name
from fonds.grouping.redo_log import PendingWrites, perform, recover
from fonds.grouping.register import build_register_cells, build_register_row
from fonds.grouping.tables import (
    ASSIGNMENTS,
    CHANGES,
    CLUSTERINGS,
    CLUSTERS,
    COLLECTIONS,
    DOCUMENTS,
    EXCLUSIONS,
    MEMBERS,
    READINGS,
    REGISTER,
    THEMES,
    Cells,
    Tables,
    decode_int,
    encode_utf8,
)
from fonds.grouping.views.curation import find_excluded_labels, load_exclusions
from fonds.leases.lease import Lease
from fonds.leases.leases import Leases
from fonds.model.errors import TransientError

DOCUMENT_BATCH = 500
CHANGE_MAX_BYTES = 3 * 1024 * 1024
WAIT_S = 120.0
"""Maximum wait for other processes that change the same collection, in seconds."""


def clear_collection(tables: Tables, name: CollectionName) -> None:
    """Remove all rows of a collection from every table; the collection's own row last."""
    tables.delete(REGISTER, [build_register_row(COLLECTIONS, name.row)])
    for table in (CHANGES, READINGS, MEMBERS, ASSIGNMENTS, CLUSTERS, CLUSTERINGS):
        tables.delete_prefix(table, name.row)
    for table in (EXCLUSIONS, THEMES, DOCUMENTS):
        tables.delete_prefix(table, name.row)
    tables.delete_prefix(COLLECTIONS, name.row)


@dataclass(slots=True)
class PutCounts:
    """Numbers of documents put that were new, replaced another version, or were stored
    unchanged.
    """

    added: int = 0
    replaced: int = 0
    unchanged: int = 0


@dataclass(frozen=True, slots=True)
class LeasedCollection:
    """Collection whose lease this process holds.

    - `cells`: cells of the family `main` in the collection's row.
    """

    name: CollectionName
    cells: Mapping[str, bytes]
    lease: Lease


@dataclass(frozen=True, slots=True)
class CollectionWriter:
    """Writer that puts and deletes documents of collections. Thread-safe.

    - `clock`: returns the current time in seconds since 1970.
    - `models`: cache of the models of clusterings.
    - `finders`: cache of finders of near-duplicates.
    """

    tables: Tables
    leases: Leases
    clock: Callable[[], int]
    models: ModelCache = field(default_factory=lambda: ModelCache())
    finders: DuplicateFinders = field(default_factory=DuplicateFinders)
    batcher: PutBatcher = field(
        default_factory=lambda: PutBatcher(DOCUMENT_BATCH, CHANGE_MAX_BYTES)
    )

    def put(self, name: CollectionName, documents: Sequence[Document]) -> PutCounts:
        """Put documents into a collection, in atomic batches; return how many were new or changed.

        Of several documents with one id the last wins. Documents put by several threads at once go
        into one change. A missing collection is created. Raises ValueError for an invalid name, id,
        time or vector. Raises LimitError for a text over 4 MiB. Raises TransientError if the
        collection is being removed. Raises LeaseConflictError if other processes change the
        collection for two minutes without a break.
        """
        validate_name(name)
        by_id = {document.id: validate_document(document) for document in documents}
        counts: Counter[PutOutcome] = Counter()
        for batch in _iter_batches(list(by_id.values())):
            size = sum(_measure_document(item) for item in batch)
            counts.update(self.batcher.put(name, batch, size, self._put_batch).values())
        return PutCounts(
            counts[PutOutcome.ADDED], counts[PutOutcome.REPLACED], counts[PutOutcome.UNCHANGED]
        )

    def delete(self, name: CollectionName, ids: Sequence[str]) -> int:
        """Delete documents from a collection and all its clusterings.

        Return the number of documents deleted; missing ids are ignored.
        """
        count = 0
        distinct = list(dict.fromkeys(ids))
        for start in range(0, len(distinct), DOCUMENT_BATCH):
            with self.lease(name) as collection:
                count += self._delete_leased(collection, distinct[start : start + DOCUMENT_BATCH])
        return count

    def _read_models(self, name: CollectionName) -> None:
        """Load the models and the near-duplicate finder of a collection into their caches.

        Callers do this before they take the collection's lease, since loading takes a while.
        """
        cells = self.tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY])
        if cells and list_served_configurations(cells):
            for stored_clustering in list_stored_clusterings(self.tables, name):
                if is_served(stored_clustering, cells):
                    self.models.get(self.tables, stored_clustering)
            self.finders.get(name).refresh(self.tables, cells)

    @contextmanager
    def lease(self, name: CollectionName, *, long: bool = False) -> Iterator[LeasedCollection]:
        """Lease a collection, and first finish a change that another process left unfinished.

        `long`: renew the lease while the context is open, for work that may outlast one lease.
        """
        acquire = self.leases.acquire_renewed if long else self.leases.acquire
        with acquire(name_collection_lease(name), WAIT_S) as lease:
            cells = self.tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY]) or {}
            if Column.REMOVED not in cells and recover(
                self.tables, name, cells, self.leases, lease
            ):
                cells = self.tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY]) or {}
            yield LeasedCollection(name, cells, lease)

    def _put_batch(self, name: CollectionName, batch: Sequence[Document]) -> dict[str, PutOutcome]:
        self._read_models(name)
        with self.lease(name) as collection:
            return self._put_leased(collection, batch)

    def _put_leased(
        self, collection: LeasedCollection, batch: Sequence[Document]
    ) -> dict[str, PutOutcome]:
        if Column.REMOVED in collection.cells:
            raise TransientError(
                f"{collection.name} is being removed. Try again when the removal has finished"
            )
        name, sequence = collection.name, decode_int(collection.cells, Column.SEQUENCE) + 1
        if Column.NAMESPACE not in collection.cells:
            clear_collection(self.tables, name)
        rows = {name.build_document_row(document.id): document for document in batch}
        stored_rows = self.tables.get_rows(
            DOCUMENTS,
            list(rows),
            [MAIN_FAMILY, Column.DOCUMENT_ID, Column.VECTOR_DENSE, *ENCODED],
        )
        encoded_cells = collect_encoded_cells(stored_rows)
        writes, changed_documents = PendingWrites(), []
        outcomes = {}
        for row, document in rows.items():
            new_cells = build_cells(name, document, sequence)
            if (
                row in stored_rows
                and is_same(stored_rows[row], new_cells)
                and has_valid_checksum(DOCUMENTS, row, stored_rows[row])
            ):
                outcomes[document.id] = PutOutcome.UNCHANGED
                continue
            outcomes[document.id] = PutOutcome.REPLACED if row in stored_rows else PutOutcome.ADDED
            writes.put(
                DOCUMENTS,
                row,
                new_cells
                | build_checksum_cell(DOCUMENTS, row, new_cells)
                | build_outdated_cells(stored_rows.get(row, {}), new_cells),
            )
            changed_documents.append(document)
        new = {id_ for id_, outcome in outcomes.items() if outcome is PutOutcome.ADDED}
        if not changed_documents and collection.cells:
            return outcomes
        clusterings = filter_ready(list_stored_clusterings(self.tables, name), collection.cells)
        served_clusterings = [
            candidate for candidate in clusterings if is_served(candidate, collection.cells)
        ]
        finder = self.finders.get(name) if served_clusterings else None
        alike = finder.find(self.tables, collection.cells, changed_documents) if finder else {}
        for clustering in served_clusterings:
            self._assign(clustering, changed_documents, new, alike, encoded_cells, writes)
        time_cell = encode_utf8(self.clock())
        cells = {Column.MODIFIED: time_cell} | {
            processed_column(candidate.conf): time_cell for candidate in served_clusterings
        }
        ids = [document.id for document in changed_documents]
        self._apply(
            collection, ids, decode_int(collection.cells, Column.SIZE) + len(new), cells, writes
        )
        if finder:
            finder.mark_written(sequence)
        return outcomes

    def _assign(
        self,
        clustering: StoredClustering,
        documents: Sequence[Document],
        new: set[str],
        duplicates: Mapping[str, Sequence[str]],
        encoded_cells: EncodedCells,
        writes: PendingWrites,
    ) -> None:
        from fonds.grouping.changes.placement_rules import place_documents

        model = self.models.get(self.tables, clustering)
        if model is None or not documents:
            return
        ids = [document.id for document in documents]
        excluded_labels = find_excluded_labels(self.tables, clustering, ids)
        placement_batch = place_documents(model, documents, encoded_cells, excluded_labels)
        new_placements = dict(zip(ids, placement_batch.placements, strict=True))
        old = [id_ for id_ in ids if id_ not in new]
        placements_before, placements_after = relink_duplicates(
            self.tables, clustering, old, new_placements, duplicates, excluded_labels
        )
        count_changes = add_moves(
            self.tables, clustering, placements_before, placements_after, writes
        )
        for id_, cells in placement_batch.encoded_cells.items():
            encoded_cells.setdefault(id_, {}).update(cells)
            writes.put(DOCUMENTS, clustering.name.build_document_row(id_), cells)
        for id_, vectors in zip(ids, placement_batch.vectors, strict=True):
            row = clustering.name.build_document_row(id_)
            label = next((p.label for p in placements_after[id_] if p.conf == clustering.conf), "")
            writes.put(DOCUMENTS, row, {build_member_column(clustering.conf): encode_utf8(label)})
            writes.put(DOCUMENTS, row, _build_vector_cells(vectors))
        later_counts = {
            Column.LATER: len(new),
            Column.LATER_OUTLIERS: max(count_changes[OUTLIER], 0),
            Column.LATER_TERMS: placement_batch.term_count,
            Column.LATER_UNKNOWN: placement_batch.unknown_term_count,
        }
        count_cells = _add_counts(clustering.cells, later_counts)
        checksum_cell = build_changed_checksum_cell(
            CLUSTERINGS, clustering.row, clustering.cells, count_cells
        )
        writes.put(CLUSTERINGS, clustering.row, {**count_cells, **checksum_cell})

    def _delete_leased(self, collection: LeasedCollection, ids: Sequence[str]) -> int:
        name = collection.name
        rows = self.tables.get_rows(
            DOCUMENTS, [name.build_document_row(id_) for id_ in ids], [Column.ID]
        )
        existing_ids = [id_ for id_ in ids if name.build_document_row(id_) in rows]
        if not existing_ids:
            return 0
        writes = PendingWrites()
        for id_ in existing_ids:
            writes.remove(DOCUMENTS, name.build_document_row(id_))
        for id_ in load_exclusions(self.tables, name, existing_ids):
            writes.remove(EXCLUSIONS, name.build_document_row(id_))
        clusterings = filter_ready(list_stored_clusterings(self.tables, name), collection.cells)
        for clustering in clusterings:
            add_moves(
                self.tables,
                clustering,
                *relink_duplicates(self.tables, clustering, existing_ids, {}, {}),
                writes,
            )
        size = max(decode_int(collection.cells, Column.SIZE) - len(existing_ids), 0)
        self._apply(collection, existing_ids, size, {}, writes)
        return len(existing_ids)

    def _apply(
        self,
        collection: LeasedCollection,
        ids: Sequence[str],
        size: int,
        extra_cells: Cells,
        writes: PendingWrites,
    ) -> None:
        name = collection.name
        if Column.NAMESPACE not in collection.cells:
            writes.put(
                REGISTER, build_register_row(COLLECTIONS, name.row), build_register_cells(name)
            )
        cells = {
            Column.NAMESPACE: encode_utf8(name.namespace),
            Column.COLLECTION_KEY: encode_utf8(name.key),
            Column.SIZE: encode_utf8(size),
            **extra_cells,
        }
        writes.put(COLLECTIONS, name.row, cells)
        perform(self.tables, name, collection.cells, ids, writes, self.leases, collection.lease)


def _build_vector_cells(vectors: tuple[bytes, bytes] | None) -> Cells:
    """Return the cells `vector_idf` and `vector_tfidf` of a document.

    Both are empty for a document without vectors, to overwrite those of an earlier text.
    """
    idf, tfidf = vectors or (b"", b"")
    return {Column.VECTOR_IDF: idf, Column.VECTOR_TFIDF: tfidf}


def _add_counts(cells: Cells, counts: Mapping[str, int]) -> Cells:
    return {
        column: encode_utf8(decode_int(cells, column) + count) for column, count in counts.items()
    }


def _measure_document(document: Document) -> int:
    """Return an upper bound in bytes for the text and the dense vector of a document."""
    numbers = 4 * len(document.vector)
    if len(document.text) < 1000:
        return 4 * len(document.text) + numbers
    return len(document.text.encode("utf-8", "replace")) + numbers


def _iter_batches(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """Split documents into batches of at most `DOCUMENT_BATCH` documents and `CHANGE_MAX_BYTES`.

    A document that is larger is a batch of its own.
    """
    batch: list[Document] = []
    size = 0
    for document in documents:
        document_bytes = _measure_document(document)
        if batch and (len(batch) >= DOCUMENT_BATCH or size + document_bytes > CHANGE_MAX_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(document)
        size += document_bytes
    if batch:
        yield batch
