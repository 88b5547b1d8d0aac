"""The robots.txt that allowed what was fetched: kept as captures of their own, once for each change."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from fonds.crawl.robots import Robots
from fonds.model.capture import Capture, to_datetime14
from fonds.model.errors import PermanentError
from fonds.model.exchange import Exchange
from fonds.model.file import ROBOTS_TXT, Identified
from fonds.model.link import Link
from fonds.model.rows import FetchedRow
from fonds.model.step import Result
from fonds.model.story import Unarchived
from fonds.ports import Records
from fonds.steps.news.spool import Fetched, Spool

KNOWN_MAX = 10_000
"""Robots.txt files whose captures are remembered, so that the records are not asked for each page."""


def as_fetched(some: Sequence[Fetched]) -> Sequence[Fetched]:
    """What was fetched as it is, where robots.txt files are not kept."""
    return some


@dataclass(frozen=True, slots=True)
class KeepRobots:
    """Implements what `Fetch` wants of it. A robots.txt takes the steps of every capture, at once: no message
    leads to it, `fetched` has a row of it. Not for several threads at once.
    """

    spool: Spool
    records: Records
    identify: Callable[[Capture], Result]
    persist: Callable[[Sequence[Identified]], Sequence[Result]]
    archive: Callable[[Sequence[Unarchived]], object]
    known: OrderedDict[tuple[str, str], str | None] = field(default_factory=OrderedDict)

    def __call__(self, some: Sequence[Fetched]) -> Sequence[Fetched]:
        """Note in each exchange what the robots.txt stated, and its capture, which is there by then."""
        files = {id(one.host.robots): one.host.robots for one in some if one.host is not None}
        ids = {key: self._capture_id(robots) for key, robots in files.items()}
        return [replace(one, exchange=_noted(one, ids)) for one in some]

    def _capture_id(self, robots: Robots) -> str | None:
        """The capture of a robots.txt, made where the one before it was another; None for one not kept."""
        if not robots.is_kept:
            return None
        key = (robots.url, hashlib.sha256(robots.body).hexdigest()[:16])
        if key not in self.known:
            self.known[key] = self._found(robots, key[1])
        self.known.move_to_end(key)
        if len(self.known) > KNOWN_MAX:
            self.known.popitem(last=False)
        return self.known[key]

    def _found(self, robots: Robots, digest: str) -> str | None:
        """The capture kept last, if it has these bytes, else a new one."""
        where = {"url": robots.url}
        rows = self.records.find(FetchedRow, where, order=("-fetched",), count_max=1)
        last = next((row for row in rows if row.capture_id.endswith(f"-{digest}")), None)
        if last is None:
            return self._kept(self._spooled(robots, digest))
        # A process that was killed may have left it in the spool.
        return last.capture_id if not last.in_spool else self._kept(self._left(last))

    def _spooled(self, robots: Robots, digest: str) -> Capture:
        folder = f"robots-{hashlib.sha256(robots.url.encode()).hexdigest()[:16]}"
        name = f"{folder}-{to_datetime14(robots.hops[-1].began_at)}-{digest}"
        exchange = Exchange(robots.hops)
        link = Link(name, folder, robots.url, "")
        (capture,) = self.spool.keep([Fetched(link, exchange, robots.body)])
        return capture

    def _left(self, row: FetchedRow) -> Capture:
        link = Link(row.capture_id, row.capture_id.rsplit("-", 2)[0], row.url, "")
        return self.spool.kept([link])[row.capture_id]

    def _kept(self, capture: Capture) -> str | None:
        """Its id once it has gone all its way; None for what is no robots.txt, of which nothing stays."""
        found = [one for one in self._identified(capture) if _is_robots(one)]
        results = self.persist(found) if found else ()
        bodies = [one for result in results for one in result.items if isinstance(one, Unarchived)]
        if not bodies:
            self.spool.forget(capture)
            return None
        self.archive(bodies)
        return capture.id

    def _identified(self, capture: Capture) -> Sequence[object]:
        try:
            return self.identify(capture).items
        except PermanentError:
            return ()


def _is_robots(one: object) -> TypeGuard[Identified]:
    """Whether it is what it is called: many sites answer with a page."""
    return isinstance(one, Identified) and one.file is not None and one.file.mime == ROBOTS_TXT


def _noted(one: Fetched, ids: dict[int, str | None]) -> Exchange:
    if one.host is None:
        return one.exchange
    robots = one.host.robots
    return replace(one.exchange, rights=robots.rights_of(one.host.url, ids[id(robots)]))
