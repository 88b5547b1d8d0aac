"""The lease and the pace of each domain that is asked: rows, so that both outlive any process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from fonds.fetching.frontier import Frontier
from fonds.fetching.pace import Pace
from fonds.isolation.process_identity import is_process_gone
from fonds.leases.cells import LeaseColumns, get_cell
from fonds.leases.lease import RENEWALS_PER_LEASE, Lease
from fonds.leases.leases import Leases
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


@dataclass(slots=True)
class _HeldDomain:
    """`write_due_s`: when its row is written next; `given_until_s`: until when it is given to somebody
    who polls a source of the domain; `is_passing`: held for one poll; `lookup_count`: links whose hosts
    are being looked up, and which nobody else knows of."""

    lease: Lease
    used_s: float
    write_due_s: float
    given_until_s: float = 0.0
    is_passing: bool = False
    lookup_count: int = 0


class DomainLeases:
    """The domains this process may ask: one process at a time has the lease of a domain. For one thread.

    A process that polls a source requests the domain in its row, and the holder hands it over for a moment:
    links of a site may keep a process busy for days.
    """

    def __init__(
        self,
        records: Records,
        frontier: Frontier,
        holder_name: str,
        clock: Callable[[], datetime],
        is_process_gone: Callable[[str], bool] = is_process_gone,
        lease_s: float = LEASE_S,
    ) -> None:
        self._records = records
        self._frontier = frontier
        self._holder_name = holder_name
        self._clock = clock
        self._lease_s = lease_s
        self._now_s = 0.0
        cells = LeaseColumns(records, PaceRow)
        self._leases = Leases(cells, holder_name, lambda: self._now_s, lease_s, is_process_gone)
        self._domains: dict[str, _HeldDomain] = {}
        self._due_s = 0.0

    def acquire(
        self, domains: Collection[str], now_s: float, urgent: Collection[str] = ()
    ) -> dict[str, float]:
        """For each domain 0.0 when it is this process's to ask; else after how many seconds to look again.

        Of those that are `urgent` whoever has them is told.
        """
        self._now_s = now_s
        for domain in domains:
            # Polls alone do not keep a domain whose links another process has.
            if (held := self._domains.get(domain)) is not None and domain not in urgent:
                held.used_s, held.is_passing = now_s, False
        wanted = [domain for domain in domains if domain not in self._domains]
        rows = self._load_rows(wanted)
        waits = {domain: self._get_handover_s(domain, now_s) for domain in domains}
        leases = self._acquire_rows(rows, urgent)
        for domain in wanted:
            is_urgent = domain in urgent
            if domain in leases:
                self._start(rows[domain], leases[domain], now_s, is_urgent)
                continue
            waits[domain] = REQUEST_LASTS_S if is_urgent else ELSEWHERE_S
            if is_urgent:
                self._request(rows[domain])
        return waits

    def is_held(self, domain: str) -> bool:
        """Whether a domain is this process's to ask; it may have been handed over since `acquire`."""
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
        self._now_s = now_s
        if now_s < self._due_s:
            return
        due = [domain for domain, held in self._domains.items() if now_s >= held.write_due_s]
        if due:
            idle = {domain for domain in due if self._is_idle(domain, now_s)}
            self._write_rows(due, idle, now_s)
        self._due_s = min(
            (held.write_due_s for held in self._domains.values()),
            default=now_s + self._lease_s / RENEWALS_PER_LEASE,
        )

    def release_all(self, now_s: float) -> None:
        """Write down everything, and let go of it."""
        self._now_s = now_s
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
            fresh = [PaceRow(domain, None, 0, {}, now) for domain in unknown]
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

    def _acquire_rows(
        self, rows: Mapping[str, PaceRow], urgent: Collection[str]
    ) -> dict[str, Lease]:
        """Acquire the domains that are free and that no other process has requested."""
        cells, columns = {}, {}
        for domain, row in rows.items():
            if not self._leases.is_acquirable(domain, get_cell(row)):
                continue
            is_own = row.lease_holder == self._holder_name
            if not is_own and domain not in urgent and self._is_requested(row):
                continue
            cells[domain] = get_cell(row)
            columns[domain] = {"updated": self._clock(), **self._clear_request(row)}
        return self._leases.try_acquire_all(cells, columns)

    def _clear_request(self, row: PaceRow) -> dict[str, object]:
        if row.wanted_by != self._holder_name:
            return {}
        return {"wanted_by": None, "wanted_at": None}

    def _start(self, row: PaceRow, lease: Lease, now_s: float, is_passing: bool) -> None:
        """Ask a domain whose lease was acquired just now; `row` is the row as it was before."""
        due_s = now_s + (0.0 if is_passing else self._lease_s / RENEWALS_PER_LEASE)
        self._domains[row.domain] = _HeldDomain(lease, now_s, due_s, is_passing=is_passing)
        self._due_s = min(self._due_s, due_s)
        self._restore_pace(row, now_s)
        if row.lease_holder not in (None, self._holder_name):
            # The process that died may have asked the domain a moment before.
            self._frontier.pause(row.domain, now_s)

    def _write_rows(
        self, domains: Sequence[str], released_domains: Collection[str], now_s: float
    ) -> None:
        """Renew or release leases and write what was learned of the domains.

        Requests that wait here for a domain whose lease is lost or released come again.
        """
        now = self._clock()
        columns: dict[str, dict[str, object]] = {}
        for row in self._records.get(PaceRow, domains):
            held = self._domains[row.domain]
            held.write_due_s = now_s + self._lease_s / RENEWALS_PER_LEASE
            if (
                row.domain not in released_domains
                and self._is_requested(row)
                and held.given_until_s <= now_s
            ):
                held.given_until_s, held.write_due_s = now_s + self._lease_s, now_s + GIVING_S
                self._frontier.return_domain(row.domain, ELSEWHERE_S)
            elif held.is_passing or held.given_until_s > now_s:
                held.write_due_s = now_s + GIVING_S
            paces = _encode_paces(self._frontier.get_paces(row.domain))
            columns[row.domain] = {"paces": paces, "updated": now}
        leases = {domain: self._domains[domain].lease for domain in domains}
        kept = self._leases.renew_all(
            [lease for domain, lease in leases.items() if domain not in released_domains], columns
        )
        self._leases.release_all(
            [lease for domain, lease in leases.items() if domain in released_domains], columns
        )
        for domain in set(domains) - kept:
            self._domains.pop(domain, None)
            self._frontier.return_domain(domain, ELSEWHERE_S)

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


# How many processes ask an IP address: rows, so that together they keep its pace. A share is no lease:
# any number of processes have one at a time.


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
