"""A search as an Atom feed."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

from starlette.testclient import TestClient

from page_reading import read

ATOM = "{http://www.w3.org/2005/Atom}"


def test_a_feed_lists_the_latest_results_of_a_search(client: TestClient) -> None:
    feed_response = client.get("/search.atom?q=flood&kind=story")
    assert feed_response.headers["content-type"].startswith("application/atom+xml")
    feed = Xml.fromstring(feed_response.content)
    entries = feed.findall(f"{ATOM}entry")
    newest = client.get("/api/search?q=flood&kind=story&sort=added&size=50").json()["results"]
    assert [entry.findtext(f"{ATOM}title") for entry in entries] == [
        hit["title"] or hit["url"] for hit in newest
    ]
    assert feed.findtext(f"{ATOM}title") == "Search: flood"
    links = {link.get("rel"): link.get("href") or "" for link in feed.findall(f"{ATOM}link")}
    assert links["self"].endswith("/search.atom?q=flood&kind=story")
    assert client.get(links["self"]).status_code == 200
    update_times = [entry.findtext(f"{ATOM}updated") or "" for entry in entries]
    assert update_times == sorted(update_times, reverse=True)
    assert update_times[0] == feed.findtext(f"{ATOM}updated")
    assert len(update_times) > 2
    refusal = client.get("/api/search.atom?q=flood&sort=oldest")
    assert (refusal.status_code, refusal.json()["parameter"]) == (400, "sort")


def test_every_entry_has_a_unique_id_and_a_page(client: TestClient) -> None:
    entries = Xml.fromstring(client.get("/search.atom").content).findall(f"{ATOM}entry")
    ids = [entry.findtext(f"{ATOM}id") for entry in entries]
    assert len(ids) == len(set(ids)) > 5
    for entry_element in entries:
        (link,) = entry_element.findall(f"{ATOM}link")
        assert client.get(link.get("href") or "").status_code == 200


def test_hostile_titles_are_escaped_and_empty_feeds_are_valid(client: TestClient) -> None:
    hostile = client.get("/search.atom?q=%3Dwaters").content
    assert b"<script>" not in hostile
    assert Xml.fromstring(client.get("/search.atom?q=nothinglikethis%00%01").content) is not None


def test_invalid_queries_are_refused_and_pages_link_their_feed(client: TestClient) -> None:
    assert client.get("/search.atom?q=kind:x").status_code == 400
    page = read(client, "/search?q=flood&sort=newest")
    (href,) = page.tree.xpath("//link[@type='application/atom+xml']/@href")
    assert href == "/search.atom?q=flood"
