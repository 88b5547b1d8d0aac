"""JATS is parsed to the same JSON as TEI, and hostile documents are refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from fixtures.jats import jats
from fonds.papers.bibliography.jats import read_jats
from fonds.papers.bibliography.paper import decode_paper, encode_paper


def test_all_fields_of_an_article_are_read() -> None:
    assert json.loads(encode_paper(read_jats(jats()))) == {
        "grobid_version": "fonds-jats/3",
        "title": "On the Weight of Air",
        "authors": [
            {
                "name": "Ada B Example",
                "given_name": "Ada",
                "middle_name": "B",
                "surname": "Example",
                "orcid": "0000-0002-1825-0097",
                "affiliation": {
                    "institution": "University of Air",
                    "address": {"country": "Italy"},
                },
            }
        ],
        "doi": "10.1000/air.5",
        "date": "2020-03-07",
        "journal": {
            "name": "Annals of Air",
            "publisher": "Sky",
            "issn": "0317-8471",
            "volume": "7",
            "pages": "1-9",
        },
        "abstract": "Air weighs.",
        "body": "Begin\nIt was weighed twice.",
        "acknowledgement": "We thank.",
        "language_code": "en",
        "citations": [
            {
                "id": "r1",
                "index": 0,
                "authors": [
                    {
                        "name": "Bea C Gust",
                        "given_name": "Bea",
                        "middle_name": "C",
                        "surname": "Gust",
                    }
                ],
                "title": "Wind",
                "journal": "Gales",
                "date": "1999-05",
                "volume": "2",
                "issue": "3",
                "pages": "4-9",
                "doi": "10.1000/g",
                "pmid": "123",
            }
        ],
    }


def test_a_reference_of_plain_text_is_split_into_fields() -> None:
    refs = "<ref id='r2'><mixed-citation>Gust B. Wind and rain. Gales. 1999;2(3):4-9.</mixed-citation></ref>"
    (reference,) = read_jats(jats(refs=refs)).citations
    assert (reference.id, reference.title, reference.journal, reference.volume) == (
        "r2",
        "Wind and rain",
        "Gales",
        "2",
    )


def test_a_body_of_plain_text_or_escaped_html_is_text() -> None:
    assert read_jats(jats(body="Only words.")).body == "Only words."
    html = "<![CDATA[<p align='right'>Art&iacute;culo</p> <p>Two</p>]]>"
    assert read_jats(jats(body=html)).body == "Artículo\nTwo"


@pytest.mark.parametrize(
    "hostile",
    [
        jats(prolog='<!DOCTYPE article [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>', body="<p>&b;</p>"),
        b"<html><body>No article</body></html>",
        jats()[:400],
        b"",
    ],
)
def test_a_hostile_or_other_document_is_refused(hostile: bytes) -> None:
    with pytest.raises(ValueError):
        read_jats(hostile)


def test_a_standard_doctype_is_accepted() -> None:
    doctype = '<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) v1.2//EN" "JATS-article1.dtd">'
    assert read_jats(jats(prolog=doctype)) == read_jats(jats())


@settings(max_examples=examples(20))
@given(st.text(), st.integers(0, 2_500))
def test_a_damaged_article_is_read_or_refused(text: str, position: int) -> None:
    document = jats().decode()
    try:
        paper = read_jats(
            (document[:position] + text + document[position:]).encode("utf-8", "replace")
        )
    except ValueError:
        return
    assert decode_paper(encode_paper(paper)) == paper
