"""Leases on domains, their rate limits, and shares of IP addresses.

Both are database rows, so that they outlive any process.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from fonds.fetching.frontier import Frontier
from fonds.fetching.pace import Pace
from fonds.model.rows import AddressUseRow, PaceRow
from fonds.model.source import StoredPace
from fonds.ports import Records

LEASE_S = 60.0
ELSEWHERE_S = 20.0
"""Retry delay for a link whose domain another process has leased."""
REQUEST_LASTS_S = 10.0
"""Retry delay for a poll whose domain another process was asked to release."""
GIVING_S = 1.0
"""Interval of checks whether a domain that is handed over or held for a poll is still in use."""
HOSTS_MAX = 200
"""Maximum hosts per domain whose rate limits are stored; those with the longest waits are kept."""
OBSERVED_MAX = 20_000


@dataclass(slots=True)
class _HeldDomain:
    """State of a leased domain.

    `write_due_s` is the next time its row is written.
    `given_until_s` is the end of its handover to a process that polls one of its sources.
    `is_passing` means that it is held for a single poll.
    `lookup_count` counts links whose hosts are being resolved; they are known nowhere else.
    """

    beats: int
    used_s: float
    write_due_s: float
    given_until_s: float = 0.0
    is_passing: bool = False
    lookup_count: int = 0


class DomainLeases:
    """Leases on domains: one process at a time sends requests to a domain. For one thread.

    A lease ends when its holder releases it or does not update the row for a minute. A process that
    polls a source requests the domain in the row, and the holder hands it over for a moment,
    because links of one site may keep a process busy for days.

    `holder_name` names this process. `is_process_gone` returns whether another process is known to
    have ended.
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
        """Lease domains. Return 0.0 for each leased domain, or the seconds until the next attempt.

        The current holders of `urgent` domains are requested to hand them over.
        """
        for domain in domains:
            # Polls alone do not keep a domain for whose links another process is waiting.
            if (lease := self._domains.get(domain)) is not None and domain not in urgent:
                lease.used_s, lease.is_passing = now_s, False
        unheld = [domain for domain in domains if domain not in self._domains]
        rows = self._load_rows(unheld)
        waits = {domain: self._get_handover_s(domain, now_s) for domain in domains}
        for domain in unheld:
            is_urgent = domain in urgent
            if not self._acquire_row(rows[domain], now_s, is_urgent):
                waits[domain] = REQUEST_LASTS_S if is_urgent else ELSEWHERE_S
                if is_urgent:
                    self._request(rows[domain])
        return waits

    def is_held(self, domain: str) -> bool:
        """Return whether this process holds a domain; it may have handed it over since `acquire`."""
        return domain in self._domains

    def count_lookups(self, domain: str, change: int) -> None:
        """Change the number of lookups of a domain; the domain is not released while there are any."""
        if (lease := self._domains.get(domain)) is not None:
            lease.lookup_count = max(0, lease.lookup_count + change)

    def schedule_write(self, domain: str) -> None:
        """Write a domain's row soon, so that the next holder knows its rate limits even after a
        crash.
        """
        if (lease := self._domains.get(domain)) is not None:
            lease.write_due_s = self._due_s = 0.0

    def renew(self, now_s: float) -> None:
        """Renew the leases that are due and release domains that have been idle."""
        if now_s < self._due_s:
            return
        due = [domain for domain, lease in self._domains.items() if now_s >= lease.write_due_s]
        if due:
            idle = {domain for domain in due if self._is_idle(domain, now_s)}
            self._write_rows(due, idle, now_s)
        self._due_s = min(
            (lease.write_due_s for lease in self._domains.values()),
            default=now_s + self._lease_s / 3,
        )

    def release_all(self, now_s: float) -> None:
        """Write all rows and release all domains."""
        domains = list(self._domains)
        self._write_rows(domains, set(domains), now_s)

    def _load_rows(self, domains: Sequence[str]) -> dict[str, PaceRow]:
        """Load rows and create missing ones."""
        if not domains:
            return {}
        rows = {row.domain: row for row in self._records.get(PaceRow, domains)}
        missing = [domain for domain in domains if domain not in rows]
        if missing:
            now = self._clock()
            new_rows = [PaceRow(domain, self._holder_name, 0, {}, now) for domain in missing]
            self._records.put(new_rows, replace=False)
            rows |= {row.domain: row for row in self._records.get(PaceRow, missing)}
        return rows

    def _get_handover_s(self, domain: str, now_s: float) -> float:
        """Return the retry delay for links of a domain that is being handed over; otherwise 0.0."""
        lease = self._domains.get(domain)
        return ELSEWHERE_S if lease is not None and lease.given_until_s > now_s else 0.0

    def _is_idle(self, domain: str, now_s: float) -> bool:
        lease = self._domains[domain]
        is_unused = (
            lease.is_passing or lease.given_until_s > now_s or now_s - lease.used_s > self._lease_s
        )
        return is_unused and not lease.lookup_count and not self._frontier.is_needed(domain)

    def _request(self, row: PaceRow) -> None:
        """Request a domain that another process holds, unless a third process has just requested
        it.
        """
        if self._is_requested(row):
            return
        values = {"wanted_by": self._holder_name, "wanted_at": self._clock()}
        self._records.change(PaceRow, [row.domain], values, {"wanted_by": row.wanted_by})

    def _is_requested(self, row: PaceRow) -> bool:
        """Return whether another process has requested the domain recently."""
        if row.wanted_by in (None, self._holder_name) or row.wanted_at is None:
            return False
        return abs((self._clock() - row.wanted_at).total_seconds()) < self._lease_s

    def _acquire_row(self, row: PaceRow, now_s: float, is_passing: bool) -> bool:
        """Lease a row, if it is free and no other process has requested it."""
        beats = row.beats
        if row.claimed_by != self._holder_name:
            values: dict[str, object] = {
                "claimed_by": self._holder_name,
                "beats": beats + 1,
                "updated": self._clock(),
            }
            if row.wanted_by == self._holder_name:
                values |= {"wanted_by": None, "wanted_at": None}
            expected = {"beats": beats, "claimed_by": row.claimed_by}
            if not self._is_free(row, now_s) or (not is_passing and self._is_requested(row)):
                return False
            if not self._records.change(PaceRow, [row.domain], values, expected):
                return False
            beats += 1
        due_s = now_s + (0.0 if is_passing else self._lease_s / 3)
        self._domains[row.domain] = _HeldDomain(beats, now_s, due_s, is_passing=is_passing)
        self._due_s = min(self._due_s, due_s)
        self._observed.pop(row.domain, None)
        self._restore_pace(row, now_s)
        if row.claimed_by not in (None, self._holder_name):
            # The previous holder may have sent a request just before it died, without recording it.
            self._frontier.pause(row.domain, now_s)
        return True

    def _write_rows(
        self, domains: Sequence[str], released_domains: Collection[str], now_s: float
    ) -> None:
        """Write the rows of domains in one call.

        A lease that was lost as expired is dropped, and its waiting links are sent back. A process
        that leases a row between our read and write has seen it unchanged for a whole lease
        duration.
        """
        now, rows = self._clock(), []
        for row in self._records.get(PaceRow, domains):
            lease = self._domains[row.domain]
            if (row.claimed_by, row.beats) != (self._holder_name, lease.beats):
                continue
            lease.beats, lease.write_due_s = lease.beats + 1, now_s + self._lease_s / 3
            if (
                row.domain not in released_domains
                and self._is_requested(row)
                and lease.given_until_s <= now_s
            ):
                lease.given_until_s, lease.write_due_s = now_s + self._lease_s, now_s + GIVING_S
                self._frontier.return_domain(row.domain, ELSEWHERE_S)
            elif lease.is_passing or lease.given_until_s > now_s:
                lease.write_due_s = now_s + GIVING_S
            next_holder = None if row.domain in released_domains else self._holder_name
            paces = _encode_paces(self._frontier.get_paces(row.domain))
            request = (row.wanted_by, row.wanted_at)
            rows.append(PaceRow(row.domain, next_holder, lease.beats, paces, now, *request))
        if rows:
            self._records.put(rows)
        renewed = {row.domain for row in rows} - set(released_domains)
        for domain in set(domains) - renewed:
            self._domains.pop(domain, None)
            self._frontier.return_domain(domain, ELSEWHERE_S)

    def _is_free(self, row: PaceRow, now_s: float) -> bool:
        """Return whether a domain is free: no holder, a holder that has ended, or an expired lease."""
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
        """Restore stored rate limits in the frontier, unless the frontier knows a longer wait."""
        for host, stored in row.paces.items():
            pace = self._frontier.recall(row.domain, host, now_s)
            longest_s = now_s + pace.rules.gap_max_s * 24
            pace.next_at_s = max(pace.next_at_s, min(stored.next_at_s, longest_s))
            pace.slowdown = max(pace.slowdown, stored.slowdown)
            pace.average_s = max(pace.average_s, stored.average_s)
            pace.floor_s = max(pace.floor_s, stored.floor_s)
            pace.failures = max(pace.failures, int(stored.failures))


