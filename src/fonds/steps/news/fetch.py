"""fetch: what links lead to, many at once, each host at its pace and as its robots.txt allows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count

from fonds.crawl.frontier import Frontier
from fonds.crawl.outcomes import REFUSALS, later_s, of_status, retry_after_s
from fonds.crawl.pace import Answer
from fonds.crawl.redirects import redirect_target
from fonds.crawl.request_url import RequestUrl, request_url
from fonds.crawl.robots import BYTES_MAX, REDIRECTS_MAX, Robots, RobotsCache, robots_of, unreachable
from fonds.fetching.request import Failed, Received
from fonds.fetching.resolving import Resolver
from fonds.fetching.transfers import Transfers
from fonds.model.capture import Capture
from fonds.model.disposition import DONE, Reason, deferred, dropped, retried
from fonds.model.errors import PermanentError, StoreUnavailableError, TransientError
from fonds.model.exchange import Exchange
from fonds.model.link import Link
from fonds.model.step import Output, Result
from fonds.steps.news.chain import Chain
from fonds.steps.news.claims import DomainClaims
from fonds.steps.news.spool import Fetched, Spool

EMITS = (Output(Capture),)
RETRIED = frozenset({Reason.UNREACHABLE})
AWAY_S = 60.0


@dataclass(frozen=True, slots=True)
class FetchRules:
    """`agent` is our one identity, `token` the name robots.txt files know us by."""

    agent: str
    token: str
    body_max_bytes: int = 10_000_000
    redirects_max: int = 10
    at_once: int = 64
    in_hand_max: int = 1000


class Fetch:
    """Implements Errands. `seconds` is a clock that never goes back, in Unix seconds."""

    def __init__(
        self,
        rules: FetchRules,
        connect: Callable[[], Transfers],
        resolver: Resolver,
        frontier: Frontier,
        spool: Spool,
        claims: DomainClaims,
        seconds: Callable[[], float],
    ) -> None:
        self._rules = rules
        self._connect = connect
        self._resolver = resolver
        self._frontier = frontier
        self._spool = spool
        self._claims = claims
        self._seconds = seconds
        self._robots = RobotsCache()
        self._keys = count()
        self._chains: dict[int, Chain] = {}
        self._new: list[Chain] = []
        self._at_robots: dict[str, list[Chain]] = {}
        self._resolved: deque[tuple[Chain, Sequence[str] | Exception]] = deque()
        self._fetched: list[tuple[int, Fetched]] = []
        self._ended: list[tuple[int, Result | Exception]] = []

    @cached_property
    def _web(self) -> Transfers:
        """Made when the first link comes: most processes fetch nothing."""
        return self._connect()

    @property
    def room(self) -> int:
        """How many more links may be begun."""
        return self._rules.in_hand_max - len(self._chains) - len(self._fetched) - len(self._ended)

    def begin(self, items: Sequence[tuple[int, Link]]) -> None:
        """As the port says."""
        for number, link in items:
            try:
                chain = Chain(next(self._keys), request_url(link.url), link, number)
            except PermanentError as error:
                self._ended.append((number, error))
                continue
            self._chains[chain.key] = chain
            self._new.append(chain)

    def ended(self, wait_s: float) -> Sequence[tuple[int, Result | Exception]]:
        """As the port says."""
        self._claims.renew(self._seconds())
        self._start_new()
        self._advance()
        wake_s = self._frontier.wake_at_s()
        if wake_s is not None and self._web.count < self._rules.at_once:
            wait_s = min(wait_s, max(0.0, wake_s - self._seconds()))
        if self._ended or self._fetched:
            wait_s = 0.0
        for key, end in self._web.ended(wait_s):
            chain = self._chains[int(str(key))]
            self._guarded(chain, partial(self._answered, chain, end))
        self._advance()
        self._keep()
        told, self._ended = self._ended, []
        return told

    def forget(self, numbers: Sequence[int]) -> None:
        """As the port says."""
        unwanted = set(numbers)
        for chain in list(self._chains.values()):
            if chain.number in unwanted:
                chain.forgotten = True
                self._frontier.withdraw(chain.key)

    def close(self) -> None:
        """As the port says; the domains are anybody's again."""
        with suppress(TransientError):
            self._claims.release_all(self._seconds())
        self._resolver.close()
        if "_web" in self.__dict__:
            self._web.close()

    def _start_new(self) -> None:
        """What was begun sets out, once the stores say whose its domain is and what was fetched before; of a
        link that was itself fetched before, the capture is there."""
        begun = [chain for chain in self._new if not chain.forgotten]
        kept = self._spool.kept([chain.link for chain in begun if chain.link]) if begun else {}
        for chain in begun:
            if chain.link and (capture := kept.get(chain.link.id)):
                self._end(chain, Result(items=(capture,)))
        begun = [chain for chain in begun if chain.key in self._chains]
        if begun:
            befores = self._spool.before([chain.link.url for chain in begun if chain.link])
            waits = self._claims.hold({chain.url.domain for chain in begun}, self._seconds())
            for chain in begun:
                chain.before = befores.get(chain.link.url) if chain.link else None
                self._look_up(chain, waits[chain.url.domain])
        self._new = []

    def _advance(self) -> None:
        """All that can go on does."""
        while self._resolved:
            chain, found = self._resolved.popleft()
            self._guarded(chain, partial(self._located, chain, found))
        now_s = self._seconds()
        for turn, after_s in self._frontier.late(now_s):
            self._later(self._chains[int(str(turn.key))], after_s)
        for turn in self._frontier.start(now_s, self._rules.at_once - self._web.count):
            chain = self._chains[int(str(turn.key))]
            most = BYTES_MAX if chain.is_robots else self._rules.body_max_bytes
            self._web.begin(chain.key, chain.ask(self._rules.agent, most))

    def _guarded(self, chain: Chain, act: Callable[[], None]) -> None:
        """A fault met with one link is that link's, not everybody's."""
        try:
            act()
        except StoreUnavailableError:
            self._later(chain, AWAY_S)
        except Exception as error:  # noqa: BLE001 (told as what it is by whoever began the link)
            if chain.is_robots:
                self._know_robots(chain, unreachable(repr(error), self._seconds()))
            else:
                self._end(chain, error)

    def _go(self, chain: Chain, url: RequestUrl) -> None:
        """On to another address: its domain is to be ours."""
        chain.url = url
        self._look_up(chain, self._claims.hold([url.domain], self._seconds())[url.domain])

    def _look_up(self, chain: Chain, after_s: float) -> None:
        """Its host has to be found, if its domain is ours."""
        if after_s:
            self._later(chain, after_s)
            return
        self._resolver.ask(chain.url.host, chain.url.port, partial(self._note_resolved, chain))

    def _note_resolved(self, chain: Chain, found: Sequence[str] | Exception) -> None:
        self._resolved.append((chain, found))
        self._web.wake()

    def _located(self, chain: Chain, found: Sequence[str] | Exception) -> None:
        if isinstance(found, Exception):
            if chain.is_robots:
                self._know_robots(chain, unreachable(str(found), self._seconds()))
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
        robots = self._robots.get(url.origin, now_s)
        if robots is None:
            waiting = self._at_robots.setdefault(url.origin, [])
            waiting.append(chain)
            if len(waiting) == 1:
                asked = request_url(f"{url.origin}/robots.txt")
                first = Chain(next(self._keys), asked, origin=url.origin, addresses=chain.addresses)
                self._chains[first.key] = first
                self._offer(first)
            return
        self._frontier.floor(url.host, url.domain, robots.delay_s(self._rules.token), now_s)
        if robots.unreachable:
            self._end(chain, self._again(chain, Reason.ROBOTS_UNREACHABLE, robots.unreachable))
        elif not robots.allows(url, self._rules.token):
            told = f"{url.origin}/robots.txt does not allow {url.target[:500]}"
            self._end(chain, Result(dropped(Reason.ROBOTS_DENIED, told)))
        else:
            self._offer(chain)

    def _offer(self, chain: Chain) -> None:
        goes_on = bool(chain.hops) or chain.is_robots
        after_s = self._frontier.offer(chain.turn, self._seconds(), urgent=goes_on)
        if after_s:
            self._later(chain, after_s)

    def _later(self, chain: Chain, after_s: float) -> None:
        """What is not asked soon comes again from the queue, and with it all who wait for what it asks."""
        told = f"{chain.url.origin} is asked again in {after_s:.0f} s"
        waiting = self._at_robots.pop(chain.origin, []) if chain.is_robots else []
        for place, one in enumerate(waiting):
            self._end(one, Result(deferred(Reason.NOT_YET, told, after_s + place)))
        self._end(chain, Result(deferred(Reason.NOT_YET, told, after_s)))

    def _answered(self, chain: Chain, end: Received | Failed) -> None:
        answer = self._answer(end)
        self._frontier.ended(chain.key, answer, self._seconds())
        if isinstance(end, Failed):
            self._failed(chain, end)
            return
        chain.hops.append(end.hop)
        chain.cookies = end.cookies
        try:
            target = redirect_target(chain.url, end.hop.status, end.hop.get("location"))
        except PermanentError as error:
            if chain.is_robots:
                self._know_robots(chain, robots_of(end.hop.status, b"", self._seconds()))
            else:
                self._end(chain, error)
            return
        if target is None:
            self._arrived(chain, end, answer)
        elif len(chain.hops) > (REDIRECTS_MAX if chain.is_robots else self._rules.redirects_max):
            self._lost(chain, end)
        else:
            self._go(chain, target)

    def _answer(self, end: Received | Failed) -> Answer:
        if isinstance(end, Failed):
            return Answer(end.took_s, unreachable=end.unreachable)
        after_s = retry_after_s(end.hop.get("retry-after"), end.hop.began_at)
        refused = end.hop.status in REFUSALS
        return Answer(end.hop.took_s, refused, after_s if refused else 0.0)

    def _failed(self, chain: Chain, end: Failed) -> None:
        if chain.is_robots:
            too_long = end.reason is Reason.TOO_LARGE
            robots = robots_of(200, end.body, self._seconds()) if too_long else None
            self._know_robots(chain, robots or unreachable(end.detail, self._seconds()))
        elif end.reason in RETRIED:
            self._end(chain, self._again(chain, end.reason, end.detail))
        else:
            self._end(chain, Result(dropped(end.reason, end.detail)))

    def _arrived(self, chain: Chain, end: Received, answer: Answer) -> None:
        if chain.link is None:
            robots = robots_of(end.hop.status, end.body, self._seconds())
            self._know_robots(chain, robots)
            return
        ended = of_status(chain.link.id, end.hop.status, answer.retry_after_s)
        if ended is not DONE:
            self._end(chain, Result(ended))
            return
        exchange = Exchange(tuple(chain.hops), str(chain.link.tls))
        del self._chains[chain.key]
        if not chain.forgotten:
            self._fetched.append((chain.number, Fetched(chain.link, exchange, end.body)))

    def _lost(self, chain: Chain, end: Received) -> None:
        """More redirects than are followed."""
        if chain.is_robots:
            self._know_robots(chain, robots_of(end.hop.status, b"", self._seconds()))
            return
        told = f"more than {self._rules.redirects_max} redirects, the last from {chain.url.url}"
        self._end(chain, Result(dropped(Reason.BAD_REDIRECT, told)))

    def _know_robots(self, chain: Chain, robots: Robots) -> None:
        """All who waited for a robots.txt go on."""
        self._robots.put(chain.origin, robots)
        self._chains.pop(chain.key, None)
        for one in self._at_robots.pop(chain.origin, []):
            self._guarded(one, partial(self._obey, one))

    def _again(self, chain: Chain, reason: Reason, told: str) -> Result:
        link_id = chain.link.id if chain.link else chain.origin
        return Result(retried(reason, told, later_s(link_id)))

    def _end(self, chain: Chain, end: Result | Exception) -> None:
        """A chain is over, once."""
        is_on = self._chains.pop(chain.key, None) is not None
        if is_on and not chain.is_robots and not chain.forgotten:
            self._ended.append((chain.number, end))

    def _keep(self) -> None:
        """What was fetched is kept together; what cannot be kept now is tried again the next time."""
        if not self._fetched:
            return
        captures = self._spool.keep([one for _, one in self._fetched])
        for (number, _), capture in zip(self._fetched, captures, strict=True):
            self._ended.append((number, Result(items=(capture,))))
        self._fetched = []
