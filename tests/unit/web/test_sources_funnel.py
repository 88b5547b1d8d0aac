"""The funnel of each source: its counts in the list, and the links behind each count."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from followed_home import BLOCKED, GOOD, KEPT, PAUSED, REFUSED, SILENT, WAITING, fill_sources
from fonds.following.funnel import LinkEnding, build_funnel
from fonds.model.rows import DispositionRow, EntryRow
from fonds.ports import Stores
from fonds.web.app import create_app
from home_rows import NOW
from page_reading import read


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    with open_home(tmp_path) as stores:
        fill_sources(stores)
        yield stores


@pytest.fixture
def client(stores: Stores) -> Iterator[TestClient]:
    with TestClient(create_app(stores), base_url="http://localhost:8765") as client:
        yield client


def test_the_counts_of_a_funnel_link_to_exactly_those_links(client: TestClient) -> None:
    rows = {row["source_id"]: row for row in client.get("/api/sources").json()["rows"]}
    funnel = rows[GOOD.source_id]["funnel"]
    announced_count = KEPT + BLOCKED + WAITING + REFUSED
    assert funnel == {
        "announced": announced_count,
        "entered": announced_count - REFUSED,
        "fetched": KEPT,
        "kept": KEPT,
        "waiting": WAITING,
        "coverage": KEPT / announced_count,
    }
    assert rows[PAUSED.source_id]["funnel"]["coverage"] is None
    page = read(client, "/sources")
    (row,) = [
        table_row
        for table_row in page.tree.xpath("//table[contains(@class,'wide')]//tr")
        if table_row.xpath(f".//a[@href='/sources/{GOOD.source_id}']")
    ]
    totals = {}
    for link in row.xpath(".//td[contains(@class,'passed')]//a"):
        if "links" in link.get("href"):
            total = client.get("/api" + link.get("href")).json()["total"]
            assert total == int(link.text.replace(",", ""))
            totals[link.tail.strip(" ,")] = total
    assert totals == {
        "received": announced_count - REFUSED,
        "fetched": KEPT,
        "stored": KEPT,
        "in progress": WAITING,
    }
    table = client.get("/csv/sources").text.splitlines()
    assert "funnel.announced,funnel.entered,funnel.fetched,funnel.kept" in table[0]


def test_the_links_beyond_a_step_are_those_that_passed_it(
    stores: Stores, client: TestClient
) -> None:
    poll = f"{SILENT.source_id}.000009"
    endings = [("fetch", "robots-denied"), ("identify", "redirect"), ("import_story", "duplicate")]
    endings += [("archive_body", None)] * 2
    entries = [
        EntryRow(
            f"far-{number}",
            "queue-fetcher",
            "link",
            poll,
            f"https://s.example/{number}",
            None,
            None,
            "default",
            NOW,
        )
        for number in range(len(endings))
    ]
    stores.ledger.enter([], entries, ["fetch"])
    stores.ledger.write(
        [
            DispositionRow(
                *(
                    entry.entry_id,
                    "queue-fetcher",
                    "fetch",
                    entry.entry_id,
                    None,
                    None,
                    "done",
                    False,
                    None,
                ),
                *("", None, 0, NOW, NOW),
            )
            for entry in entries
        ]
    )
    stores.ledger.write(
        [
            DispositionRow(
                *(entry.entry_id, "queue-fetcher", step, entry.entry_id, entry.entry_id, "fetch"),
                *("dropped" if reason else "done", False, reason, "", None, 0, NOW, NOW),
            )
            for entry, (step, reason) in zip(entries, endings, strict=True)
        ]
    )
    links = f"/api/sources/{SILENT.source_id}/links"

    def list_links(**params: str) -> list[str]:
        data = client.get(links, params=params).json()
        assert data["total"] == len(data["rows"])
        return sorted(row["entry_id"] for row in data["rows"])

    assert list_links() == [f"far-{number}" for number in range(5)]
    assert list_links(beyond="fetch") == ["far-1", "far-2", "far-3", "far-4"]
    assert list_links(beyond="fetch", outcome="dropped") == ["far-1", "far-2"]
    assert list_links(beyond="identify") == ["far-2", "far-3", "far-4"]
    assert list_links(beyond="identify", step="import_story") == ["far-2"]
    assert list_links(beyond="fetch", outcome="done") == ["far-3", "far-4"]
    assert list_links(beyond="fetch", outcome="pending") == []
    response = client.get(links, params={"beyond": "fetsh"})
    assert (response.status_code, "Did you mean 'fetch'" in response.json()["error"]) == (400, True)
    (row,) = [
        source
        for source in client.get("/api/sources").json()["rows"]
        if source["source_id"] == SILENT.source_id
    ]
    assert (row["funnel"]["entered"], row["funnel"]["fetched"], row["funnel"]["kept"]) == (5, 4, 2)


def test_coverage_is_unknown_without_links() -> None:
    assert build_funnel(GOOD, [], ["fetch"]).coverage is None
    link_endings = [
        LinkEnding("done", None, "fetch", 1),
        LinkEnding("dropped", "duplicate", None, 3),
    ]
    funnel = build_funnel(GOOD, link_endings, ["fetch"])
    assert (funnel.announced, funnel.fetched, funnel.kept, funnel.coverage) == (4, 1, 1, 0.25)
