"""Full rebuild of a clustering: build from a snapshot, process later changes, and publish.

Source: Grouperfish's HBase layout, v0.2 (`configuration:$conf:rebuilt`), which stores a new
clustering while the previous one is served.

If the process dies, the served clustering stays unchanged. The next rebuild or sweep removes the
rows that were written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from threadpoolctl import threadpool_limits

from fonds.grouping.algorithms.builder import build
from fonds.grouping.algorithms.clustering import Clustering
from fonds.grouping.changes.cells import add_moves
from fonds.grouping.changes.duplicate_links import relink_duplicates
from fonds.grouping.changes.placement_rules import count_known_terms, place_documents
from fonds.grouping.changes.writer import CollectionWriter, LeasedCollection
from fonds.grouping.checksums import COVERED, build_checksum_cell
from fonds.grouping.clustering import (
    StoredClustering,
    building_column,
    list_stored_clusterings,
    processed_column,
    served_column,
)
from fonds.grouping.clustering_model import ClusteringModel, read_model, write_model
from fonds.grouping.columns import MAIN_FAMILY, Column
from fonds.grouping.configuration import Configuration, get
from fonds.grouping.dense_vectors import check_encoder, store_cells
from fonds.grouping.document import (
    COLUMNS,
    Document,
    EncodedCells,
    collect_encoded_cells,
    parse_document,
)
from fonds.grouping.names import DEFAULT, CollectionName, name_rebuild_lease
from fonds.grouping.rebuild.assignments import build_grouped_vectors, settle_documents
from fonds.grouping.rebuild.cleanup import drop_interrupted
from fonds.grouping.rebuild.reader import (
    Corpus,
    StoreEncoded,
    build_options,
    read_corpus,
    read_previous,
)
from fonds.grouping.rebuild.result import RebuildResult
from fonds.grouping.rebuild.rows import PlacedDocument, build_labels, write_placements, write_rows
from fonds.grouping.redo_log import (
    PendingWrites,
    find_last_removable,
    iter_chunks,
    list_changed_ids,
    remove_changes,
)
from fonds.grouping.tables import (
    CLUSTERINGS,
    COLLECTIONS,
    DOCUMENTS,
    Tables,
    decode_int,
    encode_json,
    encode_utf8,
)
from fonds.grouping.views.clusters import load_clusters
from fonds.grouping.views.curation import find_excluded_labels, iter_misplaced_ids
from fonds.leases.lease import LeaseConflictError
from fonds.model.errors import ConfigurationError

CATCH_UP_CHANGES_MAX = 100
"""Number of changed documents that may be left before the new clustering is published.

The documents left are processed under the collection's lease, which blocks other changes.
"""

ROUNDS_MAX = 50
REPORT_EVERY_S = 0.5

ProgressCallback = Callable[[str, int, int], None]
"""Function that is called with the progress of a rebuild.

