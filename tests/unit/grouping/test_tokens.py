"""Terms of texts: folded like in search, without stop words, and as character pairs without spaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.grouping.algorithms.stop_words import load_stop_words
from fonds.grouping.algorithms.term_counts import build_frequencies, read_rows, resolve_languages
from fonds.grouping.algorithms.terms import BREAK, guess_language, split_terms
from fonds.text.stop_words import list_languages
from fonds.text.words import split_words


def list_terms(text: str, language: str) -> list[str]:
    return [term for term in split_terms(text, language) if term]


def test_words_around_a_url_are_not_neighbours() -> None:
    assert split_terms("ships https://example.org/a sail", "en") == ["ship", "", "sail", ""]


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("The ships of the Harbours", "en", ["ship", "harbour"]),
        (
            "Bus crisis, party of parties, movie movies",
            "en",
            ["bus", "crisis", "party", "party", "movy", "movy"],
        ),
        ("Die Straße und der Fluß", "de", ["strasse", "fluss"]),
        ("Die Häuser", "de", ["hauser"]),
        ("الكِتَابُ في المكتبة", "ar", ["الكتاب", "المكتبه"]),
        ("機械学習", "ja", ["機械", "械学", "学習"]),
        ("東京。大阪", "ja", ["東京", "大阪"]),
        ("日本のニュース", "ja", ["日本", "本の", "のニ", "ニュ", "ュー", "ース"]),
        ("北京的天气", "zh", ["北京", "天气"]),
        ("한국어 신문", "ko", ["한국", "국어", "신문"]),
        ("a 7 x 2004", "en", ["2004"]),
        (
            "Ships: https://doi.org/10.21105/jose.00307, WWW.ships.org and doi.org/10.1/x sail",
            "en",
            ["ship", "sail"],
        ),
        ("天气https://t.co/aB1北京", "zh", ["天气", "北京"]),
        ("What doi.org and awww.ships say", "en", ["doi", "org", "awww", "ship"]),
    ],
)
def test_terms_are_folded_words_without_stop_words_and_urls(
    text: str, language: str, expected: list[str]
) -> None:
    if language == "ar":
        expected = [word for word in split_words(text) if word not in load_stop_words("ar")]
        assert len(expected) == 2
    assert list_terms(text, language) == expected


def test_stop_words_are_those_of_the_language_of_the_text() -> None:
    assert list_terms("war will also", "de") == []
    assert list_terms("war man", "en") == ["war", "man"]


def test_runs_of_terms_break_at_stop_words_and_sentence_ends() -> None:
    assert split_terms("harbour of ships", "en")[:3] == ["harbour", "", "ship"]
    rows = read_rows(["Big harbour. Small ship"], ["en"])
    assert [rows.terms[n] if n != BREAK else "|" for n in rows.numbers] == [
        "big", "harbour", "|", "small", "ship",
    ]  # fmt: skip


def test_every_stop_word_is_folded_like_in_search() -> None:
    for language in list_languages():
        for word in load_stop_words(language):
            assert split_words(word) == [word]


def test_a_language_is_guessed_from_stop_words() -> None:
    assert guess_language(["Der Hafen und die Stadt sind nicht weit von hier"]) == "de"
    assert guess_language(["the harbour was not far from the city"]) == "en"
    assert guess_language(["harbour vessel cargo"]) == ""
    assert guess_language([]) == ""
    assert resolve_languages(["the ship was in the harbour", "x"], [None, "de-AT"]) == ["en", "de"]


@given(st.lists(st.text(max_size=60), max_size=5))
def test_a_text_has_the_same_terms_alone_and_in_a_batch(texts: list[str]) -> None:
    rows = read_rows(texts, ["en"] * len(texts))
    assert len(set(rows.terms)) == len(rows.terms)
    frequencies = build_frequencies(rows).toarray()
    for number, text in enumerate(texts):
        expected = list_terms(text, "en")
        assert {rows.terms[n]: int(v) for n, v in enumerate(frequencies[number]) if v} == {
            term: expected.count(term) for term in expected
        } or len(rows.terms) == 0
