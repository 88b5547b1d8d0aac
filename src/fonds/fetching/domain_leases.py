"""Which process asks a domain, and what was learned of its pace: rows, so that both outlive any process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from fonds.fetching.frontier import Frontier
from fonds.fetching.pace import Pace
from fonds.model.rows import AddressUseRow, PaceRow
from fonds.ports import Records

LEASE_S = 60.0
ELSEWHERE_S = 20.0
"""After how long a link comes again whose domain another process asks."""
REQUEST_LASTS_S = 10.0
"""After how long a poll comes again whose domain another process was asked to give away."""
GIVING_S = 1.0
"""How often it is looked whether a domain that is given away, or was held for a poll, is needed still."""
HOSTS_MAX = 200
"""Of a domain so many hosts' paces are written down, those that must wait longest."""
OBSERVED_MAX = 20_000


@dataclass(slots=True)
class _HeldDomain:
    """`write_due_s`: when its row is written next; `given_until_s`: until when it is given to somebody
    who polls a source of the domain; `is_passing`: held for one poll; `lookup_count`: links whose hosts
    are being looked up, and which nobody else knows of."""

    beats: int
    used_s: float
    write_due_s: float
    given_until_s: float = 0.0
    is_passing: bool = False
    lookup_count: int = 0


class DomainLeases:
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
        holder_name: str,
        clock: Callable[[], datetime],
        is_process_gone: Callable[[str], bool] = lambda who: False,
        lease_s: float = LEASE_S,
    ) -> None:
        self._records = records
        self._frontier = frontier
        self._holder_name = holder_name
        self._clock = clock
        self._is_process_gone = is_process_gone
        self._lease_s = lease_s
        self._domains: dict[str, _HeldDomain] = {}
        self._due_s = 0.0
        self._observed: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def acquire(
        self, domains: Collection[str], now_s: float, urgent: Collection[str] = ()
    ) -> dict[str, float]:
        """For each domain 0.0 when it is this process's to ask; else after how many seconds to look again.

        Of those that are `urgent` whoever has them is told.
        """
        for domain in domains:
            # Polls alone do not keep a domain whose links another process has.
            if (held := self._domains.get(domain)) is not None and domain not in urgent:
                held.used_s, held.is_passing = now_s, False
        wanted = [domain for domain in domains if domain not in self._domains]
        rows = self._load_rows(wanted)
        waits = {domain: self._get_handover_s(domain, now_s) for domain in domains}
        for domain in wanted:
            is_urgent = domain in urgent
            if not self._acquire_row(rows[domain], now_s, is_urgent):
                waits[domain] = REQUEST_LASTS_S if is_urgent else ELSEWHERE_S
                if is_urgent:
                    self._request(rows[domain])
        return waits

    def is_held(self, domain: str) -> bool:
        """Whether a domain is this process's to ask; it may have been given away since `hold` was asked."""
        return domain in self._domains

    def count_lookups(self, domain: str, change: int) -> None:
        """So many more links of a domain are looked up now, or fewer: until then it is not let go of."""
        if (held := self._domains.get(domain)) is not None:
            held.lookup_count = max(0, held.lookup_count + change)

    def schedule_write(self, domain: str) -> None:
        """What was learned of a domain matters to whoever asks it next, whatever happens to this process."""
        if (held := self._domains.get(domain)) is not None:
            held.write_due_s = self._due_s = 0.0

    def renew(self, now_s: float) -> None:
        """Write down what is held, now and then; what nobody needed for a while is let go of."""
        if now_s < self._due_s:
            return
        due = [domain for domain, held in self._domains.items() if now_s >= held.write_due_s]
        if due:
            idle = {domain for domain in due if self._is_idle(domain, now_s)}
            self._write_rows(due, idle, now_s)
        self._due_s = min(
            (held.write_due_s for held in self._domains.values()), default=now_s + self._lease_s / 3
        )

    def release_all(self, now_s: float) -> None:
        """Write down everything, and let go of it."""
        held = list(self._domains)
        self._write_rows(held, set(held), now_s)

    def _load_rows(self, domains: Sequence[str]) -> dict[str, PaceRow]:
        """The rows of these, made where there were none."""
        if not domains:
            return {}
        rows = {row.domain: row for row in self._records.get(PaceRow, domains)}
        unknown = [domain for domain in domains if domain not in rows]
        if unknown:
            now = self._clock()
            fresh = [PaceRow(domain, self._holder_name, 0, {}, now) for domain in unknown]
            self._records.put(fresh, replace=False)
            rows |= {row.domain: row for row in self._records.get(PaceRow, unknown)}
        return rows

    def _get_handover_s(self, domain: str, now_s: float) -> float:
        """After how long links of a domain come again that is being given to somebody; else 0.0."""
        held = self._domains.get(domain)
        return ELSEWHERE_S if held is not None and held.given_until_s > now_s else 0.0

    def _is_idle(self, domain: str, now_s: float) -> bool:
        held = self._domains[domain]
        is_unused = (
            held.is_passing or held.given_until_s > now_s or now_s - held.used_s > self._lease_s
        )
        return is_unused and not held.lookup_count and not self._frontier.is_needed(domain)

    def _request(self, row: PaceRow) -> None:
        """Say that this process wants a domain somebody has, unless another said so just now."""
        if self._is_requested(row):
            return
        values = {"wanted_by": self._holder_name, "wanted_at": self._clock()}
        self._records.change(PaceRow, [row.domain], values, {"wanted_by": row.wanted_by})

    def _is_requested(self, row: PaceRow) -> bool:
        """Whether another than this process said lately that it wants a domain."""
        if row.wanted_by in (None, self._holder_name) or row.wanted_at is None:
            return False
        return abs((self._clock() - row.wanted_at).total_seconds()) < self._lease_s

    def _acquire_row(self, row: PaceRow, now_s: float, is_passing: bool) -> bool:
        """Make a row this process's own, if it is nobody's and nobody else waits for it."""
        beats = row.beats
        if row.claimed_by != self._holder_name:
            values: dict[str, object] = {
                "claimed_by": self._holder_name,
                "beats": beats + 1,
                "updated": self._clock(),
            }
            if row.wanted_by == self._holder_name:
                values |= {"wanted_by": None, "wanted_at": None}
            still = {"beats": beats, "claimed_by": row.claimed_by}
            if not self._is_free(row, now_s) or (not is_passing and self._is_requested(row)):
                return False
            if not self._records.change(PaceRow, [row.domain], values, still):
                return False
            beats += 1
        due_s = now_s + (0.0 if is_passing else self._lease_s / 3)
        self._domains[row.domain] = _HeldDomain(beats, now_s, due_s, is_passing=is_passing)
        self._due_s = min(self._due_s, due_s)
        self._observed.pop(row.domain, None)
        self._restore_pace(row, now_s)
        if row.claimed_by not in (None, self._holder_name):
            # Whoever had it may have asked just before it died, and told nobody.
            self._frontier.pause(row.domain, now_s)
        return True

    def _write_rows(
        self, domains: Sequence[str], released_domains: Collection[str], now_s: float
    ) -> None:
        """Write the rows of domains, all at once; one that somebody took for abandoned is held no more, and
        who waits for it here comes again.

        Whoever takes one between reading and writing saw it stand still for a whole lease before.
        """
        now, rows = self._clock(), []
        for row in self._records.get(PaceRow, domains):
            held = self._domains[row.domain]
            if (row.claimed_by, row.beats) != (self._holder_name, held.beats):
                continue
            held.beats, held.write_due_s = held.beats + 1, now_s + self._lease_s / 3
            if (
                row.domain not in released_domains
                and self._is_requested(row)
                and held.given_until_s <= now_s
            ):
                held.given_until_s, held.write_due_s = now_s + self._lease_s, now_s + GIVING_S
                self._frontier.return_domain(row.domain, ELSEWHERE_S)
            elif held.is_passing or held.given_until_s > now_s:
                held.write_due_s = now_s + GIVING_S
            who = None if row.domain in released_domains else self._holder_name
            paces = _encode_paces(self._frontier.get_paces(row.domain))
            wanted = (row.wanted_by, row.wanted_at)
            rows.append(PaceRow(row.domain, who, held.beats, paces, now, *wanted))
        if rows:
            self._records.put(rows)
        kept = {row.domain for row in rows} - set(released_domains)
        for domain in set(domains) - kept:
            self._domains.pop(domain, None)
            self._frontier.return_domain(domain, ELSEWHERE_S)

    def _is_free(self, row: PaceRow, now_s: float) -> bool:
        """Whether nobody has the domain: nobody's name stands there, or that of one who has ended."""
        if row.claimed_by is None or self._is_process_gone(row.claimed_by):
            return True
        beats, since_s = self._observed.get(row.domain, (-1, now_s))
        if beats != row.beats:
            self._observed[row.domain] = (row.beats, now_s)
            self._observed.move_to_end(row.domain)
            while len(self._observed) > OBSERVED_MAX:
                self._observed.popitem(last=False)
            return False
        return now_s - since_s >= self._lease_s

    def _restore_pace(self, row: PaceRow, now_s: float) -> None:
        """The frontier learns what the row knows, unless it knows of a longer wait itself."""
        for host, told in row.paces.items():
            try:
                next_at_s, slowdown, average_s, floor_s, failures = map(float, told)
            except (TypeError, ValueError):
                continue
            pace = self._frontier.recall(row.domain, host, now_s)
            longest_s = now_s + pace.rules.gap_max_s * 24
            pace.next_at_s = max(pace.next_at_s, min(next_at_s, longest_s))
            pace.slowdown = max(pace.slowdown, slowdown)
            pace.average_s = max(pace.average_s, average_s)
            pace.floor_s = max(pace.floor_s, floor_s)
            pace.failures = max(pace.failures, int(failures))


