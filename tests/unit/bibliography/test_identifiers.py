"""Identifiers come out in one form, however they were written, and only where they are right."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.bibliography.identifiers import (
    arxiv_id_of,
    identifiers,
    isbn_in,
    issn_in,
    orcid_in,
    pmcid_in,
    pmid_in,
)
from fonds.bibliography.identifiers.doi import doi_in


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (doi_in, "doi:10.1016/S0140-6736(05)12345-6.", "10.1016/s0140-6736(05)12345-6"),
        (doi_in, "(see 10.1000/ab)", "10.1000/ab"),
        (doi_in, "10.1000/", None),
        (arxiv_id_of, "abs/1901.00596", "1901.00596"),
        (arxiv_id_of, "arXiv:hep-th/9711200v3", "hep-th/9711200"),
        (arxiv_id_of, "pp. 1901.00596", None),
        (pmid_in, "PMID: 7654321.", "7654321"),
        (pmid_in, "7654321", None),
        (pmcid_in, "pmc3546780", "PMC3546780"),
        (issn_in, "ISSN 0317–8471", "0317-8471"),
        (issn_in, "2001-2009", None),
        (isbn_in, "ISBN 0-306-40615-2", "0306406152"),
        (isbn_in, "978-3-16-148410-1", None),
        (orcid_in, "https://orcid.org/0000-0002-1825-0097", "0000-0002-1825-0097"),
        (orcid_in, "0000-0002-1825-0098", None),
        (orcid_in, "0000-0002-9079-593x", "0000-0002-9079-593X"),
    ],
)
def test_an_identifier_has_one_form(
    read: Callable[[str], str | None], text: str, expected: str | None
) -> None:
    assert read(text) == expected


def test_what_has_no_type_is_what_it_looks_like() -> None:
    stated = [
        ("", "abs/1901.00596"),
        ("", "10.1000/A"),
        ("isbn", "no number"),
        ("doi", "10.1000/b"),
    ]
    assert identifiers(stated) == {"arxiv_id": "1901.00596", "doi": "10.1000/a"}


@given(st.text(max_size=200))
def test_what_was_found_is_found_again(text: str) -> None:
    for read in (doi_in, issn_in, isbn_in, orcid_in, pmcid_in):
        found = read(f"10.1000/{text} {text}")
        assert found is None or read(found) == found
