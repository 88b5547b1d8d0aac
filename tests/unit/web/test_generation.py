"""The generation of the index stands wherever the index was read, and is the same everywhere."""

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
from fonds.search.index.wrappers import EmbargoFilterIndex
from fonds.search.manifest import parse_manifest
from fonds.web.app import create_app
from page_reading import read

FOOT = "//footer/p[1]"
OURS = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[Stores, TestClient]]:
    fill_home(tmp_path)
    with (
        open_home(tmp_path) as stores,
        TestClient(create_app(stores), base_url="http://localhost:8765") as client,
    ):
        yield stores, client


def manifest(client: TestClient) -> bytes:
    answer = client.get("/search/export/csv.zip?q=flood")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return archive.read("search.csv.manifest.json")


def test_page_twin_api_and_manifest_tell_the_same(home: tuple[Stores, TestClient]) -> None:
    _, client = home
    told = client.get("/api/search?q=flood").json()["generation"]
    assert re.fullmatch(r"\d+-[0-9a-f]{8}", told)
    assert client.get("/search.json?q=council").json()["generation"] == told
    assert read(client, "/search?q=flood").words(FOOT).endswith(f"index generation {told}")
    assert parse_manifest(manifest(client)).generation == told


def test_pages_that_read_no_index_tell_none(home: tuple[Stores, TestClient]) -> None:
    _, client = home
    assert "generation" not in read(client, "/records").words(FOOT)


def test_an_index_never_written_to_is_of_generation_0(empty_client: TestClient) -> None:
    assert empty_client.get("/api/search").json()["generation"] == "0"


def test_verifying_says_whether_it_is_still_that_one(home: tuple[Stores, TestClient]) -> None:
    stores, client = home
    then = manifest(client)
    told = client.post("/api/verify", content=then).json()
    assert told["generation_then"] == told["generation_now"] is not None
    page = client.post("/verify", data={"pasted": then.decode()}, headers=OURS).text
    assert "</span>, unchanged" in page
    (one,) = stores.index.search(SearchQuery("flood", count_max=1)).hits
    stores.index.put(list(stores.index.get([one.document.id]).values()))
    told = client.post("/api/verify", content=then).json()
    assert told["result_is_same"] is True
    assert told["generation_then"] != told["generation_now"]
    page = client.post("/verify", data={"pasted": then.decode()}, headers=OURS).text
    assert "</span>, unchanged" not in page


def test_a_manifest_of_before_there_were_any_says_unknown(home: tuple[Stores, TestClient]) -> None:
    _, client = home
    told = json.loads(manifest(client))
    del told["generation"]
    answer = client.post("/verify", data={"pasted": json.dumps(told)}, headers=OURS)
    assert "unknown then" in answer.text
    told["generation"] = "9" * 301
    assert client.post("/api/verify", content=json.dumps(told)).status_code == 400


def test_where_it_is_not_known_that_is_said(
    home: tuple[Stores, TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, client = home
    search = EmbargoFilterIndex.search

    def unknown(index: EmbargoFilterIndex, query: SearchQuery) -> SearchResults:
        return replace(search(index, query), generation=None)

    monkeypatch.setattr(EmbargoFilterIndex, "search", unknown)
    assert client.get("/api/search?q=flood").json()["generation"] is None
    assert read(client, "/search?q=flood").words(FOOT).endswith("index generation unknown")


def test_a_result_that_changed_while_it_was_written_has_none(
    home: tuple[Stores, TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    stores, client = home
    search, (one,) = (
        EmbargoFilterIndex.search,
        stores.index.search(SearchQuery("flood", count_max=1)).hits,
    )

    def written_to(index: EmbargoFilterIndex, query: SearchQuery) -> SearchResults:
        found = search(index, query)
        if query.sort == "id":
            stores.index.put(list(stores.index.get([one.document.id]).values()))
        return found

    monkeypatch.setattr(EmbargoFilterIndex, "search", written_to)
    assert parse_manifest(manifest(client)).generation is None
