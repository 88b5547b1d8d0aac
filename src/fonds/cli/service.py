"""Run pipeline workers as a service until a signal, with JSON logs, metrics and health checks."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from pythonjsonlogger.json import JsonFormatter
from rich.console import Console

from fonds.cli.context import SPOOL, App, open_console
from fonds.cli.live_view import LiveView, VerdictCounts
from fonds.cli.output import hide_secrets, log_above
from fonds.cli.process import check_limits, handle_stop_signals, share_arenas
from fonds.config import Settings
from fonds.fetching.pace import HostLoad
from fonds.model.disposition import Verdict
from fonds.model.rows import DispositionRow
from fonds.pipelines.flavours.stages import LINKS
from fonds.pipelines.runtime.loops import Observer
from fonds.pipelines.runtime.metrics import Metrics, MetricsServer
from fonds.pipelines.runtime.worker_threads import WorkerThreads
from fonds.ports import Stores
from fonds.stores.home_lock import HomeLock, create_home

if TYPE_CHECKING:
    from fonds.wiring.readers import Readers

logger = logging.getLogger("fonds.worker")

CHECK_EVERY_S = 60.0
DETAIL_LOGGED_CHARS = 300
FIELDS = "%(levelname)s %(name)s %(threadName)s %(message)s"


def log_as_json() -> None:
    """Log to standard error from INFO on, as one JSON object per line with times in UTC.

    Passwords are hidden.
    """
    handler = logging.StreamHandler(sys.stderr)
    names = {"levelname": "level", "name": "logger", "threadName": "thread"}
    handler.setFormatter(JsonFormatter(FIELDS, rename_fields=names, timestamp="time"))
    handler.addFilter(hide_secrets)
    root = logging.getLogger()
    root.handlers = [handler]
    logging.getLogger("fonds").setLevel(logging.INFO)


def _observe_batch(
    observers: Sequence[Observer], step: str, rows: Sequence[DispositionRow], seconds: float
) -> None:
    """Report a processed batch of messages: call each observer with it, and log each message.

    Messages that are done are logged at DEBUG, all others at INFO.
    """
    for observe in observers:
        observe(step, rows, seconds)
    for row in rows:
        is_done = row.verdict == Verdict.DONE
        logger.log(
            logging.DEBUG if is_done else logging.INFO,
            row.verdict,
            extra={
                "message_id": row.message_id,
                "entry_id": row.entry_id,
                "step": step,
                "reason": row.reason,
                "detail": row.detail[:DETAIL_LOGGED_CHARS],
                "about": row.about,
            },
        )


def serve(
    app: App,
    settings: Settings,
    *,
    stages: Collection[str] | None,
    threads: int | None,
    is_shared: bool,
) -> int:
    """Run a pipeline, or some of its steps, until SIGTERM or SIGINT. Return the exit code, 0.

    - `stages`: names of the steps to run; None for the whole pipeline.
    - `threads`: number of threads; None for the default.
    - `is_shared`: whether other processes may work on the library at the same time.

    Waits for stores that are unavailable or full. On a stop signal, the threads finish their
    current messages. Messages that take longer than a few seconds are requeued. Raises the error
    that made the work end.
    """
    # Imported here because the audit, the pipelines, the readers and the stores are slow to import.
    from fonds.audit.repair.cleanup import recover
    from fonds.wiring.flavours import list_readers
    from fonds.wiring.pipelines import create_threads
    from fonds.wiring.readers import open_readers
    from fonds.wiring.stores import close_stores

    check_limits()
    share_arenas()
    screen = _open_screen(app)
    create_home(app.home)
    with HomeLock(app.home, is_shared=is_shared):
        stores = app.open_stores(settings, create=True)
        recover(stores)
        readers = open_readers(app.home / SPOOL, settings)
        metrics, counts = Metrics(), VerdictCounts()
        metrics.watch(stores.queue, list_readers(settings))
        worker_threads = create_threads(
            stores,
            readers,
            settings,
            stages=stages,
            threads=threads,
            patient=True,
            observe=partial(_observe_batch, (metrics.observe, counts.observe)),
        )
        recurring = _run_recurring(app, settings, stores, readers, stages)
        view = (
            _open_view(screen, counts, stores, settings, worker_threads)
            if screen
            else nullcontext()
        )
        with _serve_metrics(settings, metrics, worker_threads), recurring, view:
            has_ended = _run(worker_threads)
        if has_ended:
            readers.close()
            stores.archive.finish()
        close_stores(stores)
        logger.info("stopped", extra={"finished": has_ended})
        _raise_failure(worker_threads, has_ended)
    return 0


def _open_screen(app: App) -> Console | None:
    """Return the terminal for the live view; None without a terminal, or with --json or --quiet.

    With a terminal, warnings are printed above the live view. Otherwise JSON lines are logged.
    """
    screen = open_console(stderr=True)
    if screen.is_terminal and not (app.is_json or app.is_quiet):
        log_above(screen)
        return screen
    log_as_json()
    return None


def _open_view(
    screen: Console,
    counts: VerdictCounts,
    stores: Stores,
    settings: Settings,
    threads: WorkerThreads,
) -> LiveView:
    """Return the live view of the running pipeline for the terminal."""
    # Imported here because the fetcher and the stores are slow to import.
    from fonds.wiring.flavours import get_configured_pipeline
    from fonds.wiring.links import get_fetcher

    def hosts() -> Sequence[HostLoad]:
        return get_fetcher(stores.records, settings).get_loads()

    takes_links = get_configured_pipeline(settings).entry == LINKS
    return LiveView(
        screen,
        counts,
        stores.queue,
        stores.records,
        [(loop.stage.name, loop.subscription) for loop in threads.stages],
        settings.pipeline if takes_links else "",
        hosts if takes_links else tuple,
        threads.get_waits,
    )


def _raise_failure(threads: WorkerThreads, has_ended: bool) -> None:
    """Raise the error that made the worker threads end, if there is one.

    Otherwise, if a thread is still reading a file, end the process. The messages of that thread
    were requeued.
    """
    if (failure := threads.get_failure()) is not None:
        raise failure
    if not has_ended:
        os._exit(0)


@contextmanager
def _run_recurring(
    app: App,
    settings: Settings,
    stores: Stores,
    readers: Readers,
    stages: Collection[str] | None,
) -> Iterator[None]:
    """Context manager that runs the recurring jobs of this process in the background.

    - `stages`: names of the steps that this process runs; None for the whole pipeline.

    A process that runs the whole pipeline also runs the timetable and the updates of collections. A
    process with the first step of a pipeline that begins with links also polls the pipeline's
    sources.
    """
    # Imported here because the stores and the timetable are slow to import.
    from fonds.wiring.flavours import get_configured_pipeline
    from fonds.wiring.timetable import create_runner

    pipeline = get_configured_pipeline(settings)
    entry_stages = [stage.name for stage in pipeline.stages if stage.reads == pipeline.entry]
    with ExitStack() as stack:
        if stages is None:
            # Imported here because the collections are slow to import.
            from fonds.wiring.collections import run_recurring as collections_recurring

            stack.enter_context(create_runner(stores, app.home / SPOOL, settings.audit.days))
            stack.enter_context(collections_recurring(stores, settings))
        if pipeline.entry == LINKS and (stages is None or set(stages) & set(entry_stages)):
            # Imported here because the poller is slow to import.
            from fonds.wiring.following import poll_sources

            stack.enter_context(poll_sources(stores, readers.pool, settings))
        yield


def _run(threads: WorkerThreads) -> bool:
    """Run the worker threads until a stop signal, or until they cannot continue.

    Return whether all threads have ended.
    """

    def stop(number: signal.Signals) -> None:
        logger.info("stop requested", extra={"signal": number.name})
        threads.request_stop()

    with handle_stop_signals(stop):
        threads.start()
        logger.info("at work", extra={"steps": [loop.stage.name for loop in threads.stages]})
        while not threads.wait(CHECK_EVERY_S):
            pass
        return threads.stop()


@contextmanager
def _serve_metrics(settings: Settings, metrics: Metrics, threads: WorkerThreads) -> Iterator[None]:
    """Context manager that serves `/metrics` and `/healthz` if a port is configured."""
    if not settings.web.metrics_port:
        yield
        return
    server = MetricsServer(
        settings.web.host, settings.web.metrics_port, metrics, threads.get_troubles
    )
    try:
        yield
    finally:
        server.close()
