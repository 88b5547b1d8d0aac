"""Names out of closed lists: which was meant, and which there are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.suggestions import LISTED_NAMES_MAX, find_nearest_name, format_unknown_name

STEPS = ("identify", "persist_file", "extract_pdf", "parse_story")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("extrct_pdf", "extract_pdf"),
        ("EXTRACT_PDF", "extract_pdf"),
        ("persist", "persist_file"),
        ("qqqq", None),
        ("", None),
    ],
)
def test_the_nearest_is_the_one_most_like_it(name: str, meant: str | None) -> None:
    assert find_nearest_name(name, STEPS) == meant


def test_what_is_told_names_all_there_are_and_the_nearest() -> None:
    told = format_unknown_name("step", "pars_story", STEPS)
    assert told == (
        "no step named 'pars_story'. Known: identify, persist_file, extract_pdf, parse_story."
        " Did you mean 'parse_story'?"
    )
    assert format_unknown_name("step", "x", ()) == "no step named 'x'. None exist yet"


def test_of_a_long_list_it_says_how_many_are_not_named() -> None:
    told = format_unknown_name("type", "x", [f"type-{n}" for n in range(LISTED_NAMES_MAX + 7)])
    assert told.endswith("type-39 and 7 more")


@given(st.text(), st.lists(st.text()))
def test_any_name_has_an_answer_out_of_the_list(name: str, known: list[str]) -> None:
    assert find_nearest_name(name, known) in (None, *known)
    assert repr(name) in format_unknown_name("thing", name, known)
