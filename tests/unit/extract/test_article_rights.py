"""What pages state about their use: each place, which of several, and pages made to be slow."""

from __future__ import annotations

import time
from datetime import date

import pytest

from fonds.extract.article.extraction import extract_article
from fonds.model.rights import STATEMENTS_MAX, Statement, StatementSource, Subject

URL = "https://news.example/a/story.html"
CC = "https://creativecommons.org/licenses"


def stated(head: str = "", body: str = "") -> list[Statement]:
    page = (
        f"<!doctype html><html><head>{head}</head><body>{body}<p>The river rose.</p></body></html>"
    )
    return list(extract_article(page, URL, date(2026, 1, 1)).rights)


def told(head: str = "", body: str = "") -> list[tuple[str, str, str]]:
    return [(one.value, str(one.stated_in), one.name) for one in stated(head, body)]


def test_robots_elements_are_for_everybody_or_one_agent() -> None:
    head = (
        '<meta name="ROBOTS" content="NOINDEX, nofollow"><meta name="googlebot" content="none">'
        '<meta name="viewport" content="noindex"><meta name="robots">'
    )
    assert told(head) == [
        ("noindex", "meta element", "robots"),
        ("nofollow", "meta element", "robots"),
        ("none", "meta element", "robots googlebot"),
    ]


def test_tdm_elements_state_a_reservation_and_its_policy() -> None:
    head = '<meta name="tdm-reservation" content="1"><meta name="tdm-policy" content="/tdm.json">'
    assert told(head) == [
        ("tdm-reservation=1", "meta element", "tdm-reservation"),
        ("tdm-policy", "meta element", "tdm-policy"),
    ]


def test_dublin_core_states_licences_and_holders() -> None:
    head = (
        f'<meta name="DCTERMS.license" content="{CC}/by/4.0/">'
        '<meta name="DC.rights" content="© 2024 The Basin Courier">'
        '<meta name="copyright" content="Sky Ltd">'
    )
    assert [(one.subject, one.value) for one in stated(head)] == [
        (Subject.LICENSE, "cc-by-4.0"),
        (Subject.HOLDER, "The Basin Courier"),
        (Subject.HOLDER, "Sky Ltd"),
    ]


def test_a_link_that_says_so_is_the_licence_and_one_to_creative_commons_is_text() -> None:
    body = (
        f'<footer><a rel="nofollow License" href="{CC}/by-nc/4.0/deed.de">terms</a> <a href="{CC}/by/2.0/">'
        f'photo</a> <a href="{CC}/by-nc/4.0/deed.de">again</a> <a href="/licenses">other</a>'
        '<a rel="cc:license" href="/own">own</a></footer>'
    )
    assert told('<link rel="license" href="../terms">', body) == [
        ("https://news.example/terms", "link to a licence", "link"),
        ("cc-by-nc-4.0", "link to a licence", "a"),
        ("https://news.example/own", "link to a licence", "a"),
        ("cc-by-2.0", "text of the page", "a"),
    ]


def test_structured_data_of_the_work_counts_and_that_of_its_pictures_does_not() -> None:
    head = (
        '<script type="application/ld+json">{"@graph": [{"@type": "NewsArticle", "license": '
        f'{{"@id": "{CC}/by-sa/3.0/de/"}}, "copyrightHolder": {{"@id": "#us"}}, '
        '"copyrightNotice": "© 2024 Ada Stroom", "image": {"@type": "ImageObject", '
        f'"license": "{CC}/by/1.0/"}}}}, {{"@type": "Organization", "@id": "#us", "name": "Us &amp; Co"}}]}}'
        "</script>"
    )
    assert told(head) == [
        ("cc-by-sa-3.0-de", "structured data", "license"),
        ("Us & Co", "structured data", "copyrightHolder"),
        ("Ada Stroom", "structured data", "copyrightNotice"),
    ]


def test_things_of_structured_data_are_called_by_address_or_name() -> None:
    head = (
        '<script type="application/ld+json">{"@type": "WebPage", "license": [{"@type": "CreativeWork", '
        '"name": "terms", "url": "/terms"}, "CC0"], "copyrightHolder": {"url": "/us", "name": "Us"}}'
        "</script>"
    )
    assert [value for value, _, _ in told(head)] == ["https://news.example/terms", "cc0-1.0", "Us"]


def test_a_page_that_states_nothing_has_no_statements() -> None:
    head = '<meta property="og:title" content="x"><meta property="og:type" content="article">'
    assert stated(head, '<a href="https://creativecommons.org/">CC</a><a rel="license">x</a>') == []


@pytest.mark.parametrize(
    "body",
    [
        f'<a rel="license" href="{CC}/by/4.0/">x</a>' * 30_000,
        "".join(f'<a href="{CC}/by/4.0/?{number}">x</a>' for number in range(30_000)),
        '<meta name="robots" content="a,b">' * 30_000,
        "<meta name='robots' content='" + "noindex," * 300_000 + "'>",
        '<script type="application/ld+json">{"@type":"Article","license":'
        + "[" * 5_000
        + "]" * 5_000
        + "}</script>",
        '<script type="application/ld+json">['
        + '{"@type":"Article","@id":"a","copyrightHolder":{"@id":"b"}},' * 15_000
        + "{}]</script>",
    ],
    ids=["license links", "links to licences", "metas", "long meta", "nested", "references"],
)
def test_hostile_pages_are_bounded_in_time_and_number(body: str) -> None:
    began = time.process_time()
    found = stated(body=body)
    assert time.process_time() - began < 5.0
    assert len(found) <= STATEMENTS_MAX
    assert all(one.stated_in in StatementSource for one in found)
