"""c_v: how far a cluster's terms stand near each other in the texts.

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


def coherence(texts: Sequence[str], topics: Sequence[Sequence[str]]) -> float:
    """The mean c_v of topics, each a list of terms; words are compared folded, and plurals as singulars."""
    folded = [
        [singularize(one) for term in topic for one in split_words(term)[:1]] for topic in topics
    ]
    wanted = {term: place for place, term in enumerate({one for topic in folded for one in topic})}
    single, pairs, windows = _counted(texts, wanted)
    return float(
        np.mean(
            [_of_topic([wanted[one] for one in topic], single, pairs, windows) for topic in folded]
        )
    )


def _counted(texts: Sequence[str], wanted: dict[str, int]) -> tuple[np.ndarray, np.ndarray, int]:
    """In how many windows each term stands, and each pair does; how many windows there are."""
    pairs = np.zeros((len(wanted), len(wanted)))
    windows = 0
    for text in texts:
        read = [wanted.get(singularize(word), -1) for word in split_words(text)]
        count = max(len(read) - WINDOW + 1, 1)
        present = np.zeros((count, len(wanted)), np.float32)
        for place, term in enumerate(read):
            if term >= 0:
                present[max(0, place - WINDOW + 1) : place + 1, term] = 1
        pairs += present.T @ present
        windows += count
    return pairs.diagonal().copy(), pairs, windows


def _of_topic(terms: list[int], single: np.ndarray, pairs: np.ndarray, windows: int) -> float:
    joint = pairs[np.ix_(terms, terms)] / windows
    alone = single[terms] / windows
    ratio = np.log((joint + _EPSILON) / np.maximum(alone[:, None] * alone, _EPSILON))
    npmi = ratio / -np.log(joint + _EPSILON)
    whole = npmi.sum(axis=0)
    lengths = np.linalg.norm(npmi, axis=1) * np.linalg.norm(whole)
    return float(np.mean(npmi @ whole / np.maximum(lengths, _EPSILON)))
