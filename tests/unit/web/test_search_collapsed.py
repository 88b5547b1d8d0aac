"""Near-duplicates on the page of a search: one of them, how many stand behind it, and each when asked."""

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


def words(name: str) -> str:
    return " ".join(f"{name}x{n}" for n in range(120))


def sketched(one: IndexDocument) -> TextSketchRow:
    facts = ("success", one.url, "", None, "en", "t", 9, Story(), "x")
    of_page = StoryMetaRow(one.sha1hex, one.id, "20240101000000", one.indexed_date, *facts)  # type: ignore[arg-type]
    return build_page_sketch(of_page, one.text_content)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Fourteen documents, of which three say the same."""
    copies = [document(f"copy{n}", f"flood {words('wire')} end{n}", f"Copy {n}") for n in range(3)]
    others = [document(f"own{n}", f"flood {words(f'own{n}')}", f"Own {n}") for n in range(11)]
    with open_home(tmp_path_factory.mktemp("alike")) as stores:
        stores.index.put([*copies, *others])
        stores.records.put([sketched(one) for one in (*copies, *others)])
        with TestClient(create_app(stores), base_url="http://localhost") as client:
            yield client


def titles(client: TestClient, href: str) -> list[str]:
    return [one.text_content() for one in read(client, href).tree.xpath("//li//h3")]


def test_one_of_those_alike_is_listed_and_leads_to_the_others(asked: TestClient) -> None:
    page = read(asked, "/search?q=flood")
    assert page.heading == "14 documents found for “flood”"
    assert "2 near-duplicates hidden. Show" in page.words()
    assert page.words("//h2[@id='results']") == "1–10 of 12"
    listed = titles(asked, "/search?q=flood") + titles(asked, "/search?q=flood&page=2")
    assert len(listed) == 12
    assert sum(title.startswith("Copy") for title in listed) == 1
    href = next(
        href
        for number in (1, 2)
        for href, said in read(asked, f"/search?q=flood&page={number}").links("//li").items()
        if said == "2 near-duplicates"
    )
    assert sorted(titles(asked, href)) == ["Copy 0", "Copy 1", "Copy 2"]


def test_each_is_listed_when_asked(asked: TestClient) -> None:
    page = read(asked, "/search?q=flood&collapse=no")
    assert page.words("//h2[@id='results']") == "1–10 of 14"
    assert "Near-duplicates are shown. Hide" in page.words()


def test_one_near_duplicate_is_told_as_one(asked: TestClient) -> None:
    said = read(asked, "/search?q=end0+OR+end1").words()
    assert "1 near-duplicate hidden." in said


def test_the_api_lists_each_unless_asked(asked: TestClient) -> None:
    plain = asked.get("/api/search?q=flood").json()
    assert (plain["total"], plain["listed"]) == (14, 14)
    once = asked.get("/api/search?q=flood&collapse=yes").json()
    assert (once["total"], once["listed"], once["compared"]) == (14, 12, 14)
    assert asked.get("/api/search?q=flood&collapse=yes&sort=id").status_code == 400
