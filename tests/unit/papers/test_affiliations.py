"""Affiliations without GROBID: by marks, by position below the names, and none if they are unknown."""

from __future__ import annotations

import pytest

from fixtures.pdfs import text_pdf
from fonds.extract.pdf.extraction import extract_pdf_bytes
from fonds.extract.pdf.limits import PdfLimits
from fonds.model.bibliography import Affiliation, Author
from fonds.model.pdf_extra import PdfExtra
from fonds.papers.bibliography.affiliations import (
    LINE_MAX_CHARS,
    PER_AUTHOR_MAX,
    add_affiliations,
)


def list_affiliations(names: str, head: str) -> dict[str, list[str | None]]:
    """Return the affiliations of each author, as printed."""
    authors = [Author(name=name, surname=name.split()[-1]) for name in names.split(", ")]
    return {
        affiliation.name: [
            affiliation_part.unstructured
            for affiliation_part in (affiliation.affiliation, *affiliation.affiliations)
            if affiliation_part is not None
        ]
        for affiliation in add_affiliations(authors, head)
    }


MARKED = """On rivers
Ada Brook1,2, Ben Ford2,* and Cleo Marsh 3
1 Department of Rivers, University of Alder, Alder
2 Institute of Banks, Elm
3 River Survey, Oak
* Corresponding author: ben@example.org"""


def test_marks_after_names_refer_to_lines_that_start_with_them() -> None:
    assert list_affiliations("Ada Brook, Ben Ford, Cleo Marsh", MARKED) == {
        "Ada Brook": [
            "Department of Rivers, University of Alder, Alder",
            "Institute of Banks, Elm",
        ],
        "Ben Ford": ["Institute of Banks, Elm"],
        "Cleo Marsh": ["River Survey, Oak"],
    }


@pytest.mark.parametrize(
    ("first_mark", "second_mark"),
    [("\u2020", "\u2021"), ("\u00b9", "\u00b2"), ("a", "b"), ("\u2217", "\u2218"), (" 1", " 2")],
)
def test_marks_of_any_type_are_distinguished(first_mark: str, second_mark: str) -> None:
    head = (
        f"A title\nAda Brook{first_mark}, Ben Ford{second_mark}\n"
        f"{first_mark} University of Alder\n{second_mark} Elm College"
    )
    assert list_affiliations("Ada Brook, Ben Ford", head) == {
        "Ada Brook": ["University of Alder"],
        "Ben Ford": ["Elm College"],
    }


def test_several_marked_affiliations_in_one_line_are_split() -> None:
    head = "T\nAda Brook,1 Ben Ford2\n1 University of Alder, FL, USA 2 Elm College, 12 Main Street"
    assert list_affiliations("Ada Brook, Ben Ford", head) == {
        "Ada Brook": ["University of Alder, FL, USA"],
        "Ben Ford": ["Elm College"],
    }


def test_an_affiliation_without_marks_belongs_to_the_names_above_it() -> None:
    head = """On rivers
Ada Brook and Ben Ford
Department of Rivers
University of Alder
ada@example.org
Cleo Marsh
Elm College"""
    assert list_affiliations("Ada Brook, Ben Ford, Cleo Marsh", head) == {
        "Ada Brook": ["Department of Rivers", "University of Alder"],
        "Ben Ford": ["Department of Rivers", "University of Alder"],
        "Cleo Marsh": ["Elm College"],
    }


def test_names_below_each_other_share_the_affiliation_that_follows() -> None:
    head = "On rivers\nAda Brook\nBen Ford\nElm College\n"
    assert list_affiliations("Ada Brook, Ben Ford", head) == {
        "Ada Brook": ["Elm College"],
        "Ben Ford": ["Elm College"],
    }


def test_unknown_affiliations_are_left_out() -> None:
    unknown: dict[str, list[str | None]] = {"Ada Brook": [], "Ben Ford": []}
    assert (
        list_affiliations("Ada Brook, Ben Ford", "On rivers\nAda Brook, Ben Ford\n12 Main Street")
        == unknown
    )
    text_above = "University Press, Elm College\nAlder College\nOn rivers\nAda Brook, Ben Ford\n"
    assert list_affiliations("Ada Brook, Ben Ford", text_above) == unknown
    assert list_affiliations("Ada Brook, Ben Ford", "") == unknown


def test_hostile_heads_are_read_within_limits() -> None:
    repeated = "Ada Brook" + ",1" * 10_000 + "\n" + "1 University of X\n" * 5_000 + "1 " * 100_000
    assert list_affiliations("Ada Brook", repeated) == {"Ada Brook": ["University of X"]}
    head = "T\nAda Brook\n" + "".join(f"College number {n}\n" for n in range(9))
    assert len(list_affiliations("Ada Brook", head)["Ada Brook"]) == PER_AUTHOR_MAX
    long = "T\nAda Brook\n" + "University " * 100_000
    assert len(list_affiliations("Ada Brook", long)["Ada Brook"][0] or "") <= LINE_MAX_CHARS


def test_the_parts_of_an_affiliation_are_recognized_by_their_words() -> None:
    author = add_affiliations([Author(name="Ada Brook", surname="Brook")], MARKED)[0]
    assert author.affiliation is not None
    assert author.affiliation.institution == "University of Alder"
    assert author.affiliation.department == "Department of Rivers"


def test_the_bibliography_of_a_pdf_contains_affiliations() -> None:
    page = f"{MARKED}\nAbstract\n" + "Rivers meander slowly over the plain. " * 3
    extraction = extract_pdf_bytes(
        text_pdf([page], info={"Title": "On rivers", "Author": "Ada Brook; Ben Ford; Cleo Marsh"}),
        PdfLimits(thumbnails=()),
    )
    paper = (extraction.pdf_extra or PdfExtra()).bibliography
    assert paper is not None
    affiliations = {author.name: author.affiliation or Affiliation() for author in paper.authors}
    assert affiliations["Ben Ford"].unstructured == "Institute of Banks, Elm"
    assert affiliations["Cleo Marsh"].unstructured == "River Survey, Oak"
