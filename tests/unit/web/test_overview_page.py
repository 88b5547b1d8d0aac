"""The overview: numbers that add up, and each opens exactly its rows."""

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

ASIDE = DUPLICATES + REVISITS + NOT_CAPTURES


def test_the_heading_is_the_size_of_the_library(client: TestClient) -> None:
    searchable = client.get("/.json").json()["searchable"]
    page = read(client, "/")
    assert page.heading == f"{searchable} documents in your library"
    assert f"{FAILED} records need attention" in page.words("//p[@class='lead']")


def test_received_is_kept_and_set_aside_and_refused_and_failed_and_in_flight(
    client: TestClient, filled_home: FilledHome
) -> None:
    told = client.get("/.json").json()
    counts = {one["name"]: one["count"] for one in told["outcomes"]}
    assert counts == {
        "kept": filled_home.stored_count,
        "set-aside": ASIDE,
        "refused": REFUSED,
        "failed": FAILED,
        "in-flight": PENDING,
    }
    assert told["received"] == sum(counts.values())
    assert told["unaccounted"] == 0
    assert "alert" not in read(client, "/").text


def test_every_number_opens_exactly_its_rows(client: TestClient) -> None:
    told = client.get("/.json").json()
    numbers = [(told["received"], "/records")]
    for one in told["outcomes"]:
        numbers.append((one["count"], one["href"]))
        numbers += [(reason["count"], reason["href"]) for reason in one["reasons"]]
    numbers += [(one["count"], one["href"]) for one in (*told["attention"], *told["file_types"])]
    assert len(numbers) > 15
    for count, href in numbers:
        path, _, query = href.partition("?")
        rows = client.get(f"{path}.json?{query}").json()
        assert rows["total"] == count, href
        listed = rows.get("listed_total", rows["total"])
        assert len(rows["rows"]) == min(listed, 50), href
        assert read(client, href).heading.startswith(f"{count} "), href


def test_the_page_links_every_number_it_shows(client: TestClient) -> None:
    told = client.get("/.json").json()
    links = read(client, "/").links()
    for one in told["outcomes"]:
        for href, count in [(one["href"], one["count"])] + [
            (r["href"], r["count"]) for r in one["reasons"]
        ]:
            assert re.search(rf"\b{count}\b", links[href]), href


def test_each_outcome_is_shown_once_beside_the_table_of_reasons(client: TestClient) -> None:
    page, told = read(client, "/"), client.get("/.json").json()
    section = "//section[@aria-labelledby='sum']"
    assert not page.tree.xpath(f"{section}//*[local-name()='svg']")
    figures = page.links(f"{section}//ul[@class='sum']")
    rows = page.links(f"{section}//table")
    for one in told["outcomes"]:
        assert figures[one["href"]].split()[0] == rows[one["href"]] == str(one["count"])


def test_what_needs_someone_is_named_with_its_step(client: TestClient) -> None:
    words = read(client, "/").words("//section[@aria-labelledby='attention']")
    assert "broken-pdf at extract_pdf" in words
    assert "timeout at parse_story" in words


def test_an_empty_home_says_how_to_begin(empty_client: TestClient) -> None:
    page = read(empty_client, "/")
    assert page.heading == "Your library is empty"
    commands = [one.text_content() for one in page.tree.xpath("//ol[@class='begin']//code")]
    assert [command.split()[:2] for command in commands] == [
        ["fonds", "ingest"],
        ["fonds", "status"],
        ["fonds", "search"],
    ]
    assert empty_client.get("/.json").json()["newest_input_at"] is None


def test_what_does_not_add_up_is_said_in_red(tmp_path: Path) -> None:
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


def test_sentences_count_in_good_grammar() -> None:
    one = OutcomeTally(received=1, done=1)
    assert build_heading(one, 1) == "1 document in your library"
    assert build_heading(one, 0) == "1 record received"
    assert build_heading(OutcomeTally(), 0) == "Your library is empty"
