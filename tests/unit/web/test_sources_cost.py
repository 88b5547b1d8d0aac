"""The cost of the list of sources does not grow with their links, and hardly with their number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from followed_home import GOOD, add_health
from fonds.model.rows import DispositionRow, EntryRow
from fonds.ports import Stores
from fonds.web.app import create_app
from home_rows import NOW
from unit.web.test_page_cost import count_work

SOURCES = 120
ADDRESSES = ("/sources", "/sources?page=2", "/sources?page=3", "/sources?health=failing")
STATEMENTS_MAX = 10


def fill(stores: Stores, sources: int, links: int) -> None:
    """Store sources with links. Two of three sources fail, and every second link was stored."""
    for number in range(sources):
        source_id = f"{number:012x}"
        row = replace(
            GOOD,
            source_id=source_id,
            url=f"https://{number}.example/",
            failures=number % 3,
            last_well=NOW,
        )
        stores.records.put([add_health(row)])
        entries = [
            EntryRow(
                *(
                    f"{source_id}-{link_number}",
                    "queue-fetcher",
                    "link",
                    f"{source_id}.000001",
                    f"https://{link_number}.example/",
                ),
                *(None, None, "default", NOW),
            )
            for link_number in range(links)
        ]
        stores.ledger.enter([], entries, ["fetch"])
        stores.ledger.write(
            [
                DispositionRow(
                    *(entry.entry_id, "queue-fetcher", "fetch", entry.entry_id, None, None, "done"),
                    *(False, None, "", None, 0, NOW, NOW),
                )
                for entry in entries[::2]
            ]
        )


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[TestClient]]:
    """Clients of homes with few links, with ten times as many, and with few sources."""
    folders: list[Path] = [tmp_path_factory.mktemp(name) for name in ("few", "many", "small")]
    with (
        open_home(folders[0]) as few_links,
        open_home(folders[1]) as many_links,
        open_home(folders[2]) as few_sources,
    ):
        fill(few_links, SOURCES, 6)
        fill(many_links, SOURCES, 60)
        fill(few_sources, SOURCES // 40, 6)
        clients = [
            TestClient(create_app(home), base_url="http://localhost")
            for home in (few_links, many_links, few_sources)
        ]
        with clients[0], clients[1], clients[2]:
            yield clients


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_page_costs_the_same_with_ten_times_as_many_links(
    homes: list[TestClient], address: str
) -> None:
    costs = []
    for client in homes[:2]:
        assert client.get(address).status_code == 200
        with count_work() as work:
            client.get(address)
        costs.append(work)
    few_links, many_links = costs
    assert few_links.statement_count == many_links.statement_count <= STATEMENTS_MAX
    assert 0 < many_links.tick_count <= 2 * few_links.tick_count + 20


def test_fifty_sources_take_as_many_statements_as_three(
    homes: list[TestClient],
) -> None:
    counts = []
    for client in (homes[0], homes[2]):
        client.get("/sources")
        with count_work() as work:
            client.get("/sources")
        counts.append(work.statement_count)
    assert counts[0] == counts[1]
