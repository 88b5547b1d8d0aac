"""Counting the edits between two words, and ranking similar words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.search.index.suggestions import (
    SIMILAR_WORDS_MAX,
    count_edits,
    get_max_edits,
    rank_similar,
)

WORDS = st.text(alphabet="abcd", max_size=8)


@pytest.mark.parametrize(
    ("word", "other_word", "count"),
    [
        ("flood", "flood", 0),
        ("flod", "flood", 1),
        ("floood", "flood", 1),
        ("fliod", "flood", 1),
        ("folod", "flood", 1),
        ("", "ab", 2),
        ("kitten", "sitting", 3),
    ],
)
def test_edits_are_counted(word: str, other_word: str, count: int):
    assert count_edits(word, other_word) == count


@given(WORDS, WORDS)
def test_edits_are_symmetric_and_at_most_the_longer_length(word: str, other_word: str):
    count = count_edits(word, other_word)
    assert count == count_edits(other_word, word)
    assert abs(len(word) - len(other_word)) <= count <= max(len(word), len(other_word))
    assert (count == 0) == (word == other_word)


def test_similar_words_are_ranked_by_edits_then_by_count():
    word_counts = [("flooded", 9), ("floods", 2), ("floor", 5), ("flood", 7), ("blood", 5)]
    assert rank_similar("flood", word_counts) == ["blood", "floor", "floods"]
    assert rank_similar("inundation", [("inundations", 1), ("inondations", 9), ("nation", 50)]) == [
        "inundations",
        "inondations",
    ]


def test_short_words_have_no_similar_words():
    assert get_max_edits("abc") == 0
    assert rank_similar("abc", [("abd", 9)]) == []


def test_at_most_five_similar_words_are_returned():
    assert (
        len(rank_similar("flood", [(f"floo{letter}", 1) for letter in "abcefgh"]))
        == SIMILAR_WORDS_MAX
    )
