"""Received records per day: the bars add up to the total, and each count links to exactly its records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from fonds.failures import recent
from fonds.failures.accounting.days import DayRange, build_daily_tallies
from fonds.model.disposition import Reason, Verdict
from fonds.model.rows import InputRow
from fonds.ports import Stores
from fonds.web.app import create_app
from fonds.web.pages.days import DaysForm, DaysPage, build_days, draw_days_chart
from fonds.web.pages.failures import FailuresForm, build_failures_page, describe_days
from home_rows import NOW, Body, build_disposition, build_promise, entry
from page_reading import read

TODAY = NOW.date()
DAYS_AGO = (0, 0, 0, 0, 0, 1, 29, 30, 100, -3)
"""Days since each of ten records was received. One clock was ahead."""


def _fill(stores: Stores) -> None:
    for number, ago in enumerate(DAYS_AGO):
        body = Body(number, f"http://a.example/{number}", NOW, "text/html", b"%d" % number)
        pipeline = "pdf-only" if number == 1 else "library"
        row = replace(entry(body), entered_at=NOW - timedelta(days=ago), pipeline=pipeline)
        stores.ledger.enter([], [row], ["identify"])
        stores.ledger.write(
            [replace(disposition, pipeline=pipeline) for disposition in _build_dispositions(body)]
        )
    tally = {str(Reason.REVISIT): 7, str(Reason.BAD_INDEX_LINE): 2}
    facts = ("/a.warc.gz", "warc", "1:1", 0, 0, tally, 9, True, None, NOW - timedelta(days=1))
    stores.ledger.enter([InputRow("input-1", *facts, "library")], [], ())


def _build_dispositions(body: Body) -> list[Any]:
    dispositions = {
        0: [build_disposition(body, "identify", 0)],
        1: [
            build_disposition(body, "identify", 0, verdict=Verdict.DROPPED, reason=Reason.DUPLICATE)
        ],
        2: [
            build_disposition(
                body, "identify", 0, verdict=Verdict.DROPPED, reason=Reason.HTTP_STATUS
            )
        ],
        3: [
            build_disposition(
                body, "identify", 0, verdict=Verdict.QUARANTINED, reason=Reason.TIMEOUT
            )
        ],
        # In progress, but already with a reason.
        4: [
            build_disposition(
                body, "identify", 0, verdict=Verdict.DROPPED, reason=Reason.DUPLICATE
            ),
            build_promise(body, "persist_file", 0, "identify"),
        ],
    }
    return dispositions.get(body.number, [build_disposition(body, "identify", 0)])


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with open_home(tmp_path_factory.mktemp("days")) as stores:
        _fill(stores)
        yield stores


@pytest.fixture(scope="module")
def client(stores: Stores) -> Iterator[TestClient]:
    with TestClient(create_app(stores), base_url="http://localhost") as client:
        yield client


def build_page(stores: Stores, days: Any = "90", pipeline: str = "") -> DaysPage:
    return build_days(stores.records, DaysForm(days=days, pipeline=pipeline), 19, NOW)


@pytest.mark.parametrize("days", ["7", "30", "90", "365"])
@pytest.mark.parametrize("pipeline", ["", "library", "pdf-only"])
def test_bars_and_records_outside_the_range_add_up_to_the_total(
    stores: Stores, days: str, pipeline: str
) -> None:
    page = build_page(stores, days, pipeline)
    total = {"": 19, "library": 18, "pdf-only": 1}[pipeline]
    assert page.received == sum(bar.received for bar in page.bars)
    assert page.received + page.before + page.later == total
    assert page.later == (0 if pipeline == "pdf-only" else 1)
    assert (page.bars[0].first, page.bars[-1].last) == (page.first, TODAY)
    for bar, next_bar in zip(page.bars, page.bars[1:], strict=False):
        assert next_bar.first == bar.last + timedelta(days=1)


def test_a_bar_counts_the_five_outcomes_of_its_day(stores: Stores) -> None:
    page = build_page(stores)
    assert len(page.bars) == 90
    assert {part.name: part.count for part in page.bars[-1].parts} == {
        "stored": 1, "skipped": 1, "rejected": 1, "failed": 1, "in-progress": 1,
    }  # fmt: skip
    assert {part.name: part.count for part in page.bars[-2].parts} == {
        "stored": 1, "skipped": 7, "rejected": 0, "failed": 2, "in-progress": 0,
    }  # fmt: skip
    assert [bar.received for bar in page.bars].count(0) == 86


@pytest.mark.parametrize("days", ["7", "90", "365"])
def test_every_count_links_to_exactly_its_records(
    stores: Stores, client: TestClient, days: str
) -> None:
    page = build_page(stores, days)
    numbers = [(bar.received, bar.href) for bar in page.bars if bar.received]
    numbers += [(part.count, part.href) for bar in page.bars for part in bar.parts if part.count]
    numbers += [(page.before, page.before_href), (page.later, page.later_href)]
    assert len(numbers) >= 10
    for count, href in numbers:
        rows = client.get(href.replace("/records", "/records.json", 1)).json()
        assert (rows["total"], len(rows["rows"])) == (count, rows["listed_total"]), href
        assert read(client, href).heading.startswith(f"{count:,} record"), href


def test_records_of_a_day_are_paged_from_the_latest(tmp_path: Path) -> None:
    with open_home(tmp_path) as stores:
        bodies = [
            Body(number, f"http://a.example/{number}", NOW, "text/html", b"%d" % number)
            for number in range(130)
        ]
        rows = [
            replace(
                entry(body),
                entered_at=NOW - timedelta(minutes=body.number // 3),
                pipeline=("library", "pdf-only")[body.number % 2],
            )
            for body in bodies
        ]
        stores.ledger.enter([], rows, ["identify"])
        with TestClient(create_app(stores), base_url="http://localhost") as client:
            ids, after = [], ""
            while after is not None:
                url = f"/api/records?from={TODAY}&to={TODAY}&after={after}"
                page = client.get(url).json()
                assert page["total"] == 130
                ids += [row["entry_id"] for row in page["rows"]]
                after = page["next"]
    latest = sorted(bodies, key=lambda body: (body.number // 3, -body.number))
    assert ids == [body.capture_id for body in latest]


def test_the_heading_names_the_day_or_range(client: TestClient) -> None:
    headings = {
        f"from={TODAY}&to={TODAY}": "5 records received on 14 Mar 2026",
        f"outcome=done&from={TODAY}&to={TODAY}": "1 record stored, received on 14 Mar 2026",
        "to=2026-03-13": "13 records received until 13 Mar 2026",
        "from=2026-03-15": "1 record received from 15 Mar 2026 on",
        "weight=failed&from=2026-03-01&to=2026-03-31": (
            "3 records failed, received from 1 Mar 2026 until 31 Mar 2026"
        ),
        "step=identify&from=2026-03-14&to=2026-03-14": (
            "4 records received at identify on 14 Mar 2026"
        ),
        "from=2026-03-15&to=2026-03-01": "0 records received from 15 Mar 2026 until 1 Mar 2026",
    }
    for query, heading in headings.items():
        assert read(client, f"/records?{query}").heading == heading


@pytest.mark.parametrize(
    "query", ["from=yesterday", "to=2026-13-01", "from=99999-01-01", "days=8", "days=1e9"]
)
def test_invalid_days_are_refused(client: TestClient, query: str) -> None:
    path = "/" if query.startswith("days") else "/records"
    assert client.get(f"{path}?{query}").status_code == 400


def test_an_unknown_pipeline_is_refused(client: TestClient) -> None:
    assert client.get("/?pipeline=nonesuch").status_code == 400


def test_an_open_range_of_days_counts_all_records(stores: Stores) -> None:
    pipelines = ["library", "pdf-only"]
    all_tallies = build_daily_tallies(stores.records, DayRange(), pipelines)
    assert sum(tally.received for tally in all_tallies.values()) == 19
    tallies = build_daily_tallies(
        stores.records, DayRange(date(2000, 1, 1), date(2026, 3, 13)), pipelines
    )
    assert sum(tally.received for tally in tallies.values()) == 13


def test_the_chart_has_a_description_and_stays_inside_its_frame(stores: Stores) -> None:
    chart = str(draw_days_chart(build_page(stores)))
    assert "Most on 13 Mar 2026: 10. None on 86 days of 90." in chart
    assert chart.count("no records</title>") == 86
    assert "13 Mar 2026: 1 stored, 7 skipped, 2 failed" in chart
    assert ' y="-' not in chart


def test_the_page_has_the_windows_the_pipelines_and_one_chart(client: TestClient) -> None:
    page = read(client, "/?days=7&pipeline=library")
    links = page.links("//section[@aria-labelledby='days']//nav")
    assert links["/?days=365&pipeline=library#days"] == "1 year"
    assert links["/?days=7#days"] == "all pipelines"
    days = "//section[@aria-labelledby='days']"
    assert not page.tree.xpath(f"{days}//table")
    bars = page.tree.xpath(f"{days}//*[local-name()='svg']/*[local-name()='a' or local-name()='g']")
    assert len(bars) == 7


def test_a_group_counts_its_failures_by_day(tmp_path: Path) -> None:
    ages = (0, 0, 2, 29, 30)
    with open_home(tmp_path) as stores:
        for number, ago in enumerate(ages):
            body = Body(number, f"http://a.example/{number}", NOW, "text/html", b"%d" % number)
            stores.ledger.enter([], [entry(body)], ["identify"])
            row = build_disposition(
                body, "identify", 0, verdict=Verdict.QUARANTINED, reason=Reason.TIMEOUT
            )
            at = NOW - timedelta(days=ago)
            stores.ledger.write([replace(row, promised_at=at, settled_at=at)])
        (group,) = build_failures_page(stores.records, FailuresForm(), NOW).groups
        (later,) = build_failures_page(
            stores.records, FailuresForm(), NOW + timedelta(days=60)
        ).groups
    assert group.last_days == [1, *[0] * 26, 1, 0, 2]
    assert not group.is_new
    assert describe_days(group.last_days) == (
        "4 failures on 3 of the last 30 days, last today, at most 2 per day"
    )
    assert describe_days(later.last_days) == "No failures in the last 30 days"


def test_a_group_is_new_on_its_first_day_and_the_next(stores: Stores) -> None:
    def list_is_new(days: int) -> list[bool]:
        at = NOW + timedelta(days=days)
        return [
            group.is_new for group in build_failures_page(stores.records, FailuresForm(), at).groups
        ]

    assert list_is_new(1) == [True]
    assert list_is_new(2) == [False]


def _fail(stores: Stores, number: int, reason: Reason, hours_ago: float) -> None:
    body = Body(number, f"http://b.example/{number}", NOW, "text/html", b"new %d" % number)
    at = NOW - timedelta(hours=hours_ago)
    stores.ledger.enter([], [entry(body)], ["identify"])
    row = build_disposition(body, "identify", 0, verdict=Verdict.QUARANTINED, reason=reason)
    stores.ledger.write([replace(row, promised_at=at, settled_at=at)])


def test_new_groups_are_listed_in_their_own_section(tmp_path: Path) -> None:
    with open_home(tmp_path) as stores:
        for number in range(4):
            _fail(stores, number, Reason.TIMEOUT, 48 - number)
        _fail(stores, 4, Reason.TIMEOUT, 1)
        _fail(stores, 5, Reason.BROKEN_PDF, 2)
        failures_page = build_failures_page(stores.records, FailuresForm(), NOW)
        later = build_failures_page(stores.records, FailuresForm(), NOW + timedelta(days=2))
        reason_page = build_failures_page(stores.records, FailuresForm(reason=Reason.TIMEOUT), NOW)
        (new,) = failures_page.recent.new
        group_page = build_failures_page(stores.records, FailuresForm(group=new.group), NOW)
    assert [group.reason for group in failures_page.groups] == ["timeout", "broken-pdf"]
    assert (new.reason, new.count, failures_page.recent.new_total) == ("broken-pdf", 1, 1)
    assert failures_page.recent.heading == "New since yesterday"
    assert [group.group for group in group_page.groups] == [new.group]
    assert later.recent.new == reason_page.recent.new == []


def test_new_groups_are_found_among_many_newer_failures(tmp_path: Path) -> None:
    with open_home(tmp_path) as stores:
        _fail(stores, 0, Reason.TIMEOUT, 48)
        _fail(stores, 1, Reason.BROKEN_PDF, 5)
        _fail(stores, 2, Reason.BOMB, 33)
        _fail(stores, 3, Reason.MISSING_SOURCE, 34)
        for number in range(10, 70):
            _fail(stores, number, Reason.TIMEOUT, 1)
        news = build_failures_page(stores.records, FailuresForm(), NOW).recent
    assert [group.reason for group in news.new] == ["broken-pdf", "bomb"]
    assert (news.new_total, news.new_is_all) == (2, True)


REASONS = (
    Reason.BROKEN_PDF,
    Reason.TIMEOUT,
    Reason.BOMB,
    Reason.MISSING_SOURCE,
    Reason.BAD_ENCODING,
)


def test_the_heading_says_that_only_some_groups_were_examined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "GROUPS_EXAMINED", (1, 1))
    with open_home(tmp_path) as stores:
        for number, reason in enumerate(REASONS[:3]):
            _fail(stores, number, reason, 5)
        news = build_failures_page(stores.records, FailuresForm(), NOW).recent
    assert (news.new_total, news.new_is_all) == (2, False)
    assert news.heading.startswith("New since yesterday: 2 of the ")


def test_a_partial_examination_is_reported_without_new_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "GROUPS_EXAMINED", (1,))
    with open_home(tmp_path) as stores:
        for number in range(4):
            _fail(stores, number, Reason.TIMEOUT, 1 if number else 72)
        _fail(stores, 5, Reason.BOMB, 1)
        news = build_failures_page(stores.records, FailuresForm(), NOW).recent
    assert (news.new, news.new_total, news.new_is_all) == ([], 0, False)
    assert news.has_news
    assert news.heading.startswith("New since yesterday: 0 of the ")


def test_the_listed_new_groups_do_not_depend_on_the_step_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each group has its own course. The sizes of the steps change only the stated total."""
    hours = ((1,), (1, 1, 1), (30, 1, 1, 1), (30, 30), (30, 30, 30, 30, 1))
    with open_home(tmp_path) as stores:
        for at, (reason, ago) in enumerate(zip(REASONS, hours, strict=True)):
            for number, hours_ago in enumerate(ago):
                _fail(stores, 10 * at + number, reason, hours_ago)
        for number in range(6):
            _fail(stores, 100 + number, Reason.ENCRYPTED_PDF, 1 if number else 72)
        monkeypatch.setattr(recent, "NEW_GROUPS_MAX", 3)
        results = []
        for steps in ((1_000,), (1, 1, 1, 1, 1, 1, 1), (2, 3, 5)):
            monkeypatch.setattr(recent, "GROUPS_EXAMINED", steps)
            results.append(build_failures_page(stores.records, FailuresForm(), NOW).recent)
    expected = ["timeout", "broken-pdf", str(REASONS[4])]
    reasons = [[group.reason for group in result.new] for result in results]
    assert reasons == 3 * [expected]
    assert (results[0].new_total, results[0].new_is_all, results[0].heading) == (
        (5, True, "New since yesterday: 3 of 5")
    )
    assert all(3 <= result.new_total <= 5 for result in results)


def test_the_failures_page_shows_the_days_as_chart_and_text(stores: Stores) -> None:
    with TestClient(create_app(stores), base_url="http://localhost") as client:
        page = read(client, "/failures")
        (group,) = client.get("/failures.json").json()["groups"]
    (chart,) = page.tree.xpath("//*[local-name()='svg'][contains(@class, 'sparks')]")
    marks = {
        str(path.get("class")): str(path.get("d")).count("M")
        for path in chart.xpath("*[local-name()='path']")
    }
    failed_on = sum(count > 0 for count in group["last_days"])
    assert marks == {"bar": failed_on, "track": 30 - failed_on}
    assert describe_days(group["last_days"]) in page.words("//dl[@class='sample']")
