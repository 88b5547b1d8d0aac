"""Asks the web for all of one process: whoever wants something says so from any thread, and is told."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence

from fonds.crawl.hosts import HostLoad
from fonds.fetching.chain import End, Wanted
from fonds.fetching.chains import Chains
from fonds.model.errors import PostponedError, TransientError

WAIT_S = 1.0
AWAY_S = 1.0
STOP_MAX_S = 30.0

logger = logging.getLogger(__name__)

Told = Callable[[End], None]
Unkept = Callable[[], int]
"""How many answers that were told are not kept yet by who asked for them."""


def none_unkept() -> int:
    """Of who keeps what it is told at once."""
    return 0


class Asker:
    """One thread works chains, made when the first thing is wanted, as long as anybody holds this; `let_go`
    is called when the last one has closed it.

    What is told to `told` is told in that thread, which must not be kept waiting.
    """

    def __init__(
        self, make: Callable[[], Chains], let_go: Callable[[], object] = lambda: None
    ) -> None:
        self._make = make
        self._let_go = let_go
        self._lock = threading.Lock()
        self._wanted: list[tuple[Wanted, Told]] = []
        self._unwanted: list[str] = []
        self._told: dict[str, Told] = {}
        self._chains: Chains | None = None
        self._thread: threading.Thread | None = None
        self._holders: list[Unkept] = []
        self._closing = False
        self._is_watched = False
        self._loads: Sequence[HostLoad] = ()

    def held(self, unkept: Unkept = none_unkept) -> Asker:
        """Itself, held once more: each who holds it closes it.

        While answers wait to be kept, fewer are asked for: what a process that dies loses, and what it has in
        memory, is bounded by twice as many as are under way at once. Who has kept some calls `wake`.
        """
        with self._lock:
            self._holders.append(unkept)
        return self

    def ask(self, wanted: Wanted, told: Told) -> None:
        """Ask for something; its key is no other's that is under way."""
        self.ask_all([(wanted, told)])

    def ask_all(self, some: Iterable[tuple[Wanted, Told]]) -> None:
        """Ask for several things; where nobody holds this any more, each is told so."""
        with self._lock:
            self._wanted += some
            is_held = bool(self._holders)
            self._start_if_wanted()
        if not is_held:
            self._tell_all(_stopped())
        self.wake()

    def forget(self, keys: Iterable[str]) -> None:
        """Nobody is told of these any more."""
        with self._lock:
            self._unwanted += keys
        self.wake()

    def loads(self) -> Sequence[HostLoad]:
        """What waited for each host when somebody asked last; whoever wants to know asks again and again."""
        self._is_watched = True
        return self._loads

    def close(self, unkept: Unkept = none_unkept) -> None:
        """Let go of it, as it was held; the last one ends the thread, and gives up what is under way."""
        with self._lock:
            if unkept in self._holders:
                self._holders.remove(unkept)
            is_last = not self._holders
            thread = self._thread if is_last else None
            self._closing = is_last
        if thread is not None:
            self.wake()
            thread.join(STOP_MAX_S)
        if is_last:
            self._let_go()

    def wake(self) -> None:
        """There may be more to do than a moment ago."""
        chains = self._chains
        if chains is not None:
            chains.wake()

    def _work(self) -> None:
        chains = self._chains = self._make()
        try:
            while not self._closing:
                self._take(chains)
                try:
                    ended = chains.ended(WAIT_S, self._unkept())
                except TransientError as error:
                    logger.warning("fetching waits for the records: %s", error)
                    threading.Event().wait(AWAY_S)
                    continue
                for key, end in ended:
                    told = self._told.pop(key, None)
                    if told is not None:
                        told(end)
                if self._is_watched:
                    self._is_watched, self._loads = False, chains.loads()
            self._tell_all(_stopped())
        except Exception as error:
            logger.exception("fetching ended with an error; it begins anew")
            self._tell_all(error)
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
        if self._wanted and self._holders and self._thread is None:
            self._closing = False
            self._thread = threading.Thread(target=self._work, name="asker", daemon=True)
            self._thread.start()

    def _unkept(self) -> int:
        with self._lock:
            return sum(unkept() for unkept in self._holders)

    def _tell_all(self, error: Exception) -> None:
        """All that is wanted ends so."""
        with self._lock:
            wanted, self._wanted = self._wanted, []
        for told in [*self._told.values(), *(told for _, told in wanted)]:
            told(error)
        self._told.clear()

    def _take(self, chains: Chains) -> None:
        with self._lock:
            wanted, self._wanted = self._wanted, []
            unwanted, self._unwanted = self._unwanted, []
        self._told |= {one.key: told for one, told in wanted}
        chains.begin(one for one, _ in wanted)
        if unwanted:
            chains.forget(unwanted)
            for key in unwanted:
                self._told.pop(key, None)


def _stopped() -> PostponedError:
    return PostponedError("whoever asks the web is being stopped", 0.0)
