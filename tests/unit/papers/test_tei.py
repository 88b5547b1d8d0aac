"""TEI is parsed to the JSON of a paper, and hostile documents are refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from fixtures.tei import build_author, build_citation, build_tei
from fonds.model.stored_json import encode_stored
from fonds.papers.bibliography.paper import (
    Quality,
    assess_quality,
    decode_paper,
    encode_paper,
    strip_full_text,
    summarize_paper,
)
from fonds.papers.bibliography.tei import read_tei

AFFILIATION = (
    "<affiliation key='aff0'><orgName type='department'>Physics</orgName>"
    "<orgName type='institution'>University of Air</orgName><address><postCode>1234</postCode>"
    "<settlement>Pisa</settlement><country key='IT'>Italy</country></address></affiliation>"
)
ORCID = "<idno type='ORCID'>0000-0002-1825-0097</idno>"


def test_all_fields_of_a_header_are_read() -> None:
    paper = read_tei(
        build_tei(
            authors=build_author(
                "Ada", "Example", ORCID + "<email>a@example.org</email>" + AFFILIATION
            )
            + "<author>"
            + AFFILIATION
            + "</author>",
            identifiers="<idno type='DOI'>10.1000/AIR.5</idno><idno type='arXiv'>arXiv:2101.00001v2</idno>"
            "<monogr><title level='j' type='main'>Annals of Air</title><idno type='ISSN'>0317-8471</idno>"
            "<imprint><publisher>Sky</publisher><biblScope unit='volume'>7</biblScope>"
            "<biblScope unit='page' from='1' to='9'/><date type='published' when='2020-05'>May</date>"
            "</imprint></monogr>",
        )
    )
    assert json.loads(encode_paper(paper)) == {
        "title": "On the Weight of Air",
        "authors": [
            {
                "name": "Ada Example",
                "given_name": "Ada",
                "surname": "Example",
                "email": "a@example.org",
                "orcid": "0000-0002-1825-0097",
                "affiliation": {
                    "department": "Physics",
                    "institution": "University of Air",
                    "address": {"postCode": "1234", "settlement": "Pisa", "country": "Italy"},
                },
            }
        ],
        "citations": [],
        "doi": "10.1000/air.5",
        "arxiv_id": "2101.00001",
        "journal": {
            "name": "Annals of Air",
            "issn": "0317-8471",
            "publisher": "Sky",
            "volume": "7",
            "pages": "1-9",
        },
        "date": "2020-05",
        "abstract": "Air weighs.",
        "body": "Begin It was weighed [1]  twice.",
        "language_code": "en",
        "grobid_version": "0.8.1",
        "grobid_timestamp": "2026-01-02T03:04+0000",
    }


def test_all_fields_of_a_reference_are_read() -> None:
    stated = "".join(
        f"<idno type='{kind}'>{text}</idno>"
        for kind, text in [
            ("DOI", "https://doi.org/10.1000/A(1)2"),
            ("PMID", "12345"),
            ("PMCID", "PMC99"),
            ("arXiv", "cs/0101001"),
            ("ISBN", "978-3-16-148410-0"),
        ]
    )
    entry = build_citation(
        4,
        f"<title level='a'>Wind</title>{build_author('B', 'Gust')}{stated}",
        "<title level='j'>Gales</title><imprint><biblScope unit='volume'>2</biblScope>"
        "<biblScope unit='issue'>3</biblScope><date when='1999'/></imprint>",
        "<ptr target='http://example.org/w'/><note type='raw_reference'>B Gust, Wind.</note>",
    )
    (reference,) = json.loads(encode_paper(read_tei(build_tei(citations=entry))))["citations"]
    assert reference == {
        "id": "b4",
        "index": 0,
        "authors": [{"name": "B Gust", "given_name": "B", "surname": "Gust"}],
        "title": "Wind",
        "journal": "Gales",
        "volume": "2",
        "issue": "3",
        "date": "1999",
        "url": "http://example.org/w",
        "doi": "10.1000/a(1)2",
        "pmid": "12345",
        "pmcid": "PMC99",
        "arxiv_id": "cs/0101001",
        "isbn": "9783161484100",
        "unstructured": "B Gust, Wind.",
    }


def test_a_book_title_is_the_title_of_a_reference_without_one() -> None:
    (reference,) = read_tei(
        build_tei(citations=build_citation(0, "", "<title level='m'>Storms</title>"))
    ).citations
    assert (reference.title, reference.book_title) == ("Storms", None)
    chapter = build_citation(0, "<title>One</title>", "<title level='m'>Storms</title>")
    (reference,) = read_tei(build_tei(citations=chapter)).citations
    assert (reference.title, reference.book_title) == ("One", "Storms")


@pytest.mark.parametrize("section", ["abstract", "body"])
def test_text_outside_paragraphs_is_kept(section: str) -> None:
    """An element without children is falsy, so its presence must be tested with `is not None`."""
    assert getattr(read_tei(build_tei(**{section: "Only words."})), section) == "Only words."


def test_acknowledgement_annex_and_funding_are_read() -> None:
    back_matter = (
        "<div type='acknowledgement'>We thank.</div><div type='annex'><p>More.</p></div>"
        "<div type='funding'><p>Paid by the Wind Fund.</p></div>"
        "<listOrg><org type='funding' xml:id='_a'><idno type='grant-number'>W-7</idno></org></listOrg>"
    )
    funder = "<funder ref='#_a'><orgName type='full'>Wind Fund</orgName></funder>"
    document = build_tei("Air", back=back_matter)
    document = document.replace(b"</titleStmt>", funder.encode() + b"</titleStmt>")
    fields = json.loads(encode_paper(read_tei(document)))
    assert (fields["acknowledgement"], fields["annex"]) == ("We thank.", "More.")
    assert fields["funding"] == {
        "funders": [{"name": "Wind Fund", "grants": ["W-7"]}],
        "statement": "Paid by the Wind Fund.",
    }


def test_metadata_excludes_the_full_text_and_the_row_has_few_fields() -> None:
    paper = read_tei(build_tei(back="<div type='annex'>More</div>", citations=build_citation(0)))
    metadata = json.loads(encode_paper(strip_full_text(paper)))
    assert metadata.keys() & {"body", "annex"} == set()
    assert metadata["abstract"] == "Air weighs."
    assert encode_stored(summarize_paper(paper)) == {
        "biblio": {
            "title": "On the Weight of Air",
            "authors": [{"name": "Ada Example", "given_name": "Ada", "surname": "Example"}],
        },
        "grobid_timestamp": "2026-01-02T03:04+0000",
        "language_code": "en",
        "reference_count": 1,
    }


ENTITY = '<!DOCTYPE TEI [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'


@pytest.mark.parametrize(
    "hostile",
    [
        build_tei("&b;", prolog=ENTITY),
        build_tei("&b;", prolog='<!DOCTYPE TEI [<!ENTITY b SYSTEM "file:///etc/passwd">]>'),
        build_tei("&b;", prolog=ENTITY).decode().encode("utf-16"),
        b"<html><body>502 Bad Gateway</body></html>",
        b"<TEI xmlns='http://www.tei-c.org/ns/1.0'>" + b"<p>" * 1_000,
        build_tei()[:500],
        b"",
    ],
)
def test_a_hostile_or_other_document_is_refused(hostile: bytes) -> None:
    with pytest.raises(ValueError):
        read_tei(hostile)


def test_a_document_without_its_namespace_is_read() -> None:
    bare = build_tei().replace(b'xmlns="http://www.tei-c.org/ns/1.0"', b"")
    assert read_tei(bare) == read_tei(build_tei())


@settings(max_examples=examples(20))
@given(st.text(), st.integers(0, 2_000))
def test_a_damaged_document_is_read_or_refused(text: str, position: int) -> None:
    document = build_tei(citations=build_citation(0, "<title>T</title>")).decode()
    damaged = (document[:position] + text + document[position:]).encode("utf-8", "replace")
    try:
        paper = read_tei(damaged)
    except ValueError:
        return
    assert decode_paper(encode_paper(paper)) == paper


WORDS = "<p>" + "word " * 100 + "</p>"


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (build_tei(body=WORDS, citations=build_citation(0, "<title>T</title>")), Quality.GOOD),
        (build_tei(body=WORDS), Quality.MARGINAL),
        (build_tei(body=WORDS, authors=""), Quality.MARGINAL),
        (build_tei(authors=""), Quality.BAD),
        (build_tei("", body=WORDS, citations=build_citation(0, "<title>T</title>")), Quality.BAD),
        (build_tei("1. 2"), Quality.BAD),
    ],
)
def test_quality_depends_on_the_fields_found(document: bytes, expected: Quality) -> None:
    assert assess_quality(read_tei(document)) is expected
