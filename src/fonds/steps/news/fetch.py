"""fetch: what links lead to, many at once, each host at its pace and as its robots.txt allows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

from fonds.crawl.outcomes import AGAIN_S, NOT_MODIFIED, of_status
from fonds.crawl.request_url import request_url
from fonds.fetching.asker import Asker
from fonds.fetching.chain import Arrived, End, Refusal, Wanted, no_refusal
from fonds.model.capture import Capture
from fonds.model.disposition import DONE, Disposition
from fonds.model.errors import PermanentError
from fonds.model.exchange import Exchange, Headers
from fonds.model.file import Unindexed
from fonds.model.link import Link
from fonds.model.rows import FetchedRow
from fonds.model.step import Output, Result
from fonds.steps.news.keep_host_files import as_fetched
from fonds.steps.news.spool import Fetched, HostAnswer, Spool
from fonds.steps.news.tdmrep_requests import FetchedPage, TdmrepRequests

EMITS = (Output(Capture), Output(Unindexed))
ACCEPT = "text/html,application/xhtml+xml,application/pdf,application/xml;q=0.9,*/*;q=0.8"
KEPT_AT_ONCE = 64
"""So many pages, at most, are written to the spool together."""


@dataclass(frozen=True, slots=True)
class FetchRules:
    """What one link may take; a passing fault is given about `again_s`."""

    body_max_bytes: int = 10_000_000
    redirects_max: int = 10
    in_hand_max: int = 1000
    again_s: float = AGAIN_S


class Fetch:
    """Implements Errands over what asks the web for this process.

    `refusal` judges redirects of links out of sources and lists, `refusal_named` those of links a person
    named. `keep_robots` keeps the robots.txt that allowed what was fetched, and notes it there. A page
    goes on when `tdmrep` knows how its host answered; None asks no host.
    """

    def __init__(
        self,
        rules: FetchRules,
        asker: Asker,
        spool: Spool,
        refusal: Refusal = no_refusal,
        refusal_named: Refusal = no_refusal,
        keep_robots: Callable[[Sequence[Fetched]], Sequence[Fetched]] = as_fetched,
        tdmrep: TdmrepRequests | None = None,
    ) -> None:
        self._rules = rules
        self._refusal = refusal
        self._refusal_named = refusal_named
        self._asker = asker.held(self._unkept)
        self._spool = spool
        self._keep_robots = keep_robots
        self._tdmrep = tdmrep
        self._keys = count()
        self._links: dict[str, tuple[int, Link]] = {}
        self._befores: dict[str, FetchedRow] = {}
        self._new: list[tuple[int, Link]] = []
        self._told: list[tuple[str, End]] = []
        self._is_told = threading.Condition()
        self._fetched: list[tuple[int, Fetched]] = []
        self._same: list[tuple[int, Fetched]] = []
        self._ended: list[tuple[int, Result | Exception]] = []

    @property
    def room(self) -> int:
        """How many more links may be begun."""
        waiting = (self._links, self._new, self._fetched, self._same, self._ended)
        held = len(self._tdmrep) if self._tdmrep is not None else 0
        return self._rules.in_hand_max - sum(map(len, waiting)) - held

    def begin(self, items: Sequence[tuple[int, Link]]) -> None:
        """As the port says."""
        self._new += items

    def ended(self, wait_s: float) -> Sequence[tuple[int, Result | Exception]]:
        """As the port says."""
        self._start_new()
        with self._is_told:
            if not (self._told or self._ended or self._fetched or self._same):
                self._is_told.wait(wait_s)
            told, self._told = self._told, []
        for key, end in told:
            if self._tdmrep is not None and self._tdmrep.answered(key, end):
                continue
            before = self._befores.pop(key, None)
            if (found := self._links.pop(key, None)) is not None:
                self._note(*found, end, before)
        self._keep()
        if self._tdmrep is not None:
            self._ended += self._tdmrep.ended()
        ended, self._ended = self._ended, []
        return ended

    def forget(self, numbers: Sequence[int]) -> None:
        """As the port says."""
        unwanted = set(numbers)
        keys = [key for key, (number, _) in self._links.items() if number in unwanted]
        for key in keys:
            del self._links[key]
            self._befores.pop(key, None)
        self._new = [one for one in self._new if one[0] not in unwanted]
        self._fetched = [one for one in self._fetched if one[0] not in unwanted]
        self._same = [one for one in self._same if one[0] not in unwanted]
        if self._tdmrep is not None:
            self._tdmrep.forget(unwanted)
        self._asker.forget(keys)

    def close(self) -> None:
        """As the port says."""
        self._asker.close(self._unkept)

    def _unkept(self) -> int:
        """Answers that would be lost with this process; asked from the thread that asks the web."""
        return len(self._told) + len(self._fetched) + len(self._same)

    def _start_new(self) -> None:
        """What was begun sets out, once the stores say what was fetched before; of a link that was itself
        fetched before, the capture is there."""
        if not self._new:
            return
        links = [link for _, link in self._new]
        kept, befores = self._spool.kept(links), self._spool.before([link.url for link in links])
        self._go_on([(*one, kept[one[1].id]) for one in self._new if one[1].id in kept])
        wanted = []
        for number, link in self._new:
            if link.id in kept:
                continue
            key = f"{link.id} {next(self._keys)}"
            try:
                wanted.append(self._wanted(key, link, befores))
            except PermanentError as error:
                self._ended.append((number, error))
                continue
            self._links[key] = (number, link)
            if (before := befores.get(link.url)) is not None:
                self._befores[key] = before
        self._new = []
        self._asker.ask_all((one, partial(self._tell, one.key)) for one in wanted)

    def _wanted(self, key: str, link: Link, befores: Mapping[str, FetchedRow]) -> Wanted:
        before = befores.get(link.url)
        return Wanted(
            key,
            request_url(link.url),
            self._rules.body_max_bytes,
            self._rules.redirects_max,
            ACCEPT,
            _conditional(before),
            before.final_url if before is not None else "",
            link.tls,
            refusal=self._refusal_of(link),
        )

    def _refusal_of(self, link: Link) -> Refusal:
        return self._refusal_named if link.allows_any_site else self._refusal

    def _go_on(self, pages: Sequence[tuple[int, Link, Capture]]) -> None:
        """What lies in the spool goes on, once its host was asked what it states."""
        if self._tdmrep is None:
            self._ended += [(number, Result(items=(capture,))) for number, _, capture in pages]
            return
        fetched = [
            FetchedPage(number, capture, link.tls, self._refusal_of(link))
            for number, link, capture in pages
        ]
        self._ended += self._tdmrep.add(fetched, self._tell)

    def _tell(self, key: str, end: End) -> None:
        """From the thread that asks."""
        with self._is_told:
            self._told.append((key, end))
            self._is_told.notify()

    def _note(self, number: int, link: Link, end: End, before: FetchedRow | None) -> None:
        if isinstance(end, Exception):
            self._ended.append((number, end))
        elif isinstance(end, Disposition):
            self._ended.append((number, Result(end)))
        else:
            self._arrived(number, link, end, before)

    def _arrived(self, number: int, link: Link, end: Arrived, before: FetchedRow | None) -> None:
        exchange = Exchange(end.hops, str(link.tls))
        known = HostAnswer(end.url, end.robots) if end.url and end.robots else None
        if end.hops[-1].status == NOT_MODIFIED and before is not None:
            self._same.append((number, Fetched(link, exchange, b"", before, known)))
            return
        ended = of_status(link.id, end.hops[-1].status, end.after_s, self._rules.again_s)
        if ended is not DONE:
            self._ended.append((number, Result(ended)))
            return
        self._fetched.append((number, Fetched(link, exchange, end.body, host=known)))

    def _keep(self) -> None:
        """What was fetched is kept together; what cannot be kept now is tried again the next time."""
        while self._same:
            self._know(*self._same[0])
            self._same.pop(0)
        some, rest = self._fetched[:KEPT_AT_ONCE], self._fetched[KEPT_AT_ONCE:]
        if some:
            captures = self._spool.keep(self._keep_robots([one for _, one in some]))
            pairs = zip(some, captures, strict=True)
            self._go_on([(number, one.link, capture) for (number, one), capture in pairs])
            self._fetched = rest
            self._asker.wake()

    def _know(self, number: int, same: Fetched) -> None:
        """A page that had not changed has the body of the capture before, where that was kept."""
        body = self._spool.known_body(same.known) if same.known is not None else None
        if body is None:
            self._ended.append((number, Result(of_status(same.link.id, NOT_MODIFIED))))
        else:
            self._fetched.append((number, replace(same, body=body)))


def _conditional(before: FetchedRow | None) -> Headers:
    """The headers that ask for what was fetched before only if it has changed."""
    if before is None:
        return ()
    told = {"If-None-Match": before.etag, "If-Modified-Since": before.last_modified}
    return tuple((name, value) for name, value in told.items() if value)
