"""The pages of records, files and failures: their rows, paging, filters and commands."""

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


def test_counted_records_are_listed_by_input(client: TestClient, filled_home: FilledHome) -> None:
    page = read(client, "/records?reason=not-a-capture")
    assert page.heading == f"{NOT_CAPTURES} records skipped as not-a-capture"
    words = page.words("//section[@aria-labelledby='counted']")
    assert f"{NOT_CAPTURES} records without details" in words
    assert f"{REQUESTS + 1} {filled_home.crawl}/daily-2026.warc.gz" in words
    assert f"1 {filled_home.crawl}/damaged-<2025>.warc.gz" in words


def test_a_record_links_to_its_file(client: TestClient, filled_home: FilledHome) -> None:
    links = read(client, "/records?reason=duplicate").links("//ol")
    assert links == {
        f"/file/{filled_home.stories[0]}": f"http://mirror.example/{MIRRORS - 1}",
        f"/file/{filled_home.hostile}": SCRIPT_URL,
    }
    assert read(client, "/records?reason=http-status").links("//ol") == {}


def test_the_page_explains_the_reason(client: TestClient) -> None:
    words = read(client, "/records?reason=broken-pdf").words()
    assert "The PDF cannot be opened or repaired." in words


def test_pending_records_are_shown_as_not_finished(client: TestClient) -> None:
    page = read(client, "/records?outcome=pending")
    assert page.heading == f"{PENDING} records in progress"
    assert page.words().count("not finished") == PENDING


def test_each_filter_can_be_removed(client: TestClient) -> None:
    links = read(client, "/records?outcome=quarantined&step=extract_pdf&reason=broken-pdf").links(
        "//ul"
    )
    assert links["/records?outcome=quarantined&reason=broken-pdf"].startswith("step extract_pdf")
    assert links["/records?reason=broken-pdf&step=extract_pdf"].startswith("outcome quarantined")


