"""Collections over the stores of a home, and what is done for them again and again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from threading import Event, Lock

from fonds.collections import configurations
from fonds.collections.changing.collections import finish_removals
from fonds.collections.changing.writing import Changes
from fonds.collections.claims import Claims
from fonds.collections.collecting.collecting import Collected, Collecting, rules
from fonds.collections.configurations import Configuration
from fonds.collections.names import DEFAULT, Name
from fonds.collections.reading.alike import SimilarPairsCache
from fonds.collections.reading.clusterings import (
    Collection,
    collection,
    collections,
    served_timestamp,
)
from fonds.collections.reading.curated import ids_there
from fonds.collections.reading.times import Times
from fonds.collections.requests import Runs, fulfil, waiting
from fonds.collections.tables import Tables
from fonds.config import Settings
from fonds.library.tracing.embargoes.hiding import Hiding
from fonds.library.tracing.own_warcs import Tick, WarcPurge
from fonds.model.names import UnknownNameError
from fonds.ports import Stores
from fonds.process_identity import this_process
from fonds.timetable import RecurringTask, Runner, Timetable
from fonds.timetable.runner import Action
from fonds.wiring.backends import now

COLLECT = "collect"
GROUP = "group"
LIFT = "embargoes"
LIFT_EVERY_S = 60
KEYS_COMPARED_MAX = 1000
"""Maximum keys of a namespace compared with an unknown key to find the nearest."""


@dataclass(slots=True)
class CollectionService:
    """Collections over the stores of a home. Safe for several threads."""

    changes: Changes
    runs: Runs
    times: Times = field(default_factory=Times)
    similar_pairs: SimilarPairsCache = field(default_factory=SimilarPairsCache)
    _declared: bool = False
    _complete: bool = False
    _guard: Lock = field(default_factory=Lock)

    @property
    def tables(self) -> Tables:
        """The tables. They do not exist in a home without collections."""
        return self.changes.tables

    def are_there(self) -> bool:
        """Return whether the tables exist."""
        self._declared = self._declared or self.tables.are_there()
        return self._declared

    def writing(self) -> Changes:
        """Return what changes collections, with the tables created if they do not exist."""
        with self._guard:
            if not self._complete and not self.tables.are_complete():
                self.tables.declare()
            self._complete = True
        return self.changes

    def has_theme(self, name: Name, conf: str, theme_id: str) -> bool:
        """Return whether the served clustering of a collection has a theme with this id."""
        at = served_timestamp(self.tables, name, conf)
        return at is not None and theme_id in ids_there(self.tables, name, conf, at)

    def every(
        self, namespace: str | None = None, after: Name | None = None
    ) -> Iterator[Collection]:
        """Return all collections, or those of a namespace, that come after one."""
        return collections(self.tables, namespace, after) if self.are_there() else iter(())

    def collection(self, name: Name) -> Collection:
        """Return a collection. Raises UnknownNameError (field "key")."""
        found = collection(self.tables, name) if self.are_there() else None
        if found is None:
            keys = [one.name.key for one in islice(self.every(name.namespace), KEYS_COMPARED_MAX)]
            what = f"collection in the namespace {name.namespace!r} with the key"
            raise UnknownNameError("key", what, name.key, keys)
        return found

    def configuration(self, namespace: str, conf: str) -> Configuration:
        """Return a configuration. Raises UnknownNameError (field "conf")."""
        if self.are_there():
            return configurations.get(self.tables, namespace, conf)
        if conf == DEFAULT:
            return Configuration()
        raise UnknownNameError("conf", "configuration", conf, [DEFAULT])


def make_service(stores: Stores, prefix: str = "", threads: int | None = None) -> CollectionService:
    """Return the service of this process over `stores`. `prefix` starts the names of its tables."""
    changes = changes_of(stores, Tables(stores.table, prefix))
    return CollectionService(changes, Runs(changes, threads))


def open_tables(stores: Stores, settings: Settings) -> Tables:
    """The tables of collections, made where they are not there."""
    tables = Tables(stores.table, settings.collections.prefix)
    if not tables.are_complete():
        tables.declare()
    return tables


def tables_there(stores: Stores, settings: Settings) -> Tables | None:
    """The tables of collections, None where nobody made any."""
    tables = Tables(stores.table, settings.collections.prefix)
    return tables if tables.are_there() else None


def changes_there(stores: Stores, settings: Settings) -> Changes | None:
    """What changes collections, None where nobody made any."""
    tables = tables_there(stores, settings)
    return None if tables is None else changes_of(stores, tables)


def collect_rules(stores: Stores, settings: Settings) -> Collected | None:
    """Bring what was just taken in into collections by their rules; None where there is no rule."""
    tables = tables_there(stores, settings)
    if tables is None or next(rules(tables), None) is None:
        return None
    return collecting(stores, open_changes(stores, settings)).run()


def open_changes(stores: Stores, settings: Settings) -> Changes:
    """What changes collections, for this process; their tables are made where they are not there."""
    return changes_of(stores, open_tables(stores, settings))


def changes_of(stores: Stores, tables: Tables) -> Changes:
    """What changes the collections of these tables, for this process."""
    claims = Claims(stores.records, this_process(), time.monotonic)
    return Changes(tables, claims, lambda: int(time.time()))


def warc_purge(stores: Stores, say: Callable[[str], None], tick: Tick) -> WarcPurge:
    """What purges our WARCs of what was taken down, for this process."""
    claims = Claims(stores.records, this_process(), time.monotonic)
    return WarcPurge(stores.archive, claims, say, tick)


def collecting(stores: Stores, changes: Changes, stopped: Event | None = None) -> Collecting:
    """What fills collections by their rules; it leaves off when `stopped` is set."""
    is_stopped = stopped.is_set if stopped is not None else lambda: False
    return Collecting(changes, stores.records, stores.blobs, stores.index, now, is_stopped)


def rebuild_threads(settings: Settings, *, beside_others: bool = False) -> int:
    """How many threads a rebuild may use: as many as is set, or as there are cores this process may run on;
    half of them where others work beside it, since threads without a core wait busily."""
    cores = len(os.sched_getaffinity(0))
    return settings.collections.threads or max(1, cores // 2 if beside_others else cores)


@contextmanager
def recurring(stores: Stores, settings: Settings) -> Iterator[None]:
    """Collects, rebuilds and lifts embargoes while the context lasts, each in a thread of its own: a rebuild
    takes long, and what is taken in arrives meanwhile. Of several processes one does it."""
    changes, stopped = open_changes(stores, settings), Event()
    filling = collecting(stores, changes, stopped)

    def collect() -> str:
        done = filling.run()
        return f"{done.put} documents put, {done.taken_out} taken out" if done.seen else ""

    def group() -> str:
        from fonds.collections.building.tending import tend

        finish_removals(changes)
        threads = rebuild_threads(settings, beside_others=True)
        told = []
        for name, conf in [] if stopped.is_set() else list(waiting(changes.tables)):
            if fulfil(changes, name, conf, threads=threads):
                told.append(f"{name} by {conf} built as asked for")
        for one in collections(changes.tables):
            for done in () if stopped.is_set() else tend(changes, one.name, threads=threads):
                if done.why:
                    told.append(f"{done.name} by {done.conf} rebuilt for its {done.why}")
                if done.refused:
                    told.append(f"{done.name} by {done.conf} not built: {done.refused}")
        return "; ".join(told)

    def lift() -> str:
        lifted = Hiding(stores, changes, now).lift_due(stopped.is_set)
        return f"{lifted} embargoes lifted" if lifted else ""

    every_s = settings.collections.every_s
    with (
        _runner(stores, COLLECT, every_s, collect),
        _runner(stores, GROUP, every_s, group),
        _runner(stores, LIFT, LIFT_EVERY_S, lift),
    ):
        try:
            yield
        finally:
            stopped.set()


def _runner(stores: Stores, name: str, every_s: int, action: Action) -> Runner:
    task = RecurringTask(name, every_s=every_s)
    timetable = Timetable(stores.records, [task], this_process(), now, time.monotonic)
    return Runner(timetable, {name: action})
