"""Collections over the stores of a home, and what is done for them again and again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event

from fonds.collections.changing.collections import finish_removals
from fonds.collections.changing.writing import Changes
from fonds.collections.claims import Claims
from fonds.collections.collecting.collecting import Collected, Collecting, rules
from fonds.collections.reading.clusterings import collections
from fonds.collections.requests import fulfil, waiting
from fonds.collections.tables import Tables
from fonds.config import Settings
from fonds.library.tracing.embargoes.hiding import Hiding
from fonds.library.tracing.own_warcs import Tick, WarcPurge
from fonds.ports import Stores
from fonds.process_identity import this_process
from fonds.timetable import RecurringTask, Runner, Timetable
from fonds.timetable.runner import Action
from fonds.wiring.steps import now

COLLECT = "collect"
GROUP = "group"
LIFT = "embargoes"
LIFT_EVERY_S = 60


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
