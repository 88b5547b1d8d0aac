"""Near-duplicates on the search page: one is listed with the number of the others, or all on request."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from contract.index_backends import document
from filled_home import open_home
from fonds.derivatives.sketch import build_page_sketch
from fonds.model.document import IndexDocument
from fonds.model.rows import StoryMetaRow, TextSketchRow
from fonds.model.story import Story
from fonds.web.app import create_app
from page_reading import read


def build_words(name: str) -> str:
    return " ".join(f"{name}x{n}" for n in range(120))


def build_sketch(document: IndexDocument) -> TextSketchRow:
    facts = ("success", document.url, "", None, "en", "t", 9, Story(), "x")
    key = (document.sha1hex, document.id, "20240101000000", document.indexed_date)
    row = StoryMetaRow(*key, *facts)  # type: ignore[arg-type]
    return build_page_sketch(row, document.text_content)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Client of a home with fourteen documents, three of them near-duplicates."""
    copies = [
        document(f"copy{n}", f"flood {build_words('wire')} end{n}", f"Copy {n}") for n in range(3)
    ]
    others = [document(f"own{n}", f"flood {build_words(f'own{n}')}", f"Own {n}") for n in range(11)]
    with open_home(tmp_path_factory.mktemp("alike")) as stores:
        stores.index.put([*copies, *others])
        stores.records.put([build_sketch(page) for page in (*copies, *others)])
        with TestClient(create_app(stores), base_url="http://localhost") as client:
            yield client


def list_titles(client: TestClient, href: str) -> list[str]:
    return [heading.text_content() for heading in read(client, href).tree.xpath("//li//h3")]


def test_one_near_duplicate_is_listed_with_a_link_to_the_others(client: TestClient) -> None:
    page = read(client, "/search?q=flood")
    assert page.heading == "14 documents found for “flood”"
    assert "2 near-duplicates hidden. Show" in page.words()
    assert page.words("//h2[@id='results']") == "1–10 of 12"
    titles = list_titles(client, "/search?q=flood") + list_titles(client, "/search?q=flood&page=2")
    assert len(titles) == 12
    assert sum(title.startswith("Copy") for title in titles) == 1
    href = next(
        href
        for number in (1, 2)
        for href, label in read(client, f"/search?q=flood&page={number}").links("//li").items()
        if label == "2 near-duplicates"
    )
    assert sorted(list_titles(client, href)) == ["Copy 0", "Copy 1", "Copy 2"]


def test_collapse_no_lists_every_near_duplicate(client: TestClient) -> None:
    page = read(client, "/search?q=flood&collapse=no")
    assert page.words("//h2[@id='results']") == "1–10 of 14"
    assert "Near-duplicates are shown. Hide" in page.words()


def test_one_hidden_near_duplicate_is_singular(client: TestClient) -> None:
    text = read(client, "/search?q=end0+OR+end1").words()
    assert "1 near-duplicate hidden." in text


def test_the_api_collapses_near_duplicates_only_on_request(client: TestClient) -> None:
    full_results = client.get("/api/search?q=flood").json()
    assert (full_results["total"], full_results["listed"]) == (14, 14)
    collapsed_results = client.get("/api/search?q=flood&collapse=yes").json()
    assert (
        collapsed_results["total"],
        collapsed_results["listed"],
        collapsed_results["compared"],
    ) == (14, 12, 14)
    assert client.get("/api/search?q=flood&collapse=yes&sort=id").status_code == 400
