"""The fetcher of a process: called from any thread, shared by its users, closed with the last."""

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
from fixtures.web_of_hosts import HostRequest, Pieces, Web, is_allowed, serve_hosts
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

NO_PACE = PaceRules(0.0, busy_factor=0.0)
WAIT_S = 20.0
ACTIVE_MAX = 8


@pytest.fixture
def web() -> Iterator[Web]:
    with serve_hosts() as hosts:
        yield hosts


@pytest.fixture
def fetcher(web: Web, tmp_path: Path) -> Iterator[Fetcher]:
    records = open_records(tmp_path / "records.sqlite")

    def make_scheduler() -> FetchScheduler:
        frontier = Frontier(FrontierRules(NO_PACE, NO_PACE, NO_PACE))
        return FetchScheduler(
            FetchSchedulerRules("Fonds/0", "Fonds", ACTIVE_MAX),
            CrawlClient(RequestLimits(total_s=30.0), is_allowed),
            Resolver(web.resolve, is_allowed),
            frontier,
            DomainLeases(records, frontier, "who", lambda: datetime.now(UTC)),
            AddressShares(records, "who", lambda: datetime.now(UTC)),
            time.monotonic,
        )

    yield Fetcher(make_scheduler)
    records.close()


def make_request(web: Web, host: str, key: str = "key") -> FetchRequest:
    return FetchRequest(key, parse_request_url(web.build_url(host)), 100_000, 3)


def test_each_client_receives_only_its_own_outcomes(web: Web, fetcher: Fetcher) -> None:
    outcomes: SimpleQueue[tuple[str, FetchOutcome]] = SimpleQueue()

    def submit_five(name: str) -> None:
        client = fetcher.retain()
        for number in range(5):
            key = f"{name}-{number}"
            client.submit(
                make_request(web, f"{key}.example", key),
                lambda outcome, key=key: outcomes.put((key, outcome)),
            )  # type: ignore[misc]

    threads = [threading.Thread(target=submit_five, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    outcome_by_key = dict(outcomes.get(timeout=WAIT_S) for _ in range(10))
    for thread in threads:
        thread.join()
        fetcher.close()
    assert {key.partition("-")[0] for key in outcome_by_key} == {"a", "b"}
    for key, outcome in outcome_by_key.items():
        assert isinstance(outcome, FetchResponse)
        assert outcome.hops[-1].url == web.build_url(f"{key}.example")


def test_unstored_outcomes_limit_the_number_of_requests(web: Web, fetcher: Fetcher) -> None:
    outcomes: SimpleQueue[FetchOutcome] = SimpleQueue()
    received_count = stored_count = 0

    def count_unstored() -> int:
        return received_count + outcomes.qsize() - stored_count

    client = fetcher.retain(count_unstored)
    keys = [f"host{number}" for number in range(5 * ACTIVE_MAX)]
    client.submit_all((make_request(web, f"{key}.example", key), outcomes.put) for key in keys)
    while received_count < len(keys):
        for _ in range(min(2 * ACTIVE_MAX, len(keys) - received_count)):
            assert isinstance(outcomes.get(timeout=WAIT_S), FetchResponse)
            received_count += 1
        time.sleep(0.1)  # time in which it could request more
        pages = [request for request in web.log if request.target != "/robots.txt"]
        assert len(pages) <= stored_count + 2 * ACTIVE_MAX
        stored_count = received_count
        client.wake()
    client.close(count_unstored)


def test_closing_the_last_client_postpones_waiting_requests(web: Web, fetcher: Fetcher) -> None:
    async def send_nothing() -> Pieces:
        yield b""
        await asyncio.sleep(60)

    def respond_never(request: HostRequest, nth: int) -> Pieces:
        return send_nothing()

    web.hosts["silent.example"] = respond_never
    outcomes: SimpleQueue[FetchOutcome] = SimpleQueue()
    first, second = fetcher.retain(), fetcher.retain()
    first.submit(make_request(web, "silent.example"), outcomes.put)
    first.close()
    assert outcomes.empty()
    second.close()
    assert isinstance(outcomes.get(timeout=WAIT_S), PostponedError)


def test_a_closed_fetcher_can_be_retained_again(web: Web, fetcher: Fetcher) -> None:
    for number in range(2):
        outcomes: SimpleQueue[FetchOutcome] = SimpleQueue()
        client = fetcher.retain()
        client.submit(make_request(web, f"h{number}.example"), outcomes.put)
        assert isinstance(outcomes.get(timeout=WAIT_S), FetchResponse)
        client.close()


@pytest.fixture
def broken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken_collect(
        self: FetchScheduler, wait_s: float, unkept: int
    ) -> list[tuple[str, FetchOutcome]]:
        monkeypatch.undo()
        raise RuntimeError("a bug")

    monkeypatch.setattr(FetchScheduler, "collect_finished", broken_collect)


@pytest.mark.usefixtures("broken_once")
def test_a_bug_raises_for_all_clients_and_later_requests_succeed(
    web: Web, fetcher: Fetcher
) -> None:
    outcomes: SimpleQueue[FetchOutcome] = SimpleQueue()
    client = fetcher.retain()
    client.submit(make_request(web, "a.example"), outcomes.put)
    assert isinstance(outcomes.get(timeout=WAIT_S), RuntimeError)
    client.submit(make_request(web, "a.example"), outcomes.put)
    assert isinstance(outcomes.get(timeout=WAIT_S), FetchResponse)
    client.close()


@pytest.mark.usefixtures("broken_once")
def test_a_request_submitted_from_an_error_callback_succeeds(web: Web, fetcher: Fetcher) -> None:
    """The callback's thread is about to end, and no other call starts the next thread."""
    outcomes: SimpleQueue[FetchOutcome] = SimpleQueue()
    client = fetcher.retain()
    client.submit(
        make_request(web, "a.example"),
        lambda _: client.submit(make_request(web, "a.example"), outcomes.put),
    )
    assert isinstance(outcomes.get(timeout=WAIT_S), FetchResponse)
    client.close()
