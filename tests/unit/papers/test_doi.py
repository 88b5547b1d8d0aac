"""A DOI has one form wherever it is read, and each context has its own rule."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fonds.papers.bibliography.identifiers import (
    find_doi_in_text,
    find_doi_span,
    find_labelled_doi,
    is_doi_prefix,
    parse_doi,
    parse_doi_link,
    strip_resolver,
)

SICI = "10.1002/(SICI)1097-4571(199806)49:8<693::AID-ASI4>3.0.CO;2-O"
PREFIXES = ["", "doi:", "DOI: ", "doi.org/", "https://doi.org/", "http://dx.doi.org/"]
registrants = st.text(string.digits, min_size=4, max_size=9)
suffixes = st.text(string.ascii_letters + string.digits + "-._;()/:", min_size=1, max_size=60)


@st.composite
def dois(draw: st.DrawFn) -> str:
    """Draw DOIs that end in a letter or digit, as required in running text."""
    return f"10.{draw(registrants)}/{draw(suffixes)}{draw(st.sampled_from('a7Z'))}"


@given(dois(), st.sampled_from(PREFIXES))
def test_every_parser_returns_the_same_doi(doi: str, prefix: str) -> None:
    text = prefix + doi
    assert (
        parse_doi(text)
        == find_doi_in_text(f"in {text}, and")
        == find_doi_in_text(text)
        == doi.lower()
    )
    assert strip_resolver(text) == doi
    span = find_doi_span(f"Rivers. {text} 2011")
    assert span is not None
    assert span[0] == text
    labelled_doi = find_labelled_doi(f"page 7 doi: {doi}, 2011")
    assert labelled_doi == (doi.lower(), 7)
    assert parse_doi_link(f"https://doi.org/{doi}") == doi.lower()


@given(st.text(max_size=400))
def test_a_parsed_doi_is_parsed_unchanged(text: str) -> None:
    for doi_text in (text, f"10.1000/{text}", f"10.1002/{text}<1::A>3.0.CO;2-O{text}"):
        doi = find_doi_in_text(doi_text)
        if doi is not None:
            assert find_doi_in_text(doi) == doi
            assert parse_doi(doi) == doi
        parsed = parse_doi(doi_text)
        if parsed is not None:
            assume(parsed.isascii())  # letters that are two in lower case
            assert parse_doi(parsed) == parsed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see 10.1000/ab\u00a0and more", "10.1000/ab"),
        ("<a>10.1000/ab</a>", "10.1000/ab"),
        (f"Science 49. doi:{SICI}.", SICI.lower()),
        ("10.123/ab", None),
        ("10.1234567890/ab", None),
        ("10.1000/", None),
        ("10.\u0661\u0662\u0663\u0664/ab", None),
        ("10.1000/" + "a" * 400, ("10.1000/" + "a" * 400)[:300]),
    ],
)
def test_a_doi_is_found_in_running_text(text: str, expected: str | None) -> None:
    assert find_doi_in_text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f" https://doi.org/{SICI} ", SICI.lower()),
        ("10.1000/ends.in.a.stop.", "10.1000/ends.in.a.stop."),
        ("see 10.1000/ab", None),
        ("10.1000/ab 10.1000/cd", None),
        ("10.1000/" + "a" * 400, None),
        ("", None),
    ],
)
def test_a_text_is_parsed_only_if_it_is_a_doi(text: str, expected: str | None) -> None:
    assert parse_doi(text) == expected


def test_a_labelled_doi_and_a_resolver_link_are_recognized() -> None:
    assert find_labelled_doi("10.1000/others 10.1000/more") is None
    assert find_labelled_doi("10.1000/others https://doi.org/10.1000/own") == ("10.1000/own", 23)
    escaped = "https://dx.doi.org/10.1002/" + SICI[8:].replace("<", "%3C").replace(">", "%3E")
    assert parse_doi_link(escaped) == SICI.lower()
    assert parse_doi_link("https://rivers.example/10.1000/ab") is None


def test_a_doi_prefix_is_recognized_in_a_path() -> None:
    assert is_doi_prefix("/doi/10.1000/ab.pdf")
    assert not is_doi_prefix("/doi/10.100000/ab.pdf")
    assert not is_doi_prefix("/v10.1000/ab.pdf")


def test_hostile_texts_are_searched_in_linear_time() -> None:
    for piece in ("10.1000/<", "doi:", "10.1000/a<b", "doi.org/https://", "10.1000/<a>1.0.CO;"):
        text = piece * 20_000
        doi = find_doi_in_text(text)
        assert doi is None or len(doi) <= 300
        span = find_doi_span(text)
        assert span is None or re.match(r"(?:doi|10\.)", span[0])
