"""Rebuilds that were asked for: a cell of the collection says so until one began afterwards and is served.

What is asked for outlives who asked and who was to do it: it is done by whoever looks next.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.clustering import (
    build_column,
    building_column,
    group_by_configuration,
    list_stored_clusterings,
    served_column,
)
from fonds.grouping.configuration import get
from fonds.grouping.names import CollectionName
from fonds.grouping.tables import (
    COLLECTIONS,
    Cells,
    Tables,
    decode_int,
    decode_text,
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

REQUESTED = "wanted"
QUEUED, BUILDING, DONE, FAILED = "queued", "building", "done", "failed"
RECHECK_S = 2.0
"""So long what another process builds, or a store that is away, is left alone."""


@dataclass(frozen=True, slots=True)
class RebuildRequest:
    """What became of the last request to build a collection by a configuration.

    `requested_at`: the time of the request; a clustering of that time or later answers it. `state`:
    `queued`, `building_column`, `done` or `failed`. While it is built: the `stage`, and `done` documents
    of `total`, 0 where that is not known. `served_column`: the clustering that is served, None while
    there is none. `error`: why it failed, else ''."""

    name: CollectionName
    conf: str
    requested_at: int
    state: str
    stage: str
    done: int
    total: int
    rebuilt: int | None
    error: str


def request_rebuild(changes: CollectionWriter, name: CollectionName, conf: str) -> int:
    """Ask for a rebuild of what the collection has now; the time of the request.

    Asked again before one began, it is the same request. Raises ValueError for a configuration there is
    not, ConfigurationError for a collection there is not.
    """
    get(changes.tables, name.namespace, conf)
    with changes.lease(name) as held:
        cells = held.cells
        if not is_collection_row(cells):
            raise ConfigurationError(f"there is no collection {name}")
        begun = max(
            (
                one.timestamp
                for one in list_stored_clusterings(changes.tables, name)
                if one.conf == conf
            ),
            default=0,
        )
        before = decode_int(cells, _request_column(conf))
        if before > begun and _find_failure(cells, conf, before) is None:
            return before
        wanted = max(changes.clock(), begun + 1)
        changes.leases.check(held.lease)
        asked = {_request_column(conf): encode_utf8(wanted), _failure_column(conf): b"{}"}
        changes.tables.put(COLLECTIONS, [(name.row, asked)])
    return wanted


def find_request(
    tables: Tables, leases: Leases, name: CollectionName, conf: str
) -> RebuildRequest | None:
    """What became of the last request; None where there was none."""
    cells = tables.get_row(COLLECTIONS, name.row, ["main:"]) or {}
    wanted = decode_int(cells, _request_column(conf), -1)
    if wanted < 0 or not is_collection_row(cells):
        return None
    serving = decode_int(cells, served_column(conf), -1)
    told = RebuildRequest(
        name, conf, wanted, QUEUED, "", 0, 0, None if serving < 0 else serving, ""
    )
    error = _find_failure(cells, conf, wanted)
    if serving >= wanted:
        return replace(told, state=DONE)
    if error is not None:
        return replace(told, state=FAILED, error=error)
    if decode_int(cells, building_column(conf), -1) >= wanted:
        for one in rebuilds(tables, leases, name):
            if one.conf == conf and one.who is not None:
                return replace(
                    told, state=BUILDING, stage=one.stage, done=one.done, total=one.total
                )
    return told


def list_requested_confs(tables: Tables, name: CollectionName) -> list[str]:
    """The configurations a collection was ever asked to be built by."""
    return list(
        group_by_configuration(tables.get_row(COLLECTIONS, name.row, ["main:"]) or {}, REQUESTED)
    )


def iter_pending_requests(tables: Tables) -> Iterator[tuple[CollectionName, str]]:
    """What was asked for, of all collections, and neither is served nor has failed; streamed."""
    for name, cells in iter_collection_rows(tables):
        for conf, wanted in group_by_configuration(cells, REQUESTED).items():
            is_done = decode_int(cells, served_column(conf), -1) >= wanted
            if not is_done and _find_failure(cells, conf, wanted) is None:
                yield name, conf


def run_request(
    changes: CollectionWriter,
    name: CollectionName,
    conf: str,
    *,
    threads: int | None = None,
    progress: ProgressCallback = lambda stage, done, total: None,
) -> bool:
    """Build what was asked for; False where another process builds it, or a store does not answer: then it
    is still asked for. Whatever else goes wrong is what the request failed by."""
    from fonds.grouping.rebuild.rebuild import rebuild

    wanted = decode_int(
        changes.tables.get_row(COLLECTIONS, name.row, [_request_column(conf)]),
        _request_column(conf),
    )
    try:
        rebuild(changes, name, conf, threads=threads, progress=progress)
    except (LeaseConflictError, TransientError):
        return False
    except (FondsError, ValueError, ArithmeticError, MemoryError) as error:
        told = encode_json({"wanted": wanted, "error": str(error) or type(error).__name__})
        with changes.lease(name) as held:
            if is_collection_row(held.cells):
                changes.leases.check(held.lease)
                changes.tables.put(COLLECTIONS, [(name.row, {_failure_column(conf): told})])
    return True


class _StoppedError(TransientError):
    """The service ends: the rebuild under way is left, and its rows are removed by the next one."""


@dataclass(slots=True)
class Runs:
    """Builds what was asked for, whoever asked. `threads`: how many the arithmetic may use."""

    changes: CollectionWriter
    threads: int | None = None
    _wake: threading.Event = field(default_factory=threading.Event)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None

    def look(self) -> None:
        """Something was asked for: begin, unless it is being worked on."""
        with self._guard:
            self._wake.set()
            if self._stopped.is_set() or (self._thread and self._thread.is_alive()):
                return
            self._thread = threading.Thread(target=self._work, name="runs", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Leave off; what is not done is done by whoever looks next. Waits for the thread."""
        self._stopped.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Also what was asked for before is built, while the context lasts."""
        self.look()
        try:
            yield
        finally:
            self.close()

    def _work(self) -> None:
        while not self._stopped.is_set():
            self._wake.clear()
            if self._all_done():
                self._wake.wait()
            else:
                self._stopped.wait(RECHECK_S)

    def _all_done(self) -> bool:
        """Build what waits; whether nothing does any more."""
        try:
            wanted = list(iter_pending_requests(self.changes.tables))
            for name, conf in wanted:
                self._fulfil(name, conf)
        except ConfigurationError:  # there are no tables, so nobody asked
            return True
        except FondsError:
            return False
        return not wanted

    def _fulfil(self, name: CollectionName, conf: str) -> None:
        if not self._stopped.is_set():
            run_request(self.changes, name, conf, threads=self.threads, progress=self._check)

    def _check(self, stage: str, done: int, total: int) -> None:
        if self._stopped.is_set():
            raise _StoppedError(f"left off at {stage}, {done} of {total}")


def _request_column(conf: str) -> str:
    return build_column(conf, REQUESTED)


def _failure_column(conf: str) -> str:
    return build_column(conf, "failed")


def _find_failure(cells: Cells, conf: str, requested_at: int) -> str | None:
    """Why the request of this time failed; None where it did not."""
    told = msgspec.json.decode(decode_text(cells, _failure_column(conf), "{}"))
    return str(told["error"]) if told.get("wanted") == requested_at else None
