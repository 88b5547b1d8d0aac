"""Silent edits: later versions of stories with another headline or text, as a list and as a feed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha1
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from fonds.derivatives.sketch import build_page_sketch
from fonds.model.archive import Blob
from fonds.model.keys import build_text_blob_key
from fonds.model.rows import EmbargoRow, StoryMetaRow, TextSketchRow
from fonds.model.story import Story
from fonds.ports import Stores
from fonds.viewer import edits
from fonds.web.app import create_app
from home_rows import NOW
from page_reading import read
from reading_home import ReadingHome

ORIGIN = "http://localhost:8765"
ATOM = "{http://www.w3.org/2005/Atom}"
HOSTILE = "Bridge <script>alert(1)</script>"


def put_version(
    stores: Stores,
    story: str,
    day: int,
    text: str,
    title: str = "Bridge",
    extractor: str = "article/1",
    site: str = "daily.example",
) -> str:
    """Store a version of a story captured on this day of January. Return its SHA-1."""
    key = sha1(f"{story} {day}".encode()).hexdigest()
    row = StoryMetaRow(
        key, story, f"202601{day:02d}120000", NOW, "success", f"http://{site}/{story}", site, None,
        "en", title, len(text.split()), Story(), extractor,
    )  # fmt: skip
    stores.blobs.put([Blob(build_text_blob_key(key), text.encode(), "text/plain")])
    stores.records.put([row, build_page_sketch(row, text)])
    return key


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Stores]:
    with open_home(tmp_path) as stores:
        yield stores


@pytest.fixture
def library_client(library: Stores) -> Iterator[TestClient]:
    with TestClient(create_app(library), base_url=ORIGIN) as client:
        yield client


def _list_edits(library_client: TestClient, **params: str) -> list[tuple[str, str]]:
    """Return the SHA-1s of the new and the previous version of each listed edit."""
    rows = library_client.get("/api/changes", params=params).json()["rows"]
    return [(row["sha1hex"], row["since"]) for row in rows]


def test_an_edit_is_listed_with_its_words_and_a_link_to_all_changes(
    client: TestClient, reading: ReadingHome
) -> None:
    _, second, third = reading.versions
    page = read(client, "/changes")
    (article,) = page.tree.xpath("//article")
    (href,) = article.xpath("h2/a/@href")
    assert href == f"/file/{third}/changes?since={second}"
    assert client.get(href).status_code == 200
    assert "+7 −1 words, headline changed" in page.words("//article/p[@class='byline']")
    words = [(part.tag, " ".join(part.itertext())) for part in article.xpath(".//ins | .//del")]
    assert ("del", "Removed Monday.") in [(tag, " ".join(text.split())) for tag, text in words]


def test_versions_that_are_not_edits_are_counted_by_kind(
    library_client: TestClient, library: Stores
) -> None:
    for day, text in ((1, "One two."), (2, "One two."), (3, "One\n\ntwo.")):
        put_version(library, "same", day, text)
    put_version(library, "read", 1, "One two.")
    put_version(library, "read", 2, "One three.", extractor="article/2")
    put_version(library, "lost", 1, "One two.")
    lost_version = put_version(library, "lost", 2, "One three.")
    library.records.delete(TextSketchRow, [lost_version])
    put_version(library, "alone", 1, "One two.")
    changes = library_client.get("/api/changes").json()
    assert changes["counts"] == {"edited": 0, "same-text": 2, "other-extractor": 1, "unknown": 1}
    assert (changes["walked"], changes["later"], changes["rows"], changes["next"]) == (
        8,
        4,
        [],
        None,
    )
    page = read(library_client, "/changes")
    links = page.links("//main//li")
    assert len(links) == 3
    for href, label in links.items():
        assert len(read(library_client, href).tree.xpath("//article")) == int(label.split()[0])
    assert not page.tree.xpath("//article")


def test_a_changed_headline_is_an_edit_without_changed_words(
    library_client: TestClient, library: Stores
) -> None:
    put_version(library, "one", 1, "One two.", "Bridge closed")
    put_version(library, "one", 2, "One two.", HOSTILE)
    page = read(library_client, "/changes")
    assert "+0 −0 words, headline changed" in page.words("//article")
    assert "<script>alert" not in page.text
    assert b"<script>alert" not in library_client.get("/changes.atom").content


def test_edits_are_listed_newest_first_by_site_and_as_csv(
    library_client: TestClient, library: Stores
) -> None:
    pairs = []
    for day, site in ((2, "a.example"), (4, "b.example"), (6, "a.example")):
        before = put_version(library, f"s{day}", day - 1, "One two.", site=site)
        pairs.append((put_version(library, f"s{day}", day, "One three.", site=site), before))
    assert _list_edits(library_client) == pairs[::-1]
    assert _list_edits(library_client, site="a.example") == [pairs[2], pairs[0]]
    assert _list_edits(library_client, site="none.example") == []
    assert (
        "There are no stories from “none.example”"
        in read(library_client, "/changes?site=none.example").text
    )
    table = list(
        csv.DictReader(io.StringIO(library_client.get("/csv/changes?site=b.example").text))
    )
    assert [(row["sha1hex"], row["words_added"]) for row in table] == [(pairs[1][0], "1")]


def test_paging_lists_every_edit_once_within_the_limits(
    library_client: TestClient, library: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [put_version(library, "long", day, f"Day {day}.") for day in range(1, 21)]
    for day in range(1, 21):
        put_version(library, f"alone{day}", day, "Nothing else.")
    for later_max, walked_max in ((3, 1_000), (1_000, 7)):
        monkeypatch.setattr(edits, "LATER_MAX", later_max)
        monkeypatch.setattr(edits, "WALKED_MAX", walked_max)
        monkeypatch.setattr(edits, "_CHUNK", 7)
        listed_keys, after, pages = [], "", 0
        while True:
            page = library_client.get("/api/changes", params={"after": after}).json()
            assert page["later"] <= later_max
            assert page["walked"] <= walked_max
            listed_keys += [row["sha1hex"] for row in page["rows"]]
            pages += 1
            if page["next"] is None:
                break
            after = page["next"]
        assert (listed_keys, pages > 3) == (keys[:0:-1], True)


def test_the_feed_lists_edits_with_stable_ids(library_client: TestClient, library: Stores) -> None:
    assert Xml.fromstring(library_client.get("/changes.atom").content).findall(f"{ATOM}entry") == []
    before = put_version(library, "one", 1, "The bridge was closed on Monday.")
    after = put_version(library, "one", 2, "The bridge was closed on Tuesday.")
    response = library_client.get("/changes.atom?site=daily.example")
    assert response.headers["content-type"].startswith("application/atom+xml")
    (entry,) = Xml.fromstring(response.content).findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}id") == f"{ORIGIN}/file/{after}/changes?since={before}"
    assert entry.findtext(f"{ATOM}updated") == "2026-01-02T12:00:00+00:00"
    summary = "+1 −1 words. Removed: Monday. Added: Tuesday."
    assert entry.findtext(f"{ATOM}summary") == summary
    page = read(library_client, "/changes?site=daily.example")
    (href,) = page.tree.xpath("//link[@type='application/atom+xml']/@href")
    assert href == "/changes.atom?site=daily.example"


def test_a_hidden_version_is_skipped_in_comparisons(
    library_client: TestClient, library: Stores
) -> None:
    first, hidden_version, last = (
        put_version(library, "one", day, f"Day {day}.", f"Title {day}") for day in (1, 2, 3)
    )
    assert _list_edits(library_client) == [(last, hidden_version), (hidden_version, first)]
    library.records.put([EmbargoRow(hidden_version, "rights", "", NOW, "ann", NOW)])
    assert _list_edits(library_client) == [(last, first)]
    for path in ("/changes", "/changes.atom", "/csv/changes", "/changes?change=same-text"):
        response = library_client.get(path).text
        assert hidden_version not in response
        assert "Title 2" not in response


def test_a_coarse_comparison_says_so(library_client: TestClient, library: Stores) -> None:
    put_version(library, "one", 1, "Two. " + "Some more words. " * 60)
    put_version(library, "one", 2, "Two three. " + "Some more words. " * 61 + "Two three.")
    put_version(library, "short", 1, "One.")
    put_version(library, "short", 2, "Two.")
    rows = library_client.get("/api/changes").json()["rows"]
    is_coarse_by_story = {row["story_id"]: row["is_coarse"] for row in rows}
    assert is_coarse_by_story == {"one": True, "short": False}
    paragraphs = read(library_client, "/changes").tree.xpath("//article/p[2]")
    notes = [paragraph.text_content() for paragraph in paragraphs]
    assert ["to compare word by word" in note for note in notes] == [True]


def test_a_cursor_of_another_list_is_refused(library_client: TestClient, library: Stores) -> None:
    put_version(library, "one", 1, "One.")
    cursor = "eyJwb3NpdGlvbiI6MCwidGltZSI6LTUsImtleSI6WyJhIl19"
    assert library_client.get("/changes", params={"after": cursor}).status_code == 400
    assert library_client.get("/changes", params={"site": "\0'--"}).status_code == 200


def test_a_missing_text_of_a_later_version_is_reported_as_missing(
    library_client: TestClient, library: Stores
) -> None:
    put_version(library, "one", 1, "One two.", "Before")
    key = put_version(library, "one", 2, "One three.", "After")
    library.blobs.delete([build_text_blob_key(key)])
    (edit,) = library_client.get("/api/changes").json()["rows"]
    assert (edit["is_headline_changed"], edit["words_added"]) == (True, None)
    assert "The text of one version is missing" in read(library_client, "/changes").words()
    row = library.records.get(StoryMetaRow, [key])[0]
    library.records.put([replace(row, article_title="Before")])
    assert library_client.get("/api/changes").json()["counts"]["unknown"] == 1
