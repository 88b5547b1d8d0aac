"""Character references of HTML."""

from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.text.entities import decode_entities


@given(st.text(alphabet="&#x;0123456789ampltgt AB", max_size=60))
def test_references_are_decoded_as_in_html(text: str) -> None:
    assert decode_entities(text) == html.unescape(text)


@pytest.mark.parametrize("digits", [999, 1_000, 5_000, 100_000])
@pytest.mark.parametrize("end", [";", "", " "])
def test_a_reference_of_any_length_is_decoded(digits: int, end: str) -> None:
    assert decode_entities(f"a&#{'9' * digits}{end}b").replace(";", "") in ("a\ufffdb", "a\ufffd b")
