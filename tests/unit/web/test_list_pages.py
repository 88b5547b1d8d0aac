"""Records, files and failures: the rows behind the numbers, paged, with what to do about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_crawl import (
    BAD_LINES,
    BAD_LINKS,
    BROKEN_PDFS,
    FAILED,
    LOST,
    MIRRORS,
    MISSING,
    NOT_CAPTURES,
    PENDING,
    REFUSED,
    REQUESTS,
    SCRIPT_URL,
    TIMEOUTS,
    TRUNCATED,
)
from filled_home import FilledHome, open_home
from fonds.model.disposition import Reason, Verdict
from fonds.model.rows import InputRow
from fonds.web.app import create_app
from home_rows import NOW, Body, build_disposition, build_end_rows, enter, entry
from page_reading import read


def test_records_that_were_only_counted_say_so_and_where(
    client: TestClient, filled: FilledHome
) -> None:
    page = read(client, "/records?reason=not-a-capture")
    assert page.heading == f"{NOT_CAPTURES} records skipped as not-a-capture"
    words = page.words("//section[@aria-labelledby='counted']")
    assert f"{NOT_CAPTURES} records without details" in words
    assert f"{REQUESTS + 1} {filled.crawl}/daily-2026.warc.gz" in words
    assert f"1 {filled.crawl}/damaged-<2025>.warc.gz" in words


def test_a_record_leads_to_its_file_when_it_has_one(client: TestClient, filled: FilledHome) -> None:
    links = read(client, "/records?reason=duplicate").links("//ol")
    assert links == {
        f"/file/{filled.stories[0]}": f"http://mirror.example/{MIRRORS - 1}",
        f"/file/{filled.hostile}": SCRIPT_URL,
    }
    assert read(client, "/records?reason=http-status").links("//ol") == {}


def test_the_reason_is_explained(client: TestClient) -> None:
    words = read(client, "/records?reason=broken-pdf").words()
    assert "The PDF cannot be opened or repaired." in words


def test_records_in_flight_are_said_to_be_not_yet_settled(client: TestClient) -> None:
    page = read(client, "/records?outcome=pending")
    assert page.heading == f"{PENDING} records in progress"
    assert page.words().count("not finished") == PENDING


def test_filters_can_be_taken_away_one_by_one(client: TestClient) -> None:
    links = read(client, "/records?outcome=quarantined&step=extract_pdf&reason=broken-pdf").links(
        "//ul"
    )
    assert links["/records?outcome=quarantined&reason=broken-pdf"].startswith("step extract_pdf")
    assert links["/records?reason=broken-pdf&step=extract_pdf"].startswith("outcome quarantined")


def test_rows_are_paged_by_fifty_and_no_row_is_on_two_pages(tmp_path: Path) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    with open_home(tmp_path) as stores:
        enter(stores, [Body(n, f"http://a.example/{n}", at, "text/html", b"") for n in range(120)])
        with TestClient(create_app(stores), base_url="http://localhost") as client:
            pages = [client.get("/records.json").json()]
            while pages[-1]["next"]:
                pages.append(
                    client.get("/records.json", params={"after": pages[-1]["next"]}).json()
                )
            middle = read(client, f"/records?after={pages[0]['next']}")
            files = client.get("/files.json").json()
    assert [(page["first"], len(page["rows"])) for page in pages] == [(1, 50), (51, 50), (101, 20)]
    assert len({row["entry_id"] for page in pages for row in page["rows"]}) == 120
    assert "51–100 of 120" in middle.words("//nav[@class='pager']")
    links = middle.links("//nav[@class='pager']")
    assert set(links) == {"/records", f"/records?after={pages[1]['next']}"}
    assert files["next"] is None


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The pages of a home with two pipelines, and entries that are no captures."""
    broken = Body(1, "http://a.example/1.pdf", NOW, "application/pdf", b"%PDF")
    foreign = replace(
        entry(broken),
        entry_id="m1",
        kind="message",
        input_id="",
        url="topic key",
        seen=None,
        place=None,
    )
    story = replace(
        build_disposition(broken, "identify", 0), message_id="m1", entry_id="m1", about="story-1"
    )
    with open_home(tmp_path_factory.mktemp("two")) as stores:
        for pipeline, count in (("library", 2), ("pdf-only", 1)):
            bodies = [replace(broken, number=n) for n in range(count)]
            rows = [replace(entry(body), pipeline=pipeline) for body in bodies]
            stores.ledger.enter([], rows, ["identify"])
            for body in bodies:
                end = (Verdict.QUARANTINED, Reason.BROKEN_PDF, body.sha1hex)
                way = build_end_rows(body, "extract_pdf", *end)
                stores.ledger.write([replace(row, pipeline=pipeline) for row in way])
            tally = {str(Reason.REVISIT): count}
            facts = ("/a.warc.gz", "warc", "1:1", 0, count, tally, count, True, None, NOW)
            stores.ledger.enter([InputRow("input-1", *facts, pipeline)], [], ())
        stores.ledger.enter([], [foreign], ["identify"])
        stores.ledger.write([story])
        with TestClient(create_app(stores), base_url="http://localhost") as client:
            yield client


