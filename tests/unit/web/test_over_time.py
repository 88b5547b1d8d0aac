"""Themes over time: bars show document counts, link to their documents, and leave unknown periods out."""

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


def _build_cluster(id_: str, label: str, size: int = 1) -> ClusterView:
    return ClusterView(id_, label, size, size, (), None, None, None, ())


def _build_sample(days: list[int], places: list[int]) -> DocumentSample:
    rows = [b"%d" % number for number in range(len(days))]
    scores = [0.5 + 0.125 * (number % 2) for number in range(len(days))]
    labels = ["a", "b", "short"]
    return DocumentSample(rows, days, places, scores, labels, 2, True)


def _get_timelines(client: TestClient, query: str = "") -> dict[str, Any]:
    response = client.get(f"/api{COLLECTION}{query}")
    assert response.status_code == 200
    timelines: dict[str, Any] = response.json()
    return timelines


def test_counts_are_0_for_a_theme_without_documents_in_a_period() -> None:
    days = [DAY, DAY, DAY + 2, DAY + 2, DAY + 2, UNDATED]
    sample = _build_sample(days, [0, 1, 1, 1, 2, 0])
    timelines = build_timelines(sample, [_build_cluster("A", "a"), _build_cluster("B", "b")])
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


def test_documents_after_the_clustering_are_ignored() -> None:
    timelines = build_timelines(_build_sample([DAY, DAY], [0, ABSENT]), [_build_cluster("A", "a")])
    assert [period.count for period in timelines.periods] == [1]
    assert timelines.courses[0].change is None
    late = build_timelines(
        _build_sample([DAY], [0]), [_build_cluster("A", "a")], latest=dt.date(2025, 1, 1)
    )
    assert (late.periods, late.sampled_count) == ([], 1)


def test_long_ranges_are_counted_by_month_or_year() -> None:
    by_month = build_timelines(_build_sample([DAY, DAY + 80], [0, 0]), [_build_cluster("A", "a")])
    assert [period.label for period in by_month.periods] == ["Jan 2026", "Feb 2026", "Mar 2026"]
    by_year = build_timelines(_build_sample([0, DAY], [0, 0]), [_build_cluster("A", "a")])
    assert len(by_year.periods) == 57
    assert list(by_year.courses[0].counts) == [1] + [0] * 55 + [1]


def test_hostile_names_are_escaped_in_charts() -> None:
    hostile = "<script>alert('x')</script>\""
    drawing = draw_multiple(
        0,
        [ChartBar(1.0, hostile, hostile), ChartBar(None, hostile, ""), ChartBar(0.0, hostile, "")],
        1.0,
        hostile,
        hostile,
    )
    assert "<script" not in drawing
    assert drawing.count('class="nothing"') == drawing.count('class="bar"') == 1


def test_each_count_links_to_the_counted_documents(themed_client: TestClient) -> None:
    timelines = _get_timelines(themed_client)
    assert (
        sum(period["documents"] for period in timelines["periods"])
        == timelines["looked_at"] - timelines["undated"]
    )
    assert timelines["undated"] > 0
    for theme in timelines["themes"]:
        dated_count = sum(point["documents"] for point in theme["points"])
        assert dated_count + theme["undated"] == theme["looked_at"] == theme["size"]
    theme = timelines["themes"][0]
    counts = [(point["documents"], point["href"]) for point in theme["points"]]
    for count, href in [*counts, (theme["undated"], theme["undated_href"])]:
        page = themed_client.get(f"/api{href}").json()
        assert page["total"] == count
        assert len(page["documents"]) == min(count, 20)
    changes = [abs(theme["change"]) for theme in timelines["themes"]]
    assert changes == sorted(changes, reverse=True)


def test_the_page_shows_the_data_of_the_api(themed_client: TestClient) -> None:
    page, timelines = read(themed_client, COLLECTION), _get_timelines(themed_client)
    assert page.heading == f"{timelines['answer']}"
    assert len(page.tree.xpath("//svg[contains(@class, 'multiple')]")) == len(timelines["themes"])
    titles = page.links("//ol[@class='multiples']//h2")
    assert list(titles) == [theme["href"] for theme in timelines["themes"]]
    points = [
        point for theme in timelines["themes"] for point in theme["points"] if point["documents"]
    ]
    bars = page.tree.xpath("//svg[contains(@class, 'multiple')]//a/@href")
    assert bars == [point["href"] for point in points]
    assert not page.tree.xpath("//ol[@class='multiples']//table")
    counts = read(themed_client, f"{COLLECTION}?measure=documents&scale=own")
    assert "counts" in counts.words("//p[@class='choices']")


def test_a_range_of_days_limits_the_periods(themed_client: TestClient) -> None:
    spans = _get_timelines(themed_client)["periods"]
    timelines = _get_timelines(themed_client, f"?from={spans[1]['first']}&to={spans[2]['last']}")
    assert [period["documents"] for period in timelines["periods"] if period["documents"]] == [
        span["documents"] for span in spans[1:3]
    ]
    empty_page = read(themed_client, f"{COLLECTION}?from=1990-01-01&to=1990-02-01")
    assert "No documents in this period" in empty_page.words()


def test_paging_lists_every_document_once(themed_client: TestClient) -> None:
    theme, ids = _get_timelines(themed_client)["themes"][0], []
    for number in itertools.count(1):
        page = themed_client.get(f"/api{theme['href']}/documents?page={number}").json()
        ids += [document["id"] for document in page["documents"]]
        if number >= page["pages"]:
            break
    assert len(ids) == len(set(ids)) == theme["size"]


def test_an_ungrouped_collection_says_so(themed_client: TestClient) -> None:
    assert "has not been grouped" in read(themed_client, "/themes/made/waiting/over-time").heading


def test_an_older_clustering_says_so_and_unknown_names_are_refused(
    themed_client: TestClient,
) -> None:
    clusterings = themed_client.get(f"/api{FIVE}").json()["clusterings"]
    older = next(clustering["href"] for clustering in clusterings if not clustering["is_served"])
    page = read(themed_client, older.replace(FIVE, COLLECTION))
    assert "This is an older clustering" in page.words()
    assert read(themed_client, f"{FIVE}/nothing/documents", 404)
    assert themed_client.get(f"{COLLECTION}?from=yesterday").status_code == 400
    assert themed_client.get(f"{COLLECTION}?scale=huge").status_code == 400
    assert themed_client.get(f"{COLLECTION}?at=5").status_code == 400


def test_hostile_labels_are_escaped(themed_client: TestClient) -> None:
    links = read(themed_client, "/themes").links("//ol[@class='collections']//h2")
    (href,) = [link for link, name in links.items() if name == str(HOSTILE)]
    page = read(themed_client, f"{href}/over-time")
    assert page.tree.xpath("//body//script") == []
    theme = themed_client.get(f"/api{href}/over-time").json()["themes"][0]
    documents_page = read(themed_client, f"{theme['href']}/documents")
    assert documents_page.tree.xpath("//body//script") == []
    assert [link for link in documents_page.links("//*") if link.startswith("javascript")] == []
