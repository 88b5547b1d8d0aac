"""Themes over time: bars show counts of documents, unknown periods are not 0, bars open their documents."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import Any

import pytest
from starlette.testclient import TestClient

from fonds.grouping.views.clusters import ClusterView
from fonds.grouping.views.timeline import ABSENT, UNDATED, DocumentSample
from fonds.web.pages.theme_timelines import (
    ChartBar,
    build_timelines,
    draw_multiple,
)
from page_reading import read
from themed_home import HOSTILE

FIVE = "/themes/made/five"
COLLECTION = f"{FIVE}/over-time"
DAY = (dt.date(2026, 1, 1) - dt.date(1970, 1, 1)).days


def _cluster(id_: str, label: str, size: int = 1) -> ClusterView:
    return ClusterView(id_, label, size, size, (), None, None, None, ())


def _looked(days: list[int], places: list[int]) -> DocumentSample:
    rows = [b"%d" % at for at in range(len(days))]
    scores = [0.5 + 0.125 * (at % 2) for at in range(len(days))]
    labels = ["a", "b", "short"]
    return DocumentSample(rows, days, places, scores, labels, 2, True)


def _told(client: TestClient, query: str = "") -> dict[str, Any]:
    answer = client.get(f"/api{COLLECTION}{query}")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def test_a_period_without_documents_is_unknown_and_a_theme_without_any_is_0() -> None:
    days = [DAY, DAY, DAY + 2, DAY + 2, DAY + 2, UNDATED]
    looked = _looked(days, [0, 1, 1, 1, 2, 0])
    timelines = build_timelines(looked, [_cluster("A", "a"), _cluster("B", "b")])
    assert [period.count for period in timelines.periods] == [2, 0, 3]
    first, second = timelines.courses
    assert {course.theme.id: list(course.counts) for course in timelines.courses} == {
        "A": [1, 0, 0],
        "B": [1, 0, 2],
    }
    assert (first.theme.id, first.change, first.undated, first.sampled_count) == ("A", -50.0, 1, 2)
    assert second.change == pytest.approx(16.67)
    assert (timelines.sampled_count, timelines.undated) == (6, 1)
    assert (first.cohesion, second.cohesion) == (0.5625, pytest.approx(0.5833))


def test_what_came_after_the_clustering_is_no_part_of_its_course() -> None:
    timelines = build_timelines(_looked([DAY, DAY], [0, ABSENT]), [_cluster("A", "a")])
    assert [period.count for period in timelines.periods] == [1]
    assert timelines.courses[0].change is None
    late = build_timelines(_looked([DAY], [0]), [_cluster("A", "a")], latest=dt.date(2025, 1, 1))
    assert (late.periods, late.sampled_count) == ([], 1)


def test_long_ranges_are_counted_by_month_and_longer_ones_by_year() -> None:
    by_month = build_timelines(_looked([DAY, DAY + 80], [0, 0]), [_cluster("A", "a")])
    assert [period.label for period in by_month.periods] == ["Jan 2026", "Feb 2026", "Mar 2026"]
    by_year = build_timelines(_looked([0, DAY], [0, 0]), [_cluster("A", "a")])
    assert len(by_year.periods) == 57
    assert list(by_year.courses[0].counts) == [1] + [0] * 55 + [1]


def test_names_stay_text_in_pictures() -> None:
    bad = "<script>alert('x')</script>\""
    drawn = draw_multiple(
        0, [ChartBar(1.0, bad, bad), ChartBar(None, bad, ""), ChartBar(0.0, bad, "")], 1.0, bad, bad
    )
    assert "<script" not in drawn
    assert drawn.count('class="nothing"') == drawn.count('class="bar"') == 1


def test_each_count_of_a_course_opens_the_documents_counted(themed: TestClient) -> None:
    found = _told(themed)
    assert (
        sum(one["documents"] for one in found["periods"]) == found["looked_at"] - found["undated"]
    )
    assert found["undated"] > 0
    for theme in found["themes"]:
        dated = sum(point["documents"] for point in theme["points"])
        assert dated + theme["undated"] == theme["looked_at"] == theme["size"]
    theme = found["themes"][0]
    asked = [(point["documents"], point["href"]) for point in theme["points"]]
    for count, href in [*asked, (theme["undated"], theme["undated_href"])]:
        listed = themed.get(f"/api{href}").json()
        assert listed["total"] == count
        assert len(listed["documents"]) == min(count, 20)
    changes = [abs(one["change"]) for one in found["themes"]]
    assert changes == sorted(changes, reverse=True)


def test_the_page_shows_what_the_api_tells(themed: TestClient) -> None:
    page, found = read(themed, COLLECTION), _told(themed)
    assert page.heading == f"{found['answer']}"
    assert len(page.tree.xpath("//svg[contains(@class, 'multiple')]")) == len(found["themes"])
    titles = page.links("//ol[@class='multiples']//h2")
    assert list(titles) == [one["href"] for one in found["themes"]]
    points = [point for one in found["themes"] for point in one["points"] if point["documents"]]
    bars = page.tree.xpath("//svg[contains(@class, 'multiple')]//a/@href")
    assert bars == [point["href"] for point in points]
    assert not page.tree.xpath("//ol[@class='multiples']//table")
    counts = read(themed, f"{COLLECTION}?measure=documents&scale=own")
    assert "counts" in counts.words("//p[@class='choices']")


def test_a_window_of_days_narrows_the_periods(themed: TestClient) -> None:
    spans = _told(themed)["periods"]
    found = _told(themed, f"?from={spans[1]['first']}&to={spans[2]['last']}")
    assert [one["documents"] for one in found["periods"] if one["documents"]] == [
        span["documents"] for span in spans[1:3]
    ]
    none = read(themed, f"{COLLECTION}?from=1990-01-01&to=1990-02-01")
    assert "No documents in this period" in none.words()


def test_every_document_listed_is_reached_once(themed: TestClient) -> None:
    theme, seen = _told(themed)["themes"][0], []
    for number in itertools.count(1):
        told = themed.get(f"/api{theme['href']}/documents?page={number}").json()
        seen += [one["id"] for one in told["documents"]]
        if number >= told["pages"]:
            break
    assert len(seen) == len(set(seen)) == theme["size"]


def test_a_collection_that_was_not_grouped_says_so(themed: TestClient) -> None:
    assert "has not been grouped" in read(themed, "/themes/made/waiting/over-time").heading


def test_an_older_clustering_is_told_as_such_and_unknown_names_are_refused(
    themed: TestClient,
) -> None:
    told = themed.get(f"/api{FIVE}").json()["clusterings"]
    older = next(one["href"] for one in told if not one["is_served"])
    page = read(themed, older.replace(FIVE, COLLECTION))
    assert "This is an older clustering" in page.words()
    assert read(themed, f"{FIVE}/nothing/documents", 404)
    assert themed.get(f"{COLLECTION}?from=yesterday").status_code == 400
    assert themed.get(f"{COLLECTION}?scale=huge").status_code == 400
    assert themed.get(f"{COLLECTION}?at=5").status_code == 400


def test_hostile_labels_stay_words(themed: TestClient) -> None:
    links = read(themed, "/themes").links("//ol[@class='collections']//h2")
    (href,) = [one for one, name in links.items() if name == str(HOSTILE)]
    page = read(themed, f"{href}/over-time")
    assert page.tree.xpath("//body//script") == []
    theme = themed.get(f"/api{href}/over-time").json()["themes"][0]
    listed = read(themed, f"{theme['href']}/documents")
    assert listed.tree.xpath("//body//script") == []
    assert [one for one in listed.links("//*") if one.startswith("javascript")] == []


def test_the_first_and_the_last_requested_day_are_included() -> None:
    looked = _looked([DAY, DAY + 1, DAY + 2, DAY + 3], [0, 0, 0, 0])
    first, last = (dt.date(2026, 1, 1) + dt.timedelta(days=days) for days in (1, 2))
    timelines = build_timelines(looked, [_cluster("A", "a")], first, last)
    assert [(one.first, one.count) for one in timelines.periods] == [(first, 1), (last, 1)]
    assert list(timelines.courses[0].counts) == [1, 1]
    alone = build_timelines(looked, [_cluster("A", "a")], last, last)
    assert [(one.first, one.count) for one in alone.periods] == [(last, 1)]
