"""Which process asks a domain, and what was learned of its pace: rows, so that both outlive any process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fonds.crawl.frontier import Frontier
from fonds.crawl.pace import Pace
from fonds.model.rows import PaceRow
from fonds.ports import Records

LEASE_S = 60.0
ELSEWHERE_S = 20.0
"""After how long a link comes again whose domain another process asks."""
HOSTS_MAX = 200
"""Of a domain so many hosts' paces are written down, those that must wait longest."""
SEEN_MAX = 20_000


@dataclass(slots=True)
class _Held:
    beats: int
    used_s: float
    written_s: float


class DomainClaims:
    """A domain is asked by one process at a time: by whoever has its row, until it lets go or was not seen to
    write the row for a minute. For one thread.

    `who` names this process; `is_gone(who)` says of another's name whether it is known to have ended.
    """

    def __init__(
        self,
        records: Records,
        frontier: Frontier,
        who: str,
        clock: Callable[[], datetime],
        is_gone: Callable[[str], bool] = lambda who: False,
        lease_s: float = LEASE_S,
    ) -> None:
        self._records = records
        self._frontier = frontier
        self._who = who
        self._clock = clock
        self._is_gone = is_gone
        self._lease_s = lease_s
        self._held: dict[str, _Held] = {}
        self._seen: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def hold(self, domain: str, now_s: float) -> float:
        """0.0 when the domain is this process's to ask; else after how many seconds to look again."""
        held = self._held.get(domain)
        if held is not None:
            held.used_s = now_s
            return 0.0
        fresh = PaceRow(domain, self._who, 0, {}, self._clock())
        row = next(iter(self._records.get(PaceRow, [domain])), None)
        if row is None:
            self._records.put([fresh], replace=False)
            row = next(iter(self._records.get(PaceRow, [domain])), fresh)
        if row.claimed_by != self._who:
            if not self._is_free(row, now_s) or not self._write(row, self._who, row.paces):
                return ELSEWHERE_S
            row = PaceRow(domain, self._who, row.beats + 1, row.paces, row.updated)
        self._held[domain] = _Held(row.beats, now_s, now_s)
        self._seen.pop(domain, None)
        self._recall(row, now_s)
        return 0.0

    def renew(self, now_s: float) -> None:
        """Write down what is held, now and then; what nobody needed for a while is let go of."""
        for domain, held in list(self._held.items()):
            if now_s - held.written_s < self._lease_s / 3:
                continue
            is_idle = now_s - held.used_s > self._lease_s and not self._frontier.needs(domain)
            self._note(domain, held, None if is_idle else self._who)
            held.written_s = now_s
            if is_idle:
                self._held.pop(domain, None)

    def release_all(self, now_s: float) -> None:
        """Write down everything, and let go of it."""
        for domain, held in list(self._held.items()):
            self._note(domain, held, None)
            self._held.pop(domain, None)

    def _note(self, domain: str, held: _Held, claimed_by: str | None) -> None:
        before = PaceRow(domain, self._who, held.beats, {}, self._clock())
        if self._write(before, claimed_by, _told(self._frontier.paces(domain))):
            held.beats += 1
        else:
            # Somebody took it for abandoned; what waits here for it is asked for anew.
            self._held.pop(domain, None)

    def _write(self, before: PaceRow, claimed_by: str | None, paces: Mapping[str, Any]) -> bool:
        """Change the row if it is as it was."""
        values = {
            "claimed_by": claimed_by,
            "beats": before.beats + 1,
            "paces": dict(paces),
            "updated": self._clock(),
        }
        still = {"beats": before.beats, "claimed_by": before.claimed_by}
        return bool(self._records.change(PaceRow, [before.domain], values, still))

    def _is_free(self, row: PaceRow, now_s: float) -> bool:
        """Whether nobody has the domain: nobody's name stands there, or that of one who has ended."""
        if row.claimed_by is None or self._is_gone(row.claimed_by):
            return True
        beats, since_s = self._seen.get(row.domain, (-1, now_s))
        if beats != row.beats:
            self._seen[row.domain] = (row.beats, now_s)
            self._seen.move_to_end(row.domain)
            while len(self._seen) > SEEN_MAX:
                self._seen.popitem(last=False)
            return False
        return now_s - since_s >= self._lease_s

    def _recall(self, row: PaceRow, now_s: float) -> None:
        """The frontier learns what the row knows, unless it knows of a longer wait itself."""
        for host, told in row.paces.items():
            try:
                next_at_s, slowdown, average_s, floor_s, failures = map(float, told)
            except (TypeError, ValueError):
                continue
            pace = self._frontier.recall(row.domain, host, now_s)
            longest_s = now_s + pace.rules.gap_longest_s * 24
            pace.next_at_s = max(pace.next_at_s, min(next_at_s, longest_s))
            pace.slowdown = max(pace.slowdown, slowdown)
            pace.average_s = max(pace.average_s, average_s)
            pace.floor_s = max(pace.floor_s, floor_s)
            pace.failures = max(pace.failures, int(failures))


def _told(paces: Mapping[str, Pace]) -> dict[str, list[float]]:
    """By host, "" for the domain: when it may be asked next, slowdown, average, floor and failures."""
    ordered = sorted(paces.items(), key=lambda one: (one[0] != "", -one[1].next_at_s))
    return {
        name: [
            round(pace.next_at_s, 3),
            round(pace.slowdown, 3),
            round(pace.average_s, 3),
            pace.floor_s,
            float(pace.failures),
        ]
        for name, pace in ordered[:HOSTS_MAX]
    }
