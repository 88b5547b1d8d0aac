"""The step `fetch` on real stores and real sockets, and how what it fetched ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from empty_records import open_records
from fixtures.web_of_hosts import Web, is_allowed
from fonds.fetching.addresses import Resolver
from fonds.fetching.crawl_client import CrawlClient
from fonds.fetching.crawl_request import RequestLimits
from fonds.fetching.domain_leases import AddressShares, DomainLeases
from fonds.fetching.fetcher import Fetcher
from fonds.fetching.frontier import Frontier, FrontierRules
from fonds.fetching.pace import PaceRules
from fonds.fetching.scheduler import FetchScheduler, FetchSchedulerRules
from fonds.following.link_rules import build_link
from fonds.ingest.steps.fetch import FetchRules, FetchStep
from fonds.ingest.steps.keep_host_files import HostFileKeeper
from fonds.ingest.steps.spool import Spool
from fonds.ingest.steps.tdmrep_requests import TdmrepRequests
from fonds.model.archive import Payload
from fonds.model.capture import Capture, Place, RssEntry
from fonds.model.disposition import Reason, Verdict
from fonds.model.errors import PermanentError
from fonds.model.step import Result
from fonds.stores.blobs import FolderBlobs
from fonds.stores.records.sql import SqlRecords
from fonds.text.exchange import decode_exchange

GAP_S = 0.15
RULES = FetchRules(body_max_bytes=50_000, redirects_max=4)
WHO = FetchSchedulerRules("Fonds/0 (+https://fonds.example)", "Fonds")
LIMITS = RequestLimits(connect_s=20.0, total_s=25.0, slow_bytes=100, slow_s=5)
PACES = FrontierRules(
    PaceRules(GAP_S, busy_factor=0.0),
    PaceRules(0.0, busy_factor=0.0, active_max=10),
    PaceRules(0.0, busy_factor=0.0, active_max=100),
    patience_s=5.0,
)


def clock() -> datetime:
    return datetime.now(UTC)


@dataclass
class Kept:
    """An archive of what is in the spool alone."""

    blobs: FolderBlobs

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        blob = self.blobs.get(place.path)
        if blob is None:
            raise PermanentError(Reason.MISSING_SOURCE, "it is in the spool no more")
        return Payload(decode_exchange(blob)[1])


@dataclass
class Desk:
    """A Fetch with real stores and real sockets, and the web it fetches from."""

    web: Web
    blobs: FolderBlobs
    records: SqlRecords
    fetch: FetchStep

    def run(self, *urls: str, poll: str = "poll") -> dict[str, Result | Exception]:
        """How each link ended, by its address."""
        links = [build_link(url, poll, RssEntry(title="told by the feed")) for url in urls]
        self.fetch.begin(list(enumerate(links)))
        found: dict[str, Result | Exception] = {}
        ends_s = time.monotonic() + 60
        while len(found) < len(urls):
            assert time.monotonic() < ends_s, f"still waiting: {set(urls) - found.keys()}"
            for number, end in self.fetch.collect_finished(0.5):
                assert urls[number] not in found
                found[urls[number]] = end
        return found


Hosts = Callable[[Fetcher, Spool], tuple[HostFileKeeper, TdmrepRequests]]
"""What keeps files of hosts, and what asks for their tdmrep.json."""


def make_desk(
    web: Web, folder: Path, who: str = "here", hosts: Hosts | None = None, **more: Any
) -> Desk:
    blobs = FolderBlobs(folder / "blobs")
    records = open_records(folder / "records.sqlite")
    paces = more.pop("paces", PACES)
    ca_file = more.pop("ca_file", None)

    def chains() -> FetchScheduler:
        frontier = Frontier(paces)
        return FetchScheduler(
            WHO,
            CrawlClient(LIMITS, is_allowed, ca_file),
            Resolver(web.resolve, is_allowed),
            frontier,
            DomainLeases(records, frontier, who, clock, **more),
            AddressShares(records, who, clock),
            time.monotonic,
        )

    asker, spool = Fetcher(chains), Spool(blobs, records, Kept(blobs))
    if hosts is None:
        return Desk(web, blobs, records, FetchStep(RULES, asker, spool))
    keep, tdmrep = hosts(asker, spool)
    fetch = FetchStep(RULES, asker, spool, keep_robots=keep, tdmrep=tdmrep)
    return Desk(web, blobs, records, fetch)


def capture(end: Result | Exception) -> Capture:
    assert isinstance(end, Result), end
    assert end.disposition.verdict is Verdict.DONE, end.disposition
    (item,) = end.items
    assert isinstance(item, Capture)
    return item


def ended(end: Result | Exception) -> tuple[Verdict, Reason | None]:
    if isinstance(end, PermanentError):
        return Verdict.DROPPED, end.reason
    assert isinstance(end, Result), end
    assert end.items == ()
    return end.disposition.verdict, end.disposition.reason
