"""Splitting text into sentences."""

from __future__ import annotations

from itertools import pairwise

import pytest

from fonds.text.sentences import iter_sentence_ends


def split_sentences(text: str) -> list[str]:
    starts = [0, *(start for _, start in iter_sentence_ends(text, 0, len(text))), len(text)]
    return [text[start:end].strip() for start, end in pairwise(starts) if text[start:end].strip()]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rained. Then it stopped.", ["It rained.", "Then it stopped."]),
        ("Dr. Weber of the U.S. army spoke.", ["Dr. Weber of the U.S. army spoke."]),
        ("“It rained!” he said. Why? Nobody", ["“It rained!” he said.", "Why?", "Nobody"]),
        ("He said “it rained.” Then he left.", ["He said “it rained.”", "Then he left."]),
        ("Up by 3 %. Down (or not). Over.", ["Up by 3 %.", "Down (or not).", "Over."]),
        ("A heading\n\nA paragraph", ["A heading", "A paragraph"]),
        ("今日は雨。明日は晴れ。", ["今日は雨。", "明日は晴れ。"]),
        ("Шёл дождь. Потом перестал.", ["Шёл дождь.", "Потом перестал."]),
        ("version 3.11 is here", ["version 3.11 is here"]),
        ("", []),
    ],
)
def test_text_is_split_into_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


def test_only_ends_inside_the_range_are_returned() -> None:
    text = "First part. Second part. Third part."
    assert [end for end, _ in iter_sentence_ends(text, 12, 25)] == [24]