def _encode_paces(paces: Mapping[str, Pace]) -> dict[str, StoredPace]:
    """Return the rate limits to store by host, "" for the domain."""
    ordered = sorted(paces.items(), key=lambda one: (one[0] != "", -one[1].next_at_s))
    return {
        name: StoredPace(
            round(pace.next_at_s, 3),
            round(pace.slowdown, 3),
            round(pace.average_s, 3),
            pace.floor_s,
            float(pace.failures),
        )
        for name, pace in ordered[:HOSTS_MAX]
    }


# Shares of IP addresses


BATCH_SIZE = 200


class AddressShares:
    """Shares of the rate limit of each IP address between processes. For one thread.

    A process registers before its first request to an address. With two processes, each leaves
    twice the gap. Processes that were registered before learn of it within a third of a lease.
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
        """Register addresses. Return the number of processes for addresses that were new."""
        requested = set(addresses)
        new_addresses = requested - self._used.keys()
        process_counts = self._write(new_addresses) if new_addresses else {}
        for address in requested:
            self._used[address] = now_s
        return process_counts

    def renew(self, now_s: float) -> dict[str, int]:
        """Renew registrations that are due and return the number of processes by address.

        Addresses that were not used for a while are released.
        """
        if now_s < self._due_s:
            return {}
        self._due_s = now_s + LEASE_S / 3
        idle = [address for address, used_s in self._used.items() if now_s - used_s > LEASE_S]
        process_counts = self._write(self._used.keys() - idle)
        self._leave(idle)
        return process_counts

    def leave_all(self) -> None:
        """Release all addresses."""
        self._leave(list(self._used))

    def _write(self, addresses: Collection[str]) -> dict[str, int]:
        now, process_counts = self._clock(), dict.fromkeys(addresses, 1)
        self._records.put([AddressUseRow(address, self._holder_name, now) for address in addresses])
        ordered = sorted(addresses)
        for start in range(0, len(ordered), BATCH_SIZE):
            conditions = {"address": ordered[start : start + BATCH_SIZE]}
            for row in self._records.find(AddressUseRow, conditions):
                process_counts[row.address] += self._is_others(row, now)
        return process_counts

    def _is_others(self, row: AddressUseRow, now: datetime) -> bool:
        is_fresh = now - row.updated < timedelta(seconds=LEASE_S)
        return (
            row.used_by != self._holder_name and is_fresh and not self._is_process_gone(row.used_by)
        )

    def _leave(self, addresses: Collection[str]) -> None:
        for address in addresses:
            del self._used[address]
        if addresses:
            self._records.delete(
                AddressUseRow, [(address_used, self._holder_name) for address_used in addresses]
            )
