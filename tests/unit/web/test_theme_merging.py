"""Suggested mergers on the page of a collection and in its JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from filled_home import build_once, open_home
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.names import CollectionName
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.tables import Tables
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases
from fonds.ports import Stores
from fonds.web.app import create_app
from kept_collections import Clock, themed_documents
from page_reading import read

SPLIT = CollectionName("made", "split")
PAGE = "/themes/made/split"
SECTION = "//section[@aria-labelledby='merges']"


@build_once
def _fill_split(home: Path) -> None:
    with open_home(home) as stores:
        tables = Tables(stores.table)
        tables.declare()
        writer = CollectionWriter(
            tables,
            Leases(LeaseTable(stores.records), create_worker_name(), time.monotonic),
            Clock(),
        )
        save_configuration(
            tables, SPLIT.namespace, "DEFAULT", build_configuration({"clusters": 15})
        )
        writer.put(SPLIT, themed_documents(300))
        rebuild(writer, SPLIT)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    """Stores with a collection about five subjects, grouped into 15 themes."""
    _fill_split(tmp_path)
    with open_home(tmp_path) as stores:
        yield stores


@pytest.fixture
def client(stores: Stores) -> Iterator[TestClient]:
    with TestClient(create_app(stores), base_url="http://localhost:8765") as client:
        yield client


def _get_json(client: TestClient, path: str = PAGE) -> dict[str, Any]:
    data: dict[str, Any] = client.get(f"/api{path}").json()
    return data


def test_the_page_lists_the_mergers_of_its_json(client: TestClient) -> None:
    data = _get_json(client)
    assert len(data["merges"]) == 5 < data["merges_total"]
    page = read(client, PAGE)
    words = page.words(SECTION)
    assert f"The 5 most similar of {data['merges_total']} pairs of themes." in words
    expected = [side["href"] for pair in data["merges"] for side in (pair["first"], pair["second"])]
    assert page.tree.xpath(f"{SECTION}//li//a/@href") == expected
    for pair in data["merges"]:
        assert f"{pair['cosine']:.2f}" in words
        assert f"Shared terms: {', '.join(pair['shared'])}" in words
        for side in (pair["first"], pair["second"]):
            theme = _get_json(client, side["href"])
            assert (theme["label"], theme["size"]) == (side["label"], side["size"])
            assert set(pair["shared"]) <= {term for term, _ in theme["terms"]}


def test_the_cosine_of_a_merger_matches_the_theme_page(client: TestClient) -> None:
    pair = _get_json(client)["merges"][0]
    nearest = _get_json(client, pair["first"]["href"])["nearest"]
    cosines = {theme["label"]: theme["cosine"] for theme in nearest}
    assert cosines[pair["second"]["label"]] == pytest.approx(pair["cosine"], abs=0.005)


def test_themes_with_the_same_name_are_not_suggested(client: TestClient) -> None:
    before = _get_json(client)
    pair = before["merges"][0]
    for side in (pair["first"], pair["second"]):
        response = client.post(
            f"{PAGE}/rename",
            data={"conf": "DEFAULT", "theme": side["href"].rpartition("/")[2], "name": "Harbours"},
            headers={"Sec-Fetch-Site": "same-origin"},
            follow_redirects=False,
        )
        assert response.status_code == 303, response.text
    after = _get_json(client)
    assert after["merges_total"] == before["merges_total"] - 1
    pairs = [{merger["first"]["href"], merger["second"]["href"]} for merger in after["merges"]]
    assert {pair["first"]["href"], pair["second"]["href"]} not in pairs
    assert "Harbours" in read(client, PAGE).words()


def test_themes_without_similar_ones_show_no_mergers(themed_client: TestClient) -> None:
    data = _get_json(themed_client, "/themes/made/five")
    assert (data["merges"], data["merges_total"]) == ([], 0)
    assert not read(themed_client, "/themes/made/five").tree.xpath(SECTION)
