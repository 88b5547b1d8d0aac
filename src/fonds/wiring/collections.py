"""Collections over the stores of a library (home), and the recurring tasks that maintain them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from threading import Event, Lock

from fonds.config import Settings
from fonds.grouping import configuration as configurations
from fonds.grouping.changes.lifecycle import finish_removals
from fonds.grouping.changes.membership import CollectCounts, RuleCollector, iter_rules
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.configuration import Configuration
from fonds.grouping.names import DEFAULT, CollectionName
from fonds.grouping.rebuild.requests import Runs, iter_pending_requests, run_request
from fonds.grouping.tables import Tables
from fonds.grouping.views.clusterings import (
    CollectionView,
    find_collection,
    find_served_timestamp,
    iter_collections,
)
from fonds.grouping.views.curation import list_theme_ids
from fonds.grouping.views.similar_clusters import SimilarPairsCache
from fonds.grouping.views.timeline import DocumentSampleCache
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases
from fonds.model.suggestions import UnknownNameError
from fonds.pipelines.runtime.schedule import RecurringTask
from fonds.pipelines.runtime.timetable import Action, Runner, Timetable
from fonds.ports import Stores
from fonds.restrictions.embargo import EmbargoService
from fonds.restrictions.takedown import TakedownService
from fonds.restrictions.warc_records import Tick, WarcPurge
from fonds.viewer.pdf_pages import remove_views
from fonds.wiring.flavours import list_readers
from fonds.wiring.stores import find_takedown_list, get_utc_now, purge_stores

COLLECT = "collect"
GROUP = "group"
LIFT = "embargoes"
LIFT_EVERY_S = 60
KEYS_COMPARED_MAX = 1000
"""Maximum number of collection keys compared with an unknown key, to suggest the nearest one."""


@dataclass(slots=True)
class CollectionService:
    """Access to the collections of a library (home), with caches. Thread-safe.

    `writer`: writer of the collections.
    `runs`: worker thread that rebuilds clusterings when a rebuild is requested.
    `times`: cache of samples of each clustering's documents, for timelines.
    `similar_pairs`: cache of the pairs of similar clusters in each clustering.
    """

    writer: CollectionWriter
    runs: Runs
    times: DocumentSampleCache = field(default_factory=DocumentSampleCache)
    similar_pairs: SimilarPairsCache = field(default_factory=SimilarPairsCache)
    _declared: bool = False
    _complete: bool = False
    _guard: Lock = field(default_factory=Lock)

    @property
    def tables(self) -> Tables:
        """Tables of the collections. They do not exist in a library without collections."""
        return self.writer.tables

    def has_tables(self) -> bool:
        """Return whether the tables of the collections exist."""
        self._declared = self._declared or self.tables.exist()
        return self._declared

    def open_writer(self) -> CollectionWriter:
        """Return the writer of the collections. Creates the tables if they do not exist."""
        with self._guard:
            if not self._complete and not self.tables.is_complete():
                self.tables.declare()
            self._complete = True
        return self.writer

    def has_theme(self, name: CollectionName, conf: str, theme_id: str) -> bool:
        """Return whether the current clustering of a collection by `conf` has a theme with this id.

        A theme is a labelled cluster. `conf` is the name of a configuration.
        """
        timestamp = find_served_timestamp(self.tables, name, conf)
        return timestamp is not None and theme_id in list_theme_ids(
            self.tables, name, conf, timestamp
        )

    def iter_collections(
        self, namespace: str | None = None, after: CollectionName | None = None
    ) -> Iterator[CollectionView]:
        """Return an iterator over all collections, or over those of one namespace, in order of
        their names.

        `after`: name of a collection; only collections after it are returned. None starts at the
            first.
        """
        return iter_collections(self.tables, namespace, after) if self.has_tables() else iter(())

    def collection(self, name: CollectionName) -> CollectionView:
        """Return the collection with this name. Raises UnknownNameError (field "key") if there is
        none.
        """
        collection_view = find_collection(self.tables, name) if self.has_tables() else None
        if collection_view is None:
            keys = [
                view.name.key
                for view in islice(self.iter_collections(name.namespace), KEYS_COMPARED_MAX)
            ]
            description = f"collection in the namespace {name.namespace!r} with the key"
            raise UnknownNameError("key", description, name.key, keys)
        return collection_view

    def configuration(self, namespace: str, conf: str) -> Configuration:
        """Return a clustering configuration of a namespace by name.

        Raises UnknownNameError (field "conf") if there is none. Without any collection, only the
        default configuration exists.
        """
        if self.has_tables():
            return configurations.get(self.tables, namespace, conf)
        if conf == DEFAULT:
            return Configuration()
        raise UnknownNameError("conf", "configuration", conf, [DEFAULT])


def create_service(
    stores: Stores, prefix: str = "", threads: int | None = None
) -> CollectionService:
    """Create this process's service for the collections in `stores`.

    `prefix`: beginning of the names of the tables that store collections.
    `threads`: number of threads for rebuilds of clusters; None for the default.
    """
    writer = create_collection_writer(stores, Tables(stores.table, prefix))
    return CollectionService(writer, Runs(writer, threads))


def open_tables(stores: Stores, settings: Settings) -> Tables:
    """Return the tables of the collections, and create those that are missing."""
    tables = Tables(stores.table, settings.collections.prefix)
    if not tables.is_complete():
        tables.declare()
    return tables


def find_tables(stores: Stores, settings: Settings) -> Tables | None:
    """Return the tables of the collections; None if the library has no collections."""
    tables = Tables(stores.table, settings.collections.prefix)
    return tables if tables.exist() else None


def find_collection_writer(stores: Stores, settings: Settings) -> CollectionWriter | None:
    """Return a writer of the collections; None if the library has no collections."""
    tables = find_tables(stores, settings)
    return None if tables is None else create_collection_writer(stores, tables)


def collect_rules(stores: Stores, settings: Settings) -> CollectCounts | None:
    """Add newly ingested documents to the collections whose rules (stored queries) match them.

    Returns the numbers of documents examined, added or changed, and removed; None if no collection
    has a rule.
    """
    tables = find_tables(stores, settings)
    if tables is None or next(iter_rules(tables), None) is None:
        return None
    return create_collector(stores, open_collection_writer(stores, settings)).run()


def open_collection_writer(stores: Stores, settings: Settings) -> CollectionWriter:
    """Return a writer of the collections for this process. Creates missing tables."""
    return create_collection_writer(stores, open_tables(stores, settings))


def create_collection_writer(stores: Stores, tables: Tables) -> CollectionWriter:
    """Return a writer of the collections in these tables, for this process."""
    leases = Leases(LeaseTable(stores.records), create_worker_name(), time.monotonic)
    return CollectionWriter(tables, leases, lambda: int(time.time()))


def create_warc_purge(stores: Stores, report: Callable[[str], None], tick: Tick) -> WarcPurge:
    """Create the service that removes the content of taken-down files from WARCs written by Fonds.

    `report`: called with a sentence about each WARC.
    `tick`: called with the name of the current WARC and the bytes processed.
    """
    leases = Leases(LeaseTable(stores.records), create_worker_name(), time.monotonic)
    return WarcPurge(stores.archive, leases, report, tick)


def create_collector(
    stores: Stores, writer: CollectionWriter, stop_event: Event | None = None
) -> RuleCollector:
    """Create the collector, which adds documents to the collections whose rules (stored queries)
    match them.

    `writer`: writer of the collections.
    `stop_event`: stops the collector early when it is set; None never does.
    """
    is_stopped = stop_event.is_set if stop_event is not None else lambda: False
    return RuleCollector(
        writer, stores.records, stores.blobs, stores.index, get_utc_now, is_stopped
    )


def count_rebuild_threads(settings: Settings, *, is_shared_machine: bool = False) -> int:
    """Return the number of threads that a rebuild of clusters may use.

    It is the configured number, or else one per available core. On a shared machine the default is
    half the cores, because threads without a core wait busily.
    """
    cores = len(os.sched_getaffinity(0))
    return settings.collections.threads or max(1, cores // 2 if is_shared_machine else cores)


@contextmanager
def run_recurring(stores: Stores, settings: Settings) -> Iterator[None]:
    """Run the recurring tasks of collections until the `with` block ends, each in a thread of its
    own.

    The tasks add new documents by rules, rebuild clusters, and lift embargoes that have ended. They
    have separate threads because a rebuild takes long and documents arrive in the meantime. If
    several processes run the tasks, each task runs in only one of them at a time.
    """
    writer, stop_event = open_collection_writer(stores, settings), Event()
    collector = create_collector(stores, writer, stop_event)

    def collect() -> str:
        counts = collector.run()
        return (
            f"{counts.put_count} documents added, {counts.removed_count} removed"
            if counts.examined_count
            else ""
        )

    def group() -> str:
        from fonds.grouping.rebuild.maintenance import maintain

        finish_removals(writer)
        threads = count_rebuild_threads(settings, is_shared_machine=True)
        messages = []
        for name, conf in [] if stop_event.is_set() else list(iter_pending_requests(writer.tables)):
            if run_request(writer, name, conf, threads=threads):
                messages.append(f"{name} by {conf} built on request")
        for collection in iter_collections(writer.tables):
            for result in (
                () if stop_event.is_set() else maintain(writer, collection.name, threads=threads)
            ):
                target = f"{result.name} by {result.conf}"
                if result.rebuild_reason:
                    messages.append(f"{target} rebuilt because of {result.rebuild_reason}")
                if result.configuration_error:
                    messages.append(f"{target} not built: {result.configuration_error}")
        return "; ".join(messages)

    def lift() -> str:
        lifted_count = EmbargoService(stores, writer, get_utc_now).lift_due(stop_event.is_set)
        return f"{lifted_count} embargoes lifted" if lifted_count else ""

    every_s = settings.collections.every_s
    with (
        _create_runner(stores, COLLECT, every_s, collect),
        _create_runner(stores, GROUP, every_s, group),
        _create_runner(stores, LIFT, min(LIFT_EVERY_S, every_s), lift),
    ):
        try:
            yield
        finally:
            stop_event.set()


def _create_runner(stores: Stores, name: str, every_s: int, action: Action) -> Runner:
    task = RecurringTask(name, every_s=every_s)
    timetable = Timetable(stores.records, [task], create_worker_name(), get_utc_now, time.monotonic)
    return Runner(timetable, {name: action})


# Takedowns, for commands and pages.


def create_takedown(
    stores: Stores,
    settings: Settings,
    report: Callable[[str], None],
    tick: Tick = lambda name, done_bytes: None,
    *,
    scans_all_warcs: bool = False,
) -> TakedownService:
    """Create the takedown service, which removes files from all stores.

    `report`: called with a sentence about each WARC written by Fonds. `tick`: called with the name
    of the current WARC and the bytes processed. `scans_all_warcs`: whether to search the indexes of
    all WARCs of the library, to find copies that no row names.
    """
    return TakedownService(
        stores,
        find_collection_writer(stores, settings),
        list(list_readers(settings)),
        get_utc_now,
        create_warc_purge(stores, report, tick),
        remove_views,
        partial(purge_stores, stores),
        scans_all_warcs=scans_all_warcs,
        list_path=find_takedown_list(settings),
    )
