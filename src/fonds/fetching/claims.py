"""Which process asks a domain, and what was learned of its pace: rows, so that both outlive any process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from fonds.crawl.frontier import Frontier
from fonds.crawl.pace import Pace
from fonds.model.rows import PaceRow
from fonds.ports import Records

LEASE_S = 60.0
ELSEWHERE_S = 20.0
"""After how long a link comes again whose domain another process asks."""
WANTED_S = 10.0
"""After how long a poll comes again whose domain another process was asked to give away."""
GIVING_S = 1.0
"""How often it is looked whether a domain that is given away, or was held for a poll, is needed still."""
HOSTS_MAX = 200
"""Of a domain so many hosts' paces are written down, those that must wait longest."""
SEEN_MAX = 20_000


@dataclass(slots=True)
class _Held:
    """`due_s`: when its row is written next; `gives_s`: until when it is given to somebody who polls a
    source of the domain; `passing`: held for one poll; `looked_up`: links whose hosts are being looked up,
    and which nobody else knows of.
    """

    beats: int
    used_s: float
    due_s: float
    gives_s: float = 0.0
    passing: bool = False
    looked_up: int = 0


class DomainClaims:
    """A domain is asked by one process at a time: by whoever has its row, until it lets go or was not seen to
    write the row for a minute. For one thread.

    Whoever polls a source says in the row that it wants the domain, and who has it gives it away for a
    moment: links of a site may keep a process busy for days.

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
        self._due_s = 0.0
        self._seen: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def hold(
        self, domains: Collection[str], now_s: float, urgent: Collection[str] = ()
    ) -> dict[str, float]:
        """For each domain 0.0 when it is this process's to ask; else after how many seconds to look again.

        Of those that are `urgent` whoever has them is told.
        """
        for domain in domains:
            # Polls alone do not keep a domain whose links another process has.
            if (held := self._held.get(domain)) is not None and domain not in urgent:
                held.used_s, held.passing = now_s, False
        wanted = [domain for domain in domains if domain not in self._held]
        rows = self._rows(wanted)
        waits = {domain: self._given_s(domain, now_s) for domain in domains}
        for domain in wanted:
            is_urgent = domain in urgent
            if not self._take(rows[domain], now_s, is_urgent):
                waits[domain] = WANTED_S if is_urgent else ELSEWHERE_S
                if is_urgent:
                    self._want(rows[domain])
        return waits

    def holds(self, domain: str) -> bool:
        """Whether a domain is this process's to ask; it may have been given away since `hold` was asked."""
        return domain in self._held

    def look_up(self, domain: str, more: int) -> None:
        """So many more links of a domain are looked up now, or fewer: until then it is not let go of."""
        if (held := self._held.get(domain)) is not None:
            held.looked_up = max(0, held.looked_up + more)

    def write_soon(self, domain: str) -> None:
        """What was learned of a domain matters to whoever asks it next, whatever happens to this process."""
        if (held := self._held.get(domain)) is not None:
            held.due_s = self._due_s = 0.0

    def renew(self, now_s: float) -> None:
        """Write down what is held, now and then; what nobody needed for a while is let go of."""
        if now_s < self._due_s:
            return
        due = [domain for domain, held in self._held.items() if now_s >= held.due_s]
        if due:
            idle = {domain for domain in due if self._is_idle(domain, now_s)}
            self._note(due, idle, now_s)
        self._due_s = min(
            (held.due_s for held in self._held.values()), default=now_s + self._lease_s / 3
        )

    def release_all(self, now_s: float) -> None:
        """Write down everything, and let go of it."""
        held = list(self._held)
        self._note(held, set(held), now_s)

    def _rows(self, domains: Sequence[str]) -> dict[str, PaceRow]:
        """The rows of these, made where there were none."""
        if not domains:
            return {}
        rows = {row.domain: row for row in self._records.get(PaceRow, domains)}
        unknown = [domain for domain in domains if domain not in rows]
        if unknown:
            now = self._clock()
            fresh = [PaceRow(domain, self._who, 0, {}, now) for domain in unknown]
            self._records.put(fresh, replace=False)
            rows |= {row.domain: row for row in self._records.get(PaceRow, unknown)}
        return rows

    def _given_s(self, domain: str, now_s: float) -> float:
        """After how long links of a domain come again that is being given to somebody; else 0.0."""
        held = self._held.get(domain)
        return ELSEWHERE_S if held is not None and held.gives_s > now_s else 0.0

    def _is_idle(self, domain: str, now_s: float) -> bool:
        held = self._held[domain]
        is_unused = held.passing or held.gives_s > now_s or now_s - held.used_s > self._lease_s
        return is_unused and not held.looked_up and not self._frontier.needs(domain)

    def _want(self, row: PaceRow) -> None:
        """Say that this process wants a domain somebody has, unless another said so just now."""
        if self._is_wanted(row):
            return
        values = {"wanted_by": self._who, "wanted_at": self._clock()}
        self._records.change(PaceRow, [row.domain], values, {"wanted_by": row.wanted_by})

    def _is_wanted(self, row: PaceRow) -> bool:
        """Whether another than this process said lately that it wants a domain."""
        if row.wanted_by in (None, self._who) or row.wanted_at is None:
            return False
        return abs((self._clock() - row.wanted_at).total_seconds()) < self._lease_s

    def _take(self, row: PaceRow, now_s: float, passing: bool) -> bool:
        """Make a row this process's own, if it is nobody's and nobody else waits for it."""
        beats = row.beats
        if row.claimed_by != self._who:
            values: dict[str, object] = {
                "claimed_by": self._who,
                "beats": beats + 1,
                "updated": self._clock(),
            }
            if row.wanted_by == self._who:
                values |= {"wanted_by": None, "wanted_at": None}
            still = {"beats": beats, "claimed_by": row.claimed_by}
            if not self._is_free(row, now_s) or (not passing and self._is_wanted(row)):
                return False
            if not self._records.change(PaceRow, [row.domain], values, still):
                return False
            beats += 1
        due_s = now_s + (0.0 if passing else self._lease_s / 3)
        self._held[row.domain] = _Held(beats, now_s, due_s, passing=passing)
        self._due_s = min(self._due_s, due_s)
        self._seen.pop(row.domain, None)
        self._recall(row, now_s)
        if row.claimed_by not in (None, self._who):
            # Whoever had it may have asked just before it died, and told nobody.
            self._frontier.pause(row.domain, now_s)
        return True

    def _note(self, domains: Sequence[str], released: Collection[str], now_s: float) -> None:
        """Write the rows of domains, all at once; one that somebody took for abandoned is held no more, and
        who waits for it here comes again.

        Whoever takes one between reading and writing saw it stand still for a whole lease before.
        """
        now, rows = self._clock(), []
        for row in self._records.get(PaceRow, domains):
            held = self._held[row.domain]
            if (row.claimed_by, row.beats) != (self._who, held.beats):
                continue
            held.beats, held.due_s = held.beats + 1, now_s + self._lease_s / 3
            if row.domain not in released and self._is_wanted(row) and held.gives_s <= now_s:
                held.gives_s, held.due_s = now_s + self._lease_s, now_s + GIVING_S
                self._frontier.send_back(row.domain, ELSEWHERE_S)
            elif held.passing or held.gives_s > now_s:
                held.due_s = now_s + GIVING_S
            who = None if row.domain in released else self._who
            paces = _told(self._frontier.paces(row.domain))
            wanted = (row.wanted_by, row.wanted_at)
            rows.append(PaceRow(row.domain, who, held.beats, paces, now, *wanted))
        if rows:
            self._records.put(rows)
        kept = {row.domain for row in rows} - set(released)
        for domain in set(domains) - kept:
            self._held.pop(domain, None)
            self._frontier.send_back(domain, ELSEWHERE_S)

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
