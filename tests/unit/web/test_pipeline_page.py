"""What waits for each step, since when, and where something went."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from failed_home import body, fail, reader
from filled_home import open_home
from fonds.failures.accounting import workload as looking
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
    with open_home(tmp_path) as found:
        yield found


def send(stores: Stores, *numbers: int) -> None:
    """Have these wait for extract_pdf."""
    bodies = [body(number) for number in numbers]
    enter(stores, bodies)
    stores.ledger.write([build_disposition(one, "identify", 0) for one in bodies])
    stores.ledger.write(
        [build_promise(one, "extract_pdf", one.number, "identify") for one in bodies]
    )
    stores.queue.put(reader().incoming, [Message(one.capture_id, b"{}") for one in bodies])


def test_what_waits_is_told_with_since_when(stores: Stores) -> None:
    send(stores, 30, 60)
    fail(stores, 0)
    (taken,) = stores.queue.receive(reader().incoming, 1, 0.0)
    steps = {
        backlog.step: backlog
        for backlog in list_backlogs(stores.records, stores.queue, "library", [reader()])
    }
    one = steps["extract_pdf"]
    assert (one.depth.ready, one.depth.in_hand, one.depth.quarantined) == (1, 1, 1)
    assert (one.open_count, one.oldest_at) == (2, NOW + timedelta(seconds=30))
    assert one.ended == {"done": 0, "dropped": 0, "quarantined": 1}
    stores.queue.release([taken])


def test_where_nothing_waits_there_is_no_oldest(stores: Stores) -> None:
    (backlog,) = list_backlogs(stores.records, stores.queue, "library", [reader()])
    assert (backlog.open_count, backlog.oldest_at) == (0, None)
    send(stores, 3, 1, 2)
    (one,) = list_backlogs(stores.records, stores.queue, "library", [reader()])
    assert (one.open_count, one.oldest_at) == (3, NOW + timedelta(seconds=1))


def test_what_ended_in_the_last_hour_is_counted_up_to_a_bound(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert count_ended_last_hour(stores.records, "library", NOW).last_at is None
    fail(stores, 0, 30, 90)
    found = count_ended_last_hour(stores.records, "library", NOW + timedelta(minutes=60))
    assert (found.count, found.is_lower_bound) == (2, False)
    monkeypatch.setattr(looking, "ENDED_COUNTED_MAX", 2)
    assert (
        count_ended_last_hour(stores.records, "library", NOW + timedelta(minutes=90)).is_lower_bound
        is True
    )


def test_the_page_shows_every_step_and_draws_the_pipeline(stores: Stores) -> None:
    send(stores, 30)
    with TestClient(create_app(stores), base_url=ORIGIN) as client:
        page = read(client, "/pipeline")
        told = client.get("/api/pipeline").json()
    assert page.heading == "1 message queued, 0 in progress"
    assert "14 Mar 2026, 09:27:23 UTC" in page.words("//tr[th='extract_pdf']")
    assert "–" in page.words("//tr[th='identify']")
    assert "No records finished yet." in page.words()
    assert page.tree.xpath("//*[local-name()='svg']//*[local-name()='title']")
    (library,) = told["pipelines"]
    assert (told["waiting"], library["chosen"]) == (1, True)
    assert library["steps"][0]["step"] == "identify"


def hour(step: str, ago: int, third: str, count: int) -> TallyRow:
    at = format_hour(NOW - timedelta(hours=ago))
    return TallyRow(MESSAGES_BY_HOUR, "library", step, at, third, count)


def test_the_pace_of_a_step_is_that_of_its_last_hours(stores: Stores) -> None:
    assert compute_paces(stores.records, "library", NOW) == {}
    assert (StepPace().estimate_minutes_left(5), StepPace().is_growing) == (None, False)
    send(stores, 30, 60)
    steps = compute_paces(stores.records, "library", NOW + timedelta(minutes=20))
    assert {name: (sum(one.arrived), sum(one.ended)) for name, one in steps.items()} == {
        "identify": (2, 2),
        "extract_pdf": (2, 0),
    }
    stores.records.put(
        [
            hour("extract_pdf", 0, ARRIVED, 7),
            hour("extract_pdf", 0, ENDED, 2),
            hour("extract_pdf", 1, ENDED, 4),
            hour("extract_pdf", 23, ENDED, 9),
            hour("extract_pdf", 24, ENDED, 100),
        ]
    )
    found = compute_paces(stores.records, "library", NOW)["extract_pdf"]
    assert (found.arrived[-1], found.ended[-2:], found.ended[0]) == (7, (4, 2), 9)
    assert found.minutes == NOW.minute + NOW.second / 60
    assert found.estimate_minutes_left(12) == 12 * (60 + found.minutes) / 6
    assert found.is_growing
    assert not compute_paces(stores.records, "library", NOW + timedelta(hours=2))[
        "extract_pdf"
    ].is_growing


@pytest.mark.parametrize(
    ("waiting", "left", "is_growing", "said"),
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
def test_when_a_step_is_done_is_said_in_words(
    waiting: int, left: int | None, is_growing: bool, said: str
) -> None:
    depths = {"ready": waiting, "delayed": 0, "in_hand": 0, "quarantined": 0, "open": waiting}
    line = StepLine(
        step="a", topic="a", oldest_at=None, ended={}, workers=NO_WORKERS, failures_href="",
        came_by_hour=(), ended_by_hour=(), minutes_left=left, is_growing=is_growing, **depths,
    )  # fmt: skip
    assert line.outlook == said


def test_the_page_is_made_anew_only_when_asked(empty_client: TestClient) -> None:
    plain = read(empty_client, "/pipeline")
    assert plain.tree.xpath("//meta[@http-equiv='refresh']") == []
    assert "/pipeline?refresh=30" in plain.links("//p[@class='jump']")
    anew = read(empty_client, "/pipeline?refresh=30")
    assert anew.tree.xpath("//meta[@http-equiv='refresh']/@content") == ["30"]
    assert anew.links("//p[@class='jump']") == {"/pipeline": "Stop refreshing"}
    for href in ("/pipeline.json", "/csv/pipeline"):
        assert href in anew.links("//footer")
        assert empty_client.get(href).status_code == 200
    for wrong in ("4", "601", "x"):
        assert empty_client.get(f"/pipeline?refresh={wrong}").status_code == 400


def test_a_home_nothing_came_into_says_that_nothing_waits(empty_client: TestClient) -> None:
    assert read(empty_client, "/pipeline").heading == "All work is done"


def source(url: str) -> SourceRow:
    names = ("feed", "active", "Daily", "", "default", "news", "full")
    return SourceRow(f"source-{url}", url, *names, NOW, NOW)


def test_sources_of_the_site_should_have_had_it(stores: Stores) -> None:
    urls = (
        "https://www.daily.example/feed",
        "https://feeds.daily.example/rss",
        "https://weekly.example/feed",
        "file:///daily.example",
    )
    stores.records.put([source(url) for url in urls])
    found = {
        row.url for row in find_related_sources(stores.records, "http://daily.example/a/story")
    }
    assert found == {*urls[:2]}
    assert find_related_sources(stores.records, "no address") == []
    assert find_related_sources(stores.records, "http://example/") == []
    with TestClient(create_app(stores), base_url=ORIGIN) as client:
        page = read(client, "/show?key=http://daily.example/a/story", 404)
        assert "Sources of this site" in page.words()
        assert "not polled yet" in page.words()
        other = read(client, "/show?key=http://other.example/a", 404)
        assert "You do not follow this site" in other.words()


def test_where_a_failed_one_went_says_step_reason_date_and_what_can_be_done(
    stores: Stores,
) -> None:
    fail(stores, 0)
    with TestClient(create_app(stores), base_url=ORIGIN) as client:
        page = read(client, "/show?key=http://slow.example/0")
    words = page.words("//section[@aria-labelledby='records']")
    assert "timeout 14 Mar 2026, 09:26:53 UTC at extract_pdf" in words
    assert "Retry · Accept as final" in words
