"""The thread that builds what was asked for, one rebuild after the other, while the service is there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fonds.collections.changing.writing import Changes
from fonds.collections.names import Name
from fonds.collections.requests import fulfil, waiting
from fonds.model.errors import ConfigurationError, FondsError, TransientError

LOOK_AGAIN_S = 2.0
"""So long what another process builds, or a store that is away, is left alone."""


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
