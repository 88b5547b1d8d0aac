"""What fetching is made of: connections, names, paces and claims, with the settings of a home."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from fonds.config import Settings
from fonds.crawl.frontier import Frontier, Rules
from fonds.crawl.pace import PaceRules
from fonds.crawl.robots import product_token
from fonds.fetching import resolving, special_addresses
from fonds.fetching.asker import Asker
from fonds.fetching.chains import ChainRules, Chains
from fonds.fetching.claims import DomainClaims
from fonds.fetching.request import Limits
from fonds.fetching.resolving import Resolver
from fonds.fetching.shares import AddressShares
from fonds.fetching.transfers import Transfers
from fonds.ports import Errands, Records, Stores
from fonds.process_identity import is_gone, this_process
from fonds.setting_groups import FetchSettings
from fonds.steps.intake.archive_body import ArchiveBody
from fonds.steps.intake.persist_file import PersistFile
from fonds.steps.news.fetch import Fetch, FetchRules
from fonds.steps.news.keep_host_files import KeepHostFiles
from fonds.steps.news.spool import Spool
from fonds.steps.news.tdmrep_requests import TdmrepRequests
from fonds.wiring.backends import now, pipeline_of
from fonds.wiring.links.link_inputs import link_rules, named_link_rules
from fonds.wiring.steps import identify

ADDRESS_GAP_S, ADDRESS_ACTIVE_MAX = 0.1, 16
DOMAIN_ACTIVE_MAX = 4
_ASKERS: dict[int, Asker] = {}
"""By the identity of their records."""


def make_fetch(stores: Stores, settings: Settings) -> Errands:
    """The step `fetch` of a home."""
    told = settings.fetch
    rules = FetchRules(told.max_bytes, told.redirects_max, told.in_hand_max, told.again_s)
    spool = Spool(stores.blobs, stores.records, stores.archive)
    asker = asker_of(stores.records, settings)
    refusals = (link_rules(settings).refusal, named_link_rules(settings).refusal)
    keep = _keep_host_files(stores, settings, spool)
    tdmrep = TdmrepRequests(asker, stores.records, keep.keep, now) if told.tdmrep else None
    return Fetch(rules, asker, spool, *refusals, keep, tdmrep)


def _keep_host_files(stores: Stores, settings: Settings, spool: Spool) -> KeepHostFiles:
    """What keeps what hosts say to crawlers, through the steps of every capture."""
    archive = (stores.archive, stores.records, stores.table, stores.blobs)
    return KeepHostFiles(
        spool,
        stores.records,
        identify(stores.archive, settings),
        PersistFile(stores.table, stores.records, stores.journal, True, now),
        ArchiveBody(*archive, stores.journal, now, pipeline_of(settings).warc_prefix),
        now,
    )


def asker_of(records: Records, settings: Settings) -> Asker:
    """What asks the web for all of this process that uses these records, so that it keeps one pace."""
    key = id(records)
    if key not in _ASKERS:
        make = partial(make_chains, records, settings)
        _ASKERS[key] = Asker(make, lambda: _ASKERS.pop(key, None))
    return _ASKERS[key]


def make_chains(records: Records, settings: Settings) -> Chains:
    """Chains of requests with the paces, limits and name of these settings."""
    told = settings.fetch
    allowed = _anything if settings.elsewhere.private_addresses else special_addresses.is_public
    frontier = Frontier(frontier_rules(told))
    agent, who = told.user_agent, this_process()
    return Chains(
        ChainRules(agent, product_token(agent), told.at_once, told.again_s),
        Transfers(Limits(told.connect_s, told.total_s), allowed, told.ca_file or None),
        Resolver(resolving.resolve, allowed),
        frontier,
        DomainClaims(records, frontier, who, now, is_gone),
        AddressShares(records, who, now, is_gone),
        steady_seconds(),
    )


def frontier_rules(told: FetchSettings) -> Rules:
    """The paces of these settings."""
    gap_s = told.host_gap_s
    return Rules(
        host=PaceRules(gap_s, told.gap_longest_s),
        domain=PaceRules(
            gap_s / 2, told.gap_longest_s, busy_factor=0.0, active_max=DOMAIN_ACTIVE_MAX
        ),
        address=PaceRules(
            min(gap_s, ADDRESS_GAP_S), busy_factor=0.0, active_max=ADDRESS_ACTIVE_MAX
        ),
        patience_s=told.patience_s,
    )


def steady_seconds() -> Callable[[], float]:
    """A clock in Unix seconds that goes on evenly, whatever happens to the machine's own."""
    began_s = time.time() - time.monotonic()
    return lambda: began_s + time.monotonic()


def _anything(address: str) -> bool:
    return True
