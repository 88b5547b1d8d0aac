"""What fetching is made of: connections, names, paces and claims, with the settings of a home."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable
from functools import partial

from fonds import __version__
from fonds.config import Settings
from fonds.crawl.frontier import Frontier, Rules
from fonds.crawl.pace import PaceRules
from fonds.crawl.robots import product_token
from fonds.fetching import resolving, special_addresses
from fonds.fetching.request import Limits
from fonds.fetching.resolving import Resolver
from fonds.fetching.transfers import Transfers
from fonds.ports import Errands, Stores
from fonds.setting_groups import FetchSettings
from fonds.steps.news.claims import DomainClaims
from fonds.steps.news.fetch import Fetch, FetchRules
from fonds.steps.news.spool import Spool
from fonds.wiring.steps import now

ADDRESS_GAP_S, ADDRESS_ACTIVE_MAX = 0.1, 16
DOMAIN_ACTIVE_MAX = 4


def make_fetch(stores: Stores, settings: Settings) -> Errands:
    """The step `fetch` of a home."""
    told = settings.fetch
    allowed = _anything if settings.elsewhere.private_addresses else special_addresses.is_public
    frontier = Frontier(frontier_rules(told))
    agent = user_agent(told)
    limits = Limits(told.connect_s, told.total_s)
    rules = FetchRules(
        agent=agent,
        token=product_token(agent),
        body_max_bytes=told.max_bytes,
        redirects_max=told.redirects_max,
        at_once=told.at_once,
        in_hand_max=told.in_hand_max,
    )
    return Fetch(
        rules,
        partial(Transfers, limits, allowed, told.ca_file or None),
        Resolver(resolving.resolve, allowed),
        frontier,
        Spool(stores.blobs, stores.records),
        DomainClaims(stores.records, frontier, process_name(), now, is_gone),
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


def user_agent(told: FetchSettings) -> str:
    """Our one identity: name, version, and whom to turn to."""
    contact = f" (+{told.contact})" if told.contact else ""
    return f"{told.agent}/{__version__}{contact}"


def steady_seconds() -> Callable[[], float]:
    """A clock in Unix seconds that goes on evenly, whatever happens to the machine's own."""
    began_s = time.time() - time.monotonic()
    return lambda: began_s + time.monotonic()


def process_name() -> str:
    """The name of this process among those of other machines."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def is_gone(who: str) -> bool:
    """Whether a process of this machine has ended; of others' nothing is known."""
    host, _, rest = who.rpartition(":")[0].rpartition(":")
    if host != socket.gethostname() or not rest.isdigit():
        return False
    if int(rest) == os.getpid():
        return False
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _anything(address: str) -> bool:
    return True
