"""The overview tells what came in since the last visit; a cookie holds two days and nothing else."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from starlette.testclient import TestClient

from fonds.ports import Stores
from fonds.web.app import create_app
from fonds.web.pages.overview import COOKIE
from home_rows import NOW
from page_reading import read

ORIGIN = "http://localhost:8765"
SECTION = "//section[@aria-labelledby='since']"


def test_every_count_since_a_day_opens_exactly_its_rows(client: TestClient) -> None:
    day = NOW.date().isoformat()
    told = client.get(f"/api/overview?since={day}").json()["since"]
    assert told["first"] == day
    assert told["received"] == sum(one["count"] for one in told["parts"]) > 0
    links = read(client, f"/?since={day}").links(SECTION)
    shown = [(one["href"], one["count"]) for one in told["parts"] if one["count"]]
    assert links.keys() == {told["href"], *(href for href, _ in shown)}
    for href, count in [(told["href"], told["received"]), *shown]:
        rows = client.get(href.replace("/records?", "/records.json?", 1)).json()
        assert rows["total"] == count


def test_the_first_visit_is_told_in_words_and_the_next_has_the_day(
    stores: Stores, client: TestClient
) -> None:
    assert client.get("/").status_code == 200
    with TestClient(create_app(stores), base_url=ORIGIN) as other:
        before = datetime.now(UTC).date()
        answer = other.get("/")
        assert "New documents since your last visit will appear here" in answer.text
        value = other.cookies[COOKIE]
        assert before <= date.fromisoformat(value) <= datetime.now(UTC).date()
        said = answer.headers["set-cookie"].lower()
        assert "httponly" in said
        assert "samesite=lax" in said
        assert "New documents since your last visit will appear here" in read(other, "/").words(
            SECTION
        )
        assert COOKIE not in other.get("/api/overview").headers.get("set-cookie", "")
        assert other.get("/api/overview").json()["since"] is None


def test_looking_twice_a_day_does_not_forget_the_visit_before(
    stores: Stores, client: TestClient
) -> None:
    assert client.get("/").status_code == 200
    with TestClient(create_app(stores), base_url=ORIGIN) as other:
        other.cookies.set(COOKIE, f"{NOW.date()}_2020-01-01")
        told = [read(other, "/").words(SECTION) for _ in range(3)]
        kept = {one.value for one in other.cookies.jar}
    assert told[0] == told[1] == told[2]
    assert f"Since {NOW.day} {NOW:%b} {NOW.year}" in told[0]
    assert f"{datetime.now(UTC).date()}_{NOW.date()}" in kept


@pytest.mark.parametrize("value", ["", "x", "9999-12-31", "2026-13-01", "<b>", "0" * 5_000])
def test_a_cookie_that_holds_no_day_before_now_is_that_of_a_first_visit(
    stores: Stores, client: TestClient, value: str
) -> None:
    assert client.get("/").status_code == 200
    with TestClient(create_app(stores), base_url=ORIGIN) as other:
        other.cookies.set(COOKIE, value)
        page = read(other, "/")
    assert "New documents since your last visit will appear here" in page.words(SECTION)
    assert "<b>" not in page.words(SECTION)


def test_a_day_to_come_is_told_so_and_what_is_no_day_is_refused(client: TestClient) -> None:
    later = (datetime.now(UTC).date() + timedelta(days=9)).isoformat()
    assert "in the future" in read(client, f"/?since={later}").words(SECTION)
    assert client.get("/?since=soon").status_code == 400


def test_the_first_day_there_is_tells_of_everything_listed(client: TestClient) -> None:
    told = client.get("/api/overview?since=0001-01-01").json()
    assert told["since"]["received"] == told["received"] > 0


def test_a_stretch_nothing_came_in_says_so(client: TestClient) -> None:
    today = datetime.now(UTC).date().isoformat()
    told = client.get(f"/api/overview?since={today}").json()["since"]
    assert (told is None, told["received"]) == (False, 0)
    assert "no new records" in read(client, f"/?since={today}").words(SECTION)
