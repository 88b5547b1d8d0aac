"""Requests for rebuilds, stored in cells of the collection's row.

A request stays pending until a clustering built after it is served, or its rebuild fails. It
survives the process that made it and the process that was to run it: the next worker picks it up.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.clustering import (
    build_column,
    building_column,
    group_by_configuration,
    list_stored_clusterings,
    served_column,
)
from fonds.grouping.columns import MAIN_FAMILY
from fonds.grouping.configuration import get
from fonds.grouping.names import CollectionName
from fonds.grouping.tables import (
    COLLECTIONS,
    Cells,
    Tables,
    decode_cell,
    decode_int,
    encode_json,
    encode_utf8,
    is_collection_row,
    iter_collection_rows,
)
from fonds.grouping.views.clusterings import list_progress as rebuilds
from fonds.leases.lease import LeaseConflictError
from fonds.leases.leases import Leases
from fonds.model.errors import ConfigurationError, FondsError, TransientError

if TYPE_CHECKING:
    from fonds.grouping.rebuild.rebuild import ProgressCallback

REQUESTED = "requested_at"


@dataclass(frozen=True, slots=True)
class RebuildFailure:
    """Failure of a rebuild request, as a cell of the collection's row stores it.

    `requested_at`: time of the failed request, in seconds since 1970; None if no request failed.
    `error`: error message.
    """

    requested_at: int | None = None
    error: str = ""


QUEUED, BUILDING, DONE, FAILED = "queued", "building", "done", "failed"
RECHECK_S = 2.0
"""Delay before another attempt to run requests, in seconds.

A request is tried again if another process is building or a store was unavailable.
"""


@dataclass(frozen=True, slots=True)
class RebuildRequest:
    """Status of the last request to rebuild a collection by a configuration.

    `requested_at`: time of the request, in seconds since 1970. A clustering of that time or later
        answers the request.
    `state`: `queued`, `building`, `done` or `failed`.
    `stage`, `done`, `total`: stage and documents done while it is being built; a `total` of 0 is
        unknown.
    `rebuilt`: timestamp of the served clustering; None if there is none.
    `error`: why the rebuild failed; '' if it did not.
    """

    name: CollectionName
    conf: str
    requested_at: int
    state: str
    stage: str
    done: int
    total: int
    rebuilt: int | None
    error: str


def request_rebuild(writer: CollectionWriter, name: CollectionName, conf: str) -> int:
    """Request a rebuild of a collection's current contents by a configuration.

    Return the time of the request, in seconds since 1970. While a request is pending and its
    rebuild has not begun, another one returns the time of the first.
    Raises ValueError for an unknown configuration. Raises ConfigurationError for an unknown
    collection.
    """
    get(writer.tables, name.namespace, conf)
    with writer.lease(name) as collection:
        cells = collection.cells
        if not is_collection_row(cells):
            raise ConfigurationError(f"no collection named {name}")
        last_timestamp = max(
            (
                clustering.timestamp
                for clustering in list_stored_clusterings(writer.tables, name)
                if clustering.conf == conf
            ),
            default=0,
        )
        previous_request = decode_int(cells, _request_column(conf))
        if (
            previous_request > last_timestamp
            and _find_failure(cells, conf, previous_request) is None
        ):
            return previous_request
        requested_at = max(writer.clock(), last_timestamp + 1)
        writer.leases.check(collection.lease)
        request_cells = {
            _request_column(conf): encode_utf8(requested_at),
            _failure_column(conf): b"{}",
        }
        writer.tables.put(COLLECTIONS, [(name.row, request_cells)])
    return requested_at


def find_request(
    tables: Tables, leases: Leases, name: CollectionName, conf: str
) -> RebuildRequest | None:
    """Return the status of the last request to rebuild a collection by a configuration.

    Return None if no rebuild was ever requested, or the collection does not exist.
    """
    cells = tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY]) or {}
    requested_at = decode_int(cells, _request_column(conf), -1)
    if requested_at < 0 or not is_collection_row(cells):
        return None
    served_timestamp = decode_int(cells, served_column(conf), -1)
    request = RebuildRequest(
        name,
        conf,
        requested_at,
        QUEUED,
        "",
        0,
        0,
        None if served_timestamp < 0 else served_timestamp,
        "",
    )
    error = _find_failure(cells, conf, requested_at)
    if served_timestamp >= requested_at:
        return replace(request, state=DONE)
    if error is not None:
        return replace(request, state=FAILED, error=error)
    if decode_int(cells, building_column(conf), -1) >= requested_at:
        for progress in rebuilds(tables, leases, name):
            if progress.conf == conf and progress.who is not None:
                return replace(
                    request,
                    state=BUILDING,
                    stage=progress.stage,
                    done=progress.done,
                    total=progress.total,
                )
    return request


def list_requested_confs(tables: Tables, name: CollectionName) -> list[str]:
    """Return the names of the configurations by which a collection's rebuild was ever requested."""
    return list(
        group_by_configuration(
            tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY]) or {}, REQUESTED
        )
    )


