"""What came in day by day: bars that sum up to everything, each of which opens exactly its records."""

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
AGO = (0, 0, 0, 0, 0, 1, 29, 30, 100, -3)
"""Of ten records how many days ago each came in; one by a clock that was ahead."""


def _fill(stores: Stores) -> None:
    for number, ago in enumerate(AGO):
        body = Body(number, f"http://a.example/{number}", NOW, "text/html", b"%d" % number)
        pipeline = "pdf-only" if number == 1 else "library"
        row = replace(entry(body), entered_at=NOW - timedelta(days=ago), pipeline=pipeline)
        stores.ledger.enter([], [row], ["identify"])
        stores.ledger.write([replace(one, pipeline=pipeline) for one in _ended(body)])
    tally = {str(Reason.REVISIT): 7, str(Reason.BAD_INDEX_LINE): 2}
    facts = ("/a.warc.gz", "warc", "1:1", 0, 0, tally, 9, True, None, NOW - timedelta(days=1))
    stores.ledger.enter([InputRow("input-1", *facts, "library")], [], ())


def _ended(body: Body) -> list[Any]:
    ends = {
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
        # Half way, with a reason already.
        4: [
            build_disposition(
                body, "identify", 0, verdict=Verdict.DROPPED, reason=Reason.DUPLICATE
            ),
            build_promise(body, "persist_file", 0, "identify"),
        ],
    }
    return ends.get(body.number, [build_disposition(body, "identify", 0)])


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with open_home(tmp_path_factory.mktemp("days")) as found:
        _fill(found)
        yield found


@pytest.fixture(scope="module")
def client(stores: Stores) -> Iterator[TestClient]:
    with TestClient(create_app(stores), base_url="http://localhost") as found:
        yield found


def shown(stores: Stores, days: Any = "90", pipeline: str = "") -> DaysPage:
    return build_days(stores.records, DaysForm(days=days, pipeline=pipeline), 19, NOW)


@pytest.mark.parametrize("days", ["7", "30", "90", "365"])
@pytest.mark.parametrize("pipeline", ["", "library", "pdf-only"])
def test_bars_before_and_later_are_everything(stores: Stores, days: str, pipeline: str) -> None:
    found = shown(stores, days, pipeline)
    total = {"": 19, "library": 18, "pdf-only": 1}[pipeline]
    assert found.received == sum(bar.received for bar in found.bars)
    assert found.received + found.before + found.later == total
    assert found.later == (0 if pipeline == "pdf-only" else 1)
    assert (found.bars[0].first, found.bars[-1].last) == (found.first, TODAY)
    for one, two in zip(found.bars, found.bars[1:], strict=False):
        assert two.first == one.last + timedelta(days=1)


def test_a_bar_tells_the_five_outcomes_of_what_entered_on_its_day(stores: Stores) -> None:
    found = shown(stores)
    assert len(found.bars) == 90
    assert {part.name: part.count for part in found.bars[-1].parts} == {
        "kept": 1, "set-aside": 1, "refused": 1, "failed": 1, "in-flight": 1,
    }  # fmt: skip
    assert {part.name: part.count for part in found.bars[-2].parts} == {
        "kept": 1, "set-aside": 7, "refused": 0, "failed": 2, "in-flight": 0,
    }  # fmt: skip
    assert [bar.received for bar in found.bars].count(0) == 86


@pytest.mark.parametrize("days", ["7", "90", "365"])
def test_every_count_opens_exactly_its_records(
    stores: Stores, client: TestClient, days: str
) -> None:
    found = shown(stores, days)
    numbers = [(bar.received, bar.href) for bar in found.bars if bar.received]
    numbers += [(p.count, p.href) for bar in found.bars for p in bar.parts if p.count]
    numbers += [(found.before, found.before_href), (found.later, found.later_href)]
    assert len(numbers) >= 10
    for count, href in numbers:
        rows = client.get(href.replace("/records", "/records.json", 1)).json()
        assert (rows["total"], len(rows["rows"])) == (count, rows["listed_total"]), href
        assert read(client, href).heading.startswith(f"{count:,} record"), href


