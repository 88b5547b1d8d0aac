"""Leases and rate limits of domains, and the number of processes that send requests to each IP
address.

All of these are stored as database rows, so that they survive the end of a process.
"""

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
from fonds.model.source import StoredPace
from fonds.ports import Records

LEASE_S = 60.0
ELSEWHERE_S = 20.0
"""Seconds after which a link is retried if another process has the lease of its domain."""
REQUEST_LASTS_S = 10.0
"""Seconds until a poll is retried, for which another process must first release the domain."""
GIVING_S = 1.0
"""Seconds between checks whether a domain that was leased only for a moment is still in use."""
HOSTS_MAX = 200
"""Maximum number of hosts per domain whose rate limits are stored: those with the longest waits."""


@dataclass(slots=True)
class _HeldDomain:
    """State of a domain that this process has leased. Times are in seconds of the scheduler's
    clock.

    - `lease`: the lease.
    - `used_s`: time at which links last used the domain.
    - `write_due_s`: time at which the database row of the domain is next written.
    - `given_until_s`: end of the period in which the domain is handed over to another process that
      polls a source of the domain; 0.0 for none.
    - `is_passing`: whether the domain is leased for a single poll only, so that it is released
      soon.
    - `lookup_count`: number of running DNS lookups for links of the domain. The frontier does not
      know these links yet.
    """

    lease: Lease
    used_s: float
    write_due_s: float
    given_until_s: float = 0.0
    is_passing: bool = False
    lookup_count: int = 0


