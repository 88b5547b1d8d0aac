"""How far the links of each source came: in the list, and behind each of its numbers."""

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
    with open_home(tmp_path) as found:
        fill_sources(found)
        yield found


@pytest.fixture
def client(stores: Stores) -> Iterator[TestClient]:
    with TestClient(create_app(stores), base_url="http://localhost:8765") as found:
        yield found


def test_the_list_says_how_far_links_came_and_each_number_opens_them(client: TestClient) -> None:
    rows = {one["source_id"]: one for one in client.get("/api/sources").json()["rows"]}
    found = rows[GOOD.source_id]["funnel"]
    announced = KEPT + BLOCKED + WAITING + REFUSED
    assert found == {
        "announced": announced,
        "entered": announced - REFUSED,
        "fetched": KEPT,
        "kept": KEPT,
        "waiting": WAITING,
        "coverage": KEPT / announced,
    }
    assert rows[PAUSED.source_id]["funnel"]["coverage"] is None
    page = read(client, "/sources")
    (row,) = [
        one
        for one in page.tree.xpath("//table[contains(@class,'wide')]//tr")
        if one.xpath(f".//a[@href='/sources/{GOOD.source_id}']")
    ]
    opened = {}
    for one in row.xpath(".//td[contains(@class,'passed')]//a"):
        if "links" in one.get("href"):
            told = client.get("/api" + one.get("href")).json()["total"]
            assert told == int(one.text.replace(",", ""))
            opened[one.tail.strip(" ,")] = told
    assert opened == {
        "received": announced - REFUSED,
        "fetched": KEPT,
        "stored": KEPT,
        "in progress": WAITING,
    }
    table = client.get("/csv/sources").text.splitlines()
    assert "funnel.announced,funnel.entered,funnel.fetched,funnel.kept" in table[0]


def test_links_behind_a_stage_are_those_it_did_not_lose(stores: Stores, client: TestClient) -> None:
    poll = f"{SILENT.source_id}.000009"
    ends = [("fetch", "robots-denied"), ("identify", "redirect"), ("import_story", "duplicate")]
    ends += [("archive_body", None)] * 2
    entries = [
        EntryRow(
            f"far-{n}",
            "queue-fetcher",
            "link",
            poll,
            f"https://s.example/{n}",
            None,
            None,
            "default",
            NOW,
        )
        for n in range(len(ends))
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
                *(one.entry_id, "queue-fetcher", step, one.entry_id, one.entry_id, "fetch"),
                *("dropped" if reason else "done", False, reason, "", None, 0, NOW, NOW),
            )
            for one, (step, reason) in zip(entries, ends, strict=True)
        ]
    )
    links = f"/api/sources/{SILENT.source_id}/links"

    def behind(**asked: str) -> list[str]:
        found = client.get(links, params=asked).json()
        assert found["total"] == len(found["rows"])
        return sorted(row["entry_id"] for row in found["rows"])

    assert behind() == [f"far-{n}" for n in range(5)]
    assert behind(beyond="fetch") == ["far-1", "far-2", "far-3", "far-4"]
    assert behind(beyond="fetch", outcome="dropped") == ["far-1", "far-2"]
    assert behind(beyond="identify") == ["far-2", "far-3", "far-4"]
    assert behind(beyond="identify", step="import_story") == ["far-2"]
    assert behind(beyond="fetch", outcome="done") == ["far-3", "far-4"]
    assert behind(beyond="fetch", outcome="pending") == []
    unknown = client.get(links, params={"beyond": "fetsh"})
    assert (unknown.status_code, "Did you mean 'fetch'" in unknown.json()["error"]) == (400, True)
    (row,) = [
        one
        for one in client.get("/api/sources").json()["rows"]
        if one["source_id"] == SILENT.source_id
    ]
    assert (row["funnel"]["entered"], row["funnel"]["fetched"], row["funnel"]["kept"]) == (5, 4, 2)


def test_what_was_kept_of_nothing_is_not_known() -> None:
    assert build_funnel(GOOD, [], ["fetch"]).coverage is None
    few = [LinkEnding("done", None, "fetch", 1), LinkEnding("dropped", "duplicate", None, 3)]
    funnel = build_funnel(GOOD, few, ["fetch"])
    assert (funnel.announced, funnel.fetched, funnel.kept, funnel.coverage) == (4, 1, 1, 0.25)
