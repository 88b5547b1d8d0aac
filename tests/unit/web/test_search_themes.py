"""A search counted by the themes of a collection, and narrowed to one of them."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from starlette.testclient import TestClient

from fonds.web.pages.export import ENTRIES
from page_reading import read
from themed_home import HOSTILE

ALL = "library/all"
ATOM = "{http://www.w3.org/2005/Atom}"


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
    assert inside + counts["unclustered"] + counts["outside"] == told["total"]
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


@pytest.mark.parametrize("without", ["", "-"])
def test_exports_and_feeds_of_a_theme_hold_what_its_search_finds(
    themed: TestClient, without: str
) -> None:
    label, count = max(counted(themed)["themes"]["themes"], key=lambda one: one[1])
    assert count > 1
    query = {"q": f'{without}theme:"{ALL}/{label}"'}
    told = themed.get("/api/search", params={**query, "size": 1000}).json()
    wanted = {one["sha1hex"] for one in told["results"]}
    rows = themed.get("/search/export/jsonl", params=query).text.splitlines()
    assert len(rows) == told["total"] == len(wanted)
    assert {json.loads(row)["sha1hex"] for row in rows} == wanted
    references = themed.get("/api/search/export/bibtex", params=query).text
    assert references.count("note = {SHA-1 ") == told["total"]
    entries = Xml.fromstring(themed.get("/search.atom", params=query).content).findall(
        f"{ATOM}entry"
    )
    pages = [entry.find(f"{ATOM}link") for entry in entries]
    links = [(page.get("href") or "").rsplit("/", 1)[1] for page in pages if page is not None]
    assert len(links) == min(told["total"], ENTRIES)
    assert set(links) <= wanted


@pytest.mark.parametrize(
    "path", ["/search.atom", "/api/search/export/csv", "/search/export/csl.zip"]
)
def test_an_answer_without_counts_refuses_to_count_by_themes(themed: TestClient, path: str) -> None:
    told = themed.get(
        path, params={"q": "*", "themes": ALL}, headers={"accept": "application/json"}
    )
    assert told.status_code == 400
    assert "There is no parameter “themes”." in told.text


def test_the_links_of_a_search_counted_by_themes_can_be_had(themed: TestClient) -> None:
    page = read(themed, f"/search?themes={ALL}")
    links = [one for one in page.links("//*") if "/search/export/" in one or "search.atom" in one]
    assert len(links) > 2
    assert {themed.get(link).status_code for link in links} == {200}


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
    assert "no theme named 'nothinglikethis'" in told.json()["error"]
    page = read(themed, "/search?q=flood+theme:nothinglikethis", 400)
    assert page.words("//p[@class='bad-query']//mark") == "theme:nothinglikethis"


def test_a_home_without_collections_offers_none(client: TestClient) -> None:
    assert not read(client, "/search?q=flood").links("//section[@aria-labelledby='facet-themes']")
    told = client.get("/api/search", params={"q": "theme:flood"})
    assert told.status_code == 400
    assert "no collection has themes yet" in told.json()["error"]
