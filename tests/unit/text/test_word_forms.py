"""Which words are forms of each other, in which languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.text.stems import (
    ALGORITHMS,
    CHANGE_BEGINNINGS,
    STEMMED_MAX_CHARS,
    iter_written_words,
    list_search_stems,
    list_stems,
    stem_text,
)
from fonds.text.words import fold_text, split_words


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "network", "Networks"),
        ("en", "universities", "university"),
        ("fr", "écoles", "ecole"),
        ("fr", "élections", "election"),
        ("de", "Überschwemmung", "uberschwemmungen"),
        ("de", "Häuser", "Hausern"),
        ("es", "naciones", "nación"),
        ("pt", "fechadas", "fechada"),
        ("ru", "новый", "новая"),
        ("ar", "كتاب", "الكتاب"),
        ("tr", "evler", "ev"),
        ("nb", "byene", "byen"),
        (None, "École", "ecole"),
        ("ja", "École", "ecole"),
    ],
)
def test_words_are_forms_of_each_other(language: str | None, one: str, other: str):
    assert list_stems(one, language) & list_stems(other, language)


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "network", "net"),
        ("de", "networks", "networking"),
        (None, "network", "networks"),
        ("xx", "network", "networks"),
        ("de", "Gesundheit", "Gesundheitswesen"),
    ],
)
def test_words_are_not(language: str | None, one: str, other: str):
    assert not list_stems(one, language) & list_stems(other, language)


def test_a_text_is_stemmed_in_the_language_it_is_in():
    assert stem_text("The networks, networking!", "en").split() == ["the", "network", "network"]
    assert stem_text("The networks", None).split() == ["the", "networks"]


def test_characters_that_are_words_are_left_out_of_the_stems():
    assert stem_text("東京 network", "ja").split() == ["network"]


def test_what_is_too_long_for_a_word_is_left_as_it_is():
    long = "s" * (STEMMED_MAX_CHARS + 1)
    assert list_stems(long, "en") == {long}


@given(st.text(max_size=60))
def test_written_and_folded_words_stand_beside_each_other(text: str):
    pairs = list(iter_written_words(text))
    assert [folded for _, folded in pairs] == split_words(text)
    assert all(fold_text(written).split() == [folded] for written, folded in pairs)


@given(
    st.text(
        alphabet=st.characters(categories=["Ll", "Lu", "Mn"], max_codepoint=0x700),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from([*ALGORITHMS, None, "zh"]),
)
def test_what_is_looked_for_everywhere_is_what_each_language_has(word: str, language: str | None):
    if len(split_words(word)) != 1:
        return
    counted = {
        stem.text
        for stem in list_search_stems(word)
        if (
            language in stem.languages
            if stem.languages is not None
            else language not in stem.other_languages
        )
    }
    assert counted == list_stems(word, language)


@given(st.text(max_size=80), st.sampled_from([*ALGORITHMS, None]))
def test_stems_are_words_without_spaces_and_never_empty(text: str, language: str | None):
    for written, folded in iter_written_words(text):
        found = list_stems(folded, language) if split_words(folded) == [folded] else {folded}
        assert all(found), (written, folded)


@given(
    st.text(
        alphabet=st.characters(categories=["Ll"], max_codepoint=0x500), min_size=1, max_size=12
    ),
    st.sampled_from(sorted(ALGORITHMS.keys() - CHANGE_BEGINNINGS)),
)
def test_a_stem_begins_as_its_word_does(word: str, language: str):
    if len(split_words(word)) == 1:
        assert {stem[0] for stem in list_stems(word, language)} == {split_words(word)[0][0]}
