"""Words that are written almost alike: by letters exchanged, left out, put in or swapped with the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

ALIKE_MAX = 5
WORD_CHARACTERS_MIN, WORD_CHARACTERS_MAX = 4, 40


def faults_allowed(word: str) -> int:
    """How many faults may lie between a word and those like it: none in words too short or too long."""
    if not WORD_CHARACTERS_MIN <= len(word) <= WORD_CHARACTERS_MAX:
        return 0
    return 1 if len(word) < 2 * WORD_CHARACTERS_MIN else 2


def likest(word: str, counted: Iterable[tuple[str, int]]) -> list[str]:
    """Of words with their counts those most like `word`, at most five: with fewest faults, then the
    most frequent.
    """
    allowed = faults_allowed(word)
    ranked = sorted(
        (found, -count, other)
        for other, count in Counter(dict(counted)).items()
        if other != word
        and abs(len(other) - len(word)) <= allowed
        and 0 < (found := faults(word, other)) <= allowed
    )
    return [other for _, _, other in ranked[:ALIKE_MAX]]


def faults(one: str, other: str) -> int:
    """The fewest letters exchanged, left out, put in or swapped that make one of the other.

    Source: the restricted distance of Damerau and Levenshtein; in time the product of the lengths.
    """
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        this = [row]
        for column, against in enumerate(other, 1):
            cost = min(last[column] + 1, this[-1] + 1, last[column - 1] + (letter != against))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == against:
                cost = min(cost, before[column - 2] + 1)
            this.append(cost)
        before, last = last, this
    return last[-1]
