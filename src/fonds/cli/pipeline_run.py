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

from fonds.cli.context import SPOOL, App, echo_json, open_console, print_note
from fonds.cli.process import check_limits, handle_stop_signals
from fonds.cli.progress import ProgressBar, print_retries, print_summary
from fonds.cli.worker_processes import WorkerProcesses
from fonds.config import Settings
from fonds.failures.accounting.tallies import (
    add_tallies,
    build_summary,
    count_entries,
    count_given_entries,
)
from fonds.failures.decisions import RetryResult
from fonds.failures.retries import Retry, list_link_retries, list_next_retries
from fonds.model.encoding import pluralize
from fonds.model.rows import EntryRow
from fonds.pipelines.runtime.intake import Intake, IntakeCounts
from fonds.pipelines.runtime.worker_threads import WorkerThreads
from fonds.ports import Records, Stores
from fonds.stores.home_lock import HomeLock

if TYPE_CHECKING:
    from fonds.wiring.readers import Readers

DELAYED_WAIT_S = 60.0
LEAVE_OFF_S = 10.0
RETRIES_MAX = 10
EXIT_INTERRUPTED = 130


@dataclass(slots=True)
class RunResult:
    """What working off came to; `is_complete` is False when a reader is still at work in a thread.

    `unfinished` are the inputs an earlier run had not brought to an end. `read_later` counts failures that
    ended because what could not be read before was read now.
    """

    entered: IntakeCounts
    unfinished: frozenset[str] = frozenset()
    pending: int = 0
    processes: int = 1
    is_interrupted: bool = False
    is_complete: bool = True
    read_later: int = 0


def run_to_end(
    app: App,
    settings: Settings,
    stores: Stores,
    lock: HomeLock,
    feed: Callable[[Intake, IntakeCounts], None],
    delayed_wait_s: float = DELAYED_WAIT_S,
) -> RunResult:
    """Enter what `feed` brings and work everything off, what an earlier run left unfinished included.

    What is delayed for longer than `delayed_wait_s` while nothing else is left to do stays so. Where much is
    waiting, further processes help, under the home's `lock`. The stores stay open. Raises what made the
    work end.
    """
    from fonds.audit.repair.cleanup import recover
    from fonds.wiring.pipelines import create_intake, create_threads
    from fonds.wiring.readers import open_readers

    check_limits()
    recover(stores)
    entered = _find_unfinished(stores, settings.pipeline)
    worked = RunResult(entered, frozenset(entered.input_ids))
    readers = open_readers(app.home / SPOOL, settings)
    threads = create_threads(stores, readers, settings)
    intake = create_intake(stores, settings, threads.is_stopping)
    processes = _create_processes(app, settings, lock)
    with _stop_on_signals(threads.request_stop) as interrupted:
        try:
            threads.start()
            shown = not (app.is_json or app.is_quiet)
            with ProgressBar(
                stores.records, entered, settings.pipeline, is_visible=shown
            ) as progress:
                ticks = partial(_refresh_progress, progress, processes, threads)
                _enter_in_thread(threads, lambda: feed(intake, entered), ticks)
                worked.pending = threads.drain(delayed_wait_s, ticks)
        finally:
            worked.is_complete = _stop_work(processes, threads, readers, stores)
    if (failure := threads.get_failure()) is not None:
        raise failure
    worked.read_later = intake.end_failures(entered)
    worked.is_interrupted, worked.processes = interrupted.is_set(), 1 + processes.started
    return worked


def run_and_report(
    app: App,
    settings: Settings,
    stores: Stores,
    lock: HomeLock,
    feed: Callable[[Intake, IntakeCounts], None],
    empty_message: str = "Nothing found: there is no file in these paths.",
    delayed_wait_s: float = DELAYED_WAIT_S,
    retried: RetryResult | None = None,
    urls: Sequence[str] = (),
) -> int:
    """Work through what `feed` brings, print the account, close the stores; returns the exit code.

    `empty_message` is said when there was nothing to do. The account is that of what was `retried`, if
    something was. `urls` are addresses a person named: their next attempts are shown rather than those of
    others."""
    from fonds.wiring.stores import close_stores

    started = time.monotonic()
    worked = run_to_end(app, settings, stores, lock, feed, delayed_wait_s)
    entered = worked.entered
    if retried is None:
        counted = count_entries(stores.records, sorted(entered.input_ids), settings.pipeline)
    else:
        ids = (entered.input_ids - worked.unfinished).union(retried.inputs)
        counted = count_given_entries(stores.records, retried.entries)
        counted = add_tallies(
            counted, count_entries(stores.records, sorted(ids), settings.pipeline)
        )
    retries = _find_retries(stores.records, settings.pipeline, urls) if worked.pending else []
    seconds = time.monotonic() - started
    if app.is_json:
        told = build_summary(counted, seconds, entered.known_count, worked.processes)
        more = {} if retried is None else {"retried": retried.count}
        unread = {
            "read_later": worked.read_later,
            "still_failing": len(entered.still_failing),
        }
        echo_json(told | more | unread | {"retries": retries})
    else:
        left = (worked.pending, worked.is_interrupted, empty_message)
        count = None if retried is None else retried.count
        print_summary(app, open_console(), counted, entered, seconds, *left, retried=count)
        print_retries(open_console(), retries)
        report_read_later(worked.read_later)
    if not worked.is_complete:
        exit_immediately()
    if not worked.is_interrupted:
        _collect(stores, settings)
    close_stores(stores)
    if worked.is_interrupted:
        return EXIT_INTERRUPTED
    return int(bool(counted.quarantined or worked.pending))


