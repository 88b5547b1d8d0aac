"""The kinds of date on the page of a search: chosen by links, named where they limit, counted where new."""

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
"""The day the library of these tests was made."""


def test_each_kind_of_date_is_a_link_and_the_chart_is_of_the_one_chosen(client: TestClient) -> None:
    page = read(client, "/search?q=flood&from=2001-01-01")
    links = page.tree.xpath("//section[@class='when']//p[@class='sorts']/a")
    assert [link.text for link in links] == [str(of) for of in DateOf]
    assert [link.get("aria-current") for link in links] == ["true", None, None]
    for of, one in zip(DateOf, links, strict=True):
        assert "2001" not in one.get("href")
        chosen = read(client, one.get("href"))
        (now,) = chosen.tree.xpath("//section[@class='when']//a[@aria-current='true']")
        assert now.text == str(of)
    added = client.get("/api/search?q=flood&dates=added").json()
    assert added["dates"] == [[f"{TODAY}", added["total"]]]
    assert added["total"] > 2
    assert client.get("/api/search?q=flood").json()["dates"] != added["dates"]


def test_a_limit_says_which_date_it_is_of_and_keeps_it_when_another_goes(
    client: TestClient,
) -> None:
    page = read(client, f"/search?q=flood&dates=added&from={TODAY}&to={TODAY}")
    assert page.words("//ul[@class='chips']").count("added ") == 2
    hrefs = page.tree.xpath("//ul[@class='chips']//a[contains(@aria-label, 'from')]/@href")
    assert {f"to={TODAY}", "dates=added"} <= set(hrefs[0].partition("?")[2].split("&"))


@pytest.mark.parametrize("limits", ["", "&from={}&to={}"])
def test_within_few_days_the_chart_is_of_days_and_each_opens_its_documents(
    client: TestClient, limits: str
) -> None:
    first = TODAY - timedelta(days=5)
    address = f"/search?dates=added{limits.format(first, TODAY + timedelta(days=5))}"
    told = client.get(address.replace("/search", "/api/search")).json()
    assert dict(told["dates"]) == {f"{TODAY:%Y-%m-%d}": told["total"]}
    (bar,) = read(client, address).tree.xpath("//section[@class='when']//*[local-name()='svg']//a")
    href = str(bar.get("href"))
    assert {f"from={TODAY}", f"to={TODAY}"} <= set(href.partition("?")[2].split("&"))
    assert client.get(href.replace("/search", "/api/search", 1)).json()["total"] == told["total"]


def test_what_came_lately_is_counted_and_listed(client: TestClient, stores: Stores) -> None:
    form = parse_request({"q": "flood OR river", "kind": ["story"]})
    found = count_recent_additions(stores, form, TODAY)
    assert found
    listed = client.get(found.href.replace("/search", "/api/search", 1)).json()
    assert found.count == listed["total"] > 2
    assert listed["total"] == client.get("/api/search?q=flood+OR+river&kind=story").json()["total"]
    assert re.search(r"(\d|None) added since", read(client, "/search?q=flood").words("//main"))


@pytest.mark.usefixtures("filled")
def test_what_is_older_is_not_counted_as_new(stores: Stores) -> None:
    later = TODAY + timedelta(days=DAYS)
    found = [
        count_recent_additions(stores, SearchRequest(q="flood"), day) for day in (TODAY, later)
    ]
    assert [one and one.count > 0 for one in found] == [True, False]
    assert [one and one.since for one in found] == [
        day - timedelta(days=DAYS - 1) for day in (TODAY, later)
    ]


@pytest.mark.parametrize("q", ["a" * (QUERY_MAX_CHARS - 3), f"added:>={date(2020, 1, 1)}"])
def test_where_the_words_leave_no_room_nothing_is_counted(
    client: TestClient, stores: Stores, q: str
) -> None:
    assert count_recent_additions(stores, SearchRequest(q=q), TODAY) is None
    assert client.get("/search", params={"q": q}).status_code == 200
