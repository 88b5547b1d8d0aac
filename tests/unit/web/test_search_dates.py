"""The kinds of date on the search page: their links, limits and charts, and the count of recent additions."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from starlette.testclient import TestClient

from fonds.model.document import DateOf
from fonds.ports import Stores
from fonds.search.query.parser import QUERY_MAX_CHARS
from fonds.search.request import SearchRequest, parse_request
from fonds.web.pages.search import DAYS, count_recent_additions
from home_rows import NOW
from page_reading import read

TODAY = NOW.date()
"""The day when the library of these tests was created."""


def test_each_kind_of_date_has_a_link_and_its_own_chart(client: TestClient) -> None:
    page = read(client, "/search?q=flood&from=2001-01-01")
    links = page.tree.xpath("//section[@class='when']//p[@class='sorts']/a")
    assert [link.text for link in links] == [str(kind) for kind in DateOf]
    assert [link.get("aria-current") for link in links] == ["true", None, None]
    for kind, link in zip(DateOf, links, strict=True):
        assert "2001" not in link.get("href")
        chosen_page = read(client, link.get("href"))
        (current,) = chosen_page.tree.xpath("//section[@class='when']//a[@aria-current='true']")
        assert current.text == str(kind)
    by_added_date = client.get("/api/search?q=flood&dates=added").json()
    assert by_added_date["dates"] == [[f"{TODAY}", by_added_date["total"]]]
    assert by_added_date["total"] > 2
    assert client.get("/api/search?q=flood").json()["dates"] != by_added_date["dates"]


def test_removing_a_date_limit_keeps_the_kind_of_date(
    client: TestClient,
) -> None:
    page = read(client, f"/search?q=flood&dates=added&from={TODAY}&to={TODAY}")
    assert page.words("//ul[@class='chips']").count("added ") == 2
    hrefs = page.tree.xpath("//ul[@class='chips']//a[contains(@aria-label, 'from')]/@href")
    assert {f"to={TODAY}", "dates=added"} <= set(hrefs[0].partition("?")[2].split("&"))


@pytest.mark.parametrize("limits", ["", "&from={}&to={}"])
def test_a_short_range_is_charted_by_day_with_links(client: TestClient, limits: str) -> None:
    first = TODAY - timedelta(days=5)
    url = f"/search?dates=added{limits.format(first, TODAY + timedelta(days=5))}"
    data = client.get(url.replace("/search", "/api/search")).json()
    assert dict(data["dates"]) == {f"{TODAY:%Y-%m-%d}": data["total"]}
    (bar,) = read(client, url).tree.xpath("//section[@class='when']//*[local-name()='svg']//a")
    href = str(bar.get("href"))
    assert {f"from={TODAY}", f"to={TODAY}"} <= set(href.partition("?")[2].split("&"))
    assert client.get(href.replace("/search", "/api/search", 1)).json()["total"] == data["total"]


def test_recent_additions_are_counted_and_listed(client: TestClient, stores: Stores) -> None:
    form = parse_request({"q": "flood OR river", "kind": ["story"]})
    additions = count_recent_additions(stores, form, TODAY)
    assert additions
    results = client.get(additions.href.replace("/search", "/api/search", 1)).json()
    assert additions.count == results["total"] > 2
    assert results["total"] == client.get("/api/search?q=flood+OR+river&kind=story").json()["total"]
    assert re.search(r"(\d|None) added since", read(client, "/search?q=flood").words("//main"))


@pytest.mark.usefixtures("filled_home")
def test_older_documents_are_not_recent_additions(stores: Stores) -> None:
    later = TODAY + timedelta(days=DAYS)
    additions = [
        count_recent_additions(stores, SearchRequest(q="flood"), day) for day in (TODAY, later)
    ]
    assert [addition and addition.count > 0 for addition in additions] == [True, False]
    assert [addition and addition.since for addition in additions] == [
        day - timedelta(days=DAYS - 1) for day in (TODAY, later)
    ]


@pytest.mark.parametrize("q", ["a" * (QUERY_MAX_CHARS - 3), f"added:>={date(2020, 1, 1)}"])
def test_recent_additions_are_omitted_for_long_or_added_queries(
    client: TestClient, stores: Stores, q: str
) -> None:
    assert count_recent_additions(stores, SearchRequest(q=q), TODAY) is None
    assert client.get("/search", params={"q": q}).status_code == 200
