"""A search as of the end of a day has the same counts and rows on the page, in the API and as CSV."""

from __future__ import annotations

import csv
import io
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from filled_crawl import HOSTILE_TITLE
from page_reading import PageRead, read

API, BEFORE, SINCE = "/api/search/as-of", "2026-03-13", "2026-03-14"
"""Everything in the home was received on the second of these days."""


def add_counts(data: dict[str, object]) -> tuple[int, int, int]:
    """Add up the counts of then, unknown and now."""
    counts: list[dict[str, object]] = data["sorts"]  # type: ignore[assignment]
    return tuple(
        sum(count["count"] for count in counts if count[name] is expected)  # type: ignore[misc]
        for name, expected in (
            ("is_found_then", True),
            ("is_found_then", None),
            ("is_found_now", True),
        )
    )


@pytest.mark.parametrize(("day", "change"), [(BEFORE, "added"), (SINCE, "unchanged")])
def test_page_json_api_and_csv_have_the_same_rows(
    client: TestClient, day: str, change: str
) -> None:
    query = f"q=flood&day={day}&change={change}"
    data = client.get(f"{API}?{query}").json()
    assert client.get(f"/search/as-of.json?{query}").json() == data
    assert add_counts(data) == (data["then"], data["unknown"], data["now"])
    assert data["now"] == data["total"] == client.get("/api/search?q=flood").json()["total"]
    assert data["listed_total"] == data["now"] == len(data["listed"])
    rows = list(csv.DictReader(io.StringIO(client.get(f"/csv/search/as-of?{query}").text)))
    assert [row["id"] for row in rows] == [hit["id"] for hit in data["listed"]]
    page = read(client, f"/search/as-of?{query}")
    assert page.heading == f"{data['answer']}"
    assert [hit["title"] for hit in data["listed"]] == list(
        page.links("//section[@aria-labelledby='listed']").values()
    )


def test_the_heading_shows_the_totals_and_counts_are_links(
    client: TestClient,
) -> None:
    page = read(client, f"/search/as-of?q=flood&day={SINCE}")
    total = client.get("/api/search?q=flood").json()["total"]
    assert page.heading.startswith(f"{total} were found at the end of ")
    assert not page.tree.xpath("//p[@class='lead']")
    ((href, count),) = page.links("//table").items()
    assert (href, count) == (
        f"/search/as-of?q=flood&day={SINCE}&change=unchanged#listed",
        str(total),
    )
    assert page.words("//footer/p[1]").count("index generation") == 1


def test_the_link_from_a_search_keeps_all_filters(client: TestClient) -> None:
    page = read(client, "/search?q=flood&kind=story&language=en&from=2016-01-01")
    form = page.tree.xpath("//form[@action='/search/as-of']")[0]
    fields = [
        (field.get("name"), field.get("value")) for field in form.xpath(".//input[@type='hidden']")
    ]
    query = "&".join(f"{name}={value}" for name, value in fields)
    data = client.get(f"/search/as-of.json?{query}&day={SINCE}").json()
    filtered = client.get("/api/search?q=flood&kind=story&language=en&from=2016-01-01").json()
    assert 0 < data["then"] == data["now"] == filtered["total"]


def test_titles_and_queries_are_escaped(client: TestClient) -> None:
    hostile = quote('<script>alert(1)</script>"')
    page = client.get(f"/search/as-of?q={hostile}&day={SINCE}").text
    assert "<script>alert(1)" not in page
    page = client.get(f"/search/as-of?q=flood&day={SINCE}&change=unchanged").text
    assert "<script>alert" not in page
    assert HOSTILE_TITLE in PageRead(page).words("//section[@aria-labelledby='listed']")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "Give a day, such as"),
        ("day=2999-01-01", "2999-01-01 is not over yet (UTC)"),
        ("day=yesterday", "day"),
        (f"day={SINCE}&q=autor:%22A%20B%22", "there is no field “autor”"),
        (f"day={SINCE}&kind=stroy", "Did you mean “story”?"),
        (f"day={SINCE}&language=english", "Did you mean 'en'?"),
        (f"day={SINCE}&dates=capturd", "Did you mean “captured”?"),
        (f"day={SINCE}&change=unchangd", "Did you mean “unchanged”?"),
        (f"day={SINCE}&page=0", "page"),
        (f"day={SINCE}&from=2024-02-01&to=2024-01-01", "is after the last day"),
        (f"day={SINCE}&undated=1&from=2024-02-01", "match no range of dates"),
        (f"day={SINCE}&sort=newest", "There is no parameter “sort”"),
    ],
)
def test_invalid_requests_are_refused_with_a_message(
    client: TestClient, query: str, message: str
) -> None:
    response = client.get(f"{API}?{query}")
    assert (response.status_code, message in response.json()["error"]) == (400, True), (
        response.json()
    )
    page = client.get(f"/search/as-of?{query}")
    assert page.status_code == (400 if query else 200)


def test_values_without_documents_find_nothing(client: TestClient) -> None:
    for query in ("domain=nowhere.example", "collection=nothing"):
        data = client.get(f"{API}?day={SINCE}&{query}").json()
        assert (data["then"], data["now"]) == (0, 0)


def test_a_page_after_the_last_is_empty(client: TestClient) -> None:
    data = client.get(f"{API}?q=flood&day={SINCE}&change=unchanged&page=9").json()
    assert data["listed"] == []
    assert data["listed_total"] == data["now"]
    assert (
        client.get(f"/search/as-of?q=flood&day={SINCE}&change=unchanged&page=9").status_code == 200
    )
