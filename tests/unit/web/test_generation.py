"""The index generation is shown wherever the index was read, with the same value."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_home import fill_home, open_home
from fonds.model.search import SearchQuery, SearchResults
from fonds.ports import Stores
from fonds.search.index.embargo_filter import EmbargoFilterIndex
from fonds.search.manifest import parse_manifest
from fonds.web.app import create_app
from page_reading import read

FOOT = "//footer/p[1]"
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[Stores, TestClient]]:
    fill_home(tmp_path)
    with (
        open_home(tmp_path) as stores,
        TestClient(create_app(stores), base_url="http://localhost:8765") as client,
    ):
        yield stores, client


def export_manifest(client: TestClient) -> bytes:
    response = client.get("/search/export/csv.zip?q=flood")
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        return archive.read("search.csv.manifest.json")


def test_page_json_api_and_manifest_have_the_same_generation(
    home: tuple[Stores, TestClient],
) -> None:
    _, client = home
    generation = client.get("/api/search?q=flood").json()["generation"]
    assert re.fullmatch(r"\d+-[0-9a-f]{8}", generation)
    assert client.get("/search.json?q=council").json()["generation"] == generation
    assert read(client, "/search?q=flood").words(FOOT).endswith(f"index generation {generation}")
    assert parse_manifest(export_manifest(client)).generation == generation


def test_pages_without_the_index_show_no_generation(home: tuple[Stores, TestClient]) -> None:
    _, client = home
    assert "generation" not in read(client, "/records").words(FOOT)


def test_an_empty_index_has_generation_0(empty_client: TestClient) -> None:
    assert empty_client.get("/api/search").json()["generation"] == "0"


def test_verifying_reports_whether_the_generation_changed(home: tuple[Stores, TestClient]) -> None:
    stores, client = home
    manifest = export_manifest(client)
    comparison = client.post("/api/verify", content=manifest).json()
    assert comparison["generation_then"] == comparison["generation_now"] is not None
    page = client.post("/verify", data={"pasted": manifest.decode()}, headers=SAME_ORIGIN).text
    assert "</span>, unchanged" in page
    (hit,) = stores.index.search(SearchQuery("flood", count_max=1)).hits
    stores.index.put(list(stores.index.get([hit.document.id]).values()))
    comparison = client.post("/api/verify", content=manifest).json()
    assert comparison["result_is_same"] is True
    assert comparison["generation_then"] != comparison["generation_now"]
    page = client.post("/verify", data={"pasted": manifest.decode()}, headers=SAME_ORIGIN).text
    assert "</span>, unchanged" not in page


def test_a_manifest_without_a_generation_is_reported_as_unknown(
    home: tuple[Stores, TestClient],
) -> None:
    _, client = home
    manifest = json.loads(export_manifest(client))
    del manifest["generation"]
    response = client.post("/verify", data={"pasted": json.dumps(manifest)}, headers=SAME_ORIGIN)
    assert "unknown then" in response.text
    manifest["generation"] = "9" * 301
    assert client.post("/api/verify", content=json.dumps(manifest)).status_code == 400


def test_an_unknown_generation_is_shown_as_unknown(
    home: tuple[Stores, TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, client = home
    search = EmbargoFilterIndex.search

    def search_without_generation(index: EmbargoFilterIndex, query: SearchQuery) -> SearchResults:
        return replace(search(index, query), generation=None)

    monkeypatch.setattr(EmbargoFilterIndex, "search", search_without_generation)
    assert client.get("/api/search?q=flood").json()["generation"] is None
    assert read(client, "/search?q=flood").words(FOOT).endswith("index generation unknown")


def test_an_export_during_a_write_has_no_generation(
    home: tuple[Stores, TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    stores, client = home
    search, (hit,) = (
        EmbargoFilterIndex.search,
        stores.index.search(SearchQuery("flood", count_max=1)).hits,
    )

    def search_and_write(index: EmbargoFilterIndex, query: SearchQuery) -> SearchResults:
        results = search(index, query)
        if query.sort == "id":
            stores.index.put(list(stores.index.get([hit.document.id]).values()))
        return results

    monkeypatch.setattr(EmbargoFilterIndex, "search", search_and_write)
    assert parse_manifest(export_manifest(client)).generation is None
