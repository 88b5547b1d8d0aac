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

from fonds.collections.changing.writing import Changes
from fonds.collections.claims import Claims, TakenError
from fonds.collections.clusterings import building, by_configuration, column, known, rebuilt
from fonds.collections.configurations import get
from fonds.collections.names import Name
from fonds.collections.reading.clusterings import progress as rebuilds
from fonds.collections.tables import (
    COLLECTIONS,
    Cells,
    Tables,
    collections_there,
    is_there,
    number,
    text,
    to_json,
    utf8,
)
from fonds.model.errors import ConfigurationError, FondsError, TransientError

if TYPE_CHECKING:
    from fonds.collections.building.rebuilding import Progress

WANTED = "wanted"
QUEUED, BUILDING, DONE, FAILED = "queued", "building", "done", "failed"
LOOK_AGAIN_S = 2.0
"""So long what another process builds, or a store that is away, is left alone."""


@dataclass(frozen=True, slots=True)
class Requested:
    """What became of the last request to build a collection by a configuration.

    `wanted`: the time of the request; a clustering of that time or later answers it. `state`: `queued`,
    `building`, `done` or `failed`. While it is built: the `stage`, and `done` documents of `total`, 0 where
    that is not known. `rebuilt`: the clustering that is served, None while there is none. `error`: why it
    failed, else ''.
    """

    name: Name
    conf: str
    wanted: int
    state: str
    stage: str
    done: int
    total: int
    rebuilt: int | None
    error: str


def request(changes: Changes, name: Name, conf: str) -> int:
    """Ask for a rebuild of what the collection has now; the time of the request.

    Asked again before one began, it is the same request. Raises ValueError for a configuration there is
    not, ConfigurationError for a collection there is not.
    """
    get(changes.tables, name.namespace, conf)
    with changes.held(name) as held:
        cells = held.cells
        if not is_there(cells):
            raise ConfigurationError(f"there is no collection {name}")
        begun = max(
            (one.timestamp for one in known(changes.tables, name) if one.conf == conf), default=0
        )
        before = number(cells, _wanted(conf))
        if before > begun and _failure(cells, conf, before) is None:
            return before
        wanted = max(changes.now(), begun + 1)
        changes.claims.check(held.claim)
        asked = {_wanted(conf): utf8(wanted), _failed(conf): b"{}"}
        changes.tables.put(COLLECTIONS, [(name.row, asked)])
    return wanted


def requested(tables: Tables, claims: Claims, name: Name, conf: str) -> Requested | None:
    """What became of the last request; None where there was none."""
    cells = tables.row(COLLECTIONS, name.row, ["main:"]) or {}
    wanted = number(cells, _wanted(conf), -1)
    if wanted < 0 or not is_there(cells):
        return None
    serving = number(cells, rebuilt(conf), -1)
    told = Requested(name, conf, wanted, QUEUED, "", 0, 0, None if serving < 0 else serving, "")
    error = _failure(cells, conf, wanted)
    if serving >= wanted:
        return replace(told, state=DONE)
    if error is not None:
        return replace(told, state=FAILED, error=error)
    if number(cells, building(conf), -1) >= wanted:
        for one in rebuilds(tables, claims, name):
            if one.conf == conf and one.who is not None:
                return replace(
                    told, state=BUILDING, stage=one.stage, done=one.done, total=one.total
                )
    return told


def confs_requested(tables: Tables, name: Name) -> list[str]:
    """The configurations a collection was ever asked to be built by."""
    return list(by_configuration(tables.row(COLLECTIONS, name.row, ["main:"]) or {}, WANTED))


def waiting(tables: Tables) -> Iterator[tuple[Name, str]]:
    """What was asked for, of all collections, and neither is served nor has failed; streamed."""
    for name, cells in collections_there(tables):
        for conf, wanted in by_configuration(cells, WANTED).items():
            is_done = number(cells, rebuilt(conf), -1) >= wanted
            if not is_done and _failure(cells, conf, wanted) is None:
                yield name, conf


def fulfil(
    changes: Changes,
    name: Name,
    conf: str,
    *,
    threads: int | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> bool:
    """Build what was asked for; False where another process builds it, or a store does not answer: then it
    is still asked for. Whatever else goes wrong is what the request failed by."""
    from fonds.collections.building.rebuilding import rebuild

    wanted = number(changes.tables.row(COLLECTIONS, name.row, [_wanted(conf)]), _wanted(conf))
    try:
        rebuild(changes, name, conf, threads=threads, progress=progress)
    except (TakenError, TransientError):
        return False
    except (FondsError, ValueError, ArithmeticError, MemoryError) as error:
        told = to_json({"wanted": wanted, "error": str(error) or type(error).__name__})
        with changes.held(name) as held:
            if is_there(held.cells):
                changes.claims.check(held.claim)
                changes.tables.put(COLLECTIONS, [(name.row, {_failed(conf): told})])
    return True


class _StoppedError(TransientError):
    """The service ends: the rebuild under way is left, and its rows are removed by the next one."""


@dataclass(slots=True)
class Runs:
    """Builds what was asked for, whoever asked. `threads`: how many the arithmetic may use."""

    changes: Changes
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
                self._stopped.wait(LOOK_AGAIN_S)

    def _all_done(self) -> bool:
        """Build what waits; whether nothing does any more."""
        try:
            wanted = list(waiting(self.changes.tables))
            for name, conf in wanted:
                self._fulfil(name, conf)
        except ConfigurationError:  # there are no tables, so nobody asked
            return True
        except FondsError:
            return False
        return not wanted

    def _fulfil(self, name: Name, conf: str) -> None:
        if not self._stopped.is_set():
            fulfil(self.changes, name, conf, threads=self.threads, progress=self._check)

    def _check(self, stage: str, done: int, total: int) -> None:
        if self._stopped.is_set():
            raise _StoppedError(f"left off at {stage}, {done} of {total}")


def _wanted(conf: str) -> str:
    return column(conf, WANTED)


def _failed(conf: str) -> str:
    return column(conf, "failed")


def _failure(cells: Cells, conf: str, wanted: int) -> str | None:
    """Why the request of this time failed; None where it did not."""
    told = msgspec.json.decode(text(cells, _failed(conf), "{}"))
    return str(told["error"]) if told.get("wanted") == wanted else None
