"""Does what the timetable says, in a thread, while something else goes on in the process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from types import TracebackType

from fonds.model.errors import FondsError, StoreUnavailableError
from fonds.timetable.claims import Claim, Timetable

RENEWALS = 3
"""So many times in a lease a claim is renewed."""

LEAVE_OFF_S = 5.0
FINISH_AGAIN_S = 2.0

logger = logging.getLogger("fonds.timetable")

Action = Callable[[], str]
"""What a task does; the value says in a few words what came of it, '' when there is nothing to say."""


class Runner:
    """Runs `actions` by the names of the timetable's tasks, one after the other.

        with Runner(timetable, actions):
            ...

    A context manager; `stop` may be called from any thread. What an action raises is kept as the task's
    error, and the task comes again. A store that is away is waited for.
    """

    def __init__(self, timetable: Timetable, actions: Mapping[str, Action]) -> None:
        """Raises ValueError when a task has no action."""
        missing = sorted(timetable.tasks.keys() - actions.keys())
        if missing:
            raise ValueError(f"nothing is to be done for the task {missing[0]!r}")
        self._timetable = timetable
        self._actions = actions
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="timetable", daemon=True)

    def __enter__(self) -> Runner:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Begin nothing more; what is being done is left to itself after a few seconds, and done again."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(LEAVE_OFF_S)

    def turn(self) -> list[str]:
        """Do what is due now and nobody else's; the names of what was done. Raises what the stores raise."""
        done = []
        for name in self._timetable.due():
            if self._stopping.is_set():
                break
            claim = self._timetable.claim(name)
            if claim is not None:
                self._do(claim)
                done.append(name)
        return done

    def _do(self, claim: Claim) -> None:
        name, held = claim.task.name, _Held(self._timetable, claim)
        with held:
            error = self._act(name)
        while True:
            try:
                if not held.finish(error):
                    logger.warning("another process took the task %s over meanwhile", name)
                return
            except StoreUnavailableError as away:
                logger.warning("how the task %s ended cannot be noted now: %s", name, away)
                if self._stopping.wait(FINISH_AGAIN_S):
                    raise

    def _act(self, name: str) -> str | None:
        try:
            told = self._actions[name]()
        except Exception as error:
            logger.warning("the task %s failed: %s", name, error, exc_info=_is_fault(error))
            return f"{type(error).__name__}: {error}"
        logger.info("did %s", name, extra={"task": name, "told": told})
        return None

    def _run(self) -> None:
        entered = False
        while not self._stopping.is_set():
            pause_s = self._timetable.lease_s / RENEWALS
            try:
                if not entered:
                    self._timetable.enter()
                    entered = True
                self.turn()
                pause_s = min(pause_s, max(1.0, self._timetable.next_s()))
            except FondsError as error:
                logger.warning("the timetable waits: %s", error)
            self._stopping.wait(pause_s)


class _Held:
    """A claim that is renewed in a thread while the context lasts."""

    def __init__(self, timetable: Timetable, claim: Claim) -> None:
        self._timetable = timetable
        self._claim: Claim | None = claim
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="claim", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def finish(self, error: str | None) -> bool:
        """After the context: note how it ended, unless the claim was lost."""
        return self._claim is not None and self._timetable.finish(self._claim, error)

    def _renew(self) -> None:
        while self._claim is not None and not self._ended.wait(self._timetable.lease_s / RENEWALS):
            try:
                self._claim = self._timetable.renew(self._claim)
            except FondsError as error:
                # Away for longer than a lease, the row is somebody else's when it is back.
                logger.warning("a claim cannot be renewed now: %s", error)


def _is_fault(error: Exception) -> bool:
    """Whether the log needs to say where it came from."""
    return not isinstance(error, FondsError)
