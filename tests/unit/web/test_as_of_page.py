"""What a search found at the end of a day: on the page, in the API and as CSV, the same sums and rows."""

from __future__ import annotations

import csv
import io
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from filled_crawl import HOSTILE_TITLE
from page_reading import PageRead, read

API, BEFORE, SINCE = "/api/search/as-of", "2026-03-13", "2026-03-14"
"""All of the home came on the second of these days."""


def sums(told: dict[str, object]) -> tuple[int, int, int]:
    """Then, unknown and now, out of the counts."""
    counts: list[dict[str, object]] = told["sorts"]  # type: ignore[assignment]
    return tuple(
        sum(count["count"] for count in counts if count[name] is wanted)  # type: ignore[misc]
        for name, wanted in (
            ("is_found_then", True),
            ("is_found_then", None),
            ("is_found_now", True),
        )
    )


@pytest.mark.parametrize(("day", "change"), [(BEFORE, "added"), (SINCE, "unchanged")])
def test_page_twin_api_and_table_tell_the_same(client: TestClient, day: str, change: str) -> None:
    asked = f"q=flood&day={day}&change={change}"
    told = client.get(f"{API}?{asked}").json()
    assert client.get(f"/search/as-of.json?{asked}").json() == told
    assert sums(told) == (told["then"], told["unknown"], told["now"])
    assert told["now"] == told["total"] == client.get("/api/search?q=flood").json()["total"]
    assert told["listed_total"] == told["now"] == len(told["listed"])
    rows = list(csv.DictReader(io.StringIO(client.get(f"/csv/search/as-of?{asked}").text)))
    assert [row["id"] for row in rows] == [one["id"] for one in told["listed"]]
    page = read(client, f"/search/as-of?{asked}")
    assert page.heading == f"{told['answer']}"
    assert [one["title"] for one in told["listed"]] == list(
        page.links("//section[@aria-labelledby='listed']").values()
    )


def test_the_totals_stand_in_the_heading_and_each_count_lists_its_documents(
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


def test_a_result_leads_there_with_all_its_filters(client: TestClient) -> None:
    page = read(client, "/search?q=flood&kind=story&language=en&from=2016-01-01")
    form = page.tree.xpath("//form[@action='/search/as-of']")[0]
    sent = [(one.get("name"), one.get("value")) for one in form.xpath(".//input[@type='hidden']")]
    asked = "&".join(f"{name}={value}" for name, value in sent)
    told = client.get(f"/search/as-of.json?{asked}&day={SINCE}").json()
    filtered = client.get("/api/search?q=flood&kind=story&language=en&from=2016-01-01").json()
    assert 0 < told["then"] == told["now"] == filtered["total"]


def test_titles_and_words_are_text(client: TestClient) -> None:
    hostile = quote('<script>alert(1)</script>"')
    page = client.get(f"/search/as-of?q={hostile}&day={SINCE}").text
    assert "<script>alert(1)" not in page
    page = client.get(f"/search/as-of?q=flood&day={SINCE}&change=unchanged").text
    assert "<script>alert" not in page
    assert HOSTILE_TITLE in PageRead(page).words("//section[@aria-labelledby='listed']")


@pytest.mark.parametrize(
    ("asked", "told"),
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
def test_what_cannot_be_asked_is_refused_in_a_sentence(
    client: TestClient, asked: str, told: str
) -> None:
    answer = client.get(f"{API}?{asked}")
    assert (answer.status_code, told in answer.json()["error"]) == (400, True), answer.json()
    page = client.get(f"/search/as-of?{asked}")
    assert page.status_code == (400 if asked else 200)


def test_values_no_document_has_find_nothing(client: TestClient) -> None:
    for asked in ("domain=nowhere.example", "collection=nothing"):
        told = client.get(f"{API}?day={SINCE}&{asked}").json()
        assert (told["then"], told["now"]) == (0, 0)


def test_behind_the_last_page_of_a_list_nothing_is(client: TestClient) -> None:
    told = client.get(f"{API}?q=flood&day={SINCE}&change=unchanged&page=9").json()
    assert told["listed"] == []
    assert told["listed_total"] == told["now"]
    assert (
        client.get(f"/search/as-of?q=flood&day={SINCE}&change=unchanged&page=9").status_code == 200
    )
