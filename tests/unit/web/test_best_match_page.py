"""A question in plain words, on the search page and in the API: best match if no document has all words."""

from __future__ import annotations

import csv
import io

from starlette.testclient import TestClient

from page_reading import read

QUESTION = "What did the farmers say about the flood and the volcano?"
QUERY_STRING = "q=What+did+the+farmers+say+about+the+flood+and+the+volcano%3F"


def test_the_api_returns_a_best_match_for_any_word(client: TestClient) -> None:
    data = client.get("/api/search", params={"q": QUESTION}).json()
    assert data["match"] == "best"
    assert data["total"] > 10
    assert "No document contains “volcano”." in data["notes"]
    assert client.get("/api/search?q=flood").json()["match"] == "exact"


def test_the_pages_of_a_best_match_do_not_repeat_documents(client: TestClient) -> None:
    pages = [
        client.get("/api/search", params={"q": QUESTION, "page": number}).json()
        for number in (1, 2)
    ]
    assert [page["match"] for page in pages] == ["best", "best"]
    ids = [hit["id"] for page in pages for hit in page["results"]]
    assert len(ids) == len(set(ids)) > 10


def test_the_exact_search_is_a_parameter(client: TestClient) -> None:
    data = client.get("/api/search", params={"q": QUESTION, "match": "exact"}).json()
    assert (data["match"], data["total"]) == ("exact", 0)
    exact = client.get("/api/search?q=flood+drought").json()["total"]
    assert 0 < exact < client.get("/api/search?q=flood+drought&match=best").json()["total"]


def test_sorting_by_id_keeps_the_search_exact(client: TestClient) -> None:
    params = {"q": QUESTION, "sort": "id"}
    data = client.get("/api/search", params=params).json()
    assert (data["match"], data["total"]) == ("exact", 0)
    best = client.get("/api/search", params={**params, "match": "best"}).json()
    following = {**params, "match": "best", "after": best["next"]}
    assert client.get("/api/search", params=following).json()["total"] == best["total"] > 10


def test_the_page_labels_the_list_and_links_the_exact_search(client: TestClient) -> None:
    page = read(client, f"/search?{QUERY_STRING}")
    assert page.heading.startswith("Best match: ")
    assert "These documents contain any of the words." in page.words()
    assert page.links("//p[@class='note']") == {
        f"/search?{QUERY_STRING}&match=exact": "Require all words"
    }
    exact = read(client, f"/search?{QUERY_STRING}&match=exact")
    assert exact.heading.startswith("Nothing found")
    assert f"/search?{QUERY_STRING}&match=best" in exact.links("//section[@class='empty']")


def test_facet_counts_of_a_best_match_are_correct(client: TestClient) -> None:
    links = read(client, f"/search?{QUERY_STRING}").links(
        "//aside//a[contains(@class, 'facet')]/.."
    )
    links = {href: label for href, label in links.items() if label != "−"}
    assert len(links) > 3
    for href, label in links.items():
        data = client.get(href.replace("/search", "/search.json", 1)).json()
        assert data["total"] == int(label.rsplit(" ", 1)[1].replace(",", "")), href


def test_the_search_box_does_not_keep_the_best_match(client: TestClient) -> None:
    page = read(client, f"/search?{QUERY_STRING}")
    assert not page.tree.xpath("//form[@role='search']//input[@name='match']")


def test_exports_and_feeds_use_best_match_only_on_request(client: TestClient) -> None:
    assert client.get("/search/export/csv", params={"q": QUESTION}).status_code == 404
    params = {"q": QUESTION, "match": "best"}
    rows = list(csv.DictReader(io.StringIO(client.get("/search/export/csv", params=params).text)))
    assert len(rows) == client.get("/api/search", params=params).json()["total"]
    assert "<entry>" not in client.get("/search.atom", params={"q": QUESTION}).text
    assert "<entry>" in client.get("/search.atom", params=params).text


def test_links_keep_the_best_match(client: TestClient) -> None:
    page = read(client, f"/search?{QUERY_STRING}")
    exports = page.links("//details[@class='exports']")
    assert exports
    assert all("match=best" in href for href in exports if href.startswith("/search/export/"))
    assert page.tree.xpath("//form[@action='/search/as-of']//input[@name='match']/@value") == [
        "best"
    ]
    day = client.get(
        "/api/search/as-of", params={"q": QUESTION, "match": "best", "day": "2026-01-01"}
    )
    assert day.status_code == 200
    assert day.json()["now"] > 10


def test_a_file_found_by_hash_is_not_a_best_match(client: TestClient) -> None:
    first = client.get("/api/search?q=flood").json()["results"][0]
    data = client.get("/api/search", params={"q": first["sha1hex"]}).json()
    assert data["direct"]
    assert (data["match"], data["total"]) == ("exact", 0)
