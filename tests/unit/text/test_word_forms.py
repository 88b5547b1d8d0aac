"""Stems: which words are forms of each other, by language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.text import stems
from fonds.text.stems import (
    ALGORITHMS,
    CHANGE_BEGINNINGS,
    STEMMED_MAX_CHARS,
    iter_written_words,
    list_search_stems,
    list_stems,
    stem_text,
    stem_word,
)
from fonds.text.words import fold_text, is_spaceless, split_words


@pytest.mark.parametrize(
    ("language", "word", "form"),
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
def test_forms_of_a_word_share_a_stem(language: str | None, word: str, form: str):
    assert list_stems(word, language) & list_stems(form, language)


@pytest.mark.parametrize(
    ("language", "word", "other_word"),
    [
        ("en", "network", "net"),
        ("de", "networks", "networking"),
        (None, "network", "networks"),
        ("xx", "network", "networks"),
        ("de", "Gesundheit", "Gesundheitswesen"),
    ],
)
def test_different_words_share_no_stem(language: str | None, word: str, other_word: str):
    assert not list_stems(word, language) & list_stems(other_word, language)


def test_a_text_is_stemmed_in_its_language():
    assert stem_text("The networks, networking!", "en").split() == ["the", "network", "network"]
    assert stem_text("The networks", None).split() == ["the", "networks"]


@given(st.lists(st.text(max_size=40), max_size=8), st.sampled_from(["en", "ru", "fr", "de", None]))
def test_a_text_has_the_stems_of_its_words(texts: list[str], language: str | None):
    """Stems of words are kept from text to text, until too many are kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stems, "STEM_CACHE_SIZE", 3)
        for text in texts:
            expected = [
                stem
                for word, folded_word in iter_written_words(text)
                if not is_spaceless(folded_word[0])
                for stem in stem_word(word, folded_word, language or "")
            ]
            assert stem_text(text, language).split(" ") == (expected or [""])


def test_single_character_words_have_no_stems():
    assert stem_text("東京 network", "ja").split() == ["network"]


def test_words_over_the_length_limit_are_not_stemmed():
    long = "s" * (STEMMED_MAX_CHARS + 1)
    assert list_stems(long, "en") == {long}


@given(st.text(max_size=60))
def test_original_and_folded_words_are_paired(text: str):
    pairs = list(iter_written_words(text))
    assert [folded for _, folded in pairs] == split_words(text)
    assert all(fold_text(original).split() == [folded] for original, folded in pairs)


@given(
    st.text(
        alphabet=st.characters(categories=["Ll", "Lu", "Mn"], max_codepoint=0x700),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from([*ALGORITHMS, None, "zh"]),
)
def test_search_stems_of_a_language_match_its_stems(word: str, language: str | None):
    if len(split_words(word)) != 1:
        return
    stems = {
        stem.text
        for stem in list_search_stems(word)
        if (
            language in stem.languages
            if stem.languages is not None
            else language not in stem.other_languages
        )
    }
    assert stems == list_stems(word, language)


@given(st.text(max_size=80), st.sampled_from([*ALGORITHMS, None]))
def test_stems_are_never_empty(text: str, language: str | None):
    for original, folded in iter_written_words(text):
        stems = list_stems(folded, language) if split_words(folded) == [folded] else {folded}
        assert all(stems), (original, folded)


@given(
    st.text(
        alphabet=st.characters(categories=["Ll"], max_codepoint=0x500), min_size=1, max_size=12
    ),
    st.sampled_from(sorted(ALGORITHMS.keys() - CHANGE_BEGINNINGS)),
)
def test_a_stem_has_the_first_character_of_its_word(word: str, language: str):
    if len(split_words(word)) == 1:
        assert {stem[0] for stem in list_stems(word, language)} == {split_words(word)[0][0]}