def report_read_later(count: int) -> None:
    """Say how many failures ended because what could not be read before was read now."""
    if count == 1:
        print_note("1 failure ended: what could not be read before was read now.")
    elif count:
        print_note(f"{count:,} failures ended: what could not be read before was read now.")


def _find_retries(records: Records, pipeline: str, urls: Sequence[str]) -> list[Retry]:
    """Next attempts to be shown: of the addresses a person named, or else the first that are due."""
    if urls:
        return list_link_retries(records, pipeline, urls[:RETRIES_MAX])
    return list_next_retries(records, pipeline, RETRIES_MAX)


def _collect(stores: Stores, settings: Settings) -> None:
    """Bring what came into the collections whose rules it fits."""
    from fonds.wiring.collections import collect_rules

    done = collect_rules(stores, settings)
    if done is not None and (done.put or done.removed):
        print_note(
            f"Collections: {pluralize(done.put, 'document')} put, {done.removed:,} taken out."
        )


def exit_immediately() -> None:
    """A reader is still at work in a thread; what it holds comes back at the next start."""
    sys.stdout.flush()
    os._exit(EXIT_INTERRUPTED)


def run_intake_only(
    app: App,
    settings: Settings,
    stores: Stores,
    lock: HomeLock,
    feed: Callable[[Intake, IntakeCounts], None],
) -> int:
    """Enter what `feed` brings for workers elsewhere to work off; returns the exit code."""
    from fonds.audit.repair.cleanup import refuse_emptied
    from fonds.wiring.pipelines import create_intake
    from fonds.wiring.stores import close_stores

    refuse_emptied(stores)
    stopped, entered = threading.Event(), IntakeCounts()
    intake = create_intake(stores, settings, stopped.is_set)
    with _stop_on_signals(stopped.set) as interrupted:
        feed(intake, entered)
    read_later = intake.end_failures(entered)
    close_stores(stores)
    if app.is_json:
        told = {"entered": entered.entries, "inputs": len(entered.input_ids)}
        echo_json({**told, "known": entered.known_count, "read_later": read_later})
    else:
        report_read_later(read_later)
        open_console().print(
            f"{pluralize(entered.entries, 'record')} entered from"
            f" {pluralize(len(entered.input_ids), 'input')}"
            f" ({pluralize(entered.known_count, 'record was', 'records were')} known before)."
            f" `{app.format_command('status')}` shows how they fare."
        )
    return EXIT_INTERRUPTED if interrupted.is_set() else 0


def _refresh_progress(
    progress: ProgressBar, processes: WorkerProcesses, threads: WorkerThreads
) -> None:
    processes.start_if_needed(threads)
    progress.tick()


def _stop_work(
    processes: WorkerProcesses, threads: WorkerThreads, readers: Readers, stores: Stores
) -> bool:
    """End all that works; whether everything in hand came to its end."""
    processes.stop()
    ended = threads.stop()
    if ended:
        readers.close()
        stores.archive.finish()
    return ended


def _create_processes(app: App, settings: Settings, lock: HomeLock) -> WorkerProcesses:
    """The processes that may help, none of them started yet; they share the cores for their readers."""
    from fonds.wiring.readers import count_cores
    from fonds.wiring.stores import list_concurrent_stages

    count = settings.work.workers or count_cores()
    stages = list_concurrent_stages(settings)
    each = settings.replace_values(
        work_children=max(1, (settings.work.children or count_cores()) // count)
    )
    return WorkerProcesses(app.home, each, stages, lock, count - 1 if stages else 0)


def _find_unfinished(stores: Stores, pipeline: str) -> IntakeCounts:
    """The inputs an earlier run of this pipeline did not bring to an end."""
    where = {"outcome": "pending", "pipeline": pipeline}
    pending = stores.records.count(EntryRow, ("input_id",), where)
    return IntakeCounts(input_ids={input_id for (input_id,) in pending})


def _enter_in_thread(
    threads: WorkerThreads, enter: Callable[[], None], tick: Callable[[], None]
) -> None:
    """Enter in a thread of its own, so that signals and progress are not kept waiting."""

    def run() -> None:
        try:
            enter()
        except BaseException as error:  # noqa: BLE001 (told to the thread that waits)
            threads.fail(error)

    feeding = threading.Thread(target=run, name="intake", daemon=True)
    feeding.start()
    while feeding.is_alive() and not threads.is_stopping():
        feeding.join(0.1)
        tick()
    feeding.join(LEAVE_OFF_S)


@contextmanager
def _stop_on_signals(request_stop: Callable[[], None]) -> Iterator[threading.Event]:
    """SIGINT and SIGTERM ask the work to stop; a second one ends the process at once."""
    interrupted = threading.Event()

    def stop(number: signal.Signals) -> None:
        if interrupted.is_set():
            os._exit(EXIT_INTERRUPTED)
        interrupted.set()
        request_stop()

    with handle_stop_signals(stop):
        yield interrupted