def test_failures_of_two_pipelines_are_two_groups_each_with_its_own_command(
    two: TestClient,
) -> None:
    groups = two.get("/failures.json").json()["groups"]
    assert [(group["pipeline"], group["count"]) for group in groups] == [
        ("library", 2),
        ("pdf-only", 1),
    ]
    for one in groups:
        assert (
            one["accept"]
            == f"fonds failures accept --pipeline {one['pipeline']} --group {one['group']}"
        )
        assert one["sample"]["pipeline"] == one["pipeline"]
        rows = two.get(one["href"].replace("?", ".json?")).json()
        assert rows["total"] == one["count"]
        assert {row["pipeline"] for row in rows["rows"]} == {one["pipeline"]}
    words = read(two, "/failures").words()
    assert "at extract_pdf (library)" in words
    assert "at extract_pdf (pdf-only)" in words
    assert "at extract_pdf (pdf-only)" in read(two, "/").words(
        "//section[@aria-labelledby='attention']"
    )


@pytest.mark.parametrize(
    ("pipeline", "count"), [("library", 3), ("pdf-only", 1), ("stories-only", 0)]
)
def test_records_of_one_pipeline_are_its_own(two: TestClient, pipeline: str, count: int) -> None:
    told = two.get(f"/records.json?pipeline={pipeline}").json()
    assert (told["listed_total"], len(told["rows"])) == (count, count)
    assert {row["pipeline"] for row in told["rows"]} <= {pipeline}
    failed = min(count, 2)
    assert told["counted_total"] == failed
    page = read(two, f"/records?pipeline={pipeline}&reason=broken-pdf")
    plural = "record" if failed == 1 else "records"
    assert page.heading == f"{failed} {plural} failed as broken-pdf in {pipeline}"


def test_an_entry_that_is_no_capture_shows_what_it_has(two: TestClient) -> None:
    (row,) = two.get("/records.json?outcome=done").json()["rows"]
    assert (row["kind"], row["about"], row["seen"], row["place"]) == (
        "message",
        "story-1",
        None,
        None,
    )
    assert row["file_href"] is None
    page = read(two, "/records?outcome=done")
    words = page.words("//ol")
    assert "topic key message" in words
    assert "captured" not in words
    assert page.links("//ol") == {}


def test_what_is_waiting_was_decided_by_no_step(client: TestClient) -> None:
    for query in ("outcome=pending&step=identify", "outcome=pending&reason=http-status"):
        told = client.get(f"/records.json?{query}").json()
        assert (told["total"], told["rows"]) == (0, [])
    told = client.get("/records.json?step=identify").json()
    assert told["total"] == REFUSED * 2 // 3 + TRUNCATED + MISSING + BAD_LINES
    assert {row["outcome"] for row in told["rows"]} == {"dropped", "quarantined"}


def test_no_such_record_is_an_answer_too(client: TestClient) -> None:
    page = read(client, "/records?reason=bomb")
    assert page.heading == "0 records failed as bomb"
    assert "No records match these filters" in page.words()


@pytest.mark.parametrize(
    "query",
    [
        "outcome=lost",
        "weight=heavy",
        "reason=because",
        "after=x",
        "after=WzAsbnVsbCxbXV0",
        "after=!!",
        "step=" + "x" * 101,
    ],
)
def test_what_cannot_be_asked_is_answered_with_400_and_a_sentence(
    client: TestClient, query: str
) -> None:
    name, _, value = query.partition("=")
    page = read(client, f"/records?{query}", 400)
    assert f"The parameter “{name}” is “{value[:99]}" in page.words()
    told = client.get(f"/records.json?{query}")
    assert told.status_code == 400
    assert told.json()["error"].startswith(f"The parameter “{name}” is “{value[:99]}")


def test_a_misspelt_parameter_is_not_passed_over(client: TestClient) -> None:
    assert "There is no parameter “reson”." in read(client, "/records?reson=bomb", 400).words()


