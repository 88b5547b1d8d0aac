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


def version(
    stores: Stores,
    story: str,
    day: int,
    text: str,
    title: str = "Bridge",
    extractor: str = "article/1",
    site: str = "daily.example",
) -> str:
    """Put a version of a story captured on this day of January; its SHA-1."""
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
    with open_home(tmp_path) as found:
        yield found


@pytest.fixture
def asked(library: Stores) -> Iterator[TestClient]:
    with TestClient(create_app(library), base_url=ORIGIN) as found:
        yield found


def _told(asked: TestClient, **params: str) -> list[tuple[str, str]]:
    told = asked.get("/api/changes", params=params).json()
    return [(one["sha1hex"], one["since"]) for one in told["rows"]]


def test_an_edit_is_listed_with_its_words_and_leads_to_all_of_them(
    client: TestClient, reading: ReadingHome
) -> None:
    _, second, third = reading.versions
    page = read(client, "/changes")
    (found,) = page.tree.xpath("//article")
    (href,) = found.xpath("h2/a/@href")
    assert href == f"/file/{third}/changes?since={second}"
    assert client.get(href).status_code == 200
    assert "+7 −1 words, headline changed" in page.words("//article/p[@class='byline']")
    words = [(one.tag, " ".join(one.itertext())) for one in found.xpath(".//ins | .//del")]
    assert ("del", "Removed Monday.") in [(tag, " ".join(text.split())) for tag, text in words]


def test_what_is_no_edit_is_told_apart_and_each_count_opens_its_rows(
    asked: TestClient, library: Stores
) -> None:
    for day, text in ((1, "One two."), (2, "One two."), (3, "One\n\ntwo.")):
        version(library, "same", day, text)
    version(library, "read", 1, "One two.")
    version(library, "read", 2, "One three.", extractor="article/2")
    version(library, "lost", 1, "One two.")
    lost = version(library, "lost", 2, "One three.")
    library.records.delete(TextSketchRow, [lost])
    version(library, "alone", 1, "One two.")
    told = asked.get("/api/changes").json()
    assert told["counts"] == {"edited": 0, "same-text": 2, "other-extractor": 1, "unknown": 1}
    assert (told["walked"], told["later"], told["rows"], told["next"]) == (8, 4, [], None)
    page = read(asked, "/changes")
    links = page.links("//main//li")
    assert len(links) == 3
    for href, said in links.items():
        assert len(read(asked, href).tree.xpath("//article")) == int(said.split()[0])
    assert not page.tree.xpath("//article")


def test_a_headline_alone_is_an_edit_and_says_that_no_word_of_the_text_changed(
    asked: TestClient, library: Stores
) -> None:
    version(library, "one", 1, "One two.", "Bridge closed")
    version(library, "one", 2, "One two.", HOSTILE)
    page = read(asked, "/changes")
    assert "+0 −0 words, headline changed" in page.words("//article")
    assert "<script>alert" not in page.text
    assert b"<script>alert" not in asked.get("/changes.atom").content


def test_edits_of_one_site_the_newest_first_and_as_csv(asked: TestClient, library: Stores) -> None:
    pairs = []
    for day, site in ((2, "a.example"), (4, "b.example"), (6, "a.example")):
        before = version(library, f"s{day}", day - 1, "One two.", site=site)
        pairs.append((version(library, f"s{day}", day, "One three.", site=site), before))
    assert _told(asked) == pairs[::-1]
    assert _told(asked, site="a.example") == [pairs[2], pairs[0]]
    assert _told(asked, site="none.example") == []
    assert (
        "There are no stories from “none.example”" in read(asked, "/changes?site=none.example").text
    )
    table = list(csv.DictReader(io.StringIO(asked.get("/csv/changes?site=b.example").text)))
    assert [(one["sha1hex"], one["words_added"]) for one in table] == [(pairs[1][0], "1")]


