"""A question in plain words on the search page and in its API: best match where no document has all words."""

from __future__ import annotations

import csv
import io

from starlette.testclient import TestClient

from page_reading import read

QUESTION = "What did the farmers say about the flood and the volcano?"
ASKED = "q=What+did+the+farmers+say+about+the+flood+and+the+volcano%3F"


def test_the_api_ranks_by_any_word_and_says_so(client: TestClient) -> None:
    told = client.get("/api/search", params={"q": QUESTION}).json()
    assert told["match"] == "best"
    assert told["total"] > 10
    assert "No document contains “volcano”." in told["notes"]
    assert client.get("/api/search?q=flood").json()["match"] == "exact"


def test_the_pages_of_a_best_match_follow_each_other(client: TestClient) -> None:
    pages = [
        client.get("/api/search", params={"q": QUESTION, "page": number}).json()
        for number in (1, 2)
    ]
    assert [page["match"] for page in pages] == ["best", "best"]
    ids = [hit["id"] for page in pages for hit in page["results"]]
    assert len(ids) == len(set(ids)) > 10


def test_the_exact_search_is_a_parameter(client: TestClient) -> None:
    told = client.get("/api/search", params={"q": QUESTION, "match": "exact"}).json()
    assert (told["match"], told["total"]) == ("exact", 0)
    exact = client.get("/api/search?q=flood+drought").json()["total"]
    assert 0 < exact < client.get("/api/search?q=flood+drought&match=best").json()["total"]


def test_a_result_in_the_order_of_ids_stays_exact(client: TestClient) -> None:
    asked = {"q": QUESTION, "sort": "id"}
    told = client.get("/api/search", params=asked).json()
    assert (told["match"], told["total"]) == ("exact", 0)
    best = client.get("/api/search", params={**asked, "match": "best"}).json()
    following = {**asked, "match": "best", "after": best["next"]}
    assert client.get("/api/search", params=following).json()["total"] == best["total"] > 10


def test_the_page_labels_the_list_and_links_the_exact_search(client: TestClient) -> None:
    page = read(client, f"/search?{ASKED}")
    assert page.heading.startswith("Best match: ")
    assert "These documents contain any of the words." in page.words()
    assert page.links("//p[@class='note']") == {f"/search?{ASKED}&match=exact": "Require all words"}
    exact = read(client, f"/search?{ASKED}&match=exact")
    assert exact.heading.startswith("Nothing found")
    assert f"/search?{ASKED}&match=best" in exact.links("//section[@class='empty']")


def test_facets_of_a_best_match_find_as_many_as_they_say(client: TestClient) -> None:
    links = read(client, f"/search?{ASKED}").links("//aside//a[contains(@class, 'facet')]/..")
    links = {href: words for href, words in links.items() if words != "−"}
    assert len(links) > 3
    for href, words in links.items():
        told = client.get(href.replace("/search", "/search.json", 1)).json()
        assert told["total"] == int(words.rsplit(" ", 1)[1].replace(",", "")), href


def test_new_words_in_the_box_are_searched_exactly_first(client: TestClient) -> None:
    page = read(client, f"/search?{ASKED}")
    assert not page.tree.xpath("//form[@role='search']//input[@name='match']")


def test_exports_and_feeds_stay_exact_unless_best_match_is_asked_for(client: TestClient) -> None:
    assert client.get("/search/export/csv", params={"q": QUESTION}).status_code == 404
    asked = {"q": QUESTION, "match": "best"}
    rows = list(csv.DictReader(io.StringIO(client.get("/search/export/csv", params=asked).text)))
    assert len(rows) == client.get("/api/search", params=asked).json()["total"]
    assert "<entry>" not in client.get("/search.atom", params={"q": QUESTION}).text
    assert "<entry>" in client.get("/search.atom", params=asked).text


def test_the_links_of_a_best_match_carry_it(client: TestClient) -> None:
    page = read(client, f"/search?{ASKED}")
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


def test_a_file_that_the_words_name_comes_without_a_best_match(client: TestClient) -> None:
    first = client.get("/api/search?q=flood").json()["results"][0]
    told = client.get("/api/search", params={"q": first["sha1hex"]}).json()
    assert told["direct"]
    assert (told["match"], told["total"]) == ("exact", 0)
