"""The overview: counts that add up and link to exactly their rows."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.testclient import TestClient

from filled_crawl import (
    DUPLICATES,
    FAILED,
    NOT_CAPTURES,
    PENDING,
    REFUSED,
    REVISITS,
)
from filled_home import FilledHome, open_home
from fonds.failures.accounting.tallies import OutcomeTally
from fonds.model.disposition import Verdict
from fonds.web.app import create_app
from fonds.web.pages.overview import build_heading
from home_rows import NOW, Body, build_disposition, enter
from page_reading import read

SKIPPED = DUPLICATES + REVISITS + NOT_CAPTURES


def test_the_heading_is_the_size_of_the_library(client: TestClient) -> None:
    searchable = client.get("/.json").json()["searchable"]
    page = read(client, "/")
    assert page.heading == f"{searchable} documents in your library"
    assert f"{FAILED} records need attention" in page.words("//p[@class='lead']")


def test_the_five_outcomes_add_up_to_the_received_records(
    client: TestClient, filled_home: FilledHome
) -> None:
    overview = client.get("/.json").json()
    counts = {outcome["name"]: outcome["count"] for outcome in overview["outcomes"]}
    assert counts == {
        "stored": filled_home.stored_count,
        "skipped": SKIPPED,
        "rejected": REFUSED,
        "failed": FAILED,
        "in-progress": PENDING,
    }
    assert overview["received"] == sum(counts.values())
    reason_sums = {
        outcome["name"]: sum(reason["count"] for reason in outcome["reasons"])
        for outcome in overview["outcomes"]
    }
    for name in ("skipped", "rejected", "failed"):
        assert reason_sums[name] == counts[name] > 0
    assert reason_sums["stored"] < counts["stored"]
    assert reason_sums["in-progress"] == 0
    assert overview["unaccounted"] == 0
    assert "alert" not in read(client, "/").text


def test_every_count_links_to_exactly_its_rows(client: TestClient) -> None:
    overview = client.get("/.json").json()
    numbers = [(overview["received"], "/records")]
    for outcome in overview["outcomes"]:
        numbers.append((outcome["count"], outcome["href"]))
        numbers += [(reason["count"], reason["href"]) for reason in outcome["reasons"]]
    numbers += [
        (row["count"], row["href"]) for row in (*overview["attention"], *overview["file_types"])
    ]
    assert len(numbers) > 15
    for count, href in numbers:
        path, _, query = href.partition("?")
        rows = client.get(f"{path}.json?{query}").json()
        assert rows["total"] == count, href
        listed_total = rows.get("listed_total", rows["total"])
        assert len(rows["rows"]) == min(listed_total, 50), href
        assert read(client, href).heading.startswith(f"{count} "), href


def test_every_count_on_the_page_is_a_link(client: TestClient) -> None:
    overview = client.get("/.json").json()
    links = read(client, "/").links()
    for outcome in overview["outcomes"]:
        for href, count in [(outcome["href"], outcome["count"])] + [
            (reason["href"], reason["count"]) for reason in outcome["reasons"]
        ]:
            assert re.search(rf"\b{count}\b", links[href]), href


def test_each_outcome_is_shown_once_and_in_the_table(client: TestClient) -> None:
    page, overview = read(client, "/"), client.get("/.json").json()
    section = "//section[@aria-labelledby='sum']"
    assert not page.tree.xpath(f"{section}//*[local-name()='svg']")
    figures = page.links(f"{section}//ul[@class='sum']")
    rows = page.links(f"{section}//table")
    for outcome in overview["outcomes"]:
        assert figures[outcome["href"]].split()[0] == rows[outcome["href"]] == str(outcome["count"])


def test_failures_that_need_attention_are_named_with_their_step(client: TestClient) -> None:
    words = read(client, "/").words("//section[@aria-labelledby='attention']")
    assert "broken-pdf at extract_pdf" in words
    assert "timeout at parse_story" in words


def test_an_empty_home_shows_the_first_commands(empty_client: TestClient) -> None:
    page = read(empty_client, "/")
    assert page.heading == "Your library is empty"
    commands = [element.text_content() for element in page.tree.xpath("//ol[@class='begin']//code")]
    assert [command.split()[:2] for command in commands] == [
        ["fonds", "ingest"],
        ["fonds", "status"],
        ["fonds", "search"],
    ]
    assert empty_client.get("/.json").json()["newest_input_at"] is None


def test_records_without_an_outcome_raise_an_alert(tmp_path: Path) -> None:
    body = Body(1, "http://a.example/", NOW, "text/html", b"")
    with open_home(tmp_path) as stores:
        enter(stores, [body])
        stores.ledger.write([build_disposition(body, "identify", 0, verdict=Verdict.DROPPED)])
        with TestClient(create_app(stores), base_url="http://localhost") as client:
            page = read(client, "/")
            assert client.get("/.json").json()["unaccounted"] == 1
    alert = page.words("//*[@role='alert']")
    assert alert.startswith("1 record without an outcome.")
    assert "fonds audit" in alert


def test_headings_use_singular_and_plural() -> None:
    tally = OutcomeTally(received=1, done=1)
    assert build_heading(tally, 1) == "1 document in your library"
    assert build_heading(tally, 0) == "1 record received"
    assert build_heading(OutcomeTally(), 0) == "Your library is empty"
