"""Creation of what fetches links: HTTP client, name resolution, rate limits, leases, and lists of
links.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import Any

from fonds.audit.repair.links import LinkLists
from fonds.config import Settings
from fonds.config_options import FetchSettings
from fonds.fetching import addresses
from fonds.fetching.addresses import Resolver
from fonds.fetching.crawl_client import CrawlClient
from fonds.fetching.crawl_request import RequestLimits
from fonds.fetching.domain_leases import AddressShares, DomainLeases
from fonds.fetching.fetcher import Fetcher
from fonds.fetching.frontier import Frontier, FrontierRules
from fonds.fetching.pace import PaceRules
from fonds.fetching.robots import parse_product_token
from fonds.fetching.scheduler import FetchScheduler, FetchSchedulerRules
from fonds.following.link_rules import LinkRules, create_link_rules
from fonds.ingest.sources.link_lists import LimitedSource, LinkListSource, ShuffledSource
from fonds.ingest.sources.link_rows import DOWNLOADS, RSS_DAY, URL_LISTS
from fonds.ingest.sources.link_sample import LinkSample
from fonds.ingest.sources.remote_files import RemoteFiles
from fonds.ingest.steps.archive_body import LEASE_S, ArchiveBodyStep
from fonds.ingest.steps.fetch import FetchRules, FetchStep
from fonds.ingest.steps.keep_host_files import HostFileKeeper
from fonds.ingest.steps.persist_file import PersistFileStep
from fonds.ingest.steps.spool import Spool
from fonds.ingest.steps.tdmrep_requests import TdmrepRequests
from fonds.isolation.calls import ChildLimits
from fonds.isolation.pool import ChildPool
from fonds.isolation.process_identity import create_worker_name, is_process_gone
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases
from fonds.model.entry import Link, TlsCheck
from fonds.ports import ConcurrentStep, Records, Stores
from fonds.wiring.archive import create_s3_opener, create_service_client
from fonds.wiring.flavours import get_configured_pipeline
from fonds.wiring.identification import create_identify
from fonds.wiring.stores import get_utc_now

# Pipelines that begin with links: the format of their input files, and how they are read.


FORMS: Mapping[str, str] = {
    "queue-fetcher": RSS_DAY,
    "batch": RSS_DAY,
    "historical": DOWNLOADS,
}
"""Format of the input files of each pipeline flavour. A flavour that is not listed reads tables of
URLs.
"""


def takes_links(settings: Settings) -> bool:
    """Return whether the inputs of the configured pipeline are links, which it fetches, and not
    files.
    """
    return get_configured_pipeline(settings).entry.payload is Link


def build_link_rules(settings: Settings) -> LinkRules:
    """Return the rules that reject links before they are fetched, such as links to sites without
    news.
    """
    return create_link_rules(
        settings.sources.non_news,
        settings.sources.news,
        private_addresses=settings.elsewhere.private_addresses,
    )


def build_named_link_rules(settings: Settings) -> LinkRules:
    """Return the rules for links that a user named. They allow any site, even one without news."""
    return LinkRules(frozenset(), settings.elsewhere.private_addresses)


def open_link_lists(
    names: Sequence[str],
    home: Path,
    settings: Settings,
    records: Records | None,
    sample: LinkSample,
    *,
    shuffle: bool = False,
) -> LimitedSource:
    """Open lists of links that a user named, as a source for a pipeline that begins with links.

    `names`: paths and URLs of the lists.
    `records`: SQL rows in which links that are known already are looked up; None to look up
        nothing.
    `sample`: decides which links are taken.
    `shuffle`: whether to read the links in random order.
    """
    source = _open_lists(names, home, settings, records, build_link_rules(settings), sample=sample)
    return LimitedSource(
        ShuffledSource(source, SystemRandom().shuffle) if shuffle else source, sample
    )


def create_link_lists(home: Path, settings: Settings) -> LinkLists:
    """Return how a repair reads the lists of links of the configured pipeline."""

    def open_list(path: Path, collection: str) -> LinkListSource:
        list_settings = settings.replace_values(collection=collection)
        rules = build_link_rules(settings)
        return _open_lists([str(path)], home, list_settings, None, rules)

    # A page that an older system stored has no URL but in the table of downloads.
    return LinkLists(open_list, needs_list=FORMS.get(settings.pipeline) == DOWNLOADS)


def open_named_lists(
    names: Sequence[str],
    home: Path,
    settings: Settings,
    records: Records,
    *,
    refetches: bool,
    tls: TlsCheck,
) -> LinkListSource:
    """Return the input source of files that list links. A user wants these links to be fetched
    now, from any site, even one that is not a news site.

    `refetches`: whether to fetch links again that were fetched before.
    `tls`: how strictly to check TLS connections.
    """
    rules = build_named_link_rules(settings)
    return _open_lists(names, home, settings, records, rules, allows_known=refetches, tls=tls)


def _open_lists(
    names: Sequence[str],
    home: Path,
    settings: Settings,
    records: Records | None,
    rules: LinkRules,
    **options: Any,
) -> LinkListSource:
    return LinkListSource(
        names=names,
        form=FORMS.get(settings.pipeline, URL_LISTS),
        home=home,
        pipeline=settings.pipeline,
        collection=settings.collection,
        rules=rules,
        remotes=RemoteFiles(create_service_client(settings), create_s3_opener(home, settings)),
        clock=get_utc_now,
        open_isolate=partial(
            ChildPool, 1, ChildLimits(wall_s=READ_S), required=settings.isolation == "required"
        ),
        records=records,
        follows_links=settings.follow_links,
        downloads_url=settings.sources.downloads_url.rstrip("/"),
        **options,
    )


READ_S = 20.0
"""Maximum duration for parsing 256 KiB of a link list, in seconds."""

ADDRESS_GAP_S, ADDRESS_ACTIVE_MAX = 0.1, 16
DOMAIN_ACTIVE_MAX = 4
_FETCHERS: dict[int, Fetcher] = {}
"""Fetchers of this process, by the `id()` of the records in which they store rate limits."""


def create_fetch(stores: Stores, settings: Settings) -> ConcurrentStep:
    """Create the pipeline step `fetch`, which requests links over the web."""
    fetch_settings = settings.fetch
    rules = FetchRules(
        fetch_settings.max_bytes,
        fetch_settings.redirects_max,
        fetch_settings.in_hand_max,
        fetch_settings.again_s,
    )
    spool = Spool(stores.blobs, stores.records, stores.archive)
    fetcher = get_fetcher(stores.records, settings)
    refusals = (
        build_link_rules(settings).find_refusal,
        build_named_link_rules(settings).find_refusal,
    )
    keep = _create_host_file_keeper(stores, settings, spool)
    tdmrep = (
        TdmrepRequests(fetcher, stores.records, keep.save, get_utc_now)
        if fetch_settings.tdmrep
        else None
    )
    return FetchStep(rules, fetcher, spool, *refusals, keep, tdmrep)


def _create_host_file_keeper(stores: Stores, settings: Settings, spool: Spool) -> HostFileKeeper:
    """Create the object that stores robots.txt and tdmrep.json files of hosts as captures.

    It uses the steps that identify, store and archive other captures.
    """
    return HostFileKeeper(
        spool,
        stores.records,
        create_identify(stores.archive, settings),
        PersistFileStep(stores.table, stores.records, stores.journal, True, get_utc_now),
        create_archive_body(stores, settings),
        get_utc_now,
    )


def create_archive_body(stores: Stores, settings: Settings) -> ArchiveBodyStep:
    """Create the pipeline step `archive_body`, which writes bodies to WARCs."""
    cells, name = LeaseTable(stores.records), create_worker_name()
    return ArchiveBodyStep(
        stores.archive,
        stores.records,
        stores.table,
        stores.blobs,
        stores.journal,
        get_utc_now,
        Leases(cells, name, time.monotonic, LEASE_S),
        get_configured_pipeline(settings).warc_prefix,
    )


def get_fetcher(records: Records, settings: Settings) -> Fetcher:
    """Return this process's fetcher with rate limits in `records`; create it on first use.

    All callers share it, because it enforces the rate limits.
    """
    key = id(records)
    if key not in _FETCHERS:
        make = partial(create_scheduler, records, settings)
        _FETCHERS[key] = Fetcher(make, lambda: _FETCHERS.pop(key, None))
    return _FETCHERS[key]


def create_scheduler(records: Records, settings: Settings) -> FetchScheduler:
    """Create the scheduler of requests, with the configured rate limits, time limits and user
    agent.
    """
    fetch_settings = settings.fetch
    is_allowed = addresses.choose_address_check(allows_private=settings.elsewhere.private_addresses)
    frontier = Frontier(build_frontier_rules(fetch_settings))
    agent, worker_name = fetch_settings.user_agent, create_worker_name()
    return FetchScheduler(
        FetchSchedulerRules(
            agent, parse_product_token(agent), fetch_settings.at_once, fetch_settings.again_s
        ),
        CrawlClient(
            RequestLimits(fetch_settings.connect_s, fetch_settings.total_s),
            is_allowed,
            fetch_settings.ca_file or None,
        ),
        Resolver(addresses.resolve, is_allowed),
        frontier,
        DomainLeases(records, frontier, worker_name, get_utc_now, is_process_gone),
        AddressShares(records, worker_name, get_utc_now, is_process_gone),
        create_steady_clock(),
    )


def build_frontier_rules(settings: FetchSettings) -> FrontierRules:
    """Return the configured rate limits for requests to a host, a domain and an IP address."""
    gap_s = settings.host_gap_s
    return FrontierRules(
        host=PaceRules(gap_s, settings.gap_longest_s),
        domain=PaceRules(
            gap_s / 2, settings.gap_longest_s, busy_factor=0.0, active_max=DOMAIN_ACTIVE_MAX
        ),
        address=PaceRules(
            min(gap_s, ADDRESS_GAP_S), busy_factor=0.0, active_max=ADDRESS_ACTIVE_MAX
        ),
        patience_s=settings.patience_s,
    )


def create_steady_clock() -> Callable[[], float]:
    """Return a clock that gives Unix seconds and does not jump when the system time is changed."""
    offset_s = time.time() - time.monotonic()
    return lambda: offset_s + time.monotonic()
