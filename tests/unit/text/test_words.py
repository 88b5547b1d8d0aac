"""Splitting text into words."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.text.words import (
    compose_text,
    fold_and_normalize_text,
    fold_text,
    measure_folded_length,
    normalize_text,
    split_words,
)

LATIN = st.text(st.sampled_from("aZ \n-.1éÉßœŁſ½µ²\u00ad\u00a0\u0301’“”–…ﬁ東я\ud800"), max_size=400)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The River, rising!", ["the", "river", "rising"]),
        ("don't stop", ["don", "t", "stop"]),
        ("ÉCOLE e\u0301cole", ["ecole", "ecole"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("Ærø Łódź Đặng Þór İstanbul ılık", ["aero", "lodz", "dang", "thor", "istanbul", "ilik"]),
        ("Ελλάδα ΕΛΛΆΔΑ", ["ελλαδα", "ελλαδα"]),
        ("ёлка ЁЛКА", ["елка", "елка"]),
        ("co\u00adoperate", ["cooperate"]),
        ("ﬁre ２０２４ x²", ["fire", "2024", "x2"]),
        ("C++, (C#) or C; notepad++.", ["c++", "c#", "or", "c", "notepad++"]),
        ("C++17 +x a+b c##d foo# #tag C+", ["c", "17", "x", "a", "b", "c", "d", "foo", "tag", "c"]),
        ("snake_case a-b", ["snake", "case", "a", "b"]),
        ("東京タワー", ["東", "京", "タ", "ワ", "ー"]),
        ("ABC東京2024", ["abc", "東", "京", "2024"]),
        ("서울에서", ["서", "울", "에", "서"]),
        (unicodedata.normalize("NFD", "서울ガ"), ["서", "울", "ガ"]),
        ("हिन्दी पाठ", ["हिन्दी", "पाठ"]),
        ("שָׁלוֹם", ["שלום"]),
        ("مُحَمَّد", ["محمد"]),
        ("🌊 — …", []),
        ("\udcff\x00\ufffe", []),
    ],
)
def test_words_are_split_and_folded(text: str, expected: list[str]):
    assert split_words(text) == expected


@given(st.text())
def test_folding_is_idempotent(text: str):
    words = split_words(text)
    assert split_words(" ".join(words)) == words


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_composed_and_decomposed_texts_have_the_same_words(text: str):
    assert split_words(unicodedata.normalize("NFD", text)) == split_words(
        unicodedata.normalize("NFC", text)
    )


@given(st.text())
def test_the_folded_length_is_the_sum_over_characters(text: str):
    composed = compose_text(text)
    assert sum(map(measure_folded_length, composed)) == len(fold_text(text))


@given(LATIN | st.text())
def test_each_character_is_folded_alone(text: str):
    """Latin texts are folded in another way than others."""
    composed_text = compose_text(text.replace("+", "").replace("#", ""))
    assert fold_text(composed_text) == "".join(map(fold_text, composed_text))
    assert normalize_text(composed_text) == "".join(map(normalize_text, composed_text))


@given(LATIN | st.text())
def test_texts_are_folded_and_normalized_together_as_separately(text: str):
    assert fold_and_normalize_text(text) == (fold_text(text), normalize_text(text))
