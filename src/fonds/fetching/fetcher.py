"""Asks the web for all of one process: whoever wants something says so from any thread, and is told."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence

from fonds.fetching.pace import HostLoad
from fonds.fetching.redirect_chain import FetchOutcome, FetchRequest
from fonds.fetching.scheduler import FetchScheduler
from fonds.model.errors import PostponedError, TransientError

WAIT_S = 1.0
AWAY_S = 1.0
STOP_MAX_S = 30.0

logger = logging.getLogger(__name__)

OutcomeCallback = Callable[[FetchOutcome], None]
UnsavedCounter = Callable[[], int]
"""How many answers that were told are not kept yet by who asked for them."""


def count_none_unsaved() -> int:
    """Of who keeps what it is told at once."""
    return 0


class Fetcher:
    """One thread works chains, made when the first thing is wanted, as long as anybody holds this; `let_go`
    is called when the last one has closed it.

    What is told to `told` is told in that thread, which must not be kept waiting.
    """

    def __init__(
        self,
        create_scheduler: Callable[[], FetchScheduler],
        let_go: Callable[[], object] = lambda: None,
    ) -> None:
        self._make = create_scheduler
        self._on_close = let_go
        self._lock = threading.Lock()
        self._submitted: list[tuple[FetchRequest, OutcomeCallback]] = []
        self._cancelled: list[str] = []
        self._callbacks: dict[str, OutcomeCallback] = {}
        self._chains: FetchScheduler | None = None
        self._thread: threading.Thread | None = None
        self._unsaved_counters: list[UnsavedCounter] = []
        self._closing = False
        self._reports_loads = False
        self._loads: Sequence[HostLoad] = ()

    def retain(self, count_unsaved: UnsavedCounter = count_none_unsaved) -> Fetcher:
        """Itself, held once more: each who holds it closes it.

        While answers wait to be kept, fewer are asked for: what a process that dies loses, and what it has in
        memory, is bounded by twice as many as are under way at once. Who has kept some calls `wake`.
        """
        with self._lock:
            self._unsaved_counters.append(count_unsaved)
        return self

    def submit(self, request: FetchRequest, callback: OutcomeCallback) -> None:
        """Ask for something; its key is no other's that is under way."""
        self.submit_all([(request, callback)])

    def submit_all(self, requests: Iterable[tuple[FetchRequest, OutcomeCallback]]) -> None:
        """Ask for several things; where nobody holds this any more, each is told so."""
        with self._lock:
            self._submitted += requests
            is_held = bool(self._unsaved_counters)
            self._start_if_wanted()
        if not is_held:
            self._fail_all(_build_stopped_error())
        self.wake()

    def forget(self, keys: Iterable[str]) -> None:
        """Nobody is told of these any more."""
        with self._lock:
            self._cancelled += keys
        self.wake()

    def get_loads(self) -> Sequence[HostLoad]:
        """What waited for each host when somebody asked last; whoever wants to know asks again and again."""
        self._reports_loads = True
        return self._loads

    def close(self, count_unsaved: UnsavedCounter = count_none_unsaved) -> None:
        """Let go of it, as it was held; the last one ends the thread, and gives up what is under way."""
        with self._lock:
            if count_unsaved in self._unsaved_counters:
                self._unsaved_counters.remove(count_unsaved)
            is_last = not self._unsaved_counters
            thread = self._thread if is_last else None
            self._closing = is_last
        if thread is not None:
            self.wake()
            thread.join(STOP_MAX_S)
        if is_last:
            self._on_close()

    def wake(self) -> None:
        """There may be more to do than a moment ago."""
        chains = self._chains
        if chains is not None:
            chains.wake()

    def _work(self) -> None:
        chains = self._chains = self._make()
        try:
            while not self._closing:
                self._take_submitted(chains)
                try:
                    ended = chains.collect_finished(WAIT_S, self._count_unsaved())
                except TransientError as error:
                    logger.warning("fetching waits for the records: %s", error)
                    threading.Event().wait(AWAY_S)
                    continue
                for key, end in ended:
                    told = self._callbacks.pop(key, None)
                    if told is not None:
                        told(end)
                if self._reports_loads:
                    self._reports_loads, self._loads = False, chains.list_loads()
            self._fail_all(_build_stopped_error())
        except Exception as error:
            logger.exception("fetching ended with an error; it begins anew")
            self._fail_all(error)
        finally:
            self._chains = None
            try:
                chains.close()
            finally:
                with self._lock:
                    self._thread = None
                    # What was wanted while all were told is nobody else's to begin.
                    self._start_if_wanted()

    def _start_if_wanted(self) -> None:
        if self._submitted and self._unsaved_counters and self._thread is None:
            self._closing = False
            self._thread = threading.Thread(target=self._work, name="asker", daemon=True)
            self._thread.start()

    def _count_unsaved(self) -> int:
        with self._lock:
            return sum(unkept() for unkept in self._unsaved_counters)

    def _fail_all(self, error: Exception) -> None:
        """All that is wanted ends so."""
        with self._lock:
            wanted, self._submitted = self._submitted, []
        for told in [*self._callbacks.values(), *(told for _, told in wanted)]:
            told(error)
        self._callbacks.clear()

    def _take_submitted(self, chains: FetchScheduler) -> None:
        with self._lock:
            wanted, self._submitted = self._submitted, []
            unwanted, self._cancelled = self._cancelled, []
        self._callbacks |= {one.key: told for one, told in wanted}
        chains.begin(one for one, _ in wanted)
        if unwanted:
            chains.forget(unwanted)
            for key in unwanted:
                self._callbacks.pop(key, None)


def _build_stopped_error() -> PostponedError:
    return PostponedError("whoever asks the web is being stopped", 0.0)
