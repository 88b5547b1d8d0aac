"""Run a pipeline in this process until it is empty or a signal stops it."""

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
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from fonds.cli.context import SPOOL, App, echo_json, open_console, print_note
from fonds.cli.json_answers import build_answer, define_answer
from fonds.cli.process import check_limits, handle_stop_signals, share_arenas
from fonds.cli.progress import ProgressBar, print_retries, print_summary
from fonds.cli.worker_processes import WorkerProcesses
from fonds.config import Settings
from fonds.failures.accounting.tallies import (
    OutcomeTally,
    add_tallies,
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


RunAnswer = define_answer(
    "RunAnswer",
    OutcomeTally,
    seconds=Annotated[float, Meta(description="duration in seconds")],
    known=Annotated[int, Meta(description="records that earlier runs ingested")],
    processes=Annotated[int, Meta(description="number of processes")],
    read_later=Annotated[
        int, Meta(description="failures that ended because a later read succeeded")
    ],
    still_failing=Annotated[
        int, Meta(description="entries of `in` that failed in an earlier run and still fail")
    ],
    retries=Annotated[
        Sequence[Retry], Meta(description="the first messages that wait for their next attempt")
    ],
)
"""JSON answer: the summary of a pipeline run."""

RetriedAnswer = define_answer(
    "RetriedAnswer",
    RunAnswer,
    retried=Annotated[int, Meta(description="messages and inputs that were retried")],
)
"""JSON answer: the summary of a pipeline run that retries failures."""


class EnteredAnswer(msgspec.Struct, frozen=True):
    """JSON answer: summary of inputs that were entered for workers elsewhere, without processing
    them.
    """

    entered: Annotated[int, Meta(description="number of records that entered")]
    inputs: Annotated[int, Meta(description="number of inputs that were read")]
    known: Annotated[int, Meta(description="records that earlier runs ingested")]
    read_later: Annotated[
        int, Meta(description="failures that ended because a later read succeeded")
    ]


@dataclass(slots=True)
class RunResult:
    """Result of running a pipeline in this process.

    - `intake_counts`: counts of the inputs that were read.
    - `unfinished_input_ids`: ids of the inputs whose entries were still pending when the run began.
    - `pending_count`: number of messages that are still in the queue.
    - `process_count`: number of processes that worked, including this one.
    - `is_interrupted`: whether a signal stopped the run.
    - `is_complete`: whether all workers finished; False if one is still reading a file in a thread.
    - `newer_steps`: names of the steps whose messages wait for a newer version of Fonds.
    - `later_read_count`: number of failures of earlier runs that ended because an input that could
      not be read then was read this time.
    """

    intake_counts: IntakeCounts
    unfinished_input_ids: frozenset[str] = frozenset()
    pending_count: int = 0
    process_count: int = 1
    is_interrupted: bool = False
    is_complete: bool = True
    newer_steps: Sequence[str] = ()
    later_read_count: int = 0


def run_to_end(
    app: App,
    settings: Settings,
    stores: Stores,
    lock: HomeLock,
    feed: Callable[[Intake, IntakeCounts], None],
    delayed_wait_s: float = DELAYED_WAIT_S,
) -> RunResult:
    """Run the pipeline in this process until no message is left, or a signal stops it.

    Messages that an earlier run left are processed too.

    - `lock`: lock of the library folder. Helper processes hold it too; they are started if many
      messages are waiting.
    - `feed`: function that reads inputs and enters their contents through the intake. It updates
      the given counts.
    - `delayed_wait_s`: seconds. Messages that are delayed for longer stay in the queue if only such
      messages are left.

    The stores stay open. Raises the error that made the work end.
    """
    # Imported here because the audit, the pipelines and the readers are slow to import.
    from fonds.audit.repair.cleanup import recover
    from fonds.wiring.pipelines import create_intake, create_threads
    from fonds.wiring.readers import open_readers

    check_limits()
    share_arenas()
    recover(stores)
    counts = _find_unfinished(stores, settings.pipeline)
    result = RunResult(counts, frozenset(counts.input_ids))
    readers = open_readers(app.home / SPOOL, settings)
    threads = create_threads(stores, readers, settings)
    intake = create_intake(stores, settings, threads.is_stopping)
    processes = _create_processes(app, settings, lock)
    with _stop_on_signals(threads.request_stop) as interrupt_event:
        try:
            threads.start()
            is_visible = not (app.is_json or app.is_quiet)
            with ProgressBar(
                stores.records, counts, settings.pipeline, is_visible=is_visible
            ) as progress:
                ticks = partial(_refresh_progress, progress, processes, threads)
                _enter_in_thread(threads, lambda: feed(intake, counts), ticks)
                result.pending_count = threads.drain(delayed_wait_s, ticks)
                result.newer_steps = sorted(threads.newer_messages.describe_waits())
        finally:
            result.is_complete = _stop_work(processes, threads, readers, stores)
    if (failure := threads.get_failure()) is not None:
        raise failure
    result.later_read_count = intake.end_failures(counts)
    result.is_interrupted, result.process_count = interrupt_event.is_set(), 1 + processes.started
    return result


def run_and_report(
    app: App,
    settings: Settings,
    stores: Stores,
    lock: HomeLock,
    feed: Callable[[Intake, IntakeCounts], None],
    empty_message: str = "Nothing found: these paths contain no files.",
    delayed_wait_s: float = DELAYED_WAIT_S,
    retry_result: RetryResult | None = None,
    urls: Sequence[str] = (),
) -> int:
    """Run the pipeline as `run_to_end` does, print a summary and close the stores.

    Return the exit code: 0 for success, 1 if something was quarantined or is unfinished, 130 if
    interrupted.

    - `feed`: function that reads inputs and enters their contents through the intake.
    - `empty_message`: printed if there was nothing to do.
    - `retry_result`: failures that are retried; the summary then covers only these failures.
    - `urls`: URLs that the user named. If given, only the next attempts of these URLs are shown.
    """
    # Imported here because the stores are slow to import.
    from fonds.wiring.stores import close_stores

    started_s = time.monotonic()
    result = run_to_end(app, settings, stores, lock, feed, delayed_wait_s)
    counts = result.intake_counts
    if retry_result is None:
        tally = count_entries(stores.records, sorted(counts.input_ids), settings.pipeline)
    else:
        ids = (counts.input_ids - result.unfinished_input_ids).union(retry_result.inputs)
        tally = count_given_entries(stores.records, retry_result.entries)
        tally = add_tallies(tally, count_entries(stores.records, sorted(ids), settings.pipeline))
    retries = _find_retries(stores.records, settings.pipeline, urls) if result.pending_count else []
    seconds = time.monotonic() - started_s
    if app.is_json:
        answer = build_answer(
            RunAnswer,
            tally,
            seconds=round(seconds, 3),
            known=counts.known_count,
            processes=result.process_count,
            read_later=result.later_read_count,
            still_failing=len(counts.still_failing),
            retries=retries,
        )
        echo_json(
            answer
            if retry_result is None
            else build_answer(RetriedAnswer, answer, retried=retry_result.count)
        )
    else:
        end_state = (result.pending_count, result.is_interrupted, empty_message)
        count = None if retry_result is None else retry_result.count
        print_summary(app, open_console(), tally, counts, seconds, *end_state, retried_count=count)
        print_retries(open_console(), retries)
        report_read_later(result.later_read_count)
    if result.pending_count and result.newer_steps:
        _report_newer_messages(result.newer_steps)
    if not result.is_complete:
        exit_immediately()
    if not result.is_interrupted:
        _collect(stores, settings)
    close_stores(stores)
    if result.is_interrupted:
        return EXIT_INTERRUPTED
    return int(bool(tally.quarantined or result.pending_count))


def _report_newer_messages(steps: Sequence[str]) -> None:
    print_note(
        f"Messages of {', '.join(steps)} were made by a newer version of Fonds. They wait for a "
        "worker of that version: upgrade Fonds here, or run the newer version elsewhere."
    )


def report_read_later(count: int) -> None:
    """Print the number of earlier failures that ended because an input could be read this time."""
    if count == 1:
        print_note("1 failure ended: a later read succeeded.")
    elif count:
        print_note(f"{count:,} failures ended: a later read succeeded.")


def _find_retries(records: Records, pipeline: str, urls: Sequence[str]) -> list[Retry]:
    """Return at most 10 messages of a pipeline that wait for their next attempt, to be shown to the
    user.

    - `urls`: only messages about these URLs are returned. If empty, the messages that are due first
      are returned.
    """
    if urls:
        return list_link_retries(records, pipeline, urls[:RETRIES_MAX])
    return list_next_retries(records, pipeline, RETRIES_MAX)


def _collect(stores: Stores, settings: Settings) -> None:
    """Add new documents to the collections whose rules (stored queries) they match.

    Print how many documents were added to collections and removed from them.
    """
    # Imported here because the collections are slow to import.
    from fonds.wiring.collections import collect_rules

    counts = collect_rules(stores, settings)
    if counts is not None and (counts.put_count or counts.removed_count):
        print_note(
            f"Collections: {pluralize(counts.put_count, 'document')} added, {counts.removed_count:,} removed."
        )


def exit_immediately() -> None:
    """End the process although a thread is still reading a file.

    The messages of that thread are delivered again at the next start.
    """
    sys.stdout.flush()
    os._exit(EXIT_INTERRUPTED)


def run_intake_only(
    app: App,
    settings: Settings,
    stores: Stores,
    lock: HomeLock,
    feed: Callable[[Intake, IntakeCounts], None],
) -> int:
    """Read inputs and put their contents on the queue for workers elsewhere, without processing
    them.

    - `feed`: function that reads the inputs and enters their contents through the intake.

    Prints how many records entered. Returns the exit code: 0, or 130 if interrupted. The stores are
    closed.
    """
    # Imported here because the audit, the pipelines and the stores are slow to import.
    from fonds.audit.repair.cleanup import raise_if_emptied
    from fonds.wiring.pipelines import create_intake
    from fonds.wiring.stores import close_stores

    raise_if_emptied(stores)
    stop_event, counts = threading.Event(), IntakeCounts()
    intake = create_intake(stores, settings, stop_event.is_set)
    with _stop_on_signals(stop_event.set) as interrupt_event:
        feed(intake, counts)
    read_later = intake.end_failures(counts)
    close_stores(stores)
    if app.is_json:
        answer = EnteredAnswer(
            counts.entries, len(counts.input_ids), counts.known_count, read_later
        )
        echo_json(answer)
    else:
        report_read_later(read_later)
        open_console().print(
            f"{pluralize(counts.entries, 'record')} entered from "
            f"{pluralize(len(counts.input_ids), 'input')} "
            f"({pluralize(counts.known_count, 'record was', 'records were')} already "
            f"known). `{app.format_command('status')}` shows the progress."
        )
    return EXIT_INTERRUPTED if interrupt_event.is_set() else 0


def _refresh_progress(
    progress: ProgressBar, processes: WorkerProcesses, threads: WorkerThreads
) -> None:
    processes.start_if_needed(threads)
    progress.tick()


def _stop_work(
    processes: WorkerProcesses, threads: WorkerThreads, readers: Readers, stores: Stores
) -> bool:
    """Stop all worker processes and threads.

    Return False if a thread is still reading a file, else True. If True, the parsers and the
    archive are closed too.
    """
    processes.stop()
    is_complete = threads.stop()
    if is_complete:
        readers.close()
        stores.archive.finish()
    return is_complete


def _create_processes(app: App, settings: Settings, lock: HomeLock) -> WorkerProcesses:
    """Return the object that starts helper processes for a run. It has started none yet.

    The CPU cores are divided among the helper processes, for the child processes in which they
    parse files.
    """
    # Imported here because the readers and the stores are slow to import.
    from fonds.wiring.flavours import list_concurrent_stages
    from fonds.wiring.readers import count_cores

    count = settings.work.workers or count_cores()
    stages = list_concurrent_stages(settings)
    worker_settings = settings.replace_values(
        work_children=max(1, (settings.work.children or count_cores()) // count)
    )
    return WorkerProcesses(app.home, worker_settings, stages, lock, count - 1 if stages else 0)


def _find_unfinished(stores: Stores, pipeline: str) -> IntakeCounts:
    """Return intake counts with the ids of the inputs that an earlier run of this pipeline did not
    complete.

    These are the inputs that have pending entries.
    """
    condition = {"outcome": "pending", "pipeline": pipeline}
    pending_counts = stores.records.count(EntryRow, ("input_id",), condition)
    return IntakeCounts(input_ids={input_id for (input_id,) in pending_counts})


def _enter_in_thread(
    threads: WorkerThreads, enter: Callable[[], None], tick: Callable[[], None]
) -> None:
    """Call `enter`, which enters inputs into the pipeline, in a separate thread. Meanwhile, call
    `tick` ten times a second.

    So signals and progress are handled promptly. An error in that thread ends the work of
    `threads`. Returns when the thread has ended, or about 10 seconds after the work is stopped.
    """

    def run() -> None:
        try:
            enter()
        except BaseException as error:  # noqa: BLE001 (told to the thread that waits)
            threads.fail(error)

    intake_thread = threading.Thread(target=run, name="intake", daemon=True)
    intake_thread.start()
    while intake_thread.is_alive() and not threads.is_stopping():
        intake_thread.join(0.1)
        tick()
    intake_thread.join(LEAVE_OFF_S)


@contextmanager
def _stop_on_signals(request_stop: Callable[[], None]) -> Iterator[threading.Event]:
    """Context manager that calls `request_stop` on SIGINT or SIGTERM. Yields an event that is then
    set.

    A second signal ends the process at once.
    """
    interrupt_event = threading.Event()

    def stop(number: signal.Signals) -> None:
        if interrupt_event.is_set():
            os._exit(EXIT_INTERRUPTED)
        interrupt_event.set()
        request_stop()

    with handle_stop_signals(stop):
        yield interrupt_event
