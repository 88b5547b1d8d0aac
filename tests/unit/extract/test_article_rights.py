"""Rights that pages state: every kind of statement, which of several applies, and hostile pages."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pytest

from cpu_growth import assert_linear_cpu
from fonds.extract.article.extraction import extract_article
from fonds.model.rights import STATEMENTS_MAX, Statement, StatementSource, Subject

URL = "https://news.example/a/story.html"
CC = "https://creativecommons.org/licenses"


def read_rights(head: str = "", body: str = "") -> list[Statement]:
    page = (
        f"<!doctype html><html><head>{head}</head><body>{body}<p>The river rose.</p></body></html>"
    )
    return list(extract_article(page, URL, date(2026, 1, 1)).rights)


def list_values(head: str = "", body: str = "") -> list[tuple[str, str, str]]:
    return [
        (statement.value, str(statement.stated_in), statement.name)
        for statement in read_rights(head, body)
    ]


def test_robots_elements_apply_to_all_agents_or_one() -> None:
    head = (
        '<meta name="ROBOTS" content="NOINDEX, nofollow"><meta name="googlebot" content="none">'
        '<meta name="viewport" content="noindex"><meta name="robots">'
    )
    assert list_values(head) == [
        ("noindex", "meta element", "robots"),
        ("nofollow", "meta element", "robots"),
        ("none", "meta element", "robots googlebot"),
    ]


def test_tdm_elements_state_a_reservation_and_its_policy() -> None:
    head = '<meta name="tdm-reservation" content="1"><meta name="tdm-policy" content="/tdm.json">'
    assert list_values(head) == [
        ("tdm-reservation=1", "meta element", "tdm-reservation"),
        ("tdm-policy", "meta element", "tdm-policy"),
    ]


def test_dublin_core_states_licences_and_holders() -> None:
    head = (
        f'<meta name="DCTERMS.license" content="{CC}/by/4.0/">'
        '<meta name="DC.rights" content="© 2024 The Basin Courier">'
        '<meta name="copyright" content="Sky Ltd">'
    )
    assert [(statement.subject, statement.value) for statement in read_rights(head)] == [
        (Subject.LICENSE, "cc-by-4.0"),
        (Subject.HOLDER, "The Basin Courier"),
        (Subject.HOLDER, "Sky Ltd"),
    ]


def test_license_links_are_licences_and_other_creative_commons_links_are_text() -> None:
    body = (
        f'<footer><a rel="nofollow License" href="{CC}/by-nc/4.0/deed.de">terms</a> <a href="{CC}/by/2.0/">'
        f'photo</a> <a href="{CC}/by-nc/4.0/deed.de">again</a> <a href="/licenses">other</a>'
        '<a rel="cc:license" href="/own">own</a></footer>'
    )
    assert list_values('<link rel="license" href="../terms">', body) == [
        ("https://news.example/terms", "link to a licence", "link"),
        ("cc-by-nc-4.0", "link to a licence", "a"),
        ("https://news.example/own", "link to a licence", "a"),
        ("cc-by-2.0", "text of the page", "a"),
    ]


def test_structured_data_of_the_work_counts_but_not_of_its_images() -> None:
    head = (
        '<script type="application/ld+json">{"@graph": [{"@type": "NewsArticle", "license": '
        f'{{"@id": "{CC}/by-sa/3.0/de/"}}, "copyrightHolder": {{"@id": "#us"}}, '
        '"copyrightNotice": "© 2024 Ada Stroom", "image": {"@type": "ImageObject", '
        f'"license": "{CC}/by/1.0/"}}}}, {{"@type": "Organization", "@id": "#us", "name": "Us &amp; Co"}}]}}'
        "</script>"
    )
    assert list_values(head) == [
        ("cc-by-sa-3.0-de", "structured data", "license"),
        ("Us & Co", "structured data", "copyrightHolder"),
        ("Ada Stroom", "structured data", "copyrightNotice"),
    ]


def test_nested_things_are_named_by_url_or_name() -> None:
    head = (
        '<script type="application/ld+json">{"@type": "WebPage", "license": [{"@type": "CreativeWork", '
        '"name": "terms", "url": "/terms"}, "CC0"], "copyrightHolder": {"url": "/us", "name": "Us"}}'
        "</script>"
    )
    assert [value for value, _, _ in list_values(head)] == [
        "https://news.example/terms",
        "cc0-1.0",
        "Us",
    ]


def test_a_page_without_statements_returns_none() -> None:
    head = '<meta property="og:title" content="x"><meta property="og:type" content="article">'
    assert (
        read_rights(head, '<a href="https://creativecommons.org/">CC</a><a rel="license">x</a>')
        == []
    )


@pytest.mark.parametrize(
    ("build_body", "count"),
    [
        (lambda count: f'<a rel="license" href="{CC}/by/4.0/">x</a>' * count, 30_000),
        (
            lambda count: "".join(
                f'<a href="{CC}/by/4.0/?{number}">x</a>' for number in range(count)
            ),
            30_000,
        ),
        (lambda count: '<meta name="robots" content="a,b">' * count, 30_000),
        (lambda count: "<meta name='robots' content='" + "noindex," * count + "'>", 300_000),
        (
            lambda count: (
                '<script type="application/ld+json">{"@type":"Article","license":'
                + "[" * count
                + "]" * count
                + "}</script>"
            ),
            5_000,
        ),
        (
            lambda count: (
                '<script type="application/ld+json">['
                + '{"@type":"Article","@id":"a","copyrightHolder":{"@id":"b"}},' * count
                + "{}]</script>"
            ),
            15_000,
        ),
    ],
    ids=["license links", "links to licences", "metas", "long meta", "nested", "references"],
)
def test_hostile_pages_are_limited_in_time_and_statements(
    build_body: Callable[[int], str], count: int
) -> None:
    assert_linear_cpu(lambda count: read_rights(body=build_body(count)), count)
    statements = read_rights(body=build_body(count))
    assert len(statements) <= STATEMENTS_MAX
    assert all(statement.stated_in in StatementSource for statement in statements)
