"""The captures of a story in time: versions, the same bytes again, and those that failed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_home import opened
from fonds.library.reading.story import Difference, Version, Versions
from fonds.model.disposition import Reason, Verdict
from fonds.ports import Stores
from fonds.web.app import create_app
from fonds.web.pages.reading.ribbon import GAP_MAX, MARK, ribbon_of, said_of, strip
from home_rows import NOW, Body, ended, enter, entry, write
from page_reading import read
from reading_home import STORY_URL, Reading, fill_reading


@pytest.fixture
def library(tmp_path: Path) -> Iterator[tuple[Stores, Reading]]:
    reading = fill_reading(tmp_path)
    with opened(tmp_path) as stores:
        yield stores, reading


def _ended(stores: Stores, number: int, reason: Reason, about: str | None = None) -> None:
    body = Body(number, STORY_URL, NOW + timedelta(days=number), "text/html", b"%d" % number)
    enter(stores, [body])
    verdict = Verdict.QUARANTINED if reason is Reason.TIMEOUT else Verdict.DROPPED
    write(stores, ended(body, "identify", verdict, reason, about))


def test_failed_captures_and_the_same_bytes_stand_among_the_versions(
    library: tuple[Stores, Reading],
) -> None:
    stores, reading = library
    _ended(stores, 801, Reason.HTTP_STATUS)
    _ended(stores, 802, Reason.DUPLICATE, reading.versions[0])
    _ended(stores, 803, Reason.TIMEOUT)
    _ended(stores, 804, Reason.REPEATED)
    _ended(stores, 805, Reason.DUPLICATE, "ab" * 20)
    with TestClient(create_app(stores), base_url="http://localhost") as client:
        told = client.get(f"/api/files/{reading.versions[2]}").json()["ribbon"]
        page = read(client, f"/file/{reading.versions[2]}")
    sorts = [one["sort"] for one in told["marks"]]
    assert sorts == ["failed", "same-bytes", "failed", "changed-text", "same-text", "first"]
    assert (told["changed"], told["same"], told["failed"], told["is_whole"]) == (2, 2, 2, True)
    times = [one["at"] for one in told["marks"]]
    assert times == sorted(times, reverse=True)
    assert told["marks"][1]["href"] == f"/file/{reading.versions[0]}"
    assert "3 versions of this story, 2 failed captures" in page.words("//h2[@id='versions-head']")
    picture = "//*[local-name()='svg'][@role='group']//*[local-name()='a']"
    names = [one.get("aria-label") for one in page.tree.xpath(picture)]
    assert [name.partition("UTC: ")[2] for name in names] == [
        "failed: timeout", "the same bytes again", "failed: http-status", "text changed", "same text",
        "the first listed",
    ]  # fmt: skip
    rows = page.tree.xpath("//section[@id='versions']//tbody/tr/th/a/@href")
    assert sorted(rows) == sorted(one["href"] for one in told["marks"])
    for counted in page.tree.xpath("//ul[contains(@class, 'captures-key')]//a"):
        group = page.tree.xpath(f"//tbody[@id='{counted.get('href')[1:]}']/tr")
        assert len(group) == int(counted.text) == 2


def test_gaps_are_to_scale_until_they_are_cut_which_is_said(
    library: tuple[Stores, Reading],
) -> None:
    stores, _ = library
    days = ("20200101", "20240101", "20240102", "20240103", "20240105")
    shown = [
        Version(f"{n:040x}", f"{day}000000", None, Difference.CHANGED_TEXT if n else None)
        for n, day in enumerate(days)
    ]
    found = ribbon_of(stores.records, Versions(shown, 9), [])
    assert [one.at[:8] for one in found.marks] == list(reversed(days))
    assert (found.cut, found.is_whole) == (1, False)
    assert found.cut_days == pytest.approx(1.5 * GAP_MAX / 24, abs=0.1)
    picture = strip(found, shown[-1].sha1hex)
    assert picture.count('class="gap"') == 4
    assert 'h32.0"' in picture
    assert picture.count('h16.0"') == 2
    assert f'width="{2 + 5 * MARK + 32 + 16 + 16 + GAP_MAX + 2:.0f}"' in picture
    assert picture.count('aria-current="true"') == 1


def test_captures_of_one_moment_and_a_story_of_one_capture(
    library: tuple[Stores, Reading],
) -> None:
    stores, _ = library
    one = Version("a" * 40, "20240101000000", None, None)
    same = [one, replace(one, sha1hex="b" * 40, difference=Difference.UNKNOWN)]
    found = ribbon_of(stores.records, Versions(same, 2), ["http://nowhere.example/<b>"])
    assert (len(found.marks), found.cut, found.failed) == (2, 0, 0)
    assert 'class="gap"' not in strip(found, "")
    alone = ribbon_of(stores.records, Versions([one], 1), [])
    assert len(alone.marks) == 1


def test_a_capture_whose_time_is_not_known_stands_where_it_came_in(
    library: tuple[Stores, Reading],
) -> None:
    stores, _ = library
    body = Body(810, STORY_URL, NOW, "text/html", b"810")
    stores.ledger.enter([], [replace(entry(body), seen=None)], ["identify"])
    write(stores, ended(body, "identify", Verdict.DROPPED, Reason.HTTP_STATUS))
    found = ribbon_of(stores.records, Versions([], 0), [STORY_URL])
    (mark,) = [one for one in found.marks if one.sort == "failed"]
    assert mark.is_entered
    assert said_of(mark) == "failed: http-status, came in then"
    assert mark.href.startswith("/show?key=http")
