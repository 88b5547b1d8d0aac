"""The captures of a story in order: versions, the same bytes again, and those that failed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from fonds.model.disposition import Reason, Verdict
from fonds.ports import Stores
from fonds.viewer.story_versions import StoryVersion, StoryVersions, VersionDifference
from fonds.web.app import create_app
from fonds.web.pages.capture_timeline import build_story_captures, describe_capture
from home_rows import NOW, Body, build_end_rows, enter, entry, write
from page_reading import read
from reading_home import STORY_URL, ReadingHome, fill_reading


@pytest.fixture
def library(tmp_path: Path) -> Iterator[tuple[Stores, ReadingHome]]:
    reading = fill_reading(tmp_path)
    with open_home(tmp_path) as stores:
        yield stores, reading


def _ended(stores: Stores, number: int, reason: Reason, about: str | None = None) -> None:
    body = Body(number, STORY_URL, NOW + timedelta(days=number), "text/html", b"%d" % number)
    enter(stores, [body])
    verdict = Verdict.QUARANTINED if reason is Reason.TIMEOUT else Verdict.DROPPED
    write(stores, build_end_rows(body, "identify", verdict, reason, about))


def test_failed_captures_and_the_same_bytes_stand_among_the_versions(
    library: tuple[Stores, ReadingHome],
) -> None:
    stores, reading = library
    _ended(stores, 801, Reason.HTTP_STATUS)
    _ended(stores, 802, Reason.DUPLICATE, reading.versions[0])
    _ended(stores, 803, Reason.TIMEOUT)
    _ended(stores, 804, Reason.REPEATED)
    _ended(stores, 805, Reason.DUPLICATE, "ab" * 20)
    with TestClient(create_app(stores), base_url="http://localhost") as client:
        told = client.get(f"/api/files/{reading.versions[2]}").json()["story_captures"]
        page = read(client, f"/file/{reading.versions[2]}")
    sorts = [one["sort"] for one in told["captures"]]
    assert sorts == ["failed", "same-bytes", "failed", "changed-text", "same-text", "first"]
    assert (told["failed"], told["is_complete"]) == (2, True)
    times = [one["at"] for one in told["captures"]]
    assert times == sorted(times, reverse=True)
    assert told["captures"][1]["href"] == f"/file/{reading.versions[0]}"
    assert "3 versions of this story, 2 failed captures" in page.words("//h2[@id='versions-head']")
    rows = page.tree.xpath("//section[@id='versions']//tbody/tr")
    assert [row.xpath("td")[0].text for row in rows] == [
        "failed: timeout", "same bytes", "failed: http-status", "text changed", "same text",
        "first version listed",
    ]  # fmt: skip
    assert [row.xpath("th/a/@href")[0] for row in rows] == [one["href"] for one in told["captures"]]
    assert not page.tree.xpath("//section[@id='versions']//*[local-name()='svg']")


def test_versions_that_are_left_out_are_said(library: tuple[Stores, ReadingHome]) -> None:
    stores, _ = library
    days = ("20200101", "20240101", "20240102")
    shown = [
        StoryVersion(
            f"{n:040x}", f"{day}000000", None, VersionDifference.CHANGED_TEXT if n else None
        )
        for n, day in enumerate(days)
    ]
    found = build_story_captures(stores.records, StoryVersions(shown, 9), [])
    assert [capture.at[:8] for capture in found.captures] == list(reversed(days))
    assert not found.is_complete
    assert build_story_captures(stores.records, StoryVersions(shown, 3), []).is_complete


def test_captures_of_one_moment_and_a_story_of_one_capture(
    library: tuple[Stores, ReadingHome],
) -> None:
    stores, _ = library
    one = StoryVersion("a" * 40, "20240101000000", None, None)
    same = [one, replace(one, sha1hex="b" * 40, difference=VersionDifference.UNKNOWN)]
    found = build_story_captures(
        stores.records, StoryVersions(same, 2), ["http://nowhere.example/<b>"]
    )
    assert [describe_capture(capture) for capture in found.captures] == [
        "not compared",
        "first version listed",
    ]
    assert found.failed == 0
    alone = build_story_captures(stores.records, StoryVersions([one], 1), [])
    assert len(alone.captures) == 1


def test_a_capture_whose_time_is_not_known_stands_where_it_came_in(
    library: tuple[Stores, ReadingHome],
) -> None:
    stores, _ = library
    body = Body(810, STORY_URL, NOW, "text/html", b"810")
    stores.ledger.enter([], [replace(entry(body), seen=None)], ["identify"])
    write(stores, build_end_rows(body, "identify", Verdict.DROPPED, Reason.HTTP_STATUS))
    found = build_story_captures(stores.records, StoryVersions([], 0), [STORY_URL])
    (capture,) = [one for one in found.captures if one.sort == "failed"]
    assert capture.is_entered
    assert describe_capture(capture) == "failed: http-status, received then"
    assert capture.href.startswith("/show?key=http")