def test_pages_go_on_where_the_one_before_ended(
    asked: TestClient, library: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [version(library, "long", day, f"Day {day}.") for day in range(1, 21)]
    for day in range(1, 21):
        version(library, f"alone{day}", day, "Nothing else.")
    for later_max, walked_max in ((3, 1_000), (1_000, 7)):
        monkeypatch.setattr(edits, "LATER_MAX", later_max)
        monkeypatch.setattr(edits, "WALKED_MAX", walked_max)
        monkeypatch.setattr(edits, "_CHUNK", 7)
        found, after, pages = [], "", 0
        while True:
            told = asked.get("/api/changes", params={"after": after}).json()
            assert told["later"] <= later_max
            assert told["walked"] <= walked_max
            found += [one["sha1hex"] for one in told["rows"]]
            pages += 1
            if told["next"] is None:
                break
            after = told["next"]
        assert (found, pages > 3) == (keys[:0:-1], True)


def test_the_feed_has_the_edits_with_ids_that_stay(asked: TestClient, library: Stores) -> None:
    assert Xml.fromstring(asked.get("/changes.atom").content).findall(f"{ATOM}entry") == []
    before = version(library, "one", 1, "The bridge was closed on Monday.")
    after = version(library, "one", 2, "The bridge was closed on Tuesday.")
    answer = asked.get("/changes.atom?site=daily.example")
    assert answer.headers["content-type"].startswith("application/atom+xml")
    (entry,) = Xml.fromstring(answer.content).findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}id") == f"{ORIGIN}/file/{after}/changes?since={before}"
    assert entry.findtext(f"{ATOM}updated") == "2026-01-02T12:00:00+00:00"
    said = "+1 −1 words. Removed: Monday. Added: Tuesday."
    assert entry.findtext(f"{ATOM}summary") == said
    page = read(asked, "/changes?site=daily.example")
    (href,) = page.tree.xpath("//link[@type='application/atom+xml']/@href")
    assert href == "/changes.atom?site=daily.example"


def test_a_hidden_version_is_passed_over_as_if_it_had_not_come(
    asked: TestClient, library: Stores
) -> None:
    first, hidden, last = (version(library, "one", n, f"Day {n}.", f"Title {n}") for n in (1, 2, 3))
    assert _told(asked) == [(last, hidden), (hidden, first)]
    library.records.put([EmbargoRow(hidden, "rights", "", NOW, "ann", NOW)])
    assert _told(asked) == [(last, first)]
    for path in ("/changes", "/changes.atom", "/csv/changes", "/changes?change=same-text"):
        answer = asked.get(path).text
        assert hidden not in answer
        assert "Title 2" not in answer


def test_a_text_that_was_not_compared_word_by_word_says_so(
    asked: TestClient, library: Stores
) -> None:
    version(library, "one", 1, "Two. " + "Some more words. " * 60)
    version(library, "one", 2, "Two three. " + "Some more words. " * 61 + "Two three.")
    version(library, "short", 1, "One.")
    version(library, "short", 2, "Two.")
    told = {one["story_id"]: one["is_coarse"] for one in asked.get("/api/changes").json()["rows"]}
    assert told == {"one": True, "short": False}
    said = [one.text_content() for one in read(asked, "/changes").tree.xpath("//article/p[2]")]
    assert ["to compare word by word" in one for one in said] == [True]


def test_a_mark_of_another_list_is_refused(asked: TestClient, library: Stores) -> None:
    version(library, "one", 1, "One.")
    mark = "eyJwb3NpdGlvbiI6MCwidGltZSI6LTUsImtleSI6WyJhIl19"
    assert asked.get("/changes", params={"after": mark}).status_code == 400
    assert asked.get("/changes", params={"site": "\0'--"}).status_code == 200


def test_the_text_of_a_later_version_that_is_gone_is_not_told_as_removed(
    asked: TestClient, library: Stores
) -> None:
    version(library, "one", 1, "One two.", "Before")
    key = version(library, "one", 2, "One three.", "After")
    library.blobs.delete([build_text_blob_key(key)])
    (told,) = asked.get("/api/changes").json()["rows"]
    assert (told["is_headline_changed"], told["words_added"]) == (True, None)
    assert "The text of one version is missing" in read(asked, "/changes").words()
    row = library.records.get(StoryMetaRow, [key])[0]
    library.records.put([replace(row, article_title="Before")])
    assert asked.get("/api/changes").json()["counts"]["unknown"] == 1
