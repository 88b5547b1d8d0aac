"""Affiliations without a server: by marks, by what stands below whom, and nothing where it is not known."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.pdfs import text_pdf
from fonds.extract.pdf.extraction import PdfLimits, extract_pdf_bytes
from fonds.model.bibliography import Author
from fonds.papers.bibliography.paper_text import (
    LINE_MAX_CHARS,
    PER_AUTHOR_MAX,
    add_affiliations,
)


def tied(names: str, head: str) -> dict[str, list[str | None]]:
    """The places of each author, as printed."""
    authors = [Author(name=one, surname=one.split()[-1]) for one in names.split(", ")]
    return {
        affiliation.name: [
            place.unstructured
            for place in (affiliation.affiliation, *affiliation.affiliations)
            if place is not None
        ]
        for affiliation in add_affiliations(authors, head)
    }


MARKED = """On rivers
Ada Brook1,2, Ben Ford2,* and Cleo Marsh 3
1 Department of Rivers, University of Alder, Alder
2 Institute of Banks, Elm
3 River Survey, Oak
* Corresponding author: ben@example.org"""


def test_marks_behind_names_lead_to_the_lines_that_begin_with_them() -> None:
    assert tied("Ada Brook, Ben Ford, Cleo Marsh", MARKED) == {
        "Ada Brook": [
            "Department of Rivers, University of Alder, Alder",
            "Institute of Banks, Elm",
        ],
        "Ben Ford": ["Institute of Banks, Elm"],
        "Cleo Marsh": ["River Survey, Oak"],
    }


@pytest.mark.parametrize(
    ("one", "two"),
    [("\u2020", "\u2021"), ("\u00b9", "\u00b2"), ("a", "b"), ("\u2217", "\u2218"), (" 1", " 2")],
)
def test_marks_of_any_sort_are_told_apart(one: str, two: str) -> None:
    head = f"A title\nAda Brook{one}, Ben Ford{two}\n{one} University of Alder\n{two} Elm College"
    assert tied("Ada Brook, Ben Ford", head) == {
        "Ada Brook": ["University of Alder"],
        "Ben Ford": ["Elm College"],
    }


def test_several_marked_places_may_stand_in_one_line() -> None:
    head = "T\nAda Brook,1 Ben Ford2\n1 University of Alder, FL, USA 2 Elm College, 12 Main Street"
    assert tied("Ada Brook, Ben Ford", head) == {
        "Ada Brook": ["University of Alder, FL, USA"],
        "Ben Ford": ["Elm College"],
    }


def test_without_marks_a_place_is_of_those_above_it() -> None:
    head = """On rivers
Ada Brook and Ben Ford
Department of Rivers
University of Alder
ada@example.org
Cleo Marsh
Elm College"""
    assert tied("Ada Brook, Ben Ford, Cleo Marsh", head) == {
        "Ada Brook": ["Department of Rivers", "University of Alder"],
        "Ben Ford": ["Department of Rivers", "University of Alder"],
        "Cleo Marsh": ["Elm College"],
    }


def test_names_one_below_the_other_share_what_follows() -> None:
    head = "On rivers\nAda Brook\nBen Ford\nElm College\n"
    assert tied("Ada Brook, Ben Ford", head) == {
        "Ada Brook": ["Elm College"],
        "Ben Ford": ["Elm College"],
    }


def test_what_is_not_known_is_not_told() -> None:
    unknown: dict[str, list[str | None]] = {"Ada Brook": [], "Ben Ford": []}
    assert tied("Ada Brook, Ben Ford", "On rivers\nAda Brook, Ben Ford\n12 Main Street") == unknown
    above = "University Press, Elm College\nAlder College\nOn rivers\nAda Brook, Ben Ford\n"
    assert tied("Ada Brook, Ben Ford", above) == unknown
    assert tied("Ada Brook, Ben Ford", "") == unknown


def test_hostile_heads_are_looked_at_within_bounds() -> None:
    many = "Ada Brook" + ",1" * 10_000 + "\n" + "1 University of X\n" * 5_000 + "1 " * 100_000
    assert tied("Ada Brook", many) == {"Ada Brook": ["University of X"]}
    head = "T\nAda Brook\n" + "".join(f"College number {n}\n" for n in range(9))
    assert len(tied("Ada Brook", head)["Ada Brook"]) == PER_AUTHOR_MAX
    long = "T\nAda Brook\n" + "University " * 100_000
    assert len(tied("Ada Brook", long)["Ada Brook"][0] or "") <= LINE_MAX_CHARS


def test_the_parts_of_a_place_are_told_by_their_words() -> None:
    author = add_affiliations([Author(name="Ada Brook", surname="Brook")], MARKED)[0]
    assert author.affiliation is not None
    assert author.affiliation.institution == "University of Alder"
    assert author.affiliation.department == "Department of Rivers"


def test_a_made_pdf_has_them_in_its_bibliography() -> None:
    page = f"{MARKED}\nAbstract\n" + "Rivers meander slowly over the plain. " * 3
    read = extract_pdf_bytes(
        text_pdf([page], info={"Title": "On rivers", "Author": "Ada Brook; Ben Ford; Cleo Marsh"}),
        PdfLimits(thumbnails=()),
    )
    paper: Any = (read.pdf_extra or {})["bibliography"]
    found = {one["name"]: one.get("affiliation", {}) for one in paper["authors"]}
    assert found["Ben Ford"].get("unstructured") == "Institute of Banks, Elm"
    assert found["Cleo Marsh"].get("unstructured") == "River Survey, Oak"
