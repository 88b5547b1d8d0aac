"""What a search looks for, marked in the text on a file's own page."""

from __future__ import annotations

from markupsafe import Markup
from starlette.testclient import TestClient

from fonds.web.pages.file import (
    HITS_MAX,
    TextHits,
    find_text_hits,
    mark_lines,
)
from page_reading import read
from reading_home import ReadingHome

HOSTILE = "A <b>flood</b> & floods"


def test_words_are_marked_in_the_forms_a_search_finds_and_lead_to_one_another() -> None:
    hits = find_text_hits("flood", "en", HOSTILE)
    assert hits is not None
    assert [HOSTILE[start:end] for start, end in hits.marks] == ["flood", "floods"]
    (line,) = mark_lines(HOSTILE, hits, "\n")
    assert '<mark id="hit-1">flood</mark>' in line
    assert '1 of 2 <a href="#hit-2">next</a>' in line
    assert '2 of 2 <a href="#hit-1">previous</a></span>' in line
    assert "<b>" not in line
    assert "A &lt;b&gt;" in line
    assert mark_lines(HOSTILE, None, "\n") == [Markup.escape(HOSTILE)]


def test_a_phrase_over_two_lines_is_marked_in_the_one_it_begins_in() -> None:
    text = "the high\nwater came\nlater"
    hits = find_text_hits('"high water"', "en", text)
    lines = mark_lines(text, hits, "\n")
    assert '<mark id="hit-1">high</mark>' in lines[0]
    assert lines[1:] == ["water came", "later"]


def test_accents_that_stand_apart_are_marked_where_they_are_shown() -> None:
    text = "des cafe\u0301s, un café"
    hits = find_text_hits("café", "fr", text)
    assert hits is not None
    (line,) = mark_lines(text, hits, "\n")
    assert line.count("<mark") == 2
    assert '<mark id="hit-1">cafés</mark>' in line


def test_of_very_many_hits_the_first_are_marked_and_it_is_said() -> None:
    text = "flood " * (HITS_MAX + 1)
    hits = find_text_hits("flood", "en", text)
    assert hits is not None
    assert (len(hits.marks), hits.is_cut) == (HITS_MAX, True)
    few = find_text_hits("flood", "en", "flood " * (HITS_MAX - 1))
    assert few == TextHits(
        "flood", [(6 * n, 6 * n + 5) for n in range(HITS_MAX - 1)], False, 6 * (HITS_MAX - 1)
    )


def test_a_result_of_a_search_leads_to_its_marks(client: TestClient, reading: ReadingHome) -> None:
    asked = "kind:pdf recede -zeppelin"
    page = read(client, f"/search?q={asked.replace(' ', '+')}")
    (href,) = [one for one in page.links("//ol[@class='hits']//h3") if reading.pdf in one]
    assert href.endswith("?find=kind%3Apdf+recede+-zeppelin")
    found = read(client, href)
    assert [one.text for one in found.tree.xpath("//div[@class='prose']//mark")] == ["recedes"]
    said = found.words("//p[@class='hits-told']")
    assert f"1 match for “{asked}”" in said
    assert found.tree.xpath("//input[@id='find']/@value") == [asked]
    told = client.get(href.replace("?", ".json?")).json()["hits"]
    (start, end), *others = told["marks"]
    text = client.get(f"/file/{reading.pdf}/text").text
    assert (text[start:end], others, told["is_cut"]) == ("recedes", [], False)


def test_what_is_not_there_is_said_and_without_words_nothing_is(
    client: TestClient, reading: ReadingHome
) -> None:
    story = f"/file/{reading.versions[0]}"
    none = read(client, f"{story}?find=zeppelin")
    assert "No matches for “zeppelin”." in none.words("//p[@class='hits-told']")
    assert not none.tree.xpath("//mark")
    plain = read(client, f"{story}?find=")
    assert not plain.tree.xpath("//p[@class='hits-told']")
    assert client.get(f"{story}.json").json()["hits"] is None


def test_a_search_that_cannot_be_understood_is_refused_and_long_ones_too(
    client: TestClient, reading: ReadingHome
) -> None:
    told = client.get(f"/api/files/{reading.versions[0]}", params={"find": '"open'})
    assert (told.status_code, told.json()["parameter"]) == (400, "find")
    long = client.get(f"/file/{reading.versions[0]}", params={"find": "a" * 4_001})
    assert long.status_code == 400


def test_a_pdf_is_found_through_page_by_page_and_keeps_the_words(
    client: TestClient, reading: ReadingHome
) -> None:
    page = read(client, f"/file/{reading.pdf}?find=flood")
    assert len(page.tree.xpath("//div[@class='prose']//mark")) == 3
    assert f"/file/{reading.pdf}/pages?q=flood" in page.links()
    assert f"/file/{reading.pdf}/pages/3?q=flood" in page.links()
    assert page.tree.xpath("//input[@id='find']/@value") == ["flood"]


def test_the_other_spelling_of_a_sha1_keeps_what_is_looked_for(
    client: TestClient, reading: ReadingHome
) -> None:
    asked = f"/file/{reading.versions[0].upper()}?find=bridge"
    answer = client.get(asked, follow_redirects=False)
    assert answer.headers["location"] == f"/file/{reading.versions[0]}?find=bridge"
