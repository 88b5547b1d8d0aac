"""Identifiers are normalized to one form and only returned if they are valid."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.papers.bibliography.identifiers import (
    WorkIdentifiers,
    collect_identifiers,
    find_doi_in_text,
    find_isbn,
    find_issn,
    find_orcid,
    find_pmcid,
    find_pmid,
    parse_arxiv_id,
)


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (find_doi_in_text, "doi:10.1016/S0140-6736(05)12345-6.", "10.1016/s0140-6736(05)12345-6"),
        (find_doi_in_text, "(see 10.1000/ab)", "10.1000/ab"),
        (find_doi_in_text, "10.1000/", None),
        (parse_arxiv_id, "abs/1901.00596", "1901.00596"),
        (parse_arxiv_id, "arXiv:hep-th/9711200v3", "hep-th/9711200"),
        (parse_arxiv_id, "pp. 1901.00596", None),
        (find_pmid, "PMID: 7654321.", "7654321"),
        (find_pmid, "7654321", None),
        (find_pmcid, "pmc3546780", "PMC3546780"),
        (find_issn, "ISSN 0317–8471", "0317-8471"),
        (find_issn, "2001-2009", None),
        (find_isbn, "ISBN 0-306-40615-2", "0306406152"),
        (find_isbn, "978-3-16-148410-1", None),
        (find_orcid, "https://orcid.org/0000-0002-1825-0097", "0000-0002-1825-0097"),
        (find_orcid, "0000-0002-1825-0098", None),
        (find_orcid, "0000-0002-9079-593x", "0000-0002-9079-593X"),
    ],
)
def test_an_identifier_is_normalized_or_refused(
    read: Callable[[str], str | None], text: str, expected: str | None
) -> None:
    assert read(text) == expected


def test_an_identifier_without_type_is_classified_by_its_form() -> None:
    stated = [
        ("", "abs/1901.00596"),
        ("", "10.1000/A"),
        ("isbn", "no number"),
        ("doi", "10.1000/b"),
    ]
    assert collect_identifiers(stated) == WorkIdentifiers(arxiv_id="1901.00596", doi="10.1000/a")


@given(st.text(max_size=200))
def test_a_found_identifier_is_found_unchanged(text: str) -> None:
    for read in (find_doi_in_text, find_issn, find_isbn, find_orcid, find_pmcid):
        identifier = read(f"10.1000/{text} {text}")
        assert identifier is None or read(identifier) == identifier
