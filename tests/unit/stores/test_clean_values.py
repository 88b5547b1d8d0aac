"""Texts and JSON that every records store accepts: no NUL, no lone surrogate."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fonds.stores.records import engine
from fonds.stores.records.column_types import clean_json, clean_text


@given(st.text())
def test_clean_text_loses_only_nul_and_lone_surrogates(text: str) -> None:
    cleaned_text = clean_text(text)
    assert cleaned_text.encode().decode() == cleaned_text
    assert "\x00" not in cleaned_text
    assert cleaned_text == text.encode("utf-8", "ignore").decode().replace("\x00", "")
    assert clean_text(cleaned_text) == cleaned_text


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_clean_json_can_be_encoded_and_is_clean_at_all_levels(value: object) -> None:
    cleaned_value = clean_json(value)
    text = engine._to_json(cleaned_value)
    assert text.encode()
    assert "\\u0000" not in text.replace("\\\\", "")
    assert clean_json(cleaned_value) == cleaned_value