Its arguments are the stage, the number of documents done, and the total, or 0 if it is unknown.
"""


@dataclass(frozen=True, slots=True)
class RebuildPasses:
    """The two passes of a rebuild over all documents of a collection.

    The passes run in this process, row by row, or on a bulk engine. Both give the same result.

    `read`: function that reads all documents, except those that were written after a given
        collection change. It passes the vectors that an encoder computed to a given function, which
        stores them.
    `put`: function that writes the placements of documents in the new clustering.
    """

    read: Callable[
        [Tables, StoredClustering, int, Configuration, Callable[[int], None], StoreEncoded], Corpus
    ] = read_corpus
    put: Callable[
        [Tables, StoredClustering, Iterator[PlacedDocument], Callable[[int], None]], None
    ] = write_placements


def rebuild(
    writer: CollectionWriter,
    name: CollectionName,
    conf: str = DEFAULT,
    *,
    threads: int | None = None,
    progress: ProgressCallback = lambda stage, done, total: None,
    passes: RebuildPasses | None = None,
) -> RebuildResult:
    """Rebuild a collection's clustering by a configuration, and serve it once it is complete.

    `threads`: number of threads for the computation; None for one per core.
    `progress`: function that is called with the stage, the number of documents done, and the total.
    `passes`: functions that read documents and write placements; None to do both in this process.

    Raises LeaseConflictError if another process is rebuilding the collection by this configuration,
    or the collection is removed meanwhile.
    Raises ValueError for an unknown configuration.
    Raises ConfigurationError for an unknown collection, or an encoder that is not installed.
    """
    configuration = get(writer.tables, name.namespace, conf)
    check_encoder(configuration)
    with writer.leases.acquire_renewed(name_rebuild_lease(name, conf)) as lease:
        drop_interrupted(writer, name, conf)
        run = _Rebuild(writer, name, conf, configuration, progress, passes or RebuildPasses())
        last_change = run.begin()
        corpus = run.read(last_change)
        with threadpool_limits(threads):
            clustering = run.build(corpus)
        model = run.write(corpus, clustering)
        run.apply_exclusions(model)
        caught_up = run.catch_up(model, last_change)
        if lease.lost.is_set():
            raise LeaseConflictError(f"{name} by {conf}: another process is rebuilding it now")
        try:
            caught_up += run.publish(model)
        except LeaseConflictError:
            drop_interrupted(writer, name, conf)
            raise
        settle_documents(
            writer,
            run.stored_clustering,
            build_grouped_vectors(corpus, clustering, run.timestamp),
            last_change,
            run.report,
        )
    clusters = load_clusters(writer.tables, name, conf, run.timestamp, top=0)
    if clusters is None:
        raise LeaseConflictError(f"{name} was removed right after the rebuild")
    n_grouped, n_unclustered = (
        sum(cluster.size for cluster in clusters.clusters),
        sum(clusters.unclustered.values()),
    )
    return RebuildResult(run.timestamp, n_grouped, len(clusters.clusters), n_unclustered, caught_up)


class _Rebuild:
    """Rebuild in progress: the steps that build, write and publish one clustering.

    `timestamp`: timestamp of the new clustering; 0 before `begin`.
    """

    def __init__(
        self,
        writer: CollectionWriter,
        name: CollectionName,
        conf: str,
        configuration: Configuration,
        progress: ProgressCallback,
        passes: RebuildPasses,
    ) -> None:
        self.writer, self.tables = writer, writer.tables
        self.name, self.conf, self.configuration = name, conf, configuration
        self.timestamp = 0
        self._levels = 1
        self._previous: StoredClustering | None = None
        self._reached = 0
        self._progress, self._passes = progress, passes
        self._reported_s = 0.0
        self._stage = ""

    @property
    def stored_clustering(self) -> StoredClustering:
        """The clustering that this rebuild creates, as the type of stored clusterings.

        Its dict of stored table cells is empty.
        """
        return StoredClustering(self.name, self.conf, self.timestamp, self._levels, {})

    def begin(self) -> int:
        """Register the new clustering, so that collection changes are logged for it from now on.

        Return the number of the last collection change before the registration. A change is a batch
        of added or deleted documents.
        Raises ConfigurationError if the collection does not exist.
        """
        with self.writer.lease(self.name) as collection:
            if not collection.cells or Column.REMOVED in collection.cells:
                raise ConfigurationError(f"no collection named {self.name}")
            clusterings = [
                stored_clustering
                for stored_clustering in list_stored_clusterings(self.tables, self.name)
                if stored_clustering.conf == self.conf
            ]
            last = max((clustering.timestamp for clustering in clusterings), default=0)
            self.timestamp = max(self.writer.clock(), last + 1)
            serving = decode_int(collection.cells, served_column(self.conf), -1)
            self._previous = next(
                (clustering for clustering in clusterings if clustering.timestamp == serving), None
            )
            cells = {
                Column.NAMESPACE: encode_utf8(self.name.namespace),
                Column.COLLECTION_KEY: encode_utf8(self.name.key),
                Column.CONF: encode_utf8(self.conf),
                Column.TIMESTAMP: encode_utf8(self.timestamp),
                Column.CONFIGURATION: encode_json(self.configuration),
                Column.BEGUN: encode_utf8(self.writer.clock()),
            }
            self.tables.put(CLUSTERINGS, [(self.stored_clustering.row, cells)])
            mark = {building_column(self.conf): encode_utf8(self.timestamp)}
            self.tables.put(COLLECTIONS, [(self.name.row, mark)])
            return decode_int(collection.cells, Column.SEQUENCE)

    def report(self, stage: str, done_count: int = 0, total: int = 0) -> None:
        """Report the progress to the caller, and write it to the clustering's row.

        The row is written at most every half second, except when a stage begins.
        `stage`: name of the stage.
        `done_count`, `total`: number of documents; a total of 0 is unknown.
        """
        self._progress(stage, done_count, total)
        now_s = time.monotonic()
        if stage == self._stage and now_s - self._reported_s < REPORT_EVERY_S:
            return
        self._stage, self._reported_s = stage, now_s
        cells = {
            Column.STAGE: encode_utf8(stage),
            Column.DONE: encode_utf8(done_count),
            Column.TOTAL: encode_utf8(total),
            Column.MOVED: encode_utf8(self.writer.clock()),
        }
        self.tables.put(CLUSTERINGS, [(self.stored_clustering.row, cells)])

    def read(self, last_change: int) -> Corpus:
        """Read the documents to group and return their term counts.

        `last_change`: number of the last collection change (batch of added or deleted documents) to
            include; documents that a later change wrote are skipped.
        """
        return self._passes.read(
            self.tables,
            self.stored_clustering,
            last_change,
            self.configuration,
            lambda done: self.report("read documents", done, 0),
            self._store_encoded,
        )

    def _store_encoded(self, cells: EncodedCells) -> None:
        if cells:
            with self.writer.lease(self.name):
                store_cells(self.tables, self.name, cells)

    def build(self, read: Corpus) -> Clustering:
        """Build the clustering from the documents' term counts.

        The build starts from the clusters of the served clustering, if there is one.
        """
        previous_clustering = None
        if self._previous is not None:
            previous_clustering = read_previous(self.tables, self._previous, read)
        return build(
            read.build_counted(),
            build_options(self.configuration),
            version=self.timestamp,
            previous=previous_clustering,
            progress=lambda stage: self.report(stage, 0, len(read.ids)),
        )

    def write(self, read: Corpus, clustering: Clustering) -> ClusteringModel:
        """Write the rows and the model of the clustering, which readers cannot see yet.

        Return the model, which assigns documents that changed during the rebuild.
        Raises LeaseConflictError if the clustering was removed meanwhile.
        """
        self._levels = len(clustering.levels)
        labels = [build_labels(level) for level in clustering.levels]
        outliers = int((clustering.levels[0].members < 0).sum())
        cells = {
            Column.LEVELS: encode_utf8(self._levels),
            Column.DOCUMENTS: encode_utf8(len(read.ids) + len(read.unclustered)),
            Column.OUTLIERS: encode_utf8(outliers),
            Column.CLUSTERS: encode_utf8(len(clustering.levels[0].clusters)),
            Column.EVENTS: encode_json([[e.change, e.before, e.after] for e in clustering.events]),
        }
        self.tables.put(CLUSTERINGS, [(self.stored_clustering.row, cells)])
        grouped_count = sum(int((level.members >= 0).sum()) for level in clustering.levels)
        total = grouped_count + outliers + len(read.unclustered)
        placements = write_rows(
            self.tables, self.stored_clustering, read, clustering, labels, self._previous
        )
        self._passes.put(
            self.tables,
            self.stored_clustering,
            placements,
            lambda done: self.report("write", done, total),
        )
        write_model(self.tables, self.name, self.conf, self.timestamp, clustering, labels)
        model = read_model(self.tables, self.name, self.conf, self.timestamp)
        if model is None:
            raise LeaseConflictError(f"{self.name}: {self.timestamp} was removed in the meantime")
        known_terms, unknown_terms = _count_known_terms(model, read)
        term_cells = {
            Column.TERMS: encode_utf8(known_terms),
            Column.UNKNOWN: encode_utf8(unknown_terms),
        }
        self.tables.put(CLUSTERINGS, [(self.stored_clustering.row, term_cells)])
        return model

    def apply_exclusions(self, model: ClusteringModel) -> None:
        """Move documents out of the themes (clusters) that people excluded them from.

        This follows the build because exclusions refer to cluster ids, which the build assigns.
        """
        for ids in iter_misplaced_ids(self.tables, self.stored_clustering):
            self._apply_changes(model, ids, self._store_encoded)

    def catch_up(self, model: ClusteringModel, last_change: int) -> int:
        """Assign the documents that changed during the rebuild, until at most 100 are left.

        Stop after 50 rounds in any case. Return the number of documents that were processed.
        `last_change`: number of the last collection change that the clustering includes.
        """
        count, self._reached = 0, last_change
        for _ in range(ROUNDS_MAX):
            ids, last = list_changed_ids(self.tables, self.name, self._reached)
            if len(ids) <= CATCH_UP_CHANGES_MAX:
                break
            count += self._apply_changes(model, ids, self._store_encoded)
            self._reached = last
        return count

    def publish(self, model: ClusteringModel) -> int:
        """Assign the documents changed since the last round, and serve the new clustering.

        Both are done under the collection's lease. Writing one cell makes the clustering visible.
        Return the number of documents that were assigned.
        Raises LeaseConflictError if the lease may have expired, or the collection was removed.
        """
        with self.writer.lease(self.name) as collection:
            ids, last = list_changed_ids(self.tables, self.name, self._reached)
            count = self._apply_changes(
                model, ids, lambda new_cells: store_cells(self.tables, self.name, new_cells)
            )
            time_cell = encode_utf8(self.writer.clock())
            self._write_end(time_cell)
            self.writer.leases.check(collection.lease)
            if decode_int(collection.cells, building_column(self.conf), -1) != self.timestamp:
                raise LeaseConflictError(f"{self.name} was removed during the rebuild")
            cells = {
                served_column(self.conf): encode_utf8(self.timestamp),
                processed_column(self.conf): time_cell,
                building_column(self.conf): b"",
            }
            self.tables.put(COLLECTIONS, [(self.name.row, cells)])
            _remove_followed_changes(self.writer, collection, self.conf, last)
        return count

    def _write_end(self, time_cell: bytes) -> None:
        """Write the time of the end, and the checksum of the finished row of the clustering."""
        row = self.stored_clustering.row
        stored_cells = self.tables.get_row(CLUSTERINGS, row, sorted(COVERED[CLUSTERINGS])) or {}
        cells = {**stored_cells, Column.ENDED: time_cell}
        checksum_cell = build_checksum_cell(CLUSTERINGS, row, cells)
        self.tables.put(CLUSTERINGS, [(row, {Column.ENDED: time_cell, **checksum_cell})])

    def _apply_changes(
        self, model: ClusteringModel, ids: Sequence[str], store_encoded: StoreEncoded
    ) -> int:
        for batch_number, batch_ids in enumerate(iter_chunks(ids, 500)):
            self.report("catch up", 500 * batch_number, len(ids))
            documents, encoded_cells = load_current_documents(self.writer, self.name, batch_ids)
            excluded_labels = find_excluded_labels(self.tables, self.stored_clustering, batch_ids)
            placement_batch = place_documents(model, documents, encoded_cells, excluded_labels)
            store_encoded(placement_batch.encoded_cells)
            cells = self.tables.get_row(COLLECTIONS, self.name.row, [MAIN_FAMILY]) or {}
            alike = self.writer.finders.get(self.name).find(self.tables, cells, documents)
            new_placements = dict(
                zip(
                    [document.id for document in documents], placement_batch.placements, strict=True
                )
            )
            placements_before, placements_after = relink_duplicates(
                self.tables,
                self.stored_clustering,
                batch_ids,
                new_placements,
                alike,
                excluded_labels,
            )
            writes = PendingWrites()
            add_moves(
                self.tables, self.stored_clustering, placements_before, placements_after, writes
            )
            writes.apply(self.tables)
        return len(ids)


def load_current_documents(
    writer: CollectionWriter, name: CollectionName, ids: Sequence[str]
) -> tuple[list[Document], EncodedCells]:
    """Return the stored documents with these ids as they are now, and their encoded vectors.

    Missing documents are left out. Encoded vectors are cells with vectors that an encoder computed
    from texts, by document id and column.
    """
    rows = writer.tables.get_rows(DOCUMENTS, [name.build_document_row(id_) for id_ in ids], COLUMNS)
    return [parse_document(cells).document for cells in rows.values()], collect_encoded_cells(rows)


def _remove_followed_changes(
    writer: CollectionWriter, collection: LeasedCollection, conf: str, last_change: int
) -> None:
    """Delete logged changes that were kept for a rebuild and that no other rebuild needs.

    `last_change`: highest change number to delete.
    """
    cells = {**collection.cells, building_column(conf): b"", served_column(conf): b"1"}
    remove_changes(writer.tables, collection.name, find_last_removable(cells, last_change))


def _count_known_terms(model: ClusteringModel, read: Corpus) -> tuple[int, int]:
    """Count the distinct terms of each document in a sample of under 1,000 grouped documents.

    Return the number of terms, summed over the documents, and how many of them are missing from the
    model's dictionary.
    """
    step = max(1, len(read.ids) // 500)
    ids, languages = read.ids[::step], read.languages[::step]
    sample = [
        Document(id_, text, language=language)
        for id_, text, language in zip(ids, read.texts(ids), languages, strict=True)
    ]
    return count_known_terms(model, sample)