def test_records_of_some_days_are_paged_the_latest_first(tmp_path: Path) -> None:
    with open_home(tmp_path) as stores:
        bodies = [Body(n, f"http://a.example/{n}", NOW, "text/html", b"%d" % n) for n in range(130)]
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
            seen, after = [], ""
            while after is not None:
                asked = f"/api/records?from={TODAY}&to={TODAY}&after={after}"
                told = client.get(asked).json()
                assert told["total"] == 130
                seen += [row["entry_id"] for row in told["rows"]]
                after = told["next"]
    latest = sorted(bodies, key=lambda one: (one.number // 3, -one.number))
    assert seen == [one.capture_id for one in latest]


def test_one_day_or_a_stretch_is_said_in_the_heading(client: TestClient) -> None:
    said = {
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
    for query, heading in said.items():
        assert read(client, f"/records?{query}").heading == heading


@pytest.mark.parametrize(
    "query", ["from=yesterday", "to=2026-13-01", "from=99999-01-01", "days=8", "days=1e9"]
)
def test_what_is_no_day_is_refused(client: TestClient, query: str) -> None:
    path = "/" if query.startswith("days") else "/records"
    assert client.get(f"{path}?{query}").status_code == 400


def test_a_pipeline_there_is_not_is_refused(client: TestClient) -> None:
    assert client.get("/?pipeline=nonesuch").status_code == 400


def test_days_without_an_end_are_read_whole(stores: Stores) -> None:
    both = ["library", "pdf-only"]
    everything = build_daily_tallies(stores.records, DayRange(), both)
    assert sum(one.received for one in everything.values()) == 19
    narrow = build_daily_tallies(
        stores.records, DayRange(date(2000, 1, 1), date(2026, 3, 13)), both
    )
    assert sum(one.received for one in narrow.values()) == 13


def test_the_picture_says_what_it_shows_and_nothing_is_drawn_outside(stores: Stores) -> None:
    drawn = str(draw_days_chart(shown(stores)))
    assert "Most on 13 Mar 2026: 10. None on 86 days of 90." in drawn
    assert drawn.count("no records</title>") == 86
    assert "13 Mar 2026: 1 stored, 7 skipped, 2 failed" in drawn
    assert ' y="-' not in drawn


def test_the_page_has_the_windows_the_pipelines_and_one_chart(client: TestClient) -> None:
    page = read(client, "/?days=7&pipeline=library")
    links = page.links("//section[@aria-labelledby='days']//nav")
    assert links["/?days=365&pipeline=library#days"] == "1 year"
    assert links["/?days=7#days"] == "all pipelines"
    days = "//section[@aria-labelledby='days']"
    assert not page.tree.xpath(f"{days}//table")
    bars = page.tree.xpath(f"{days}//*[local-name()='svg']/*[local-name()='a' or local-name()='g']")
    assert len(bars) == 7


def test_a_group_tells_on_which_days_it_failed(tmp_path: Path) -> None:
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
    def groups(days: int) -> list[bool]:
        at = NOW + timedelta(days=days)
        return [
            group.is_new for group in build_failures_page(stores.records, FailuresForm(), at).groups
        ]

    assert groups(1) == [True]
    assert groups(2) == [False]


def _fail(stores: Stores, number: int, reason: Reason, hours_ago: float) -> None:
    body = Body(number, f"http://b.example/{number}", NOW, "text/html", b"new %d" % number)
    at = NOW - timedelta(hours=hours_ago)
    stores.ledger.enter([], [entry(body)], ["identify"])
    row = build_disposition(body, "identify", 0, verdict=Verdict.QUARANTINED, reason=reason)
    stores.ledger.write([replace(row, promised_at=at, settled_at=at)])


def test_groups_that_are_new_stand_first_whatever_their_size(tmp_path: Path) -> None:
    with open_home(tmp_path) as stores:
        for number in range(4):
            _fail(stores, number, Reason.TIMEOUT, 48 - number)
        _fail(stores, 4, Reason.TIMEOUT, 1)
        _fail(stores, 5, Reason.BROKEN_PDF, 2)
        failures_page = build_failures_page(stores.records, FailuresForm(), NOW)
        later = build_failures_page(stores.records, FailuresForm(), NOW + timedelta(days=2))
        of_one = build_failures_page(stores.records, FailuresForm(reason=Reason.TIMEOUT), NOW)
        (new,) = failures_page.recent.new
        alone = build_failures_page(stores.records, FailuresForm(group=new.group), NOW)
    assert [group.reason for group in failures_page.groups] == ["timeout", "broken-pdf"]
    assert (new.reason, new.count, failures_page.recent.new_total) == ("broken-pdf", 1, 1)
    assert failures_page.recent.heading == "New since yesterday"
    assert [group.group for group in alone.groups] == [new.group]
    assert later.recent.new == of_one.recent.new == []


def test_a_new_group_is_told_however_many_others_failed_since(tmp_path: Path) -> None:
    with open_home(tmp_path) as stores:
        _fail(stores, 0, Reason.TIMEOUT, 48)
        _fail(stores, 1, Reason.BROKEN_PDF, 5)
        _fail(stores, 2, Reason.BOMB, 33)
        _fail(stores, 3, Reason.MISSING_SOURCE, 34)
        for number in range(10, 70):
            _fail(stores, number, Reason.TIMEOUT, 1)
        found = build_failures_page(stores.records, FailuresForm(), NOW).recent
    assert [one.reason for one in found.new] == ["broken-pdf", "bomb"]
    assert (found.new_total, found.new_is_all) == (2, True)


REASONS = (
    Reason.BROKEN_PDF,
    Reason.TIMEOUT,
    Reason.BOMB,
    Reason.MISSING_SOURCE,
    Reason.BAD_ENCODING,
)


def test_of_more_groups_than_are_looked_at_this_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "GROUPS_EXAMINED", (1, 1))
    with open_home(tmp_path) as stores:
        for number, reason in enumerate(REASONS[:3]):
            _fail(stores, number, reason, 5)
        found = build_failures_page(stores.records, FailuresForm(), NOW).recent
    assert (found.new_total, found.new_is_all) == (2, False)
    assert found.heading.startswith("New since yesterday: 2 of the ")


def test_that_not_all_were_looked_at_is_said_where_none_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "GROUPS_EXAMINED", (1,))
    with open_home(tmp_path) as stores:
        for number in range(4):
            _fail(stores, number, Reason.TIMEOUT, 1 if number else 72)
        _fail(stores, 5, Reason.BOMB, 1)
        found = build_failures_page(stores.records, FailuresForm(), NOW).recent
    assert (found.new, found.new_total, found.new_is_all) == ([], 0, False)
    assert found.has_news
    assert found.heading.startswith("New since yesterday: 0 of the ")


def test_the_first_of_the_new_groups_are_the_same_however_few_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each began and grew otherwise; the sizes of the steps decide only how many are told beside them."""
    hours = ((1,), (1, 1, 1), (30, 1, 1, 1), (30, 30), (30, 30, 30, 30, 1))
    with open_home(tmp_path) as stores:
        for at, (reason, ago) in enumerate(zip(REASONS, hours, strict=True)):
            for number, one in enumerate(ago):
                _fail(stores, 10 * at + number, reason, one)
        for number in range(6):
            _fail(stores, 100 + number, Reason.ENCRYPTED_PDF, 1 if number else 72)
        monkeypatch.setattr(recent, "NEW_GROUPS_MAX", 3)
        told = []
        for steps in ((1_000,), (1, 1, 1, 1, 1, 1, 1), (2, 3, 5)):
            monkeypatch.setattr(recent, "GROUPS_EXAMINED", steps)
            told.append(build_failures_page(stores.records, FailuresForm(), NOW).recent)
    began_today_then_the_largest = ["timeout", "broken-pdf", str(REASONS[4])]
    assert [[one.reason for one in each.new] for each in told] == 3 * [began_today_then_the_largest]
    assert (told[0].new_total, told[0].new_is_all, told[0].heading) == (
        (5, True, "New since yesterday: 3 of 5")
    )
    assert all(3 <= each.new_total <= 5 for each in told)


def test_the_failures_page_draws_the_days_and_says_them(stores: Stores) -> None:
    with TestClient(create_app(stores), base_url="http://localhost") as client:
        page = read(client, "/failures")
        (told,) = client.get("/failures.json").json()["groups"]
    (drawn,) = page.tree.xpath("//*[local-name()='svg'][contains(@class, 'sparks')]")
    marks = {
        str(path.get("class")): str(path.get("d")).count("M")
        for path in drawn.xpath("*[local-name()='path']")
    }
    failed_on = sum(count > 0 for count in told["last_days"])
    assert marks == {"bar": failed_on, "track": 30 - failed_on}
    assert describe_days(told["last_days"]) in page.words("//dl[@class='sample']")
