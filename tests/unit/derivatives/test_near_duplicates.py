"""Near-duplicates in search results: the first is listed, and the others are grouped with it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from fonds.derivatives.sketch import build_page_sketch
from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.model.rows import StoryMetaRow
from fonds.model.story import Story
from fonds.ports import Stores
from fonds.search.results import find_near_duplicates
from fonds.web.app import create_app

NOW = datetime(2026, 3, 14, tzinfo=UTC)
REPORT = " ".join(
    f"Sentence {n} of the agency tells of the river and bridge {n}." for n in range(60)
)
OTHER = " ".join(
    f"Line {n} is about apples, pears and what {n} of them cost now." for n in range(60)
)
TEXTS = {
    "wire": f"flood {REPORT}",
    "paper": f"flood {REPORT} The paper adds a sentence of its own.",
    "apples": f"flood {OTHER}",
    "copy": f"flood {REPORT}",
    "short": "flood water",
    "again": "flood water",
    "other": "flood over",
}


def make_document(name: str, text: str) -> IndexDocument:
    return IndexDocument(
        id=name,
        sha1hex=sha1(name.encode()).hexdigest(),
        kind=Kind.STORY,
        url=f"http://{name}.example/",
        canonical_domain=f"{name}.example",
        publication_date=None,
        language="en",
        article_title=name,
        text_content=text,
        indexed_date=NOW,
        collection="",
    )


def make_row(document: IndexDocument) -> StoryMetaRow:
    return StoryMetaRow(
        sha1hex=document.sha1hex,
        story_id=document.id,
        captured="20260301000000",
        updated=NOW,
        status="success",
        url=document.url,
        canonical_domain=document.canonical_domain,
        publication_date=None,
        language="en",
        article_title=document.article_title,
        word_count=len(document.text_content.split()),
        story=Story(),
        extractor="article/1",
    )


DOCUMENTS = [make_document(name, text) for name, text in TEXTS.items()]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    folder: Path = tmp_path_factory.mktemp("alike")
    with open_home(folder) as new_stores:
        new_stores.records.put(
            [build_page_sketch(make_row(document), document.text_content) for document in DOCUMENTS]
        )
        new_stores.index.put(DOCUMENTS)
        yield new_stores


def test_each_document_is_grouped_with_the_first_similar_one(stores: Stores) -> None:
    near_duplicates = find_near_duplicates(stores.records, DOCUMENTS)
    assert near_duplicates == {"paper": "wire", "copy": "wire", "again": "short"}


def test_the_first_in_the_given_order_is_listed(stores: Stores) -> None:
    near_duplicates = find_near_duplicates(stores.records, DOCUMENTS[::-1])
    assert near_duplicates == {"paper": "copy", "wire": "copy", "short": "again"}
    assert find_near_duplicates(stores.records, []) == {}


def test_documents_without_sketches_have_no_near_duplicates(stores: Stores) -> None:
    unknown = [make_document("x", REPORT), make_document("y", REPORT)]
    assert find_near_duplicates(stores.records, unknown) == {}


@pytest.fixture(scope="module")
def client(stores: Stores) -> Iterator[TestClient]:
    with TestClient(create_app(stores), base_url="http://localhost:8765") as test_client:
        yield test_client


def search(client: TestClient, parameters: str) -> Any:
    return client.get(f"/api/search?q=flood{parameters}").json()


def test_the_api_lists_every_document_with_its_near_duplicate(client: TestClient) -> None:
    answer = search(client, "")
    first_by_id = {hit["id"]: hit["near_duplicate_of"] for hit in answer["results"]}
    assert answer["total"] == answer["listed"] == len(first_by_id) == len(TEXTS)
    assert len([name for name, first in first_by_id.items() if first is None]) == len(TEXTS) - 3
    assert (answer["compared"], {hit["alike"] for hit in answer["results"]}) == (0, {0})


def test_collapsed_results_have_one_document_per_group_on_every_page(client: TestClient) -> None:
    collapsed = search(client, "&collapse=yes")
    assert (collapsed["total"], collapsed["listed"], collapsed["compared"]) == (
        len(TEXTS),
        4,
        len(TEXTS),
    )
    assert sorted(hit["alike"] for hit in collapsed["results"]) == [0, 0, 1, 2]
    assert collapsed["pages"] == 1
    pages = [search(client, f"&collapse=yes&size=1&page={n}") for n in range(1, 6)]
    assert [hit["id"] for page in pages for hit in page["results"]] == [
        hit["id"] for hit in collapsed["results"]
    ]
    assert {page["pages"] for page in pages} == {4}


@pytest.mark.parametrize("parameters", ["&sort=id", "&sort=id&after=wire"])
def test_results_after_an_id_are_not_collapsed(client: TestClient, parameters: str) -> None:
    response = client.get(f"/api/search?q=flood&collapse=yes{parameters}")
    assert (response.status_code, "only on numbered pages" in response.text) == (400, True)
    page = client.get(f"/search?q=flood{parameters}").text
    assert " alike</a>" not in page


def test_the_page_shows_one_document_with_a_link_to_its_group(client: TestClient) -> None:
    page = client.get("/search?q=flood").text
    assert page.count('class="hit unpictured"') == 4
    assert "3 near-duplicates hidden" in page
    (first,) = (
        hit["id"] for hit in search(client, "&collapse=yes")["results"] if hit["alike"] == 2
    )
    assert f'<a href="/search?q=flood&amp;alike={first}">2 near-duplicates</a>' in page
    group = client.get(f"/search?q=flood&alike={first}").text
    assert group.count('class="hit unpictured"') == 3
    for name in ("wire", "paper", "copy"):
        assert group.count(f">{name}</a>") == 1
    assert "3 documents found" in group
    assert "/search/export/" in group
    assert "/search.atom" in group


def test_the_switch_shows_every_document(client: TestClient) -> None:
    page = client.get("/search?q=flood&collapse=no").text
    assert page.count('class="hit unpictured"') == len(TEXTS)
    assert "Near-duplicates are shown" in page
    for name in TEXTS:
        assert page.count(f">{name}</a>") == 1


def test_numbers_continue_on_the_next_page(client: TestClient) -> None:
    second = client.get("/search?q=flood&size=3&page=2").text
    assert "4–4 of 4" in second
    assert '<li value="4" class="hit' in second


def test_facets_of_a_group_count_only_its_documents(client: TestClient) -> None:
    (first,) = (
        hit["id"] for hit in search(client, "&collapse=yes")["results"] if hit["alike"] == 2
    )
    answer = search(client, f"&alike={first}")
    assert (answer["total"], dict(answer["facets"]["kind"])) == (3, {"story": 3})
    assert {name for name, _ in answer["facets"]["canonical_domain"]} == {
        f"{name}.example" for name in ("wire", "paper", "copy")
    }
    narrowed = search(client, f"&alike={first}&domain=paper.example")
    assert [hit["id"] for hit in narrowed["results"]] == ["paper"]
    assert {name for name, _ in narrowed["facets"]["canonical_domain"]} >= {"paper.example"}


def test_feeds_and_exports_have_every_document_and_refuse_collapse(client: TestClient) -> None:
    assert client.get("/search.atom?q=flood").text.count("<entry>") == len(TEXTS)
    assert client.get("/search.atom?q=flood&alike=wire").text.count("<entry>") == 3
    for route in ("/search.atom", "/search/export/csv"):
        response = client.get(f"{route}?q=flood&collapse=yes")
        assert response.status_code == 400
        assert "There is no parameter “collapse”" in response.text


def test_removing_the_first_of_a_group_keeps_the_others(stores: Stores, client: TestClient) -> None:
    """A hidden file has no document, so the next of its group is listed."""
    (first,) = (
        hit["id"] for hit in search(client, "&collapse=yes")["results"] if hit["alike"] == 2
    )
    (hidden,) = stores.index.get([first]).values()
    stores.index.delete([first])
    try:
        answer = search(client, "&collapse=yes")
        assert (answer["total"], answer["listed"]) == (len(TEXTS) - 1, 4)
        assert first not in {hit["id"] for hit in answer["results"]}
        assert sorted(hit["alike"] for hit in answer["results"]) == [0, 0, 1, 1]
        page = client.get(f"/search?q=flood&alike={first}").text
        assert "Nothing found" in page
    finally:
        stores.index.put([hidden])
