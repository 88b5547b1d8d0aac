"""Works off a pipeline in this process, until it is empty or a signal says stop."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from fonds.cli.context import SPOOL, App, console, echo_json, say
from fonds.cli.limits import check_limits
from fonds.cli.signals import on_stop_signals
from fonds.cli.working.processes import WorkerProcesses
from fonds.cli.working.progress import Progress
from fonds.cli.working.summary import print_retries, print_summary
from fonds.config import Settings
from fonds.library.accounting import added, summary, tally, tally_entries
from fonds.library.failures.deciding import Retried
from fonds.library.failures.retries import Retry, next_retries, retries_of_links
from fonds.model.numbers import how_many
from fonds.model.rows import EntryRow
from fonds.ports import Records, Stores
from fonds.runtime.homelock import HomeLock
from fonds.runtime.intake import Entered, Intake
from fonds.runtime.threads import WorkerThreads

if TYPE_CHECKING:
    from fonds.wiring.readers import Readers

DELAYED_WAIT_S = 60.0
LEAVE_OFF_S = 10.0
RETRIES_SHOWN = 10
EXIT_INTERRUPTED = 130


@dataclass(slots=True)
class Worked:
    """What working off came to; `ended` is False when a reader is still at work in a thread.

    `unfinished` are the inputs an earlier run had not brought to an end. `read_later` counts failures that
    ended because what could not be read before was read now.
    """

    entered: Entered
    unfinished: frozenset[str] = frozenset()
    pending: int = 0
    processes: int = 1
    interrupted: bool = False
    ended: bool = True
    read_later: int = 0


def work_through(
    app: App,
    settings: Settings,
    stores: Stores,
    lock: HomeLock,
    feed: Callable[[Intake, Entered], None],
    delayed_wait_s: float = DELAYED_WAIT_S,
) -> Worked:
    """Enter what `feed` brings and work everything off, what an earlier run left unfinished included.

    What is delayed for longer than `delayed_wait_s` while nothing else is left to do stays so. Where much is
    waiting, further processes help, under the home's `lock`. The stores stay open. Raises what made the
    work end.
    """
    from fonds.library.repair.recovering import recover
    from fonds.wiring.pipelines import make_intake, make_threads
    from fonds.wiring.readers import open_readers

    check_limits()
    recover(stores)
    entered = _unfinished(stores, settings.pipeline)
    worked = Worked(entered, frozenset(entered.input_ids))
    readers = open_readers(app.home / SPOOL, settings)
    threads = make_threads(stores, readers, settings)
    intake = make_intake(stores, settings, threads.stopping)
    processes = _further(app, settings, lock)
    with _stopped_by_signals(threads.request_stop) as interrupted:
        try:
            threads.start()
            shown = not (app.json or app.quiet)
            with Progress(stores.records, entered, settings.pipeline, shown=shown) as progress:
                ticks = partial(_tick, progress, processes, threads)
                _feed(threads, lambda: feed(intake, entered), ticks)
                worked.pending = threads.drain(delayed_wait_s, ticks)
        finally:
            worked.ended = _leave_off(processes, threads, readers, stores)
    if (failure := threads.failure()) is not None:
        raise failure
    worked.read_later = intake.end_failures(entered)
    worked.interrupted, worked.processes = interrupted.is_set(), 1 + processes.started
    return worked


def work_off(
    app: App,
    settings: Settings,
    stores: Stores,
    lock: HomeLock,
    feed: Callable[[Intake, Entered], None],
    nothing: str = "Nothing found: there is no file in these paths.",
    delayed_wait_s: float = DELAYED_WAIT_S,
    retried: Retried | None = None,
    urls: Sequence[str] = (),
) -> int:
    """Work through what `feed` brings, print the account, close the stores; returns the exit code.

    `nothing` is said when there was nothing to do. The account is that of what was `retried`, if something
    was. `urls` are addresses a person named: their next attempts are shown rather than those of others.
    """
    from fonds.wiring.backends import close_stores

    started = time.monotonic()
    worked = work_through(app, settings, stores, lock, feed, delayed_wait_s)
    entered = worked.entered
    if retried is None:
        counted = tally(stores.records, sorted(entered.input_ids), settings.pipeline)
    else:
        ids = (entered.input_ids - worked.unfinished).union(retried.inputs)
        counted = tally_entries(stores.records, retried.entries)
        counted = added(counted, tally(stores.records, sorted(ids), settings.pipeline))
    retries = _retries(stores.records, settings.pipeline, urls) if worked.pending else []
    seconds = time.monotonic() - started
    if app.json:
        told = summary(counted, seconds, entered.known, worked.processes)
        more = {} if retried is None else {"retried": retried.count}
        unread = {
            "read_later": worked.read_later,
            "still_failing": len(entered.still_failing),
        }
        echo_json(told | more | unread | {"retries": retries})
    else:
        left = (worked.pending, worked.interrupted, nothing)
        count = None if retried is None else retried.count
        print_summary(app, console(), counted, entered, seconds, *left, retried=count)
        print_retries(console(), retries)
        say_read_later(worked.read_later)
    if not worked.ended:
        leave_at_once()
    if not worked.interrupted:
        _collect(stores, settings)
    close_stores(stores)
    if worked.interrupted:
        return EXIT_INTERRUPTED
    return int(bool(counted.quarantined or worked.pending))


def say_read_later(count: int) -> None:
    """Say how many failures ended because what could not be read before was read now."""
    if count == 1:
        say("1 failure ended: what could not be read before was read now.")
    elif count:
        say(f"{count:,} failures ended: what could not be read before was read now.")


def _retries(records: Records, pipeline: str, urls: Sequence[str]) -> list[Retry]:
    """Next attempts to be shown: of the addresses a person named, or else the first that are due."""
    if urls:
        return retries_of_links(records, pipeline, urls[:RETRIES_SHOWN])
    return next_retries(records, pipeline, RETRIES_SHOWN)


def _collect(stores: Stores, settings: Settings) -> None:
    """Bring what came into the collections whose rules it fits."""
    from fonds.wiring.recurring.collections import collect_rules

    done = collect_rules(stores, settings)
    if done is not None and (done.put or done.taken_out):
        say(f"Collections: {how_many(done.put, 'document')} put, {done.taken_out:,} taken out.")


def leave_at_once() -> None:
    """A reader is still at work in a thread; what it holds comes back at the next start."""
    sys.stdout.flush()
    os._exit(EXIT_INTERRUPTED)


def enter_only(
    app: App,
    settings: Settings,
    stores: Stores,
    lock: HomeLock,
    feed: Callable[[Intake, Entered], None],
) -> int:
    """Enter what `feed` brings for workers elsewhere to work off; returns the exit code."""
    from fonds.library.repair.recovering import refuse_emptied
    from fonds.wiring.backends import close_stores
    from fonds.wiring.pipelines import make_intake

    refuse_emptied(stores)
    stopped, entered = threading.Event(), Entered()
    intake = make_intake(stores, settings, stopped.is_set)
    with _stopped_by_signals(stopped.set) as interrupted:
        feed(intake, entered)
    read_later = intake.end_failures(entered)
    close_stores(stores)
    if app.json:
        told = {"entered": entered.entries, "inputs": len(entered.input_ids)}
        echo_json({**told, "known": entered.known, "read_later": read_later})
    else:
        say_read_later(read_later)
        console().print(
            f"{how_many(entered.entries, 'record')} entered from {how_many(len(entered.input_ids), 'input')}"
            f" ({how_many(entered.known, 'record was', 'records were')} known before)."
            f" `{app.told('status')}` shows how they fare."
        )
    return EXIT_INTERRUPTED if interrupted.is_set() else 0


def _tick(progress: Progress, processes: WorkerProcesses, threads: WorkerThreads) -> None:
    processes.look(threads)
    progress.tick()


def _leave_off(
    processes: WorkerProcesses, threads: WorkerThreads, readers: Readers, stores: Stores
) -> bool:
    """End all that works; whether everything in hand came to its end."""
    processes.stop()
    ended = threads.stop()
    if ended:
        readers.close()
        stores.archive.finish()
    return ended


def _further(app: App, settings: Settings, lock: HomeLock) -> WorkerProcesses:
    """The processes that may help, none of them started yet; they share the cores for their readers."""
    from fonds.wiring.backends import stages_side_by_side
    from fonds.wiring.readers import cores

    count = settings.work.workers or cores()
    stages = stages_side_by_side(settings)
    each = settings.changed(work_children=max(1, (settings.work.children or cores()) // count))
    return WorkerProcesses(app.home, each, stages, lock, count - 1 if stages else 0)


def _unfinished(stores: Stores, pipeline: str) -> Entered:
    """The inputs an earlier run of this pipeline did not bring to an end."""
    where = {"outcome": "pending", "pipeline": pipeline}
    pending = stores.records.count(EntryRow, ("input_id",), where)
    return Entered(input_ids={input_id for (input_id,) in pending})


def _feed(threads: WorkerThreads, enter: Callable[[], None], tick: Callable[[], None]) -> None:
    """Enter in a thread of its own, so that signals and progress are not kept waiting."""

    def run() -> None:
        try:
            enter()
        except BaseException as error:  # noqa: BLE001 (told to the thread that waits)
            threads.fail(error)

    feeding = threading.Thread(target=run, name="intake", daemon=True)
    feeding.start()
    while feeding.is_alive() and not threads.stopping():
        feeding.join(0.1)
        tick()
    feeding.join(LEAVE_OFF_S)


@contextmanager
def _stopped_by_signals(request_stop: Callable[[], None]) -> Iterator[threading.Event]:
    """SIGINT and SIGTERM ask the work to stop; a second one ends the process at once."""
    interrupted = threading.Event()

    def stop(number: signal.Signals) -> None:
        if interrupted.is_set():
            os._exit(EXIT_INTERRUPTED)
        interrupted.set()
        request_stop()

    with on_stop_signals(stop):
        yield interrupted
