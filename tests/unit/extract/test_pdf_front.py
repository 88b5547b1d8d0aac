"""Title and authors from the first page, and other sources of bibliographic data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.pdf_annotations import linked_pdf
from fixtures.pdfs import drawn_pdf, text_pdf, xmp_pdf
from fonds.extract.pdf.extraction import extract_pdf_bytes
from fonds.extract.pdf.first_page import EMPTY_FRONT_MATTER, FrontMatter, is_name, is_title
from fonds.extract.pdf.limits import PdfLimits
from fonds.extract.pdf.metadata import (
    BibliographicFields,
    MetadataSource,
    extract_bibliographic,
    split_authors,
)
from fonds.extract.pdf.xmp import XmpFields
from fonds.model.pdf_extra import PdfExtra
from fonds.papers.bibliography.identifiers import (
    find_arxiv_id,
)

HEAD = b"BT /F1 8 Tf 72 760 Td (Proceedings of the Hill Society, volume 3) Tj ET "
TITLE = b"BT /F1 18 Tf 20 TL 72 700 Td (How rivers find) Tj T* (their way) Tj ET "
NAMES = b"BT /F1 11 Tf 13 TL 72 650 Td (Ann B. Lee and Jos\\351 de la Cruz) Tj T* (Hill University) Tj ET "
BODY = (
    b"BT /F1 10 Tf 12 TL 72 560 Td (Abstract) Tj "
    + b"T* (Rivers run, as everybody knows.) Tj " * 9
    + b"ET"
)


def extract_fields(data: bytes) -> dict[str, object]:
    extra = extract_pdf_bytes(data, PdfLimits(thumbnails=())).pdf_extra or PdfExtra()
    names = ("title", "authors", "doi", "arxiv_id")
    return {
        key: getattr(extra, key)
        for name in names
        for key in (name, f"{name}_from")
        if getattr(extra, name)
    }


def draw(content: bytes) -> bytes:
    return drawn_pdf(content).replace(
        b"/BaseFont /Helvetica", b"/Encoding /WinAnsiEncoding /BaseFont /Helvetica"
    )


def test_the_title_is_all_lines_in_the_largest_type() -> None:
    assert extract_fields(draw(HEAD + TITLE + NAMES + BODY)) == {
        "title": "How rivers find their way",
        "title_from": "page",
        "authors": ("Ann B. Lee", "José de la Cruz"),
        "authors_from": "page",
    }


@pytest.mark.parametrize(
    "larger",
    [
        b"BT /F1 24 Tf 72 740 Td (Journal of Hills) Tj ET ",
        b"BT 0 1 -1 0 30 300 Tm /F1 24 Tf (arXiv:1206.4637v1 [cs.LG] 18 Jun 2012) Tj ET ",
        b"BT /F1 30 Tf 72 600 Td (R) Tj ET ",
    ],
)
def test_a_journal_name_a_stamp_and_a_letter_are_not_titles(larger: bytes) -> None:
    assert (
        extract_fields(draw(larger + TITLE + NAMES + BODY))["title"] == "How rivers find their way"
    )


def test_the_title_of_a_page_in_one_size_is_its_first_plausible_line() -> None:
    text = "page 3\nHow rivers find\nall day long they run\n" + "as everybody knows\n" * 5
    assert extract_fields(text_pdf((text,)))["title"] == "How rivers find"


@pytest.mark.parametrize(
    ("info_title", "title", "source"),
    [
        ("A study of hills", "A study of hills", "info"),
        ("Microsoft Word - hills.doc", "How rivers find their way", "page"),
        ("untitled", "How rivers find their way", "page"),
        ("main.dvi", "How rivers find their way", "page"),
        ("arXiv:1206.4637v1 [cs.LG] 18 Jun 2012", "How rivers find their way", "page"),
        ("Proceedings of the Hill Society", "How rivers find their way", "page"),
        ("", "How rivers find their way", "page"),
    ],
)
def test_an_info_title_is_used_only_if_plausible(info_title: str, title: str, source: str) -> None:
    front = FrontMatter("How rivers find their way")
    bibliographic = extract_bibliographic({"Title": info_title}, XmpFields(), front, "", ())
    assert (bibliographic.title, bibliographic.title_from) == (title, source)


def test_a_title_of_a_word_file_is_the_last_resort() -> None:
    info = {"Title": "Microsoft Word - A study of hills"}
    bibliographic = extract_bibliographic(info, XmpFields(), EMPTY_FRONT_MATTER, "", ())
    assert bibliographic == BibliographicFields("A study of hills", MetadataSource.INFO)


@pytest.mark.parametrize(
    ("entry", "names"),
    [
        ("Ann Lee", ["Ann Lee"]),
        ("Ann Lee; Bob Doe", ["Ann Lee", "Bob Doe"]),
        ("Ann Lee, Bob Doe and Cy Poe", ["Ann Lee", "Bob Doe", "Cy Poe"]),
        ("Lee, Ann; Doe, Bob", ["Lee, Ann", "Doe, Bob"]),
        ("Lee, Ann", ["Lee, Ann"]),
        ("Plato", ["Plato"]),
        ("Ministry of Hills, Rivers and Roads", ["Ministry of Hills, Rivers and Roads"]),
        ("Administrator", []),
        ("user1", []),
        ("Microsoft Office User", []),
        ("LaTeX with hyperref", []),
        ("", []),
    ],
)
def test_an_author_entry_is_split_into_names(entry: str, names: list[str]) -> None:
    assert split_authors(entry) == names


def test_authors_of_info_precede_xmp_and_the_page() -> None:
    front, xmp = FrontMatter(None, ("Of Page",)), XmpFields(authors=("Of Xmp",))
    sources = [
        extract_bibliographic(info, fields, front, "", ()).authors_from
        for info, fields in (
            ({"Author": "Of Info"}, xmp),
            ({"Author": "root"}, xmp),
            ({}, XmpFields()),
        )
    ]
    assert sources == ["info", "xmp", "page"]


@pytest.mark.parametrize(
    ("info", "xmp", "page", "links", "doi", "source"),
    [
        ({"doi": "10.1000/A.b"}, "10.1000/x", "", (), "10.1000/a.b", "info"),
        ({"Subject": "doi:10.1000/A.b"}, None, "", (), "10.1000/a.b", "info"),
        ({}, "10.1000/x", "DOI: 10.1000/y", (), "10.1000/x", "xmp"),
        ({}, None, "see DOI: 10.1000/y.", (), "10.1000/y", "page"),
        ({}, None, "https://doi.org/10.1000/y, p. 3", (), "10.1000/y", "page"),
        ({}, None, "", ("https://doi.org/10.1000/z",), "10.1000/z", "link"),
    ],
)
def test_a_doi_is_returned_with_its_source(
    info: dict[str, str], xmp: str | None, page: str, links: tuple[str, ...], doi: str, source: str
) -> None:
    bibliographic = extract_bibliographic(info, XmpFields(doi=xmp), EMPTY_FRONT_MATTER, page, links)
    assert (bibliographic.doi, bibliographic.doi_from) == (doi, source)


@pytest.mark.parametrize(
    ("page", "links"),
    [
        ("References\n[1] Lee, doi: 10.1000/y", ()),
        ("as 10.1000/y says", ()),
        ("", ("https://doi.org/10.1000/z", "https://doi.org/10.1000/other")),
        ("as arXiv:1206.4637 says", ()),
    ],
)
def test_ids_of_cited_works_are_ignored(page: str, links: tuple[str, ...]) -> None:
    assert (
        extract_bibliographic({}, XmpFields(), EMPTY_FRONT_MATTER, page, links)
        == BibliographicFields()
    )


def test_an_arxiv_id_is_found_in_xmp_stamp_and_link() -> None:
    packet = b"<x xmlns:d='urn:d'><d:identifier>arXiv:hep-th/9901001v2</d:identifier></x>"
    assert extract_fields(xmp_pdf(packet)) == {"arxiv_id": "hep-th/9901001", "arxiv_id_from": "xmp"}
    stamp = b"BT /F1 10 Tf 72 300 Td (arXiv:1206.4637v1 [cs.LG] 18 Jun 2012) Tj ET "
    assert extract_fields(draw(stamp + TITLE + BODY))["arxiv_id"] == "1206.4637"
    fields = extract_fields(linked_pdf("https://arxiv.org/abs/2101.00001v3"))
    assert (fields["arxiv_id"], fields["arxiv_id_from"]) == ("2101.00001", "link")


def test_the_doi_of_a_link_is_found() -> None:
    assert extract_fields(linked_pdf("https://doi.org/10.1000/z"))["doi_from"] == "link"


@pytest.mark.parametrize("name", ["Ann Lee", "A. B. de la Cruz", "Marie-Ève O'Neil", "ANN LEE"])
def test_names_are_recognized(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize("text", ["Hill University", "ann lee", "Lee", "Room 12 B", "Redmond WA"])
def test_other_texts_are_not_names(text: str) -> None:
    assert not is_name(text)


@given(st.text(max_size=80))
def test_any_text_is_accepted(text: str) -> None:
    is_title(text)
    split_authors(text)
    find_arxiv_id(text)
    extract_bibliographic(
        {"Title": text, "Author": text}, XmpFields(), EMPTY_FRONT_MATTER, text, (text,)
    )
