"""A virtual web for the frontier: time is a number, and every request is written down."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise

from fonds.fetching.frontier import Frontier
from fonds.fetching.pace import QueuedRequest, RequestOutcome


@dataclass
class VirtualWeb:
    """Works turns off; `answer(turn, nth)` says how a host answers, `log` who was asked when."""

    frontier: Frontier
    answer: Callable[[QueuedRequest, int], RequestOutcome]
    at_once: int = 64
    now_s: float = 0.0
    log: list[tuple[float, QueuedRequest]] = field(default_factory=list)
    sent_back: list[tuple[float, QueuedRequest]] = field(default_factory=list)
    under_way: list[tuple[float, int, QueuedRequest, RequestOutcome]] = field(default_factory=list)
    names_seen: int = 0
    _asked: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def run(self, until_s: float) -> None:
        """Let time pass, and whatever may happen by then."""
        while True:
            self._turn()
            moments = [self.frontier.get_wake_at_s()] if self._has_room() else []
            moments += [self.under_way[0][0]] if self.under_way else []
            soonest = min((moment for moment in moments if moment is not None), default=until_s)
            if soonest > until_s or not any(moment is not None for moment in moments):
                self.now_s = max(self.now_s, until_s)
                self._turn()
                return
            self.now_s = max(self.now_s, soonest)

    def _has_room(self) -> bool:
        return len(self.under_way) < self.at_once

    def _turn(self) -> None:
        while self.under_way and self.under_way[0][0] <= self.now_s:
            _, _, turn, answer = heappop(self.under_way)
            self.frontier.finish(turn.key, answer, self.now_s)
        for turn in self.frontier.start(self.now_s, self.at_once - len(self.under_way)):
            self.log.append((self.now_s, turn))
            self._asked[turn.host] += 1
            answer = self.answer(turn, self._asked[turn.host])
            heappush(self.under_way, (self.now_s + answer.took_s, len(self.log), turn, answer))
        self.sent_back += [
            (self.now_s + after_s, turn) for turn, after_s in self.frontier.take_late(self.now_s)
        ]
        self.names_seen = max(self.names_seen, self.frontier.remembered_count)

    def moments(self, name: Callable[[QueuedRequest], str]) -> dict[str, list[float]]:
        """When each name was asked, in order."""
        found = defaultdict(list)
        for at_s, turn in self.log:
            found[name(turn)].append(at_s)
        return dict(found)


def gaps(moments: list[float]) -> list[float]:
    """Seconds between each moment and the one before."""
    return [after - before for before, after in pairwise(moments)]
