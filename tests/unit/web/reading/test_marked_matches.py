"""Matches of a search, marked in the text on the page of a file."""

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


def test_matches_of_all_word_forms_are_marked_and_linked_in_order() -> None:
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


def test_a_phrase_over_two_lines_is_marked_in_the_first() -> None:
    text = "the high\nwater came\nlater"
    hits = find_text_hits('"high water"', "en", text)
    lines = mark_lines(text, hits, "\n")
    assert '<mark id="hit-1">high</mark>' in lines[0]
    assert lines[1:] == ["water came", "later"]


def test_combining_accents_are_marked_with_their_letter() -> None:
    text = "des cafe\u0301s, un café"
    hits = find_text_hits("café", "fr", text)
    assert hits is not None
    (line,) = mark_lines(text, hits, "\n")
    assert line.count("<mark") == 2
    assert '<mark id="hit-1">cafés</mark>' in line


def test_only_the_first_matches_are_marked() -> None:
    text = "flood " * (HITS_MAX + 1)
    hits = find_text_hits("flood", "en", text)
    assert hits is not None
    assert (len(hits.marks), hits.is_cut) == (HITS_MAX, True)
    other_hits = find_text_hits("flood", "en", "flood " * (HITS_MAX - 1))
    assert other_hits == TextHits(
        "flood",
        [(6 * number, 6 * number + 5) for number in range(HITS_MAX - 1)],
        False,
        6 * (HITS_MAX - 1),
    )


def test_a_search_result_links_to_its_marked_matches(
    client: TestClient, reading: ReadingHome
) -> None:
    query = "kind:pdf recede -zeppelin"
    page = read(client, f"/search?q={query.replace(' ', '+')}")
    (href,) = [link for link in page.links("//ol[@class='hits']//h3") if reading.pdf in link]
    assert href.endswith("?find=kind%3Apdf+recede+-zeppelin")
    file_page = read(client, href)
    assert [mark.text for mark in file_page.tree.xpath("//div[@class='prose']//mark")] == [
        "recedes"
    ]
    note = file_page.words("//p[@class='hits-told']")
    assert f"1 match for “{query}”" in note
    assert file_page.tree.xpath("//input[@id='find']/@value") == [query]
    hits = client.get(href.replace("?", ".json?")).json()["hits"]
    (start, end), *others = hits["marks"]
    text = client.get(f"/file/{reading.pdf}/text").text
    assert (text[start:end], others, hits["is_cut"]) == ("recedes", [], False)


def test_the_page_reports_no_matches_only_for_a_query(
    client: TestClient, reading: ReadingHome
) -> None:
    story = f"/file/{reading.versions[0]}"
    page = read(client, f"{story}?find=zeppelin")
    assert "No matches for “zeppelin”." in page.words("//p[@class='hits-told']")
    assert not page.tree.xpath("//mark")
    plain_page = read(client, f"{story}?find=")
    assert not plain_page.tree.xpath("//p[@class='hits-told']")
    assert client.get(f"{story}.json").json()["hits"] is None


def test_invalid_and_long_queries_are_refused(client: TestClient, reading: ReadingHome) -> None:
    response = client.get(f"/api/files/{reading.versions[0]}", params={"find": '"open'})
    assert (response.status_code, response.json()["parameter"]) == (400, "find")
    long_response = client.get(f"/file/{reading.versions[0]}", params={"find": "a" * 4_001})
    assert long_response.status_code == 400


def test_a_pdf_keeps_the_query_in_its_page_links(client: TestClient, reading: ReadingHome) -> None:
    page = read(client, f"/file/{reading.pdf}?find=flood")
    assert len(page.tree.xpath("//div[@class='prose']//mark")) == 3
    assert f"/file/{reading.pdf}/pages?q=flood" in page.links()
    assert f"/file/{reading.pdf}/pages/3?q=flood" in page.links()
    assert page.tree.xpath("//input[@id='find']/@value") == ["flood"]


def test_the_redirect_from_an_uppercase_sha1_keeps_the_query(
    client: TestClient, reading: ReadingHome
) -> None:
    url = f"/file/{reading.versions[0].upper()}?find=bridge"
    response = client.get(url, follow_redirects=False)
    assert response.headers["location"] == f"/file/{reading.versions[0]}?find=bridge"
