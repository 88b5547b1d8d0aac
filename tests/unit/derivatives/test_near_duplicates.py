"""Of results that say nearly the same the first stands, and the others beside it."""

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


def document(name: str, text: str) -> IndexDocument:
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


def row(one: IndexDocument) -> StoryMetaRow:
    return StoryMetaRow(
        sha1hex=one.sha1hex,
        story_id=one.id,
        captured="20260301000000",
        updated=NOW,
        status="success",
        url=one.url,
        canonical_domain=one.canonical_domain,
        publication_date=None,
        language="en",
        article_title=one.article_title,
        word_count=len(one.text_content.split()),
        story=Story(),
        extractor="article/1",
    )


DOCUMENTS = [document(name, text) for name, text in TEXTS.items()]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    folder: Path = tmp_path_factory.mktemp("alike")
    with open_home(folder) as found:
        found.records.put([build_page_sketch(row(one), one.text_content) for one in DOCUMENTS])
        found.index.put(DOCUMENTS)
        yield found


def test_each_goes_beside_the_first_that_says_the_same(stores: Stores) -> None:
    near_duplicates = find_near_duplicates(stores.records, DOCUMENTS)
    assert near_duplicates == {"paper": "wire", "copy": "wire", "again": "short"}


def test_the_first_of_the_order_that_is_given_stands(stores: Stores) -> None:
    near_duplicates = find_near_duplicates(stores.records, DOCUMENTS[::-1])
    assert near_duplicates == {"paper": "copy", "wire": "copy", "short": "again"}
    assert find_near_duplicates(stores.records, []) == {}


def test_what_has_no_sketch_stands_alone(stores: Stores) -> None:
    unknown = [document("x", REPORT), document("y", REPORT)]
    assert find_near_duplicates(stores.records, unknown) == {}


@pytest.fixture(scope="module")
def client(stores: Stores) -> Iterator[TestClient]:
    with TestClient(create_app(stores), base_url="http://localhost:8765") as found:
        yield found


def results(client: TestClient, said: str) -> Any:
    return client.get(f"/api/search?q=flood{said}").json()


def test_the_api_lists_each_and_names_what_it_repeats(client: TestClient) -> None:
    told = results(client, "")
    said = {one["id"]: one["near_duplicate_of"] for one in told["results"]}
    assert told["total"] == told["listed"] == len(said) == len(TEXTS)
    assert len([name for name, first in said.items() if first is None]) == len(TEXTS) - 3
    assert (told["compared"], {one["alike"] for one in told["results"]}) == (0, {0})


def test_asked_for_the_api_lists_one_for_all_on_whatever_page(client: TestClient) -> None:
    whole = results(client, "&collapse=yes")
    assert (whole["total"], whole["listed"], whole["compared"]) == (len(TEXTS), 4, len(TEXTS))
    assert sorted(one["alike"] for one in whole["results"]) == [0, 0, 1, 2]
    assert whole["pages"] == 1
    pages = [results(client, f"&collapse=yes&size=1&page={n}") for n in range(1, 6)]
    assert [one["id"] for page in pages for one in page["results"]] == [
        one["id"] for one in whole["results"]
    ]
    assert {page["pages"] for page in pages} == {4}


@pytest.mark.parametrize("said", ["&sort=id", "&sort=id&after=wire"])
def test_behind_an_id_each_stands_for_itself(client: TestClient, said: str) -> None:
    refused = client.get(f"/api/search?q=flood&collapse=yes{said}")
    assert (refused.status_code, "only on numbered pages" in refused.text) == (400, True)
    shown = client.get(f"/search?q=flood{said}").text
    assert " alike</a>" not in shown


def test_the_page_shows_one_and_leads_to_those_alike(client: TestClient) -> None:
    page = client.get("/search?q=flood").text
    assert page.count('class="hit unpictured"') == 4
    assert "3 near-duplicates hidden" in page
    (first,) = (
        one["id"] for one in results(client, "&collapse=yes")["results"] if one["alike"] == 2
    )
    assert f'<a href="/search?q=flood&amp;alike={first}">2 near-duplicates</a>' in page
    group = client.get(f"/search?q=flood&alike={first}").text
    assert group.count('class="hit unpictured"') == 3
    for name in ("wire", "paper", "copy"):
        assert group.count(f">{name}</a>") == 1
    assert "3 documents found" in group
    assert "/search/export/" in group
    assert "/search.atom" in group


def test_the_switch_lists_each(client: TestClient) -> None:
    page = client.get("/search?q=flood&collapse=no").text
    assert page.count('class="hit unpictured"') == len(TEXTS)
    assert "Near-duplicates are shown" in page
    for name in TEXTS:
        assert page.count(f">{name}</a>") == 1


def test_numbers_go_on_from_page_to_page(client: TestClient) -> None:
    second = client.get("/search?q=flood&size=3&page=2").text
    assert "4–4 of 4" in second
    assert '<li value="4" class="hit' in second


def test_the_counts_of_those_alike_are_of_them_alone(client: TestClient) -> None:
    (first,) = (
        one["id"] for one in results(client, "&collapse=yes")["results"] if one["alike"] == 2
    )
    told = results(client, f"&alike={first}")
    assert (told["total"], dict(told["facets"]["kind"])) == (3, {"story": 3})
    assert {name for name, _ in told["facets"]["canonical_domain"]} == {
        f"{name}.example" for name in ("wire", "paper", "copy")
    }
    narrowed = results(client, f"&alike={first}&domain=paper.example")
    assert [one["id"] for one in narrowed["results"]] == ["paper"]
    assert {name for name, _ in narrowed["facets"]["canonical_domain"]} >= {"paper.example"}


def test_feeds_and_exports_hold_each_and_say_so(client: TestClient) -> None:
    assert client.get("/search.atom?q=flood").text.count("<entry>") == len(TEXTS)
    assert client.get("/search.atom?q=flood&alike=wire").text.count("<entry>") == 3
    for route in ("/search.atom", "/search/export/csv"):
        refused = client.get(f"{route}?q=flood&collapse=yes")
        assert refused.status_code == 400
        assert "There is no parameter “collapse”" in refused.text


def test_one_that_goes_takes_no_other_with_it(stores: Stores, client: TestClient) -> None:
    """A file that is hidden is no document: the next of those alike stands."""
    (first,) = (
        one["id"] for one in results(client, "&collapse=yes")["results"] if one["alike"] == 2
    )
    (hidden,) = stores.index.get([first]).values()
    stores.index.delete([first])
    try:
        told = results(client, "&collapse=yes")
        assert (told["total"], told["listed"]) == (len(TEXTS) - 1, 4)
        assert first not in {one["id"] for one in told["results"]}
        assert sorted(one["alike"] for one in told["results"]) == [0, 0, 1, 1]
        gone = client.get(f"/search?q=flood&alike={first}").text
        assert "Nothing found" in gone
    finally:
        stores.index.put([hidden])
