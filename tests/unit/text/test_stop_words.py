"""Stop words of a query: those of the language that the query seems to be written in."""

from __future__ import annotations

import pytest

from fonds.text.stop_words import find_query_stop_words, get_stop_words


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("der krieg und die folgen", "de"),
        ("les eaux du fleuve", "fr"),
        ("война и мир в россии", "ru"),
        ("war crimes", "en"),
        ("war war war crimes", "en"),
        ("rivers", "en"),
        ("", "en"),
    ],
)
def test_a_query_has_the_stop_words_of_its_language(query: str, language: str) -> None:
    assert find_query_stop_words(query.split()) == get_stop_words(language)


def test_stop_words_are_folded() -> None:
    assert "какои" in get_stop_words("ru")
    assert get_stop_words("xx") == frozenset()
