"""A search counted by the themes of a collection, and narrowed to one of them."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

from page_reading import read
from themed_home import HOSTILE

ALL = "library/all"


def counted(client: TestClient, asked: str = "", name: str = ALL) -> dict[str, Any]:
    told = client.get("/api/search", params={"q": asked, "themes": name})
    assert told.status_code == 200
    return dict(told.json())


def test_counts_by_theme_make_the_total_and_each_theme_finds_as_many(themed: TestClient) -> None:
    told = counted(themed)
    counts = told["themes"]
    assert counts["themes"]
    assert counts["looked_at"] == counts["total"] == told["total"]
    inside = sum(count for _, count in counts["themes"])
    assert inside + counts["apart"] + counts["outside"] == told["total"]
    for label, count in counts["themes"]:
        assert counted(themed, f'theme:"{ALL}/{label}"')["total"] == count
        assert counted(themed, f'-theme:"{ALL}/{label}"')["total"] == told["total"] - count


def test_the_page_narrows_to_a_theme_and_says_what_is_in_none(themed: TestClient) -> None:
    page = read(themed, f"/search?themes={ALL}")
    told = counted(themed)
    links = page.links("//section[@aria-labelledby='facet-themes']//li")
    assert len(links) == len(told["themes"]["themes"])
    for href, words in links.items():
        count = int(words.rsplit(" ", 1)[1].replace(",", ""))
        assert themed.get(href.replace("/search", "/api/search", 1)).json()["total"] == count
    others = counted(themed, name="made/five")["themes"]
    assert others["outside"] == told["total"]
    page = read(themed, "/search?themes=made/five")
    assert f"{told['total']} not in this collection" in page.words("//aside")


def test_collections_with_themes_are_offered(themed: TestClient) -> None:
    page = read(themed, "/search?q=flood")
    links = page.links("//section[@aria-labelledby='facet-themes']")
    assert f"/search?q=flood&themes={ALL.replace('/', '%2F')}" in links
    assert "waiting" not in page.words("//section[@aria-labelledby='facet-themes']")
    assert str(HOSTILE) in links.values()


def test_a_theme_there_is_not_is_pointed_at_on_the_page(themed: TestClient) -> None:
    told = themed.get("/api/search", params={"q": "flood theme:nothinglikethis"})
    assert told.status_code == 400
    assert told.json()["parameter"] == "q"
    assert "there is no theme 'nothinglikethis'" in told.json()["error"]
    page = read(themed, "/search?q=flood+theme:nothinglikethis", 400)
    assert page.words("//p[@class='bad-query']//mark") == "theme:nothinglikethis"


def test_a_home_without_collections_offers_none(client: TestClient) -> None:
    assert not read(client, "/search?q=flood").links("//section[@aria-labelledby='facet-themes']")
    told = client.get("/api/search", params={"q": "theme:flood"})
    assert told.status_code == 400
    assert "no collection has themes as yet" in told.json()["error"]
