"""The captures of a story in order: versions, repeated bytes and failed captures."""

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


def _add_capture(stores: Stores, number: int, reason: Reason, about: str | None = None) -> None:
    body = Body(number, STORY_URL, NOW + timedelta(days=number), "text/html", b"%d" % number)
    enter(stores, [body])
    verdict = Verdict.QUARANTINED if reason is Reason.TIMEOUT else Verdict.DROPPED
    write(stores, build_end_rows(body, "identify", verdict, reason, about))


def test_failed_and_repeated_captures_are_listed_among_the_versions(
    library: tuple[Stores, ReadingHome],
) -> None:
    stores, reading = library
    _add_capture(stores, 801, Reason.HTTP_STATUS)
    _add_capture(stores, 802, Reason.DUPLICATE, reading.versions[0])
    _add_capture(stores, 803, Reason.TIMEOUT)
    _add_capture(stores, 804, Reason.REPEATED)
    _add_capture(stores, 805, Reason.DUPLICATE, "ab" * 20)
    with TestClient(create_app(stores), base_url="http://localhost") as client:
        story_captures = client.get(f"/api/files/{reading.versions[2]}").json()["story_captures"]
        page = read(client, f"/file/{reading.versions[2]}")
    sorts = [capture["sort"] for capture in story_captures["captures"]]
    assert sorts == ["failed", "same-bytes", "failed", "changed-text", "same-text", "first"]
    assert (story_captures["failed"], story_captures["is_complete"]) == (2, True)
    times = [capture["at"] for capture in story_captures["captures"]]
    assert times == sorted(times, reverse=True)
    assert story_captures["captures"][1]["href"] == f"/file/{reading.versions[0]}"
    assert "3 versions of this story, 2 failed captures" in page.words("//h2[@id='versions-head']")
    rows = page.tree.xpath("//section[@id='versions']//tbody/tr")
    assert [row.xpath("td")[0].text for row in rows] == [
        "failed: timeout", "same bytes", "failed: http-status", "text changed", "same text",
        "first version listed",
    ]  # fmt: skip
    assert [row.xpath("th/a/@href")[0] for row in rows] == [
        capture["href"] for capture in story_captures["captures"]
    ]
    assert not page.tree.xpath("//section[@id='versions']//*[local-name()='svg']")


def test_an_incomplete_list_of_versions_is_reported(library: tuple[Stores, ReadingHome]) -> None:
    stores, _ = library
    days = ("20200101", "20240101", "20240102")
    versions = [
        StoryVersion(
            f"{number:040x}",
            f"{day}000000",
            None,
            VersionDifference.CHANGED_TEXT if number else None,
        )
        for number, day in enumerate(days)
    ]
    story_captures = build_story_captures(stores.records, StoryVersions(versions, 9), [])
    assert [capture.at[:8] for capture in story_captures.captures] == list(reversed(days))
    assert not story_captures.is_complete
    assert build_story_captures(stores.records, StoryVersions(versions, 3), []).is_complete


def test_captures_with_equal_times_and_single_captures_are_listed(
    library: tuple[Stores, ReadingHome],
) -> None:
    stores, _ = library
    version = StoryVersion("a" * 40, "20240101000000", None, None)
    versions = [version, replace(version, sha1hex="b" * 40, difference=VersionDifference.UNKNOWN)]
    story_captures = build_story_captures(
        stores.records, StoryVersions(versions, 2), ["http://nowhere.example/<b>"]
    )
    assert [describe_capture(capture) for capture in story_captures.captures] == [
        "not compared",
        "first version listed",
    ]
    assert story_captures.failed == 0
    single = build_story_captures(stores.records, StoryVersions([version], 1), [])
    assert len(single.captures) == 1


def test_a_capture_without_a_time_is_listed_by_its_entry_time(
    library: tuple[Stores, ReadingHome],
) -> None:
    stores, _ = library
    body = Body(810, STORY_URL, NOW, "text/html", b"810")
    stores.ledger.enter([], [replace(entry(body), seen=None)], ["identify"])
    write(stores, build_end_rows(body, "identify", Verdict.DROPPED, Reason.HTTP_STATUS))
    story_captures = build_story_captures(stores.records, StoryVersions([], 0), [STORY_URL])
    (capture,) = [capture for capture in story_captures.captures if capture.sort == "failed"]
    assert capture.is_entered
    assert describe_capture(capture) == "failed: http-status, received then"
    assert capture.href.startswith("/show?key=http")
