"""A search as an Atom feed."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

from starlette.testclient import TestClient

from page_reading import read

ATOM = "{http://www.w3.org/2005/Atom}"


def test_a_search_is_a_feed_of_what_came_last(client: TestClient) -> None:
    answer = client.get("/search.atom?q=flood&kind=story")
    assert answer.headers["content-type"].startswith("application/atom+xml")
    top = Xml.fromstring(answer.content)
    entries = top.findall(f"{ATOM}entry")
    newest = client.get("/api/search?q=flood&kind=story&sort=added&size=50").json()["results"]
    assert [entry.findtext(f"{ATOM}title") for entry in entries] == [
        one["title"] or one["url"] for one in newest
    ]
    assert top.findtext(f"{ATOM}title") == "Search: flood"
    links = {one.get("rel"): one.get("href") or "" for one in top.findall(f"{ATOM}link")}
    assert links["self"].endswith("/search.atom?q=flood&kind=story")
    assert client.get(links["self"]).status_code == 200
    updated = [entry.findtext(f"{ATOM}updated") or "" for entry in entries]
    assert updated == sorted(updated, reverse=True)
    assert updated[0] == top.findtext(f"{ATOM}updated")
    assert len(updated) > 2
    refused = client.get("/api/search.atom?q=flood&sort=oldest")
    assert (refused.status_code, refused.json()["parameter"]) == (400, "sort")


def test_every_entry_has_an_id_of_its_own_and_a_page(client: TestClient) -> None:
    entries = Xml.fromstring(client.get("/search.atom").content).findall(f"{ATOM}entry")
    ids = [entry.findtext(f"{ATOM}id") for entry in entries]
    assert len(ids) == len(set(ids)) > 5
    for one in entries:
        (found,) = one.findall(f"{ATOM}link")
        assert client.get(found.get("href") or "").status_code == 200


def test_hostile_titles_stay_text_and_an_empty_feed_is_a_feed(client: TestClient) -> None:
    hostile = client.get("/search.atom?q=%3Dwaters").content
    assert b"<script>" not in hostile
    assert Xml.fromstring(client.get("/search.atom?q=nothinglikethis%00%01").content) is not None


def test_a_query_that_is_none_is_refused_and_the_page_names_its_feed(client: TestClient) -> None:
    assert client.get("/search.atom?q=kind:x").status_code == 400
    page = read(client, "/search?q=flood&sort=newest")
    (found,) = page.tree.xpath("//link[@type='application/atom+xml']/@href")
    assert found == "/search.atom?q=flood"