def iter_pending_requests(tables: Tables) -> Iterator[tuple[CollectionName, str]]:
    """Iterate over pending rebuild requests, as pairs of a collection and a configuration name.

    A request is pending until a clustering built after it is served, or its rebuild fails.
    """
    for name, cells in iter_collection_rows(tables):
        for conf, requested_at in group_by_configuration(cells, REQUESTED).items():
            is_done = decode_int(cells, served_column(conf), -1) >= requested_at
            if not is_done and _find_failure(cells, conf, requested_at) is None:
                yield name, conf


def run_request(
    writer: CollectionWriter,
    name: CollectionName,
    conf: str,
    *,
    threads: int | None = None,
    progress: ProgressCallback = lambda stage, done, total: None,
) -> bool:
    """Run the last rebuild request of a collection and configuration. Return whether it ended.

    An error of the rebuild is stored as the request's failure and not raised. Return False, and
    leave the request pending, if another process is rebuilding or a store is unavailable.
    `threads`: number of threads for the computation; None for one per core.
    `progress`: function that is called with the stage, the number of documents done, and the total.
    """
    from fonds.grouping.rebuild.rebuild import rebuild

    requested_at = decode_int(
        writer.tables.get_row(COLLECTIONS, name.row, [_request_column(conf)]),
        _request_column(conf),
    )
    try:
        rebuild(writer, name, conf, threads=threads, progress=progress)
    except (LeaseConflictError, TransientError):
        return False
    except (FondsError, ValueError, ArithmeticError, MemoryError) as error:
        failure = encode_json(RebuildFailure(requested_at, str(error) or type(error).__name__))
        with writer.lease(name) as collection:
            if is_collection_row(collection.cells):
                writer.leases.check(collection.lease)
                writer.tables.put(COLLECTIONS, [(name.row, {_failure_column(conf): failure})])
    return True


class _StoppedError(TransientError):
    """Raised in a rebuild to abandon it because the service is stopping.

    The next rebuild removes the rows that the abandoned rebuild wrote.
    """


@dataclass(slots=True)
class Runs:
    """Background worker that runs requested rebuilds, one at a time, in a thread.

    `threads`: number of threads for the computation; None for one per core.
    """

    writer: CollectionWriter
    threads: int | None = None
    _wake: threading.Event = field(default_factory=threading.Event)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None

    def wake(self) -> None:
        """Make the worker check for rebuild requests now.

        The worker's thread is started if it is not running. After `close`, this does nothing.
        """
        with self._guard:
            self._wake.set()
            if self._stopped.is_set() or (self._thread and self._thread.is_alive()):
                return
            self._thread = threading.Thread(target=self._work, name="runs", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop the worker and wait for its thread; a rebuild in progress is abandoned.

        Pending requests are left to the next worker.
        """
        self._stopped.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    @contextmanager
    def run_in_background(self) -> Iterator[None]:
        """Return a context manager that runs rebuild requests in the background during its block.

        Requests that were pending before the block are run too.
        """
        self.wake()
        try:
            yield
        finally:
            self.close()

    def _work(self) -> None:
        while not self._stopped.is_set():
            self._wake.clear()
            if self._run_pending():
                self._wake.wait()
            else:
                self._stopped.wait(RECHECK_S)

    def _run_pending(self) -> bool:
        """Run the pending rebuild requests, one after another.

        Return True if no request was pending. Return False if any was tried or a store failed, so
        that the worker checks again soon.
        """
        try:
            pending = list(iter_pending_requests(self.writer.tables))
            for name, conf in pending:
                self._fulfil(name, conf)
        except ConfigurationError:  # there are no tables, so there are no requests
            return True
        except FondsError:
            return False
        return not pending

    def _fulfil(self, name: CollectionName, conf: str) -> None:
        if not self._stopped.is_set():
            run_request(self.writer, name, conf, threads=self.threads, progress=self._check)

    def _check(self, stage: str, done_count: int, total_count: int) -> None:
        if self._stopped.is_set():
            raise _StoppedError(f"interrupted at {stage}, {done_count} of {total_count}")


def _request_column(conf: str) -> str:
    return build_column(conf, REQUESTED)


def _failure_column(conf: str) -> str:
    return build_column(conf, "failed")


def _find_failure(cells: Cells, conf: str, requested_at: int) -> str | None:
    """Return the error of the rebuild request made at `requested_at`; None if it did not fail.

    `cells`: cells of the collection's row.
    """
    column = _failure_column(conf)
    failure: RebuildFailure = decode_cell(cells.get(column, b"{}"), column, RebuildFailure)
    return failure.error if failure.requested_at == requested_at else None
