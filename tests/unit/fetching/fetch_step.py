"""The step `fetch` on real stores and real sockets, with helpers for its results."""

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
SCHEDULER_RULES = FetchSchedulerRules("Fonds/0 (+https://fonds.example)", "Fonds")
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
class SpoolArchive:
    """Archive of the bodies in the spool only."""

    blobs: FolderBlobs

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        blob = self.blobs.get(place.path)
        if blob is None:
            raise PermanentError(Reason.MISSING_SOURCE, "it is no longer in the spool")
        return Payload(decode_exchange(blob)[1])


@dataclass
class Desk:
    """A `FetchStep` with real stores and real sockets, and the web it fetches from."""

    web: Web
    blobs: FolderBlobs
    records: SqlRecords
    fetch: FetchStep

    def run(self, *urls: str, poll: str = "poll") -> dict[str, Result | Exception]:
        """Fetch the links and return the result of each URL."""
        links = [build_link(url, poll, RssEntry(title="told by the feed")) for url in urls]
        self.fetch.begin(list(enumerate(links)))
        results: dict[str, Result | Exception] = {}
        deadline_s = time.monotonic() + 60
        while len(results) < len(urls):
            assert time.monotonic() < deadline_s, f"still waiting: {set(urls) - results.keys()}"
            for number, result in self.fetch.collect_finished(0.5):
                assert urls[number] not in results
                results[urls[number]] = result
        return results


BuildHostSteps = Callable[[Fetcher, Spool], tuple[HostFileKeeper, TdmrepRequests]]
"""Builds the keeper of host files and the requests for tdmrep.json."""


def make_desk(
    web: Web,
    folder: Path,
    process_name: str = "here",
    build_host_steps: BuildHostSteps | None = None,
    **options: Any,
) -> Desk:
    blobs = FolderBlobs(folder / "blobs")
    records = open_records(folder / "records.sqlite")
    paces = options.pop("paces", PACES)
    ca_file = options.pop("ca_file", None)

    def make_scheduler() -> FetchScheduler:
        frontier = Frontier(paces)
        return FetchScheduler(
            SCHEDULER_RULES,
            CrawlClient(LIMITS, is_allowed, ca_file),
            Resolver(web.resolve, is_allowed),
            frontier,
            DomainLeases(records, frontier, process_name, clock, **options),
            AddressShares(records, process_name, clock),
            time.monotonic,
        )

    fetcher, spool = Fetcher(make_scheduler), Spool(blobs, records, SpoolArchive(blobs))
    if build_host_steps is None:
        return Desk(web, blobs, records, FetchStep(RULES, fetcher, spool))
    keep, tdmrep = build_host_steps(fetcher, spool)
    fetch = FetchStep(RULES, fetcher, spool, keep_robots=keep, tdmrep=tdmrep)
    return Desk(web, blobs, records, fetch)


def get_capture(result: Result | Exception) -> Capture:
    assert isinstance(result, Result), result
    assert result.disposition.verdict is Verdict.DONE, result.disposition
    (item,) = result.items
    assert isinstance(item, Capture)
    return item


def get_outcome(result: Result | Exception) -> tuple[Verdict, Reason | None]:
    if isinstance(result, PermanentError):
        return Verdict.DROPPED, result.reason
    assert isinstance(result, Result), result
    assert result.items == ()
    return result.disposition.verdict, result.disposition.reason
