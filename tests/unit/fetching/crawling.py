"""A virtual web for the frontier. Time is a number, and every request is logged."""

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
    """Finishes requests on a virtual clock.

    `answer(request, nth)` returns the outcome of the n-th request of a host; `log` has times and
    requests.
    """

    frontier: Frontier
    answer: Callable[[QueuedRequest, int], RequestOutcome]
    active_max: int = 64
    now_s: float = 0.0
    log: list[tuple[float, QueuedRequest]] = field(default_factory=list)
    returned: list[tuple[float, QueuedRequest]] = field(default_factory=list)
    active: list[tuple[float, int, QueuedRequest, RequestOutcome]] = field(default_factory=list)
    names_max_seen: int = 0
    _counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def run(self, until_s: float) -> None:
        """Advance the clock to `until_s` and process everything that is due."""
        while True:
            self._process_due()
            times = [self.frontier.get_wake_at_s()] if self._has_room() else []
            times += [self.active[0][0]] if self.active else []
            soonest = min((at_s for at_s in times if at_s is not None), default=until_s)
            if soonest > until_s or not any(at_s is not None for at_s in times):
                self.now_s = max(self.now_s, until_s)
                self._process_due()
                return
            self.now_s = max(self.now_s, soonest)

    def _has_room(self) -> bool:
        return len(self.active) < self.active_max

    def _process_due(self) -> None:
        while self.active and self.active[0][0] <= self.now_s:
            _, _, request, answer = heappop(self.active)
            self.frontier.finish(request.key, answer, self.now_s)
        for request in self.frontier.start(self.now_s, self.active_max - len(self.active)):
            self.log.append((self.now_s, request))
            self._counts[request.host] += 1
            answer = self.answer(request, self._counts[request.host])
            heappush(self.active, (self.now_s + answer.took_s, len(self.log), request, answer))
        self.returned += [
            (self.now_s + after_s, request)
            for request, after_s in self.frontier.take_late(self.now_s)
        ]
        self.names_max_seen = max(self.names_max_seen, self.frontier.remembered_count)

    def list_times(self, name: Callable[[QueuedRequest], str]) -> dict[str, list[float]]:
        """Return the times of the requests by name, in order."""
        times = defaultdict(list)
        for at_s, request in self.log:
            times[name(request)].append(at_s)
        return dict(times)


def compute_gaps(times: list[float]) -> list[float]:
    """Return the seconds between consecutive times."""
    return [after - before for before, after in pairwise(times)]
