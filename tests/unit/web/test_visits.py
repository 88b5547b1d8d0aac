"""The overview counts new records since the last visit. Its cookie contains two days and nothing else."""

from __future__ import annotations

from datetime import timedelta

import pytest
from starlette.testclient import TestClient

from fonds.ports import Stores
from fonds.web.app import create_app
from fonds.web.pages import overview
from fonds.web.pages.overview import COOKIE
from home_rows import NOW
from page_reading import read

ORIGIN = "http://localhost:8765"
SECTION = "//section[@aria-labelledby='since']"
VISITED_AT = NOW + timedelta(days=3)
TODAY = VISITED_AT.date()


@pytest.fixture(autouse=True)
def _visited_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all visits be on one day, also if a test runs near midnight."""
    monkeypatch.setattr(overview, "get_utc_now", lambda: VISITED_AT)


def test_counts_since_a_day_link_to_exactly_their_rows(client: TestClient) -> None:
    day = NOW.date().isoformat()
    news = client.get(f"/api/overview?since={day}").json()["since"]
    assert news["first"] == day
    assert news["received"] == sum(part["count"] for part in news["parts"]) > 0
    links = read(client, f"/?since={day}").links(SECTION)
    counts = [(part["href"], part["count"]) for part in news["parts"] if part["count"]]
    assert links.keys() == {news["href"], *(href for href, _ in counts)}
    for href, count in [(news["href"], news["received"]), *counts]:
        rows = client.get(href.replace("/records?", "/records.json?", 1)).json()
        assert rows["total"] == count


def test_the_first_visit_sets_a_cookie_with_the_day(stores: Stores, client: TestClient) -> None:
    assert client.get("/").status_code == 200
    with TestClient(create_app(stores), base_url=ORIGIN) as visitor:
        response = visitor.get("/")
        assert "New documents since your last visit will appear here" in response.text
        assert visitor.cookies[COOKIE] == TODAY.isoformat()
        cookie = response.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert "New documents since your last visit will appear here" in read(visitor, "/").words(
            SECTION
        )
        assert COOKIE not in visitor.get("/api/overview").headers.get("set-cookie", "")
        assert visitor.get("/api/overview").json()["since"] is None


def test_repeated_visits_on_a_day_keep_the_previous_visit(
    stores: Stores, client: TestClient
) -> None:
    assert client.get("/").status_code == 200
    with TestClient(create_app(stores), base_url=ORIGIN) as visitor:
        visitor.cookies.set(COOKIE, f"{NOW.date()}_2020-01-01")
        texts = [read(visitor, "/").words(SECTION) for _ in range(3)]
        cookies = {cookie.value for cookie in visitor.cookies.jar}
    assert texts[0] == texts[1] == texts[2]
    assert f"Since {NOW.day} {NOW:%b} {NOW.year}" in texts[0]
    assert f"{TODAY}_{NOW.date()}" in cookies


@pytest.mark.parametrize("value", ["", "x", "9999-12-31", "2026-13-01", "<b>", "0" * 5_000])
def test_an_invalid_cookie_counts_as_the_first_visit(
    stores: Stores, client: TestClient, value: str
) -> None:
    assert client.get("/").status_code == 200
    with TestClient(create_app(stores), base_url=ORIGIN) as visitor:
        visitor.cookies.set(COOKIE, value)
        page = read(visitor, "/")
    assert "New documents since your last visit will appear here" in page.words(SECTION)
    assert "<b>" not in page.words(SECTION)


def test_future_days_are_reported_and_invalid_days_refused(client: TestClient) -> None:
    later = (TODAY + timedelta(days=9)).isoformat()
    assert "in the future" in read(client, f"/?since={later}").words(SECTION)
    assert client.get("/?since=soon").status_code == 400


def test_the_first_possible_day_counts_all_records(client: TestClient) -> None:
    overview = client.get("/api/overview?since=0001-01-01").json()
    assert overview["since"]["received"] == overview["received"] > 0


def test_a_period_without_new_records_says_so(client: TestClient) -> None:
    news = client.get(f"/api/overview?since={TODAY}").json()["since"]
    assert (news is None, news["received"]) == (False, 0)
    assert "no new records" in read(client, f"/?since={TODAY}").words(SECTION)