def test_rows_are_paged_by_fifty_without_repeats(tmp_path: Path) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    with open_home(tmp_path) as stores:
        enter(
            stores,
            [
                Body(number, f"http://a.example/{number}", at, "text/html", b"")
                for number in range(120)
            ],
        )
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
def two_pipelines_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Client of a home with two pipelines and an entry that is a message."""
    broken_body = Body(1, "http://a.example/1.pdf", NOW, "application/pdf", b"%PDF")
    foreign = replace(
        entry(broken_body),
        entry_id="m1",
        kind="message",
        input_id="",
        url="topic key",
        seen=None,
        place=None,
    )
    story = replace(
        build_disposition(broken_body, "identify", 0),
        message_id="m1",
        entry_id="m1",
        about="story-1",
    )
    with open_home(tmp_path_factory.mktemp("two")) as stores:
        for pipeline, count in (("library", 2), ("pdf-only", 1)):
            bodies = [replace(broken_body, number=number) for number in range(count)]
            rows = [replace(entry(body), pipeline=pipeline) for body in bodies]
            stores.ledger.enter([], rows, ["identify"])
            for body in bodies:
                end = (Verdict.QUARANTINED, Reason.BROKEN_PDF, body.sha1hex)
                dispositions = build_end_rows(body, "extract_pdf", *end)
                stores.ledger.write([replace(row, pipeline=pipeline) for row in dispositions])
            tally = {str(Reason.REVISIT): count}
            facts = ("/a.warc.gz", "warc", "1:1", 0, count, tally, count, True, None, NOW)
            stores.ledger.enter([InputRow("input-1", *facts, pipeline)], [], ())
        stores.ledger.enter([], [foreign], ["identify"])
        stores.ledger.write([story])
        with TestClient(create_app(stores), base_url="http://localhost") as client:
            yield client


def test_failures_are_grouped_by_pipeline_with_their_commands(
    two_pipelines_client: TestClient,
) -> None:
    groups = two_pipelines_client.get("/failures.json").json()["groups"]
    assert [(group["pipeline"], group["count"]) for group in groups] == [
        ("library", 2),
        ("pdf-only", 1),
    ]
    for group in groups:
        assert (
            group["accept"]
            == f"fonds failures accept --pipeline {group['pipeline']} --group {group['group']}"
        )
        assert group["sample"]["pipeline"] == group["pipeline"]
        rows = two_pipelines_client.get(group["href"].replace("?", ".json?")).json()
        assert rows["total"] == group["count"]
        assert {row["pipeline"] for row in rows["rows"]} == {group["pipeline"]}
    words = read(two_pipelines_client, "/failures").words()
    assert "at extract_pdf (library)" in words
    assert "at extract_pdf (pdf-only)" in words
    assert "at extract_pdf (pdf-only)" in read(two_pipelines_client, "/").words(
        "//section[@aria-labelledby='attention']"
    )


@pytest.mark.parametrize(
    ("pipeline", "count"), [("library", 3), ("pdf-only", 1), ("stories-only", 0)]
)
def test_records_are_filtered_by_pipeline(
    two_pipelines_client: TestClient, pipeline: str, count: int
) -> None:
    data = two_pipelines_client.get(f"/records.json?pipeline={pipeline}").json()
    assert (data["listed_total"], len(data["rows"])) == (count, count)
    assert {row["pipeline"] for row in data["rows"]} <= {pipeline}
    failed_count = min(count, 2)
    assert data["counted_total"] == failed_count
    page = read(two_pipelines_client, f"/records?pipeline={pipeline}&reason=broken-pdf")
    plural = "record" if failed_count == 1 else "records"
    assert page.heading == f"{failed_count} {plural} failed as broken-pdf in {pipeline}"


def test_an_entry_that_is_a_message_is_listed_without_capture(
    two_pipelines_client: TestClient,
) -> None:
    (row,) = two_pipelines_client.get("/records.json?outcome=done").json()["rows"]
    assert (row["kind"], row["about"], row["seen"], row["place"]) == (
        "message",
        "story-1",
        None,
        None,
    )
    assert row["file_href"] is None
    page = read(two_pipelines_client, "/records?outcome=done")
    words = page.words("//ol")
    assert "topic key message" in words
    assert "captured" not in words
    assert page.links("//ol") == {}


def test_pending_records_match_no_step_or_reason(client: TestClient) -> None:
    for query in ("outcome=pending&step=identify", "outcome=pending&reason=http-status"):
        data = client.get(f"/records.json?{query}").json()
        assert (data["total"], data["rows"]) == (0, [])
    data = client.get("/records.json?step=identify").json()
    # Adjacent invalid lines are one entry.
    assert data["total"] == REFUSED * 2 // 3 + TRUNCATED + MISSING + 1
    assert {row["outcome"] for row in data["rows"]} == {"dropped", "quarantined"}


def test_an_empty_list_says_that_no_records_match(client: TestClient) -> None:
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
def test_invalid_parameters_return_400_with_a_message(client: TestClient, query: str) -> None:
    name, _, value = query.partition("=")
    page = read(client, f"/records?{query}", 400)
    assert f"The parameter “{name}” is “{value[:99]}" in page.words()
    response = client.get(f"/records.json?{query}")
    assert response.status_code == 400
    assert response.json()["error"].startswith(f"The parameter “{name}” is “{value[:99]}")


def test_an_unknown_parameter_is_refused(client: TestClient) -> None:
    assert "There is no parameter “reson”." in read(client, "/records?reson=bomb", 400).words()


def test_files_of_a_type_are_listed_with_their_url(
    client: TestClient, filled_home: FilledHome
) -> None:
    page = read(client, "/files?type=application/pdf")
    assert (
        page.heading
        == f"{len(filled_home.pdfs) + BROKEN_PDFS + LOST + PENDING} files of type application/pdf"
    )
    assert page.links()[f"/file/{filled_home.long}"] == "A field guide to sediment"
    assert "http://library.example/reports/3.pdf · application/pdf" in page.words()


def test_failure_groups_show_their_command(client: TestClient, filled_home: FilledHome) -> None:
    page = read(client, "/failures")
    assert page.heading == (f"{FAILED} failed records in 7 groups, 1 input could not be read")
    first = page.words("//section[@class='failure'][1]")
    assert first.startswith(f"{BROKEN_PDFS} broken-pdf at extract_pdf")
    group = client.get("/failures.json").json()["groups"][0]
    assert "A retry fails in the same way" in first
    assert group["accept"] in first
    assert (group["retry"], group["again"]) == (None, "")
    assert page.links()[group["href"]] == str(BROKEN_PDFS)
    rows = client.get(group["href"].replace("?", ".json?")).json()
    assert (rows["total"], len(rows["rows"])) == (BROKEN_PDFS, BROKEN_PDFS)


def test_a_retry_is_offered_for_timeouts(client: TestClient) -> None:
    groups = client.get("/failures.json?reason=timeout").json()["groups"]
    assert [group["retry"] for group in groups] == [
        f"fonds failures retry --pipeline library --group {groups[0]['group']}"
    ]
    words = read(client, "/failures?reason=timeout").words()
    assert f"Retry all {TIMEOUTS} (with a longer time limit" in words


def test_counted_failures_offer_no_retry(client: TestClient) -> None:
    failures = client.get("/failures.json").json()
    assert [(group["reason"], group["count"]) for group in failures["counted"]] == [
        (str(Reason.BAD_INDEX_LINE), BAD_LINKS + BAD_LINES - 1)
    ]
    assert "Fix the input" in read(client, "/failures").words("//section[@class='failure'][last()]")


def test_unreadable_inputs_are_listed_with_their_error(
    client: TestClient, filled_home: FilledHome
) -> None:
    words = read(client, "/failures").words("//section[@aria-labelledby='inputs']")
    assert f"{filled_home.crawl}/missing-<2025>.warc.gz" in words
    assert "no such file" in words


def test_a_home_without_failures_says_so(empty_client: TestClient) -> None:
    assert read(empty_client, "/failures").heading == "No failures"
    assert empty_client.get("/failures.json").json()["total"] == 0


def test_records_are_listed_before_counted_ones(client: TestClient) -> None:
    page = read(client, "/records?outcome=dropped")
    data = client.get("/records.json?outcome=dropped").json()
    assert data["rows"]
    assert data["counted_total"]
    sections = page.tree.xpath("//main//section/@aria-labelledby")
    assert sections == ["listed", "counted"]
    assert page.tree.xpath("//details[not(@open)]//div[@class='path']")


@pytest.mark.parametrize("path", ["/records", "/files"])
def test_an_empty_library_shows_how_to_add_files(empty_client: TestClient, path: str) -> None:
    assert "Your library is empty. Add files" in read(empty_client, path).words()


def test_files_are_sorted_both_ways_and_have_thumbnails(client: TestClient) -> None:
    newest = client.get("/files.json").json()["rows"]
    times = [row["row_created"] for row in newest]
    assert times == sorted(times, reverse=True)
    listed_files, after = [], ""
    while after is not None:
        data = client.get(f"/files.json?sort=oldest&after={after}").json()
        listed_files += [(row["row_created"], row["sha1hex"]) for row in data["rows"]]
        after = data["next"]
    assert len(set(listed_files)) == len(listed_files) == data["total"]
    assert [at for at, _ in listed_files] == sorted(at for at, _ in listed_files)
    page = read(client, "/files?sort=oldest")
    rows = client.get("/files.json?sort=oldest").json()["rows"]
    thumbnails = [f"/file/{row['sha1hex']}/thumbnail" for row in rows if row["has_thumbnail"]]
    assert page.tree.xpath("//ol[@class='hits']//img/@src") == thumbnails
    assert thumbnails


def test_file_types_are_links_with_their_counts(client: TestClient) -> None:
    links = read(client, "/files?sort=oldest").links("//nav[@class='kinds']")
    assert "/files?sort=oldest" in links
    links.pop("/files?sort=oldest")
    assert links
    for href, label in links.items():
        data = client.get(href.replace("/files", "/files.json", 1)).json()
        assert data["total"] == int(label.rsplit(" ", 1)[1].replace(",", ""))
