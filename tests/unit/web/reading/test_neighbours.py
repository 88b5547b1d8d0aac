"""Neighbours on the page of a document: near-duplicates, its domain around its day, its themes."""

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


def build_story(
    number: int, day: date | None = DAY, site: str = "daily.example", captured: date | None = None
) -> IndexDocument:
    """Build a story for the index."""
    key = sha1(str(number).encode()).hexdigest()
    return IndexDocument(
        f"{number:064x}", key, Kind.STORY, f"http://{site}/{number}", site, day, "en",
        f"Story <b>{number}</b>", TEXT, datetime(2026, 3, 20, tzinfo=UTC), captured=captured,
    )  # fmt: skip


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Stores]:
    with open_home(tmp_path) as stores:
        yield stores


@pytest.fixture
def library_client(library: Stores) -> Iterator[TestClient]:
    with TestClient(create_app(library), base_url=ORIGIN) as client:
        yield client


def _store(library: Stores, document: IndexDocument, text: str) -> None:
    """Store a story in the index and the records."""
    published = document.publication_date.isoformat() if document.publication_date else None
    row = StoryMetaRow(
        document.sha1hex, document.id, "20260310120000", NOW, "success", document.url,
        document.canonical_domain, published, "en", document.article_title, 90, Story(), "article/1",
    )  # fmt: skip
    sketched = build_page_sketch(row, text)
    file = FileMetaRow(document.sha1hex, "0" * 64, "0" * 32, 9, "text/html", document.sha1hex, NOW)
    library.records.put([file, row, sketched, *build_bands(sketched)])
    library.index.put([document])


def _get_groups(library_client: TestClient, document: IndexDocument) -> dict[str, Any]:
    groups = library_client.get(f"/api/files/{document.sha1hex}").json()["neighbours"]
    return {group["sort"]: group for group in groups}


def test_neighbours_of_the_domain_are_the_nearest_in_time(
    library_client: TestClient, library: Stores
) -> None:
    days = (0, 3, -3, 1, -1, 2, 0, 4, -4)
    others = [build_story(n, DAY + timedelta(days=offset)) for n, offset in enumerate(days, 1)]
    library.index.put([*others, build_story(20, site="weekly.example")])
    _store(library, build_story(0), TEXT)
    group = _get_groups(library_client, build_story(0))["domain"]
    days_away = [abs((DAY - date.fromisoformat(row["day"])).days) for row in group["shown"]]
    assert days_away == [0, 0, 1, 1, 2]
    assert (group["total"], group["name"]) == (7, "daily.example")
    page = read(library_client, f"/file/{build_story(0).sha1hex}")
    assert "More from daily.example (7)" in page.words("//*[@id='neighbours']")
    assert "Published 7 Mar 2026 to 13 Mar 2026" in page.words()
    assert not page.tree.xpath("//section[@id='neighbours']//b")
    (href,) = [link for link in page.links("//section[@id='neighbours']") if "/search" in link]
    assert page.links()[href] == "Show all 8"
    results = library_client.get(href.replace("/search", "/api/search")).json()
    ids = {hit["id"] for hit in results["results"]}
    assert ids == {build_story(0).id, *(other.id for other in others[:7])}
    files = {f"/file/{other.sha1hex}" for other in others[:7]}
    assert all(row["href"] in files for row in group["shown"])


def test_without_a_publication_date_the_capture_date_is_compared(
    library_client: TestClient, library: Stores
) -> None:
    library.index.put([build_story(1, None, captured=DAY), build_story(2, DAY)])
    _store(library, build_story(0, None, captured=DAY), TEXT)
    group = _get_groups(library_client, build_story(0))["domain"]
    assert (group["dates"], group["total"], group["shown"][0]["id"]) == (
        "captured",
        1,
        build_story(1).id,
    )
    assert "dates=captured" in group["href"]
    assert (
        len(library_client.get(group["href"].replace("/search", "/api/search")).json()["results"])
        == 2
    )
    words = read(library_client, f"/file/{build_story(0).sha1hex}").words("//*[@id='neighbours']")
    assert "Captured" in words


@pytest.mark.parametrize("day", [date.min, date.max])
def test_the_first_and_last_possible_days_have_neighbours(library: Stores, day: date) -> None:
    library.index.put([build_story(0, day), build_story(1, day)])
    around_day = find_around_day(library.index, build_story(0, day))
    assert around_day is not None
    assert (around_day.dates, around_day.total, [document.id for document in around_day.documents]) == (
        DateOf.PUBLISHED, 1, [build_story(1).id],
    )  # fmt: skip


def test_a_document_without_domain_or_day_has_no_neighbours_of_its_domain(library: Stores) -> None:
    assert find_around_day(library.index, build_story(0, None)) is None
    assert find_around_day(library.index, replace(build_story(0), canonical_domain="")) is None


def test_five_near_duplicates_are_shown_and_all_are_linked(
    library_client: TestClient, library: Stores
) -> None:
    copies = [build_story(n, None, f"site{n}.example") for n in range(8)]
    for copy in copies:
        _store(library, copy, TEXT)
    group = _get_groups(library_client, copies[0])["near-duplicates"]
    assert (group["total"], len(group["shown"]), group["shown"][0]["nearness"]) == (7, 5, 1.0)
    page = read(library_client, f"/file/{copies[0].sha1hex}")
    assert "Addresses of all 7" in page.words("//section[@id='neighbours']/details")
    assert len(page.tree.xpath("//section[@id='neighbours']/details//li")) == 7
    assert len(page.tree.xpath("//section[@id='neighbours']/ul/li")) == 5
    EmbargoService(library, None, lambda: NOW).hide(
        EmbargoRow(copies[1].sha1hex, "publication", "", NOW + timedelta(days=9), "ann", NOW)
    )
    group_after_hiding = _get_groups(library_client, copies[0])["near-duplicates"]
    assert group_after_hiding["total"] == 6
    assert copies[1].id not in {row["id"] for row in group_after_hiding["shown"]}


def test_neighbours_of_the_theme_are_listed_by_descending_score(
    library_client: TestClient, library: Stores
) -> None:
    writer = fill_themes(library)
    name = CollectionName("near", "by")
    texts = themed_documents(40, seed=9, themes=2)
    stories = [build_story(n, None, "theme.example") for n in range(4)]
    documents = [replace(texts[n], id=story.id, title="") for n, story in enumerate(stories)]
    for story in stories:
        _store(library, story, TEXT)
    writer.put(name, [*documents, *texts[4:]])
    rebuild(writer, name)
    group = _get_groups(library_client, stories[0])["theme"]
    size = library_client.get(f"/api{group['href']}").json()["size"]
    assert (group["total"], group["collection"], len(group["shown"])) == (size - 1, "near/by", 5)
    scores = [row["nearness"] for row in group["shown"]]
    assert scores == sorted(scores, reverse=True)
    assert stories[0].id not in {row["id"] for row in group["shown"]}
    for row in group["shown"]:
        assert library_client.get(row["href"]).status_code == 200
    page = read(library_client, f"/file/{stories[0].sha1hex}")
    assert page.links()[group["href"]] == f"Show all {size}"


def test_a_document_without_similar_ones_has_no_neighbours(
    library_client: TestClient, library: Stores
) -> None:
    library.index.put([build_story(1, site="weekly.example")])
    _store(library, build_story(0), TEXT)
    assert _get_groups(library_client, build_story(0)) == {}
    assert not read(library_client, f"/file/{build_story(0).sha1hex}").tree.xpath(
        "//*[@id='neighbours']"
    )