def _encode_paces(paces: Mapping[str, Pace]) -> dict[str, list[float]]:
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


# How many processes ask an IP address: rows, so that together they keep its pace.


"""Who has not said for so long that it asks an address does so no more."""
BATCH_SIZE = 200


class AddressShares:
    """Each process that asks an address says so before it does, and keeps a share of the pace: one of two
    leaves twice the gap. Those that were there before know it a third of a minute later. For one thread.
    """

    def __init__(
        self,
        records: Records,
        holder_name: str,
        clock: Callable[[], datetime],
        is_process_gone: Callable[[str], bool] = lambda who: False,
    ) -> None:
        self._records = records
        self._holder_name = holder_name
        self._clock = clock
        self._is_process_gone = is_process_gone
        self._used: dict[str, float] = {}
        self._due_s = 0.0

    def join(self, addresses: Iterable[str], now_s: float) -> dict[str, int]:
        """These are asked from now on; for those that were not before, by how many processes."""
        found = set(addresses)
        fresh = found - self._used.keys()
        told = self._write(fresh) if fresh else {}
        for address in found:
            self._used[address] = now_s
        return told

    def renew(self, now_s: float) -> dict[str, int]:
        """Say again, now and then, what is asked; by how many processes each is. What was not asked
        for a while is this one's no more."""
        if now_s < self._due_s:
            return {}
        self._due_s = now_s + LEASE_S / 3
        gone = [address for address, used_s in self._used.items() if now_s - used_s > LEASE_S]
        told = self._write(self._used.keys() - gone)
        self._leave(gone)
        return told

    def leave_all(self) -> None:
        """Nothing is asked any more."""
        self._leave(list(self._used))

    def _write(self, addresses: Collection[str]) -> dict[str, int]:
        now, told = self._clock(), dict.fromkeys(addresses, 1)
        self._records.put([AddressUseRow(address, self._holder_name, now) for address in addresses])
        ordered = sorted(addresses)
        for start in range(0, len(ordered), BATCH_SIZE):
            where = {"address": ordered[start : start + BATCH_SIZE]}
            for row in self._records.find(AddressUseRow, where):
                told[row.address] += self._is_others(row, now)
        return told

    def _is_others(self, row: AddressUseRow, now: datetime) -> bool:
        is_fresh = now - row.updated < timedelta(seconds=LEASE_S)
        return (
            row.used_by != self._holder_name and is_fresh and not self._is_process_gone(row.used_by)
        )

    def _leave(self, addresses: Collection[str]) -> None:
        for address in addresses:
            del self._used[address]
        if addresses:
            self._records.delete(AddressUseRow, [(one, self._holder_name) for one in addresses])
