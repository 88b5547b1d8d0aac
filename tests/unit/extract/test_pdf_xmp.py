"""Title, authors, DOI and rights of XMP packets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.extract.pdf.xmp import XmpFields, read_xmp
from fonds.papers.bibliography.identifiers import find_doi_in_text

HEAD = """<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF
    xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'
    xmlns:dc='http://purl.org/dc/elements/1.1/'
    xmlns:prism='http://prismstandard.org/namespaces/basic/2.0/'
    xmlns:pdfx='http://ns.adobe.com/pdfx/1.3/'>"""
TAIL = "</rdf:RDF></x:xmpmeta>"


def read_fields(properties: str, attributes: str = "") -> XmpFields:
    return read_xmp(f"{HEAD}<rdf:Description {attributes}>{properties}</rdf:Description>{TAIL}")


def test_title_and_authors_are_read_in_order() -> None:
    xmp = read_fields(
        "<dc:title><rdf:Alt><rdf:li xml:lang='de'>Titel</rdf:li>"
        "<rdf:li xml:lang='x-default'>Title</rdf:li></rdf:Alt></dc:title>"
        "<dc:creator><rdf:Seq><rdf:li>B. First</rdf:li><rdf:li> A. Second </rdf:li>"
        "<rdf:li>B. First</rdf:li><rdf:li/></rdf:Seq></dc:creator>"
    )
    assert xmp == XmpFields("Title", ("B. First", "A. Second"))


@pytest.mark.parametrize(
    ("properties", "attributes"),
    [
        ("<prism:doi>10.1000/Xyz.5</prism:doi>", ""),
        ("<pdfx:doi>doi:10.1000/XYZ.5</pdfx:doi>", ""),
        ("", "prism:doi='10.1000/xyz.5'"),
        ("<pdfx:WPS-ARTICLEDOI>10.1000/xyz.5</pdfx:WPS-ARTICLEDOI>", ""),
        ("<dc:identifier>https://doi.org/10.1000/xyz.5</dc:identifier>", ""),
        ("<dc:identifier>10.9999/other</dc:identifier><prism:doi>10.1000/xyz.5</prism:doi>", ""),
    ],
)
def test_a_doi_is_found_in_every_property_of_publishers(properties: str, attributes: str) -> None:
    assert read_fields(properties, attributes).doi == "10.1000/xyz.5"


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("see doi:10.1038/s41551-020-0534-9.", "10.1038/s41551-020-0534-9"),
        ("(10.1000/1(2)3)", "10.1000/1(2)3"),
        ("10.1/too-short", None),
        ("110.12345", None),
        ("", None),
    ],
)
def test_a_doi_ends_before_punctuation(text: str, doi: str | None) -> None:
    assert find_doi_in_text(text) == doi


def test_entities_are_never_expanded() -> None:
    bomb = "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]>"
    title = "<dc:title>&b;</dc:title>"
    assert read_xmp(f"{bomb}{HEAD}<rdf:Description>{title}</rdf:Description>{TAIL}") == XmpFields()
    assert read_xmp('<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>') == XmpFields()


def test_a_damaged_packet_is_read_as_far_as_possible() -> None:
    assert read_xmp(f"{HEAD}<rdf:Description><dc:title>Half").title == "Half"
    assert read_xmp("") == read_xmp("no XML at all") == XmpFields()


@given(st.text(max_size=200))
def test_any_packet_is_accepted(text: str) -> None:
    read_xmp(text)
    xmp = read_fields(f"<dc:title>{text}</dc:title>")
    assert "\x00" not in (xmp.title or "")


RIGHTS = (
    "xmlns:cc='http://creativecommons.org/ns#' xmlns:tdm='http://www.w3.org/ns/tdmrep/' "
    "xmlns:xmpRights='http://ns.adobe.com/xap/1.0/rights/'"
)


def test_rights_are_read_from_elements_resources_and_attributes() -> None:
    xmp = read_fields(
        "<dc:rights><rdf:Alt><rdf:li xml:lang='x-default'>© 2024 Sky Ltd. All rights reserved.</rdf:li>"
        "</rdf:Alt></dc:rights><cc:license rdf:resource='http://creativecommons.org/licenses/by/4.0/'/>"
        "<xmpRights:Owner><rdf:Bag><rdf:li>Ada Stroom</rdf:li></rdf:Bag></xmpRights:Owner>",
        f"{RIGHTS} xmpRights:WebStatement='https://sky.example/terms' tdm:reservation='1'",
    )
    assert [(right.subject, right.value, right.name) for right in xmp.rights] == [
        ("license", "cc-by-4.0", "cc:license"),
        ("license", "https://sky.example/terms", "xmpRights:WebStatement"),
        ("holder", "Sky Ltd", "dc:rights"),
        ("holder", "Ada Stroom", "xmpRights:Owner"),
        ("preference", "tdm-reservation=1", "tdm-reservation"),
    ]


def test_a_packet_of_many_rights_is_limited() -> None:
    statements = "<dc:rights><rdf:Bag>" + "<rdf:li>© a</rdf:li>" * 40_000 + "</rdf:Bag></dc:rights>"
    assert len(read_fields(statements + statements).rights) == 1
