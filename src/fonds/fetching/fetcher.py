"""Fetch web pages in one thread for all other threads of a process. Results are passed to
callbacks.
"""

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
"""Function that returns how many responses a caller has received but not stored yet."""


def count_none_unsaved() -> int:
    """Return 0. The default for callers that store each response before their callback returns."""
    return 0


class Fetcher:
    """Fetcher that sends the requests of several users (holders) in one thread.

    - `create_scheduler`: function that creates the scheduler of the thread.
    - `let_go`: function that is called after the last holder has closed the fetcher.

    The thread runs from the first request until the last holder calls `close`. Callbacks run in the
    thread and must not block.
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
        """Register one more user (holder), and return the fetcher itself. Each holder must call
        `close`.

        `count_unsaved` returns how many responses the holder has received but not stored yet. The
        more there are, the fewer requests are sent. This limits memory, and the number of responses
        lost in a crash, to twice the number of concurrent requests. The holder must call `wake`
        after it has stored responses.
        """
        with self._lock:
            self._unsaved_counters.append(count_unsaved)
        return self

    def submit(self, request: FetchRequest, callback: OutcomeCallback) -> None:
        """Submit a request. Its key must be unique among unfinished requests."""
        self.submit_all([(request, callback)])

    def submit_all(self, requests: Iterable[tuple[FetchRequest, OutcomeCallback]]) -> None:
        """Submit several requests with their callbacks.

        If the fetcher is closed, each callback receives an error.
        """
        with self._lock:
            self._submitted += requests
            is_held = bool(self._unsaved_counters)
            self._start_if_wanted()
        if not is_held:
            self._fail_all(_build_stopped_error())
        self.wake()

    def forget(self, keys: Iterable[str]) -> None:
        """Cancel the requests with these keys. Their callbacks are not called any more."""
        with self._lock:
            self._cancelled += keys
        self.wake()

    def get_loads(self) -> Sequence[HostLoad]:
        """Return the number of waiting requests and the delay of each host.

        The values were computed after the previous call, so call the method repeatedly. The first
        call returns no values.
        """
        self._reports_loads = True
        return self._loads

    def close(self, count_unsaved: UnsavedCounter = count_none_unsaved) -> None:
        """Unregister a user (holder). `count_unsaved` is the function that it registered with
        `retain`.

        If it was the last holder, the thread is stopped and active requests are cancelled.
        """
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
        """Wake the fetcher's thread, for example after responses were stored."""
        chains = self._chains
        if chains is not None:
            chains.wake()

    def _work(self) -> None:
        chains = self._chains = self._make()
        try:
            while not self._closing:
                self._take_submitted(chains)
                try:
                    finished_requests = chains.collect_finished(WAIT_S, self._count_unsaved())
                except TransientError as error:
                    logger.warning("cannot fetch until the records are available: %s", error)
                    threading.Event().wait(AWAY_S)
                    continue
                for key, outcome in finished_requests:
                    callback = self._callbacks.pop(key, None)
                    if callback is not None:
                        callback(outcome)
                if self._reports_loads:
                    self._reports_loads, self._loads = False, chains.list_loads()
            self._fail_all(_build_stopped_error())
        except Exception as error:
            logger.exception("fetching failed with an error and restarts")
            self._fail_all(error)
        finally:
            self._chains = None
            try:
                chains.close()
            finally:
                with self._lock:
                    self._thread = None
                    # Requests that were submitted while callbacks ran need a new thread.
                    self._start_if_wanted()

    def _start_if_wanted(self) -> None:
        if self._submitted and self._unsaved_counters and self._thread is None:
            self._closing = False
            self._thread = threading.Thread(target=self._work, name="asker", daemon=True)
            self._thread.start()

    def _count_unsaved(self) -> int:
        with self._lock:
            return sum(count_unsaved() for count_unsaved in self._unsaved_counters)

    def _fail_all(self, error: Exception) -> None:
        """Pass an error to the callbacks of all unfinished requests."""
        with self._lock:
            submitted_requests, self._submitted = self._submitted, []
        for callback in [
            *self._callbacks.values(),
            *(callback for _, callback in submitted_requests),
        ]:
            callback(error)
        self._callbacks.clear()

    def _take_submitted(self, chains: FetchScheduler) -> None:
        with self._lock:
            submitted_requests, self._submitted = self._submitted, []
            cancelled_keys, self._cancelled = self._cancelled, []
        self._callbacks |= {request.key: callback for request, callback in submitted_requests}
        chains.begin(request for request, _ in submitted_requests)
        if cancelled_keys:
            chains.forget(cancelled_keys)
            for key in cancelled_keys:
                self._callbacks.pop(key, None)


def _build_stopped_error() -> PostponedError:
    return PostponedError("the fetcher is stopping", 0.0)
