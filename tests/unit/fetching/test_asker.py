"""What asks the web for a process: told from any thread, shared by whoever holds it, ended with the last."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue

import pytest

from empty_records import open_records
from fixtures.web_of_hosts import Asked, Pieces, Web, is_allowed, web_of_hosts
from fonds.fetching.addresses import Resolver
from fonds.fetching.crawl_client import CrawlClient
from fonds.fetching.crawl_request import RequestLimits
from fonds.fetching.domain_leases import AddressShares, DomainLeases
from fonds.fetching.fetcher import Fetcher
from fonds.fetching.frontier import Frontier, FrontierRules
from fonds.fetching.pace import PaceRules
from fonds.fetching.redirect_chain import FetchOutcome, FetchRequest, FetchResponse
from fonds.fetching.scheduler import FetchScheduler, FetchSchedulerRules
from fonds.model.errors import PostponedError
from fonds.urls.request_url import parse_request_url

FREE = PaceRules(0.0, busy_factor=0.0)
WAIT_S = 20.0
AT_ONCE = 8


@pytest.fixture
def web() -> Iterator[Web]:
    with web_of_hosts() as ours:
        yield ours


@pytest.fixture
def asker(web: Web, tmp_path: Path) -> Iterator[Fetcher]:
    records = open_records(tmp_path / "records.sqlite")

    def make() -> FetchScheduler:
        frontier = Frontier(FrontierRules(FREE, FREE, FREE))
        return FetchScheduler(
            FetchSchedulerRules("Fonds/0", "Fonds", AT_ONCE),
            CrawlClient(RequestLimits(total_s=30.0), is_allowed),
            Resolver(web.resolve, is_allowed),
            frontier,
            DomainLeases(records, frontier, "who", lambda: datetime.now(UTC)),
            AddressShares(records, "who", lambda: datetime.now(UTC)),
            time.monotonic,
        )

    yield Fetcher(make)
    records.close()


def wanted(web: Web, host: str, key: str = "key") -> FetchRequest:
    return FetchRequest(key, parse_request_url(web.url(host)), 100_000, 3)


def test_several_who_hold_it_are_told_each_their_own(web: Web, asker: Fetcher) -> None:
    found: SimpleQueue[tuple[str, FetchOutcome]] = SimpleQueue()

    def one_of(name: str) -> None:
        mine = asker.retain()
        for number in range(5):
            key = f"{name}-{number}"
            mine.submit(
                wanted(web, f"{key}.example", key), lambda end, key=key: found.put((key, end))
            )  # type: ignore[misc]

    holders = [threading.Thread(target=one_of, args=(name,)) for name in ("a", "b")]
    for holder in holders:
        holder.start()
    ends = dict(found.get(timeout=WAIT_S) for _ in range(10))
    for holder in holders:
        holder.join()
        asker.close()
    assert {key.partition("-")[0] for key in ends} == {"a", "b"}
    for key, end in ends.items():
        assert isinstance(end, FetchResponse)
        assert end.hops[-1].url == web.url(f"{key}.example")


def test_while_answers_wait_to_be_kept_no_more_are_asked_for_than_twice_as_many_as_at_once(
    web: Web, asker: Fetcher
) -> None:
    ends: SimpleQueue[FetchOutcome] = SimpleQueue()
    told = kept = 0

    def unkept() -> int:
        return told + ends.qsize() - kept

    mine = asker.retain(unkept)
    keys = [f"host{number}" for number in range(5 * AT_ONCE)]
    mine.submit_all((wanted(web, f"{key}.example", key), ends.put) for key in keys)
    while told < len(keys):
        for _ in range(min(2 * AT_ONCE, len(keys) - told)):
            assert isinstance(ends.get(timeout=WAIT_S), FetchResponse)
            told += 1
        time.sleep(0.1)  # in which it could ask for more
        pages = [one for one in web.log if one.target != "/robots.txt"]
        assert len(pages) <= kept + 2 * AT_ONCE
        kept = told
        mine.wake()
    mine.close(unkept)


def test_whoever_waits_is_told_when_it_is_closed(web: Web, asker: Fetcher) -> None:
    async def nothing() -> Pieces:
        yield b""
        await asyncio.sleep(60)

    def silent(asked: Asked, nth: int) -> Pieces:
        return nothing()

    web.hosts["silent.example"] = silent
    ends: SimpleQueue[FetchOutcome] = SimpleQueue()
    first, second = asker.retain(), asker.retain()
    first.submit(wanted(web, "silent.example"), ends.put)
    first.close()
    assert ends.empty()
    second.close()
    assert isinstance(ends.get(timeout=WAIT_S), PostponedError)


def test_what_was_closed_begins_anew(web: Web, asker: Fetcher) -> None:
    for number in range(2):
        ends: SimpleQueue[FetchOutcome] = SimpleQueue()
        held = asker.retain()
        held.submit(wanted(web, f"h{number}.example"), ends.put)
        assert isinstance(ends.get(timeout=WAIT_S), FetchResponse)
        held.close()


@pytest.fixture
def broken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: FetchScheduler, wait_s: float, unkept: int) -> list[tuple[str, FetchOutcome]]:
        monkeypatch.undo()
        raise RuntimeError("a bug")

    monkeypatch.setattr(FetchScheduler, "collect_finished", broken)


@pytest.mark.usefixtures("broken_once")
def test_a_fault_of_ours_is_told_to_all_and_the_next_are_asked(web: Web, asker: Fetcher) -> None:
    ends: SimpleQueue[FetchOutcome] = SimpleQueue()
    held = asker.retain()
    held.submit(wanted(web, "a.example"), ends.put)
    assert isinstance(ends.get(timeout=WAIT_S), RuntimeError)
    held.submit(wanted(web, "a.example"), ends.put)
    assert isinstance(ends.get(timeout=WAIT_S), FetchResponse)
    held.close()


@pytest.mark.usefixtures("broken_once")
def test_what_is_asked_for_by_who_is_told_of_a_fault_is_asked(web: Web, asker: Fetcher) -> None:
    """The thread that tells it is about to end, and no other call starts the next."""
    ends: SimpleQueue[FetchOutcome] = SimpleQueue()
    held = asker.retain()
    held.submit(wanted(web, "a.example"), lambda _: held.submit(wanted(web, "a.example"), ends.put))
    assert isinstance(ends.get(timeout=WAIT_S), FetchResponse)
    held.close()
