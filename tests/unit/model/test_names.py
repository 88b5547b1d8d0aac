"""Unknown names: the nearest known name, and the message that lists the known names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.suggestions import LISTED_NAMES_MAX, find_nearest_name, format_unknown_name

STEPS = ("identify", "persist_file", "extract_pdf", "parse_story")


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("extrct_pdf", "extract_pdf"),
        ("EXTRACT_PDF", "extract_pdf"),
        ("persist", "persist_file"),
        ("qqqq", None),
        ("", None),
    ],
)
def test_the_nearest_name_is_the_most_similar_one(name: str, nearest: str | None) -> None:
    assert find_nearest_name(name, STEPS) == nearest


def test_the_message_lists_all_names_and_the_nearest() -> None:
    message = format_unknown_name("step", "pars_story", STEPS)
    assert message == (
        "no step named 'pars_story'. Known: identify, persist_file, extract_pdf, parse_story."
        " Did you mean 'parse_story'?"
    )
    assert format_unknown_name("step", "x", ()) == "no step named 'x'. None exist yet"


def test_a_long_list_is_shortened_with_a_count() -> None:
    message = format_unknown_name("type", "x", [f"type-{n}" for n in range(LISTED_NAMES_MAX + 7)])
    assert message.endswith("type-39 and 7 more")


@given(st.text(), st.lists(st.text()))
def test_any_name_gets_a_nearest_name_from_the_list_or_none(
    name: str, known_names: list[str]
) -> None:
    assert find_nearest_name(name, known_names) in (None, *known_names)
    assert repr(name) in format_unknown_name("thing", name, known_names)
