"""How much two words are written alike."""

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
    ("one", "other", "count"),
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
def test_faults_are_counted(one: str, other: str, count: int):
    assert count_edits(one, other) == count


@given(WORDS, WORDS)
def test_faults_are_the_same_both_ways_and_bounded_by_the_longer_word(one: str, other: str):
    found = count_edits(one, other)
    assert found == count_edits(other, one)
    assert abs(len(one) - len(other)) <= found <= max(len(one), len(other))
    assert (found == 0) == (one == other)


def test_the_fewest_faults_come_first_then_the_most_frequent():
    counted = [("flooded", 9), ("floods", 2), ("floor", 5), ("flood", 7), ("blood", 5)]
    assert rank_similar("flood", counted) == ["blood", "floor", "floods"]
    assert rank_similar("inundation", [("inundations", 1), ("inondations", 9), ("nation", 50)]) == [
        "inundations",
        "inondations",
    ]


def test_short_words_are_like_none():
    assert get_max_edits("abc") == 0
    assert rank_similar("abc", [("abd", 9)]) == []


def test_no_more_than_five_are_told():
    assert (
        len(rank_similar("flood", [(f"floo{letter}", 1) for letter in "abcefgh"]))
        == SIMILAR_WORDS_MAX
    )
