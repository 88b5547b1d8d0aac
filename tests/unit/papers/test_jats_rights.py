"""Statements of JATS and NLM articles about their use."""

from __future__ import annotations

from cpu_growth import assert_linear_cpu
from fixtures.jats import jats
from fonds.model.rights import STATEMENTS_MAX
from fonds.papers.bibliography.jats import (
    read_jats_bytes,
)

CC = "http://creativecommons.org/licenses"
LINKED = (
    'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:ali="http://www.niso.org/schemas/ali/1.0/"'
)


def list_statements(meta: str) -> list[tuple[str, str]]:
    statements = read_jats_bytes(jats(meta=meta, attributes=f'article-type="x" {LINKED}')).rights
    return [(str(statement.subject), statement.value) for statement in statements]


def test_a_linked_licence_and_a_holder_are_read() -> None:
    meta = (
        "<permissions><copyright-statement>© 2020 Not This</copyright-statement>"
        "<copyright-holder>Ada Example</copyright-holder>"
        f'<license license-type="open" xlink:href="{CC}/by/4.0/"><license-p>Free.</license-p></license>'
        "</permissions>"
    )
    assert list_statements(meta) == [("license", "cc-by-4.0"), ("holder", "Ada Example")]


def test_a_licence_url_in_text_or_reference_is_read() -> None:
    for license_ in (
        f"<license><ali:license_ref>{CC}/by-nc/3.0/igo/</ali:license_ref></license>",
        f'<license><p>See <ext-link xlink:href="{CC}/by-nc/3.0/igo/">it</ext-link></p></license>',
        f"<ali:license_ref> {CC}/by-nc/3.0/igo/legalcode </ali:license_ref>",
    ):
        assert list_statements(f"<permissions>{license_}</permissions>") == [
            ("license", "cc-by-nc-3.0-igo")
        ]


def test_a_licence_named_in_text_and_older_elements_are_read() -> None:
    meta = (
        "<copyright-statement>Copyright 2010 Sky Ltd.</copyright-statement><license><p>This is an open "
        "access article under the Creative Commons Attribution License (version 2.5).</p></license>"
    )
    assert list_statements(meta) == [("license", "cc-by-2.5"), ("holder", "Sky Ltd")]


def test_an_unknown_licence_is_its_lowercased_text() -> None:
    meta = "<permissions><license><license-p>Free to Read.</license-p></license></permissions>"
    assert list_statements(meta) == [("license", "free to read")]


def test_an_article_without_permissions_states_nothing() -> None:
    assert list_statements("") == []


def test_hostile_permissions_are_read_within_limits() -> None:
    def read(count: int) -> None:
        licenses = "<license><license-p>CC BY 4.0 n</license-p></license>" * count
        holders = "<copyright-holder>x</copyright-holder>" * count
        meta = f"<permissions>{licenses}{holders}</permissions>" * 20
        assert len(list_statements(meta)) <= STATEMENTS_MAX

    assert_linear_cpu(read, 1_000)