class DomainLeases:
    """Leases of the domains to which this process may send requests. Not thread-safe.

    Only one process at a time has the lease of a domain. Links of one site can keep a process busy
    for days. A process that polls a source of the domain therefore requests the domain, by writing
    its own name to the domain's database row. The process with the lease then hands the domain over
    for a short time.
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
        """Lease domains. Return for each domain 0.0 if it may be used, or else the seconds until
        the next attempt.

        `urgent` are those domains of which a source is to be polled. If another process has the
        lease of such a domain, this method requests the domain from that process.
        """
        self._now_s = now_s
        for domain in domains:
            # Polls alone do not keep a domain whose links another process waits for.
            if (domain_state := self._domains.get(domain)) is not None and domain not in urgent:
                domain_state.used_s, domain_state.is_passing = now_s, False
        new_domains = [domain for domain in domains if domain not in self._domains]
        rows = self._load_rows(new_domains)
        waits = {domain: self._get_handover_s(domain, now_s) for domain in domains}
        leases = self._acquire_rows(rows, urgent)
        for domain in new_domains:
            is_urgent = domain in urgent
            if domain in leases:
                self._start(rows[domain], leases[domain], now_s, is_urgent)
                continue
            waits[domain] = REQUEST_LASTS_S if is_urgent else ELSEWHERE_S
            if is_urgent:
                self._request(rows[domain])
        return waits

    def is_held(self, domain: str) -> bool:
        """Return whether this process has the lease of a domain.

        Callers check it before each request, because the domain may have been released meanwhile.
        """
        return domain in self._domains

    def count_lookups(self, domain: str, change: int) -> None:
        """Add `change` to the number of running DNS lookups for a domain.

        A domain with running lookups is not released.
        """
        if (domain_state := self._domains.get(domain)) is not None:
            domain_state.lookup_count = max(0, domain_state.lookup_count + change)

    def schedule_write(self, domain: str) -> None:
        """Write the database row of a domain at the next call of `renew`, so that its rate limits
        survive a crash.
        """
        if (domain_state := self._domains.get(domain)) is not None:
            domain_state.write_due_s = self._due_s = 0.0

    def renew(self, now_s: float) -> None:
        """Renew the leases that are due, write the rate limits of their domains, and release
        domains that were not used for a while.
        """
        self._now_s = now_s
        if now_s < self._due_s:
            return
        due_domains = [
            domain
            for domain, domain_state in self._domains.items()
            if now_s >= domain_state.write_due_s
        ]
        if due_domains:
            idle = {domain for domain in due_domains if self._is_idle(domain, now_s)}
            self._write_rows(due_domains, idle, now_s)
        self._due_s = min(
            (domain_state.write_due_s for domain_state in self._domains.values()),
            default=now_s + self._lease_s / RENEWALS_PER_LEASE,
        )

    def release_all(self, now_s: float) -> None:
        """Write the rate limits of all leased domains to the database and release the domains."""
        self._now_s = now_s
        domains = list(self._domains)
        self._write_rows(domains, set(domains), now_s)

    def _load_rows(self, domains: Sequence[str]) -> dict[str, PaceRow]:
        """Load the database rows of domains by domain, and create rows that are missing."""
        if not domains:
            return {}
        rows = {row.domain: row for row in self._records.get(PaceRow, domains)}
        missing_domains = [domain for domain in domains if domain not in rows]
        if missing_domains:
            now = self._clock()
            fresh = [PaceRow(domain, None, 0, {}, now) for domain in missing_domains]
            self._records.put(fresh, replace=False)
            rows |= {row.domain: row for row in self._records.get(PaceRow, missing_domains)}
        return rows

    def _get_handover_s(self, domain: str, now_s: float) -> float:
        """Return the seconds after which links of a domain are retried while it is handed over to
        another process; 0.0 if it is not.
        """
        domain_state = self._domains.get(domain)
        return (
            ELSEWHERE_S if domain_state is not None and domain_state.given_until_s > now_s else 0.0
        )

    def _is_idle(self, domain: str, now_s: float) -> bool:
        domain_state = self._domains[domain]
        is_unused = (
            domain_state.is_passing
            or domain_state.given_until_s > now_s
            or now_s - domain_state.used_s > self._lease_s
        )
        return is_unused and not domain_state.lookup_count and not self._frontier.is_needed(domain)

    def _request(self, row: PaceRow) -> None:
        """Request a domain from the process that has its lease, unless another process requested it
        recently.
        """
        if self._is_requested(row):
            return
        values = {"requested_by": self._holder_name, "requested_at": self._clock()}
        self._records.change(PaceRow, [row.domain], values, {"requested_by": row.requested_by})

    def _is_requested(self, row: PaceRow) -> bool:
        """Return whether another process requested a domain within the duration of a lease."""
        if row.requested_by in (None, self._holder_name) or row.requested_at is None:
            return False
        return abs((self._clock() - row.requested_at).total_seconds()) < self._lease_s

    def _acquire_rows(
        self, rows: Mapping[str, PaceRow], urgent: Collection[str]
    ) -> dict[str, Lease]:
        """Lease the domains that are free, and return the leases by domain.

        A domain that another process has requested is skipped, unless it is in `urgent`.
        """
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
        if row.requested_by != self._holder_name:
            return {}
        return {"requested_by": None, "requested_at": None}

    def _start(self, row: PaceRow, lease: Lease, now_s: float, is_passing: bool) -> None:
        """Start to use a newly leased domain: restore its rate limits, and pause it if a process
        died that had the lease.

        - `row`: database row of the domain before the lease.
        - `is_passing`: whether the domain is leased for a single poll only.
        """
        due_s = now_s + (0.0 if is_passing else self._lease_s / RENEWALS_PER_LEASE)
        self._domains[row.domain] = _HeldDomain(lease, now_s, due_s, is_passing=is_passing)
        self._due_s = min(self._due_s, due_s)
        self._restore_pace(row, now_s)
        if row.lease_holder not in (None, self._holder_name):
            # The process that died may have sent a request to the domain just before.
            self._frontier.pause(row.domain, now_s)

    def _write_rows(
        self, domains: Sequence[str], released_domains: Collection[str], now_s: float
    ) -> None:
        """Write the rate limits of domains to the database. Release the leases of
        `released_domains` and renew the others.

        If another process has requested a domain, its handover begins. If a lease is released or
        lost, or a handover begins, the waiting requests of the domain are sent back for a later
        retry.
        """
        now = self._clock()
        columns: dict[str, dict[str, object]] = {}
        for row in self._records.get(PaceRow, domains):
            domain_state = self._domains[row.domain]
            domain_state.write_due_s = now_s + self._lease_s / RENEWALS_PER_LEASE
            if (
                row.domain not in released_domains
                and self._is_requested(row)
                and domain_state.given_until_s <= now_s
            ):
                domain_state.given_until_s, domain_state.write_due_s = (
                    now_s + self._lease_s,
                    now_s + GIVING_S,
                )
                self._frontier.return_domain(row.domain, ELSEWHERE_S)
            elif domain_state.is_passing or domain_state.given_until_s > now_s:
                domain_state.write_due_s = now_s + GIVING_S
            paces = _encode_paces(self._frontier.get_paces(row.domain))
            columns[row.domain] = {"paces": paces, "updated": now}
        leases = {domain: self._domains[domain].lease for domain in domains}
        renewed_domains = self._leases.renew_all(
            [lease for domain, lease in leases.items() if domain not in released_domains], columns
        )
        self._leases.release_all(
            [lease for domain, lease in leases.items() if domain in released_domains], columns
        )
        for domain in set(domains) - renewed_domains:
            self._domains.pop(domain, None)
            self._frontier.return_domain(domain, ELSEWHERE_S)

    def _restore_pace(self, row: PaceRow, now_s: float) -> None:
        """Restore the stored rate limits of a domain and its hosts. Where the frontier has a
        stricter value, that value is kept.
        """
        for host, stored_pace in row.paces.items():
            pace = self._frontier.recall(row.domain, host, now_s)
            longest_s = now_s + pace.rules.gap_max_s * 24
            pace.next_at_s = max(pace.next_at_s, min(stored_pace.next_at_s, longest_s))
            pace.slowdown = max(pace.slowdown, stored_pace.slowdown)
            pace.average_s = max(pace.average_s, stored_pace.average_s)
            pace.floor_s = max(pace.floor_s, stored_pace.floor_s)
            pace.failures = max(pace.failures, int(stored_pace.failures))


def _encode_paces(paces: Mapping[str, Pace]) -> dict[str, StoredPace]:
    """Return the rate limits to store, by host name. The domain's own rate limit has the name "".

    For hosts beyond the maximum number, those with the shortest waits are omitted.
    """
    ordered_paces = sorted(paces.items(), key=lambda item: (item[0] != "", -item[1].next_at_s))
    return {
        name: StoredPace(
            round(pace.next_at_s, 3),
            round(pace.slowdown, 3),
            round(pace.average_s, 3),
            pace.floor_s,
            float(pace.failures),
        )
        for name, pace in ordered_paces[:HOSTS_MAX]
    }


# Shares of an IP address keep its rate limit across processes. A share is not a lease: any number
# of processes can have one at a time.


BATCH_SIZE = 200


class AddressShares:
    """Registrations of processes for the IP addresses to which they send requests. Not thread-safe.

    Registered processes share the rate limit of an address: with two processes, each waits twice as
    long between requests. A process registers before its first request to an address. Other
    registered processes learn of it within a third of a lease. Any number of processes can be
    registered for an address.
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
        """Register this process for IP addresses to which it will send requests.

        Return the number of registered processes, including this one, for each address for which it
        was not registered before.
        """
        requested_addresses = set(addresses)
        fresh = requested_addresses - self._used.keys()
        counts = self._write(fresh) if fresh else {}
        for address in requested_addresses:
            self._used[address] = now_s
        return counts

    def renew(self, now_s: float) -> dict[str, int]:
        """Renew this process's registrations if they are due. Return the number of registered
        processes by IP address; {} if none are due.

        Registrations for addresses that were not used for a while are removed.
        """
        if now_s < self._due_s:
            return {}
        self._due_s = now_s + LEASE_S / 3
        unused_addresses = [
            address for address, used_s in self._used.items() if now_s - used_s > LEASE_S
        ]
        counts = self._write(self._used.keys() - unused_addresses)
        self._leave(unused_addresses)
        return counts

    def leave_all(self) -> None:
        """Remove all registrations of this process."""
        self._leave(list(self._used))

    def _write(self, addresses: Collection[str]) -> dict[str, int]:
        now, counts = self._clock(), dict.fromkeys(addresses, 1)
        self._records.put([AddressUseRow(address, self._holder_name, now) for address in addresses])
        ordered_addresses = sorted(addresses)
        for start in range(0, len(ordered_addresses), BATCH_SIZE):
            where = {"address": ordered_addresses[start : start + BATCH_SIZE]}
            for row in self._records.find(AddressUseRow, where):
                counts[row.address] += self._is_others(row, now)
        return counts

    def _is_others(self, row: AddressUseRow, now: datetime) -> bool:
        is_fresh = now - row.updated < timedelta(seconds=LEASE_S)
        return (
            row.used_by != self._holder_name and is_fresh and not self._is_process_gone(row.used_by)
        )

    def _leave(self, addresses: Collection[str]) -> None:
        for address in addresses:
            del self._used[address]
        if addresses:
            self._records.delete(AddressUseRow, [(item, self._holder_name) for item in addresses])
