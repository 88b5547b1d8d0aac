"""Chains of requests, many at once: each host at its pace, as its robots.txt allows, each redirect judged."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count

from fonds.crawl.frontier import Frontier
from fonds.crawl.hosts import HostLoad
from fonds.crawl.outcomes import AGAIN_S, later_s
from fonds.crawl.redirects import redirect_target
from fonds.crawl.request_url import RequestUrl
from fonds.crawl.robots import (
    UNREACHABLE_KEPT_S,
    Robots,
    RobotsCache,
    as_answered,
    robots_of,
    unreachable,
)
from fonds.fetching.chain import Arrived, Chain, End, Wanted, told_to_pace
from fonds.fetching.claims import ELSEWHERE_S, DomainClaims
from fonds.fetching.request import Failed, Received
from fonds.fetching.resolving import Resolver
from fonds.fetching.shares import AddressShares
from fonds.fetching.transfers import Transfers
from fonds.model.disposition import Disposition, Reason, deferred, dropped, retried
from fonds.model.errors import PermanentError, StoreUnavailableError, TransientError

RETRIED = frozenset({Reason.UNREACHABLE})
AWAY_S = 60.0
GIVEN_S = 60.0
"""So long a chain waits for the domain a redirect leads to."""
GIVEN_LOOK_S = 2.0


@dataclass(frozen=True, slots=True)
class ChainRules:
    """`agent` is our one identity, `token` the name robots.txt files know us by; what failed is tried
    again after about `again_s`.
    """

    agent: str
    token: str
    at_once: int = 64
    again_s: float = AGAIN_S


class Chains:
    """What is wanted goes in, ends come out. For one thread, but for `wake`.

    `seconds` is a clock that never goes back, in Unix seconds.
    """

    def __init__(
        self,
        rules: ChainRules,
        web: Transfers,
        resolver: Resolver,
        frontier: Frontier,
        claims: DomainClaims,
        shares: AddressShares,
        seconds: Callable[[], float],
    ) -> None:
        self._rules = rules
        self._web = web
        self._resolver = resolver
        self._frontier = frontier
        self._claims = claims
        self._shares = shares
        self._seconds = seconds
        self._robots = RobotsCache()
        self._keys = count()
        self._unkept = 0
        self._chains: dict[int, Chain] = {}
        self._new: list[Chain] = []
        self._at_robots: dict[str, list[Chain]] = {}
        self._resolved: deque[tuple[Chain, Sequence[str] | Exception]] = deque()
        self._parked: list[tuple[float, float, Chain]] = []
        self._ended: list[tuple[str, End]] = []

    def begin(self, some: Iterable[Wanted]) -> None:
        """Set out for these."""
        for wanted in some:
            chain = Chain(next(self._keys), wanted, wanted.url)
            self._chains[chain.key] = chain
            self._new.append(chain)

    def ended(self, wait_s: float, unkept: int = 0) -> list[tuple[str, End]]:
        """What has ended, waiting at most `wait_s` seconds for the first; by the keys of what was wanted.

        As many answers as may be under way may wait to be kept (`unkept`) beside these, no more.
        Raises TransientError while the stores are away: what is in hand stays so.
        """
        self._unkept = unkept
        self._start_new()
        self._go_on()
        self._advance()
        wake_s = self._frontier.wake_at_s()
        if wake_s is not None and self._room() > 0:
            wait_s = min(wait_s, max(0.0, wake_s - self._seconds()))
        for key, end in self._web.ended(0.0 if self._ended else wait_s):
            chain = self._chains[int(str(key))]
            self._guarded(chain, partial(self._answered, chain, end))
        self._advance()
        self._claims.renew(self._seconds())
        self._share(self._shares.renew(self._seconds()))
        told, self._ended = self._ended, []
        return told

    def forget(self, keys: Iterable[str]) -> None:
        """Nobody wants these any more; what is under way goes on and is not told of."""
        unwanted = set(keys)
        for chain in self._chains.values():
            if not chain.is_robots and chain.wanted.key in unwanted:
                chain.forgotten = True
                self._frontier.withdraw(chain.key)

    def loads(self) -> list[HostLoad]:
        """What waits here, by host."""
        return self._frontier.loads(self._seconds())

    def wake(self) -> None:
        """Let whoever waits in `ended` return; from any thread."""
        self._web.wake()

    def close(self) -> None:
        """Give up what is under way; the domains are anybody's again."""
        with suppress(TransientError):
            self._claims.release_all(self._seconds())
            self._shares.leave_all()
        self._resolver.close()
        self._web.close()

    def _start_new(self) -> None:
        """What was begun sets out, once the stores say whose its domain is."""
        begun = [chain for chain in self._new if not chain.forgotten]
        if begun:
            urgent = {chain.url.domain for chain in begun if chain.wanted.urgent}
            domains = {chain.url.domain for chain in begun}
            waits = self._claims.hold(domains, self._seconds(), urgent)
            for chain in begun:
                self._look_up(chain, waits[chain.url.domain])
        self._new = []

    def _advance(self) -> None:
        """All that can go on does."""
        for chain, found in self._joined():
            self._guarded(chain, partial(self._located, chain, found))
            self._claims.look_up(chain.url.domain, -1)
        now_s = self._seconds()
        for turn, after_s in self._frontier.late(now_s):
            self._later(self._chains[int(str(turn.key))], after_s)
        for turn in self._frontier.start(now_s, self._room()):
            chain = self._chains[int(str(turn.key))]
            self._web.begin(chain.key, chain.ask(self._rules.agent))

    def _room(self) -> int:
        """How many more requests may be begun."""
        at_once, under_way = self._rules.at_once, self._web.count
        unkept = self._unkept + len(self._ended)
        return min(at_once - under_way, 2 * at_once - under_way - unkept)

    def _joined(self) -> list[tuple[Chain, Sequence[str] | Exception]]:
        """What was resolved; it is said which addresses are asked from now on, before they are."""
        some = [self._resolved.popleft() for _ in range(len(self._resolved))]
        found = {one[0] for _, one in some if not isinstance(one, Exception)}
        try:
            if found:
                self._share(self._shares.join(found, self._seconds()))
        except TransientError:
            self._resolved.extendleft(reversed(some))
            raise
        return some

    def _share(self, told: Mapping[str, int]) -> None:
        for address, sharing in told.items():
            self._frontier.share(address, sharing, self._seconds())

    def _guarded(self, chain: Chain, act: Callable[[], None]) -> None:
        """A fault met with one address is that one's, not everybody's."""
        try:
            act()
        except StoreUnavailableError:
            self._later(chain, AWAY_S)
        except Exception as error:  # noqa: BLE001 (told as what it is to whoever wanted it)
            if chain.is_robots:
                self._know_robots(chain, self._unreachable(repr(error)))
            else:
                self._end(chain, error)

    def _go(self, chain: Chain, url: RequestUrl, began_s: float) -> None:
        """On to another address. A domain that another process asks is waited for here until it is given
        away: who began anew would not come any nearer."""
        chain.url, now_s = url, self._seconds()
        after_s = self._claims.hold([url.domain], now_s, {url.domain})[url.domain]
        if after_s and now_s - began_s < GIVEN_S:
            self._parked.append((now_s + GIVEN_LOOK_S, began_s, chain))
        else:
            self._look_up(chain, after_s)

    def _go_on(self) -> None:
        """Look again whether domains were given away."""
        now_s = self._seconds()
        parked, self._parked = self._parked, []
        self._parked = [one for one in parked if one[0] > now_s]
        for _, began_s, chain in (one for one in parked if one[0] <= now_s):
            if chain.key in self._chains:
                self._guarded(chain, partial(self._go, chain, chain.url, began_s))

    def _look_up(self, chain: Chain, after_s: float) -> None:
        """Its host has to be found, if its domain is ours."""
        if after_s:
            self._later(chain, after_s)
            return
        self._claims.look_up(chain.url.domain, 1)
        self._resolver.ask(chain.url.host, chain.url.port, partial(self._note_resolved, chain))

    def _note_resolved(self, chain: Chain, found: Sequence[str] | Exception) -> None:
        self._resolved.append((chain, found))
        self._web.wake()

    def _located(self, chain: Chain, found: Sequence[str] | Exception) -> None:
        if isinstance(found, Exception):
            if chain.is_robots:
                self._know_robots(chain, self._unreachable(str(found)))
            elif isinstance(found, TransientError):
                self._end(chain, self._again(chain, Reason.NO_SUCH_HOST, str(found)))
            else:
                self._end(chain, found)
            return
        chain.addresses = found
        if chain.is_robots:
            self._offer(chain)
        else:
            self._obey(chain)

    def _obey(self, chain: Chain) -> None:
        """Ask robots.txt, which is fetched first where it is not known, once for all who wait for it."""
        now_s, url = self._seconds(), chain.url
        # Whoever is held to account otherwise may have another answer.
        origin = f"{chain.wanted.tls} {url.origin}"
        robots = self._robots.get(origin, now_s)
        if robots is None:
            waiting = self._at_robots.setdefault(origin, [])
            waiting.append(chain)
            if len(waiting) == 1:
                self._fetch_robots(origin, chain)
            return
        self._frontier.floor(url.host, url.domain, robots.delay_s, now_s)
        if robots.reason is Reason.BAD_CERTIFICATE:
            self._end(chain, dropped(robots.reason, robots.unreachable))
        elif robots.unreachable:
            self._end(chain, self._again(chain, robots.reason, robots.unreachable))
        elif not robots.allows(url):
            told = f"{url.origin}/robots.txt does not allow {url.target[:500]}"
            self._end(chain, dropped(Reason.ROBOTS_DENIED, told))
        else:
            chain.robots = robots
            self._offer(chain)

    def _fetch_robots(self, origin: str, first: Chain) -> None:
        chain = first.for_robots(next(self._keys), origin)
        self._chains[chain.key] = chain
        self._offer(chain)

    def _offer(self, chain: Chain) -> None:
        """Let it wait for its turn; it comes again if its domain was taken for abandoned meanwhile."""
        if not self._claims.holds(chain.url.domain):
            self._later(chain, ELSEWHERE_S)
            return
        goes_on = bool(chain.hops) or chain.is_robots or chain.wanted.urgent
        after_s = self._frontier.offer(chain.turn, self._seconds(), urgent=goes_on)
        if after_s:
            self._later(chain, after_s)

    def _later(self, chain: Chain, after_s: float) -> None:
        """What is not asked soon is to come again, and with it all who wait for what it asks."""
        told = f"{chain.url.origin} is asked again in {after_s:.0f} s"
        waiting = self._at_robots.pop(chain.origin, []) if chain.is_robots else []
        for place, one in enumerate(waiting):
            self._end(one, deferred(Reason.NOT_YET, told, after_s + place))
        self._end(chain, deferred(Reason.NOT_YET, told, after_s))

    def _answered(self, chain: Chain, end: Received | Failed) -> None:
        answer = told_to_pace(end)
        self._frontier.ended(chain.key, answer, self._seconds())
        if answer.refused or answer.unreachable:
            self._claims.write_soon(chain.url.domain)
        if isinstance(end, Failed):
            self._failed(chain, end)
            return
        chain.hops.append(end.hop)
        chain.cookies = end.cookies
        try:
            target = redirect_target(chain.url, end.hop.status, end.hop.get("location"))
        except PermanentError:
            if not chain.is_robots:
                raise
            target = None
        if target is None and chain.is_robots:
            known = self._robots_of(chain, end.body)
            self._know_robots(
                chain, self._unreachable(known.unreachable) if known.unreachable else known
            )
        elif not chain.is_robots and target and (refusal := chain.wanted.refusal(target.url)):
            reason, why = refusal
            self._end(chain, dropped(reason, f"{chain.url.url} redirects to {target.url}: {why}"))
        elif target is None:
            arrived = Arrived(
                tuple(chain.hops), end.body, answer.retry_after_s, chain.url, chain.robots
            )
            self._end(chain, arrived)
        elif chain.is_loop(target):
            self._redirects_end(
                chain, f"a redirect loop: {chain.url.url} leads back to {target.url}"
            )
        elif len(chain.hops) <= chain.wanted.redirects_max:
            self._go(chain, target, self._seconds())
        else:
            most = f"more than {chain.wanted.redirects_max} redirects"
            self._redirects_end(chain, f"{most}, the last from {chain.url.url}")

    def _redirects_end(self, chain: Chain, why: str) -> None:
        """Follow no further: a link is refused, a robots.txt means what one that is not there does."""
        if chain.is_robots:
            self._know_robots(chain, self._robots_of(chain, b""))
        else:
            self._end(chain, dropped(Reason.BAD_REDIRECT, why))

    def _failed(self, chain: Chain, end: Failed) -> None:
        if chain.is_robots:
            bad = end.reason is Reason.BAD_CERTIFICATE
            reason = end.reason if bad else Reason.ROBOTS_UNREACHABLE
            self._know_robots(chain, self._unreachable(end.detail, reason))
        elif end.reason in RETRIED:
            self._end(chain, self._again(chain, end.reason, end.detail))
        else:
            self._end(chain, dropped(end.reason, end.detail))

    def _robots_of(self, chain: Chain, body: bytes) -> Robots:
        """What the last answer of a chain means; the body of a redirect is no robots.txt."""
        hops = tuple(chain.hops)
        known = robots_of(hops[-1].http, body, self._rules.token, self._seconds())
        return as_answered(known, hops, body)

    def _unreachable(self, why: str, reason: Reason = Reason.ROBOTS_UNREACHABLE) -> Robots:
        """Nothing is allowed until what waits for it comes again, half an hour at most."""
        kept_s = min(UNREACHABLE_KEPT_S, self._rules.again_s / 2)
        return unreachable(why, self._seconds(), reason, kept_s)

    def _know_robots(self, chain: Chain, robots: Robots) -> None:
        """All who waited for a robots.txt go on."""
        self._robots.put(chain.origin, robots)
        self._chains.pop(chain.key, None)
        for one in self._at_robots.pop(chain.origin, []):
            self._guarded(one, partial(self._obey, one))

    def _again(self, chain: Chain, reason: Reason, told: str) -> Disposition:
        return retried(reason, told, later_s(chain.wanted.key, self._rules.again_s))

    def _end(self, chain: Chain, end: End) -> None:
        """A chain is over, once."""
        is_on = self._chains.pop(chain.key, None) is not None
        if is_on and not chain.is_robots and not chain.forgotten:
            self._ended.append((chain.wanted.key, end))
