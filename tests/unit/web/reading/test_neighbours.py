"""The neighbours of a document on its page: near-duplicates, its domain around its day, its themes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from fonds.derivatives.sketch import build_bands, build_page_sketch
from fonds.grouping.names import CollectionName
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.model.document import DateOf, IndexDocument
from fonds.model.file import Kind
from fonds.model.rows import EmbargoRow, FileMetaRow, StoryMetaRow
from fonds.model.story import Story
from fonds.ports import Stores
from fonds.restrictions.embargo import EmbargoService
from fonds.viewer.neighbours import find_around_day
from fonds.web.app import create_app
from home_rows import NOW
from kept_collections import themed_documents
from page_reading import read
from themed_home import fill_themes

ORIGIN = "http://localhost:8765"
DAY = date(2026, 3, 10)
TEXT = " ".join(f"river{n} bank{n} council{n}" for n in range(100))


def story(
    number: int, day: date | None = DAY, site: str = "daily.example", captured: date | None = None
) -> IndexDocument:
    """A story that is in the index alone."""
    key = sha1(str(number).encode()).hexdigest()
    return IndexDocument(
        f"{number:064x}", key, Kind.STORY, f"http://{site}/{number}", site, day, "en",
        f"Story <b>{number}</b>", TEXT, datetime(2026, 3, 20, tzinfo=UTC), captured=captured,
    )  # fmt: skip


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Stores]:
    with open_home(tmp_path) as found:
        yield found


@pytest.fixture
def asked(library: Stores) -> Iterator[TestClient]:
    with TestClient(create_app(library), base_url=ORIGIN) as found:
        yield found


def _keep(library: Stores, one: IndexDocument, text: str) -> None:
    """A story that stands in the records as well."""
    published = one.publication_date.isoformat() if one.publication_date else None
    row = StoryMetaRow(
        one.sha1hex, one.id, "20260310120000", NOW, "success", one.url, one.canonical_domain, published,
        "en", one.article_title, 90, Story(), "article/1",
    )  # fmt: skip
    sketched = build_page_sketch(row, text)
    file = FileMetaRow(one.sha1hex, "0" * 64, "0" * 32, 9, "text/html", one.sha1hex, NOW)
    library.records.put([file, row, sketched, *build_bands(sketched)])
    library.index.put([one])


def _groups(asked: TestClient, one: IndexDocument) -> dict[str, Any]:
    told = asked.get(f"/api/files/{one.sha1hex}").json()["neighbours"]
    return {group["sort"]: group for group in told}


def test_of_its_domain_the_nearest_days_stand_first_and_the_link_lists_exactly_all(
    asked: TestClient, library: Stores
) -> None:
    days = (0, 3, -3, 1, -1, 2, 0, 4, -4)
    others = [story(n, DAY + timedelta(days=away)) for n, away in enumerate(days, 1)]
    library.index.put([*others, story(20, site="weekly.example")])
    _keep(library, story(0), TEXT)
    group = _groups(asked, story(0))["domain"]
    shown = [DAY.toordinal() - date.fromisoformat(one["day"]).toordinal() for one in group["shown"]]
    assert [abs(one) for one in shown] == [0, 0, 1, 1, 2]
    assert (group["total"], group["name"]) == (7, "daily.example")
    page = read(asked, f"/file/{story(0).sha1hex}")
    assert "More from daily.example (7)" in page.words("//*[@id='neighbours']")
    assert "Published 7 Mar 2026 to 13 Mar 2026" in page.words()
    assert not page.tree.xpath("//section[@id='neighbours']//b")
    (href,) = [one for one in page.links("//section[@id='neighbours']") if "/search" in one]
    assert page.links()[href] == "Show all 8"
    listed = asked.get(href.replace("/search", "/api/search")).json()
    found = {one["id"] for one in listed["results"]}
    assert found == {story(0).id, *(one.id for one in others[:7])}
    files = {f"/file/{one.sha1hex}" for one in others[:7]}
    assert all(one["href"] in files for one in group["shown"])


def test_without_a_day_of_publication_the_day_of_capture_is_compared_and_said(
    asked: TestClient, library: Stores
) -> None:
    library.index.put([story(1, None, captured=DAY), story(2, DAY)])
    _keep(library, story(0, None, captured=DAY), TEXT)
    group = _groups(asked, story(0))["domain"]
    assert (group["dates"], group["total"], group["shown"][0]["id"]) == ("captured", 1, story(1).id)
    assert "dates=captured" in group["href"]
    assert len(asked.get(group["href"].replace("/search", "/api/search")).json()["results"]) == 2
    words = read(asked, f"/file/{story(0).sha1hex}").words("//*[@id='neighbours']")
    assert "Captured" in words


@pytest.mark.parametrize("day", [date.min, date.max])
def test_the_first_and_the_last_day_there_are_have_neighbours_too(
    library: Stores, day: date
) -> None:
    library.index.put([story(0, day), story(1, day)])
    around_day = find_around_day(library.index, story(0, day))
    assert around_day is not None
    assert (around_day.dates, around_day.total, [document.id for document in around_day.documents]) == (
        DateOf.PUBLISHED, 1, [story(1).id],
    )  # fmt: skip


def test_a_document_without_domain_or_day_has_none_of_its_domain(library: Stores) -> None:
    assert find_around_day(library.index, story(0, None)) is None
    assert find_around_day(library.index, replace(story(0), canonical_domain="")) is None


def test_near_duplicates_are_named_by_their_titles_and_behind_five_all_can_be_opened(
    asked: TestClient, library: Stores
) -> None:
    copies = [story(n, None, f"site{n}.example") for n in range(8)]
    for one in copies:
        _keep(library, one, TEXT)
    group = _groups(asked, copies[0])["near-duplicates"]
    assert (group["total"], len(group["shown"]), group["shown"][0]["nearness"]) == (7, 5, 1.0)
    page = read(asked, f"/file/{copies[0].sha1hex}")
    assert "Addresses of all 7" in page.words("//section[@id='neighbours']/details")
    assert len(page.tree.xpath("//section[@id='neighbours']/details//li")) == 7
    assert len(page.tree.xpath("//section[@id='neighbours']/ul/li")) == 5
    EmbargoService(library, None, lambda: NOW).hide(
        EmbargoRow(copies[1].sha1hex, "publication", "", NOW + timedelta(days=9), "ann", NOW)
    )
    hidden = _groups(asked, copies[0])["near-duplicates"]
    assert hidden["total"] == 6
    assert copies[1].id not in {one["id"] for one in hidden["shown"]}


def test_of_its_theme_the_nearest_to_the_middle_stand_and_the_link_opens_the_theme(
    asked: TestClient, library: Stores
) -> None:
    changes = fill_themes(library)
    name = CollectionName("near", "by")
    texts = themed_documents(40, seed=9, themes=2)
    put = [story(n, None, "theme.example") for n in range(4)]
    known = [replace(texts[n], id=one.id, title="") for n, one in enumerate(put)]
    for one in put:
        _keep(library, one, TEXT)
    changes.put(name, [*known, *texts[4:]])
    rebuild(changes, name)
    group = _groups(asked, put[0])["theme"]
    size = asked.get(f"/api{group['href']}").json()["size"]
    assert (group["total"], group["collection"], len(group["shown"])) == (size - 1, "near/by", 5)
    scores = [one["nearness"] for one in group["shown"]]
    assert scores == sorted(scores, reverse=True)
    assert put[0].id not in {one["id"] for one in group["shown"]}
    for one in group["shown"]:
        assert asked.get(one["href"]).status_code == 200
    page = read(asked, f"/file/{put[0].sha1hex}")
    assert page.links()[group["href"]] == f"Show all {size}"


def test_a_document_that_stands_alone_has_no_neighbours(asked: TestClient, library: Stores) -> None:
    library.index.put([story(1, site="weekly.example")])
    _keep(library, story(0), TEXT)
    assert _groups(asked, story(0)) == {}
    assert not read(asked, f"/file/{story(0).sha1hex}").tree.xpath("//*[@id='neighbours']")
