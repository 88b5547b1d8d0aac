"""The pipeline page: backlog and pace of each step, and the sources and failures of a URL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from failed_home import body, fail, reader
from filled_home import open_home
from fonds.failures.accounting import workload
from fonds.failures.accounting.workload import (
    NO_WORKERS,
    StepPace,
    compute_paces,
    count_ended_last_hour,
    list_backlogs,
)
from fonds.following.source_list import find_related_sources
from fonds.model.message import Message
from fonds.model.rows import SourceRow, TallyRow
from fonds.model.tallies import (
    ARRIVED,
    ENDED,
    MESSAGES_BY_HOUR,
    format_hour,
)
from fonds.ports import Stores
from fonds.web.app import create_app
from fonds.web.pages.pipelines import StepLine
from home_rows import NOW, build_disposition, build_promise, enter
from page_reading import read

ORIGIN = "http://localhost:8765"


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    with open_home(tmp_path) as stores:
        yield stores


def send(stores: Stores, *numbers: int) -> None:
    """Queue these bodies for extract_pdf."""
    bodies = [body(number) for number in numbers]
    enter(stores, bodies)
    stores.ledger.write([build_disposition(waiting, "identify", 0) for waiting in bodies])
    stores.ledger.write(
        [build_promise(waiting, "extract_pdf", waiting.number, "identify") for waiting in bodies]
    )
    stores.queue.put(reader().incoming, [Message(waiting.capture_id, b"{}") for waiting in bodies])


def test_a_backlog_has_its_counts_and_oldest_time(stores: Stores) -> None:
    send(stores, 30, 60)
    fail(stores, 0)
    (delivery,) = stores.queue.receive(reader().incoming, 1, 0.0)
    steps = {
        backlog.step: backlog
        for backlog in list_backlogs(stores.records, stores.queue, "library", [reader()])
    }
    extract_step = steps["extract_pdf"]
    assert (
        extract_step.depth.ready,
        extract_step.depth.in_hand,
        extract_step.depth.quarantined,
    ) == (1, 1, 1)
    assert (extract_step.open_count, extract_step.oldest_at) == (2, NOW + timedelta(seconds=30))
    assert extract_step.ended == {"done": 0, "dropped": 0, "quarantined": 1}
    stores.queue.release([delivery])


def test_an_empty_backlog_has_no_oldest_time(stores: Stores) -> None:
    (backlog,) = list_backlogs(stores.records, stores.queue, "library", [reader()])
    assert (backlog.open_count, backlog.oldest_at) == (0, None)
    send(stores, 3, 1, 2)
    (filled_backlog,) = list_backlogs(stores.records, stores.queue, "library", [reader()])
    assert (filled_backlog.open_count, filled_backlog.oldest_at) == (3, NOW + timedelta(seconds=1))


def test_records_of_the_last_hour_are_counted_up_to_a_limit(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert count_ended_last_hour(stores.records, "library", NOW).last_at is None
    fail(stores, 0, 30, 90)
    ended = count_ended_last_hour(stores.records, "library", NOW + timedelta(minutes=60))
    assert (ended.count, ended.is_lower_bound) == (2, False)
    monkeypatch.setattr(workload, "ENDED_COUNTED_MAX", 2)
    assert (
        count_ended_last_hour(stores.records, "library", NOW + timedelta(minutes=90)).is_lower_bound
        is True
    )


def test_the_page_shows_every_step_and_a_drawing(stores: Stores) -> None:
    send(stores, 30)
    with TestClient(create_app(stores), base_url=ORIGIN) as client:
        page = read(client, "/pipeline")
        data = client.get("/api/pipeline").json()
    assert page.heading == "1 message queued, 0 in progress"
    assert "14 Mar 2026, 09:27:23 UTC" in page.words("//tr[th='extract_pdf']")
    assert "–" in page.words("//tr[th='identify']")
    assert "No records finished yet." in page.words()
    assert page.tree.xpath("//*[local-name()='svg']//*[local-name()='title']")
    (library,) = data["pipelines"]
    assert (data["waiting"], library["chosen"]) == (1, True)
    assert library["steps"][0]["step"] == "identify"


def build_tally(step: str, ago: int, event: str, count: int) -> TallyRow:
    at = format_hour(NOW - timedelta(hours=ago))
    return TallyRow(MESSAGES_BY_HOUR, "library", step, at, event, count)


def test_the_pace_of_a_step_covers_the_last_24_hours(stores: Stores) -> None:
    assert compute_paces(stores.records, "library", NOW) == {}
    assert (StepPace().estimate_minutes_left(5), StepPace().is_growing) == (None, False)
    send(stores, 30, 60)
    steps = compute_paces(stores.records, "library", NOW + timedelta(minutes=20))
    assert {name: (sum(pace.arrived), sum(pace.ended)) for name, pace in steps.items()} == {
        "identify": (2, 2),
        "extract_pdf": (2, 0),
    }
    stores.records.put(
        [
            build_tally("extract_pdf", 0, ARRIVED, 7),
            build_tally("extract_pdf", 0, ENDED, 2),
            build_tally("extract_pdf", 1, ENDED, 4),
            build_tally("extract_pdf", 23, ENDED, 9),
            build_tally("extract_pdf", 24, ENDED, 100),
        ]
    )
    extract_pace = compute_paces(stores.records, "library", NOW)["extract_pdf"]
    assert (extract_pace.arrived[-1], extract_pace.ended[-2:], extract_pace.ended[0]) == (
        7,
        (4, 2),
        9,
    )
    assert extract_pace.minutes == NOW.minute + NOW.second / 60
    assert extract_pace.estimate_minutes_left(12) == 12 * (60 + extract_pace.minutes) / 6
    assert extract_pace.is_growing
    assert not compute_paces(stores.records, "library", NOW + timedelta(hours=2))[
        "extract_pdf"
    ].is_growing


@pytest.mark.parametrize(
    ("waiting", "minutes_left", "is_growing", "outlook"),
    [
        (0, None, False, "no backlog"),
        (3, None, True, "no estimate"),
        (3, 10, True, "backlog is growing"),
        (3, 0, False, "done in less than a minute"),
        (3, 1, False, "done in about 1 minute"),
        (3, 119, False, "done in about 119 minutes"),
        (3, 150, False, "done in about 2 hours"),
        (3, 4_320, False, "done in about 3 days"),
    ],
)
def test_the_outlook_of_a_step_is_described(
    waiting: int, minutes_left: int | None, is_growing: bool, outlook: str
) -> None:
    depths = {"ready": waiting, "delayed": 0, "in_hand": 0, "quarantined": 0, "open": waiting}
    line = StepLine(
        step="a", topic="a", oldest_at=None, ended={}, workers=NO_WORKERS, failures_href="",
        came_by_hour=(), ended_by_hour=(), minutes_left=minutes_left, is_growing=is_growing, **depths,
    )  # fmt: skip
    assert line.outlook == outlook


def test_the_page_refreshes_only_on_request(empty_client: TestClient) -> None:
    page = read(empty_client, "/pipeline")
    assert page.tree.xpath("//meta[@http-equiv='refresh']") == []
    assert "/pipeline?refresh=30" in page.links("//p[@class='jump']")
    refreshing_page = read(empty_client, "/pipeline?refresh=30")
    assert refreshing_page.tree.xpath("//meta[@http-equiv='refresh']/@content") == ["30"]
    assert refreshing_page.links("//p[@class='jump']") == {"/pipeline": "Stop refreshing"}
    for href in ("/pipeline.json", "/csv/pipeline"):
        assert href in refreshing_page.links("//footer")
        assert empty_client.get(href).status_code == 200
    for interval in ("4", "601", "x"):
        assert empty_client.get(f"/pipeline?refresh={interval}").status_code == 400


def test_an_empty_home_says_that_all_work_is_done(empty_client: TestClient) -> None:
    assert read(empty_client, "/pipeline").heading == "All work is done"


def build_source(url: str) -> SourceRow:
    names = ("feed", "active", "Daily", "", "default", "news", "full")
    return SourceRow(f"source-{url}", url, *names, NOW, NOW)


def test_an_unknown_url_shows_the_sources_of_its_site(stores: Stores) -> None:
    urls = (
        "https://www.daily.example/feed",
        "https://feeds.daily.example/rss",
        "https://weekly.example/feed",
        "file:///daily.example",
    )
    stores.records.put([build_source(url) for url in urls])
    related_urls = {
        row.url for row in find_related_sources(stores.records, "http://daily.example/a/story")
    }
    assert related_urls == {*urls[:2]}
    assert find_related_sources(stores.records, "no address") == []
    assert find_related_sources(stores.records, "http://example/") == []
    with TestClient(create_app(stores), base_url=ORIGIN) as client:
        page = read(client, "/show?key=http://daily.example/a/story", 404)
        assert "Sources of this site" in page.words()
        assert "not polled yet" in page.words()
        other_page = read(client, "/show?key=http://other.example/a", 404)
        assert "You do not follow this site" in other_page.words()


def test_the_page_of_a_failed_url_shows_step_reason_and_actions(
    stores: Stores,
) -> None:
    fail(stores, 0)
    with TestClient(create_app(stores), base_url=ORIGIN) as client:
        page = read(client, "/show?key=http://slow.example/0")
    words = page.words("//section[@aria-labelledby='records']")
    assert "timeout 14 Mar 2026, 09:26:53 UTC at extract_pdf" in words
    assert "Retry · Accept as final" in words
