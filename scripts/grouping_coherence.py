"""Topic coherence c_v: how often the terms of a cluster occur near each other in the texts.

Source: M. Roeder, A. Both and A. Hinneburg, "Exploring the space of topic coherence measures", 2015: boolean
sliding windows of 110 words, NPMI of each term with each, cosine of each term's row with the sum of all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fonds.grouping.algorithms.terms import singularize
from fonds.text.words import split_words

WINDOW = 110
_EPSILON = 1e-12


def compute_coherence(texts: Sequence[str], topics: Sequence[Sequence[str]]) -> float:
    """Return the mean c_v of topics, each a list of terms. Words are case-folded and singular."""
    folded = [
        [singularize(word) for term in topic for word in split_words(term)[:1]] for topic in topics
    ]
    columns = {term: n for n, term in enumerate({term for topic in folded for term in topic})}
    single, pairs, windows = _count_windows(texts, columns)
    return float(
        np.mean(
            [
                _compute_topic_coherence([columns[term] for term in topic], single, pairs, windows)
                for topic in folded
            ]
        )
    )


def _count_windows(
    texts: Sequence[str], columns: dict[str, int]
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the window counts of each term and each pair, and the number of windows."""
    pairs = np.zeros((len(columns), len(columns)))
    windows = 0
    for text in texts:
        text_columns = [columns.get(singularize(word), -1) for word in split_words(text)]
        count = max(len(text_columns) - WINDOW + 1, 1)
        present = np.zeros((count, len(columns)), np.float32)
        for place, term in enumerate(text_columns):
            if term >= 0:
                present[max(0, place - WINDOW + 1) : place + 1, term] = 1
        pairs += present.T @ present
        windows += count
    return pairs.diagonal().copy(), pairs, windows


def _compute_topic_coherence(
    terms: list[int], single: np.ndarray, pairs: np.ndarray, windows: int
) -> float:
    joint = pairs[np.ix_(terms, terms)] / windows
    probabilities = single[terms] / windows
    ratio = np.log(
        (joint + _EPSILON) / np.maximum(probabilities[:, None] * probabilities, _EPSILON)
    )
    npmi = ratio / -np.log(joint + _EPSILON)
    npmi_sum = npmi.sum(axis=0)
    lengths = np.linalg.norm(npmi, axis=1) * np.linalg.norm(npmi_sum)
    return float(np.mean(npmi @ npmi_sum / np.maximum(lengths, _EPSILON)))
