"""Counting the results of a search by theme, and narrowing the search to a theme."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from starlette.testclient import TestClient

from fonds.web.pages.export import ENTRIES
from page_reading import read
from themed_home import HOSTILE

COLLECTION = "library/all"
ATOM = "{http://www.w3.org/2005/Atom}"


def search(client: TestClient, query: str = "", name: str = COLLECTION) -> dict[str, Any]:
    response = client.get("/api/search", params={"q": query, "themes": name})
    assert response.status_code == 200
    return dict(response.json())


def test_counts_by_theme_add_up_and_match_their_searches(
    themed_client: TestClient,
) -> None:
    data = search(themed_client)
    counts = data["themes"]
    assert counts["themes"]
    assert counts["looked_at"] == counts["total"] == data["total"]
    inside = sum(count for _, count in counts["themes"])
    assert inside + counts["unclustered"] + counts["outside"] == data["total"]
    for label, count in counts["themes"]:
        assert search(themed_client, f'theme:"{COLLECTION}/{label}"')["total"] == count
        assert (
            search(themed_client, f'-theme:"{COLLECTION}/{label}"')["total"]
            == data["total"] - count
        )


def test_the_page_links_each_theme_and_counts_other_documents(themed_client: TestClient) -> None:
    page = read(themed_client, f"/search?themes={COLLECTION}")
    data = search(themed_client)
    links = page.links("//section[@aria-labelledby='facet-themes']//li")
    assert len(links) == len(data["themes"]["themes"])
    for href, label in links.items():
        count = int(label.rsplit(" ", 1)[1].replace(",", ""))
        assert themed_client.get(href.replace("/search", "/api/search", 1)).json()["total"] == count
    other_counts = search(themed_client, name="made/five")["themes"]
    assert other_counts["outside"] == data["total"]
    page = read(themed_client, "/search?themes=made/five")
    assert f"{data['total']} not in this collection" in page.words("//aside")


@pytest.mark.parametrize("negation", ["", "-"])
def test_exports_and_feeds_of_a_theme_match_its_search(
    themed_client: TestClient, negation: str
) -> None:
    label, count = max(search(themed_client)["themes"]["themes"], key=lambda row: row[1])
    assert count > 1
    query = {"q": f'{negation}theme:"{COLLECTION}/{label}"'}
    data = themed_client.get("/api/search", params={**query, "size": 1000}).json()
    expected = {hit["sha1hex"] for hit in data["results"]}
    rows = themed_client.get("/search/export/jsonl", params=query).text.splitlines()
    assert len(rows) == data["total"] == len(expected)
    assert {json.loads(row)["sha1hex"] for row in rows} == expected
    references = themed_client.get("/api/search/export/bibtex", params=query).text
    assert references.count("note = {SHA-1 ") == data["total"]
    entries = Xml.fromstring(themed_client.get("/search.atom", params=query).content).findall(
        f"{ATOM}entry"
    )
    pages = [entry.find(f"{ATOM}link") for entry in entries]
    links = [(page.get("href") or "").rsplit("/", 1)[1] for page in pages if page is not None]
    assert len(links) == min(data["total"], ENTRIES)
    assert set(links) <= expected


@pytest.mark.parametrize(
    "path", ["/search.atom", "/api/search/export/csv", "/search/export/csl.zip"]
)
def test_exports_and_feeds_refuse_the_themes_parameter(
    themed_client: TestClient, path: str
) -> None:
    response = themed_client.get(
        path, params={"q": "*", "themes": COLLECTION}, headers={"accept": "application/json"}
    )
    assert response.status_code == 400
    assert "There is no parameter “themes”." in response.text


def test_export_links_of_a_search_by_theme_work(themed_client: TestClient) -> None:
    page = read(themed_client, f"/search?themes={COLLECTION}")
    links = [
        link for link in page.links("//*") if "/search/export/" in link or "search.atom" in link
    ]
    assert len(links) > 2
    assert {themed_client.get(link).status_code for link in links} == {200}


def test_the_search_page_offers_collections_with_themes(themed_client: TestClient) -> None:
    page = read(themed_client, "/search?q=flood")
    links = page.links("//section[@aria-labelledby='facet-themes']")
    assert f"/search?q=flood&themes={COLLECTION.replace('/', '%2F')}" in links
    assert "waiting" not in page.words("//section[@aria-labelledby='facet-themes']")
    assert str(HOSTILE) in links.values()


def test_an_unknown_theme_is_marked_in_the_query(themed_client: TestClient) -> None:
    response = themed_client.get("/api/search", params={"q": "flood theme:nothinglikethis"})
    assert response.status_code == 400
    assert response.json()["parameter"] == "q"
    assert "no theme named 'nothinglikethis'" in response.json()["error"]
    page = read(themed_client, "/search?q=flood+theme:nothinglikethis", 400)
    assert page.words("//p[@class='bad-query']//mark") == "theme:nothinglikethis"


def test_a_home_without_collections_offers_no_themes(client: TestClient) -> None:
    assert not read(client, "/search?q=flood").links("//section[@aria-labelledby='facet-themes']")
    response = client.get("/api/search", params={"q": "theme:flood"})
    assert response.status_code == 400
    assert "no collection has themes yet" in response.json()["error"]
