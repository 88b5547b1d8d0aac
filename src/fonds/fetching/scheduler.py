"""Run many redirect chains concurrently, with rate limits, robots.txt and redirect checks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count

from fonds.fetching.addresses import Resolver
from fonds.fetching.crawl_client import CrawlClient
from fonds.fetching.crawl_request import CrawlResponse, RequestFailure
from fonds.fetching.domain_leases import ELSEWHERE_S, AddressShares, DomainLeases
from fonds.fetching.frontier import Frontier
from fonds.fetching.outcomes import RETRY_S, compute_retry_delay, resolve_redirect
from fonds.fetching.pace import HostLoad
from fonds.fetching.redirect_chain import (
    FetchOutcome,
    FetchRequest,
    FetchResponse,
    RedirectChain,
    build_pace_outcome,
)
from fonds.fetching.robots import (
    UNREACHABLE_CACHE_S,
    Robots,
    RobotsCache,
    attach_response,
    build_unreachable,
    parse_robots_response,
)
from fonds.model.disposition import (
    Disposition,
    Reason,
    defer,
    drop,
    retry,
)
from fonds.model.errors import (
    PermanentError,
    StoreUnavailableError,
    TransientError,
)
from fonds.urls.request_url import RequestUrl

RETRIED = frozenset({Reason.UNREACHABLE})
AWAY_S = 60.0
HANDOVER_S = 60.0
"""Maximum seconds that a redirect chain waits for the lease of its next domain."""
HANDOVER_CHECK_S = 2.0


@dataclass(frozen=True, slots=True)
class FetchSchedulerRules:
    """Settings of a scheduler of requests to web servers.

    - `agent`: value of the User-Agent header.
    - `token`: name of Fonds in robots.txt files (product token).
    - `concurrency_max`: maximum number of concurrent requests.
    - `retry_s`: approximate seconds until a failed link is retried.
    """

    agent: str
    token: str
    concurrency_max: int = 64
    retry_s: float = RETRY_S


class FetchScheduler:
    """Scheduler of requests: it fetches them with all redirects and returns their outcomes. Only
    `wake` is thread-safe.

    `seconds` is a function that returns monotonic time, aligned to Unix seconds.
    """

    def __init__(
        self,
        rules: FetchSchedulerRules,
        client: CrawlClient,
        resolver: Resolver,
        frontier: Frontier,
        leases: DomainLeases,
        shares: AddressShares,
        seconds: Callable[[], float],
    ) -> None:
        self._rules = rules
        self._client = client
        self._resolver = resolver
        self._frontier = frontier
        self._leases = leases
        self._shares = shares
        self._seconds = seconds
        self._robots = RobotsCache()
        self._keys = count()
        self._unsaved_count = 0
        self._chains: dict[int, RedirectChain] = {}
        self._new: list[RedirectChain] = []
        self._waiting_for_robots: dict[str, list[RedirectChain]] = {}
        self._resolved: deque[tuple[RedirectChain, Sequence[str] | Exception]] = deque()
        self._parked: list[tuple[float, float, RedirectChain]] = []
        self._finished: list[tuple[str, FetchOutcome]] = []

    def begin(self, requests: Iterable[FetchRequest]) -> None:
        """Accept requests. They are started by calls of `collect_finished`."""
        for request in requests:
            chain = RedirectChain(next(self._keys), request, request.url)
            self._chains[chain.key] = chain
            self._new.append(chain)

    def collect_finished(
        self, wait_s: float, unsaved_count: int = 0
    ) -> list[tuple[str, FetchOutcome]]:
        """Continue all requests, and return the keys and outcomes of those that have finished.

        Wait up to `wait_s` seconds for a response. `unsaved_count` is the number of returned
        responses that the caller has not stored yet. Active requests and unsaved responses together
        are limited to twice `concurrency_max`. Raises TransientError while the database is
        unavailable; active requests continue.
        """
        self._unsaved_count = unsaved_count
        self._start_new()
        self._retry_parked()
        self._advance()
        wake_s = self._frontier.get_wake_at_s()
        if wake_s is not None and self._count_free() > 0:
            wait_s = min(wait_s, max(0.0, wake_s - self._seconds()))
        for key, result in self._client.collect_finished(0.0 if self._finished else wait_s):
            chain = self._chains[int(str(key))]
            self._run_guarded(chain, partial(self._handle_response, chain, result))
        self._advance()
        self._leases.renew(self._seconds())
        self._share(self._shares.renew(self._seconds()))
        finished_requests, self._finished = self._finished, []
        return finished_requests

    def forget(self, keys: Iterable[str]) -> None:
        """Cancel the requests with these keys. Active requests continue, but their outcomes are not
        returned.
        """
        unwanted_keys = set(keys)
        for chain in self._chains.values():
            if not chain.is_robots and chain.request.key in unwanted_keys:
                chain.is_forgotten = True
                self._frontier.withdraw(chain.key)

    def list_loads(self) -> list[HostLoad]:
        """Return the number of waiting requests and the delay of each host."""
        return self._frontier.list_loads(self._seconds())

    def wake(self) -> None:
        """Interrupt the wait in `collect_finished`. May be called from any thread."""
        self._client.wake()

    def close(self) -> None:
        """Cancel active requests and release all domains."""
        with suppress(TransientError):
            self._leases.release_all(self._seconds())
            self._shares.leave_all()
        self._resolver.close()
        self._client.close()

    def _start_new(self) -> None:
        """Lease the domains of new redirect chains and start to resolve their hosts. Chains whose
        domain is not available are postponed.
        """
        new_chains = [chain for chain in self._new if not chain.is_forgotten]
        if new_chains:
            urgent = {chain.url.domain for chain in new_chains if chain.request.is_urgent}
            domains = {chain.url.domain for chain in new_chains}
            waits = self._leases.acquire(domains, self._seconds(), urgent)
            for chain in new_chains:
                self._look_up(chain, waits[chain.url.domain])
        self._new = []

    def _advance(self) -> None:
        """Continue all redirect chains that need not wait: check those with resolved hosts,
        postpone those that waited too long, and start requests.
        """
        for chain, addresses_or_error in self._take_resolved():
            self._run_guarded(chain, partial(self._apply_resolved, chain, addresses_or_error))
            self._leases.count_lookups(chain.url.domain, -1)
        now_s = self._seconds()
        for turn, after_s in self._frontier.take_late(now_s):
            self._postpone(self._chains[int(str(turn.key))], after_s)
        for turn in self._frontier.start(now_s, self._count_free()):
            chain = self._chains[int(str(turn.key))]
            self._client.begin(chain.key, chain.build_request(self._rules.agent))

    def _count_free(self) -> int:
        """Return how many further requests may be started."""
        concurrency_max, active_count = self._rules.concurrency_max, self._client.count
        unsaved_count = self._unsaved_count + len(self._finished)
        return min(
            concurrency_max - active_count, 2 * concurrency_max - active_count - unsaved_count
        )

    def _take_resolved(self) -> list[tuple[RedirectChain, Sequence[str] | Exception]]:
        """Register the IP addresses of hosts that were resolved. Return the redirect chains with
        the addresses or the error.
        """
        resolved_chains = [self._resolved.popleft() for _ in range(len(self._resolved))]
        addresses = {
            result[0] for _, result in resolved_chains if not isinstance(result, Exception)
        }
        try:
            if addresses:
                self._share(self._shares.join(addresses, self._seconds()))
        except TransientError:
            self._resolved.extendleft(reversed(resolved_chains))
            raise
        return resolved_chains

    def _share(self, process_counts: Mapping[str, int]) -> None:
        for address, sharing in process_counts.items():
            self._frontier.set_share(address, sharing, self._seconds())

    def _run_guarded(self, chain: RedirectChain, act: Callable[[], None]) -> None:
        """Run a step of a redirect chain (`act`). An error ends or postpones only this chain."""
        try:
            act()
        except StoreUnavailableError:
            self._postpone(chain, AWAY_S)
        except Exception as error:  # noqa: BLE001 (passed to the requester)
            if chain.is_robots:
                self._apply_robots(chain, self._build_unreachable(repr(error)))
            else:
                self._finish(chain, error)

    def _follow(self, chain: RedirectChain, url: RequestUrl, began_s: float) -> None:
        """Continue a redirect chain at another URL.

        If another process has the lease of the domain, the chain waits up to a minute until the
        domain is handed over. It is not started again, because that would lead to the same domain.
        """
        chain.url, now_s = url, self._seconds()
        after_s = self._leases.acquire([url.domain], now_s, {url.domain})[url.domain]
        if after_s and now_s - began_s < HANDOVER_S:
            self._parked.append((now_s + HANDOVER_CHECK_S, began_s, chain))
        else:
            self._look_up(chain, after_s)

    def _retry_parked(self) -> None:
        """Continue the redirect chains that wait for a domain of another process, if the domain can
        be leased now.
        """
        now_s = self._seconds()
        parked_entries, self._parked = self._parked, []
        self._parked = [entry for entry in parked_entries if entry[0] > now_s]
        for _, began_s, chain in (entry for entry in parked_entries if entry[0] <= now_s):
            if chain.key in self._chains:
                self._run_guarded(chain, partial(self._follow, chain, chain.url, began_s))

    def _look_up(self, chain: RedirectChain, after_s: float) -> None:
        """Resolve the host of a redirect chain. If `after_s` is not 0, its domain is not available;
        then postpone it by that time.
        """
        if after_s:
            self._postpone(chain, after_s)
            return
        self._leases.count_lookups(chain.url.domain, 1)
        self._resolver.resolve(chain.url.host, chain.url.port, partial(self._add_resolved, chain))

    def _add_resolved(
        self, chain: RedirectChain, addresses_or_error: Sequence[str] | Exception
    ) -> None:
        self._resolved.append((chain, addresses_or_error))
        self._client.wake()

    def _apply_resolved(
        self, chain: RedirectChain, addresses_or_error: Sequence[str] | Exception
    ) -> None:
        if isinstance(addresses_or_error, Exception):
            if chain.is_robots:
                self._apply_robots(chain, self._build_unreachable(str(addresses_or_error)))
            elif isinstance(addresses_or_error, TransientError):
                self._finish(
                    chain, self._build_retry(chain, Reason.NO_SUCH_HOST, str(addresses_or_error))
                )
            else:
                self._finish(chain, addresses_or_error)
            return
        chain.addresses = addresses_or_error
        if chain.is_robots:
            self._offer(chain)
        else:
            self._check_robots(chain)

    def _check_robots(self, chain: RedirectChain) -> None:
        """Check whether robots.txt allows the current URL of a redirect chain, and queue or end the
        chain accordingly.

        If the rules are unknown, robots.txt is fetched once for all chains that wait for it.
        """
        now_s, url = self._seconds(), chain.url
        # Servers may send another robots.txt over connections with other TLS checks.
        origin = f"{chain.request.tls} {url.origin}"
        robots = self._robots.get(origin, now_s)
        if robots is None:
            waiting = self._waiting_for_robots.setdefault(origin, [])
            waiting.append(chain)
            if len(waiting) == 1:
                self._fetch_robots(origin, chain)
            return
        self._frontier.set_floor(url.host, url.domain, robots.delay_s, now_s)
        if robots.reason is Reason.BAD_CERTIFICATE:
            self._finish(chain, drop(robots.reason, robots.unreachable))
        elif robots.unreachable:
            self._finish(chain, self._build_retry(chain, robots.reason, robots.unreachable))
        elif not robots.allows(url):
            detail = f"{url.origin}/robots.txt does not allow {url.target[:500]}"
            self._finish(chain, drop(Reason.ROBOTS_DENIED, detail))
        else:
            chain.robots = robots
            self._offer(chain)

    def _fetch_robots(self, origin: str, first: RedirectChain) -> None:
        chain = first.build_robots_chain(next(self._keys), origin)
        self._chains[chain.key] = chain
        self._offer(chain)

    def _offer(self, chain: RedirectChain) -> None:
        """Pass the next request of a redirect chain to the frontier.

        If the lease of its domain was lost, or the frontier rejects the request, the chain is
        postponed.
        """
        if not self._leases.is_held(chain.url.domain):
            self._postpone(chain, ELSEWHERE_S)
            return
        goes_on = bool(chain.hops) or chain.is_robots or chain.request.is_urgent
        after_s = self._frontier.offer(chain.queued_request, self._seconds(), urgent=goes_on)
        if after_s:
            self._postpone(chain, after_s)

    def _postpone(self, chain: RedirectChain, after_s: float) -> None:
        """End a redirect chain that cannot be requested soon, so that its requester tries again
        after `after_s` seconds.

        If the chain fetches robots.txt, all chains that wait for that robots.txt are ended too.
        """
        detail = f"the next request to {chain.url.origin} is in {after_s:.0f} s"
        waiting = self._waiting_for_robots.pop(chain.origin, []) if chain.is_robots else []
        for position, waiting_chain in enumerate(waiting):
            self._finish(waiting_chain, defer(Reason.NOT_YET, detail, after_s + position))
        self._finish(chain, defer(Reason.NOT_YET, detail, after_s))

    def _handle_response(self, chain: RedirectChain, end: CrawlResponse | RequestFailure) -> None:
        pace_outcome = build_pace_outcome(end)
        self._frontier.finish(chain.key, pace_outcome, self._seconds())
        if pace_outcome.is_refused or pace_outcome.is_unreachable:
            self._leases.schedule_write(chain.url.domain)
        if isinstance(end, RequestFailure):
            self._handle_failure(chain, end)
            return
        chain.hops.append(end.hop)
        chain.cookies = end.cookies
        try:
            target = resolve_redirect(chain.url, end.hop.status, end.hop.get("location"))
        except PermanentError:
            if not chain.is_robots:
                raise
            target = None
        if target is None and chain.is_robots:
            robots = self._build_robots(chain, end.body)
            self._apply_robots(
                chain, self._build_unreachable(robots.unreachable) if robots.unreachable else robots
            )
        elif not chain.is_robots and target and (refusal := chain.request.refusal(target.url)):
            reason, explanation = refusal
            self._finish(
                chain, drop(reason, f"{chain.url.url} redirects to {target.url}: {explanation}")
            )
        elif target is None:
            fetch_response = FetchResponse(
                tuple(chain.hops), end.body, pace_outcome.retry_after_s, chain.url, chain.robots
            )
            self._finish(chain, fetch_response)
        elif chain.is_loop(target):
            self._refuse_redirect(
                chain, f"redirect loop: {chain.url.url} leads back to {target.url}"
            )
        elif len(chain.hops) <= chain.request.redirects_max:
            self._follow(chain, target, self._seconds())
        else:
            message = f"more than {chain.request.redirects_max} redirects"
            self._refuse_redirect(chain, f"{message}, the last from {chain.url.url}")

    def _refuse_redirect(self, chain: RedirectChain, reason: str) -> None:
        """End a redirect chain because of a loop or too many redirects. A link is dropped; a
        robots.txt is treated as missing.
        """
        if chain.is_robots:
            self._apply_robots(chain, self._build_robots(chain, b""))
        else:
            self._finish(chain, drop(Reason.BAD_REDIRECT, reason))

    def _handle_failure(self, chain: RedirectChain, end: RequestFailure) -> None:
        if chain.is_robots:
            is_certificate_error = end.reason is Reason.BAD_CERTIFICATE
            reason = end.reason if is_certificate_error else Reason.ROBOTS_UNREACHABLE
            self._apply_robots(chain, self._build_unreachable(end.detail, reason))
        elif end.reason in RETRIED:
            self._finish(chain, self._build_retry(chain, end.reason, end.detail))
        else:
            self._finish(chain, drop(end.reason, end.detail))

    def _build_robots(self, chain: RedirectChain, body: bytes) -> Robots:
        """Build robots.txt rules from the last response of a redirect chain. `body` is its body."""
        hops = tuple(chain.hops)
        robots = parse_robots_response(hops[-1].http, body, self._rules.token, self._seconds())
        return attach_response(robots, hops, body)

    def _build_unreachable(self, cause: str, reason: Reason = Reason.ROBOTS_UNREACHABLE) -> Robots:
        """Build robots.txt rules that allow nothing. They expire before waiting links are retried,
        after at most half an hour.
        """
        cache_s = min(UNREACHABLE_CACHE_S, self._rules.retry_s / 2)
        return build_unreachable(cause, self._seconds(), reason, cache_s)

    def _apply_robots(self, chain: RedirectChain, robots: Robots) -> None:
        """Store the robots.txt rules that a redirect chain has fetched, and continue all chains
        that waited for them.
        """
        self._robots.put(chain.origin, robots)
        self._chains.pop(chain.key, None)
        for waiting_chain in self._waiting_for_robots.pop(chain.origin, []):
            self._run_guarded(waiting_chain, partial(self._check_robots, waiting_chain))

    def _build_retry(self, chain: RedirectChain, reason: Reason, message: str) -> Disposition:
        return retry(reason, message, compute_retry_delay(chain.request.key, self._rules.retry_s))

    def _finish(self, chain: RedirectChain, end: FetchOutcome) -> None:
        """End a redirect chain, and keep its outcome for `collect_finished`. A second call for the
        same chain does nothing.
        """
        is_active = self._chains.pop(chain.key, None) is not None
        if is_active and not chain.is_robots and not chain.is_forgotten:
            self._finished.append((chain.request.key, end))