def test_files_of_a_type_are_listed_with_their_url(client: TestClient, filled: FilledHome) -> None:
    page = read(client, "/files?type=application/pdf")
    assert (
        page.heading
        == f"{len(filled.pdfs) + BROKEN_PDFS + LOST + PENDING} files of type application/pdf"
    )
    assert page.links()[f"/file/{filled.long}"] == "A field guide to sediment"
    assert "http://library.example/reports/3.pdf · application/pdf" in page.words()


def test_failures_are_grouped_and_say_what_to_type(client: TestClient, filled: FilledHome) -> None:
    page = read(client, "/failures")
    assert page.heading == (f"{FAILED} failed records in 7 groups, 1 input could not be read")
    first = page.words("//section[@class='failure'][1]")
    assert first.startswith(f"{BROKEN_PDFS} broken-pdf at extract_pdf")
    told = client.get("/failures.json").json()["groups"][0]
    assert "A retry fails in the same way" in first
    assert told["accept"] in first
    assert (told["retry"], told["again"]) == (None, "")
    assert page.links()[told["href"]] == str(BROKEN_PDFS)
    rows = client.get(told["href"].replace("?", ".json?")).json()
    assert (rows["total"], len(rows["rows"])) == (BROKEN_PDFS, BROKEN_PDFS)


def test_trying_again_is_offered_where_it_can_help(client: TestClient) -> None:
    slow = client.get("/failures.json?reason=timeout").json()["groups"]
    assert [one["retry"] for one in slow] == [
        f"fonds failures retry --pipeline library --group {slow[0]['group']}"
    ]
    words = read(client, "/failures?reason=timeout").words()
    assert f"Retry all {TIMEOUTS} (with a longer time limit" in words


def test_failures_only_a_source_knows_of_offer_no_retry(client: TestClient) -> None:
    told = client.get("/failures.json").json()
    assert [(one["reason"], one["count"]) for one in told["counted"]] == [
        (str(Reason.BAD_INDEX_LINE), BAD_LINKS)
    ]
    assert "Fix the input" in read(client, "/failures").words("//section[@class='failure'][last()]")


def test_inputs_that_end_early_are_named_with_their_error(
    client: TestClient, filled: FilledHome
) -> None:
    words = read(client, "/failures").words("//section[@aria-labelledby='inputs']")
    assert f"{filled.crawl}/missing-<2025>.warc.gz" in words
    assert "no such file" in words


def test_nothing_failed_is_said_plainly(empty: TestClient) -> None:
    assert read(empty, "/failures").heading == "No failures"
    assert empty.get("/failures.json").json()["total"] == 0


def test_the_records_stand_before_the_tallies(client: TestClient) -> None:
    page = read(client, "/records?outcome=dropped")
    told = client.get("/records.json?outcome=dropped").json()
    assert told["rows"]
    assert told["counted_total"]
    sections = page.tree.xpath("//main//section/@aria-labelledby")
    assert sections == ["listed", "counted"]
    assert page.tree.xpath("//details[not(@open)]//div[@class='path']")


@pytest.mark.parametrize("path", ["/records", "/files"])
def test_an_empty_library_leads_to_how_to_begin(empty: TestClient, path: str) -> None:
    assert "Your library is empty. Add files" in read(empty, path).words()


def test_files_have_pictures_and_can_be_had_from_either_end(client: TestClient) -> None:
    newest = client.get("/files.json").json()["rows"]
    assert [one["row_created"] for one in newest] == sorted(
        (one["row_created"] for one in newest), reverse=True
    )
    seen, after = [], ""
    while after is not None:
        told = client.get(f"/files.json?sort=oldest&after={after}").json()
        seen += [(one["row_created"], one["sha1hex"]) for one in told["rows"]]
        after = told["next"]
    assert len(set(seen)) == len(seen) == told["total"]
    assert [at for at, _ in seen] == sorted(at for at, _ in seen)
    page = read(client, "/files?sort=oldest")
    rows = client.get("/files.json?sort=oldest").json()["rows"]
    pictured = [f"/file/{row['sha1hex']}/thumbnail" for row in rows if row["has_thumbnail"]]
    assert page.tree.xpath("//ol[@class='hits']//img/@src") == pictured
    assert pictured


def test_the_types_of_files_are_offered_with_their_counts(client: TestClient) -> None:
    links = read(client, "/files?sort=oldest").links("//nav[@class='kinds']")
    assert "/files?sort=oldest" in links
    links.pop("/files?sort=oldest")
    assert links
    for href, words in links.items():
        told = client.get(href.replace("/files", "/files.json", 1)).json()
        assert told["total"] == int(words.rsplit(" ", 1)[1].replace(",", ""))
