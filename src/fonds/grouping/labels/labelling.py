"""What clusters are called: the terms and phrases that set each apart, in their documents' spelling.

A phrase takes the place of its parts where it says as much; a label is the strongest two or three that do
not say the same. No label is given twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from fonds.grouping.labels.phrases import Phrases, phrases
from fonds.grouping.labels.ratios import ratios, standing, strongest
from fonds.grouping.labels.spelling import spellings
from fonds.grouping.text.collection import Collection
from fonds.grouping.text.counting import Ints, Matrix, document_counts
from fonds.grouping.text.tokens import singular

TERMS_MAX = 10
PARTS_OF_A_LABEL = 3
UNLABELLED = "unlabelled"
_STRONG_TERMS = 60
_PHRASES_MAX = 20
_PHRASE_SHARE = 0.4
"""A phrase stands for its part when it is in so large a share of the part's documents in the cluster."""


@dataclass(frozen=True, slots=True)
class Label:
    """`text`: what the cluster is called; `terms`: its strongest single terms with their ratios, as
    written."""

    text: str
    terms: tuple[tuple[str, float], ...]


def label(
    collection: Collection,
    weighted: Matrix,
    members: Ints,
    clusters: int,
    samples: Sequence[tuple[Sequence[str], Sequence[str]]],
) -> list[Label]:
    """The labels of clusters 0 to `clusters` - 1.

    `weighted`, `members`: of the distinct documents; `samples`: for each cluster texts of some of its
    documents and the languages these are read in.
    """
    terms = collection.dictionary.terms
    sizes = np.bincount(members[members >= 0], minlength=clusters)
    present = sp.csr_matrix(
        (np.ones(weighted.nnz, np.float32), weighted.indices, weighted.indptr), shape=weighted.shape
    )
    counts = standing(present, members, clusters)
    scored = ratios(counts, sizes, collection.dictionary.document_counts, len(members))
    single = [_naming(terms, row) for row in strongest(scored, _STRONG_TERMS)]
    strong = np.array(sorted({feature for row in single for feature, _ in row}), dtype=np.int64)
    found = phrases(collection, strong)
    several = _several(found, members, clusters)
    called = [
        _label(terms, single[one], several[one], _row(counts, one), samples[one])
        for one in range(clusters)
    ]
    return _distinct(called)


def _naming(terms: Sequence[str], row: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """The terms that may stand in a label: no numbers alone; of a plural and its singular the stronger."""
    naming: dict[str, tuple[int, float]] = {}
    for feature, score in row:
        if not terms[feature].isnumeric():
            naming.setdefault(singular(terms[feature]), (feature, score))
    return list(naming.values())


def _several(
    found: Phrases, members: Ints, clusters: int
) -> list[list[tuple[tuple[int, ...], float, int]]]:
    """The strongest phrases of each cluster: features, ratio, documents of the cluster."""
    if not found.parts:
        return [[] for _ in range(clusters)]
    of_found = members[found.documents]
    counts = standing(found.present, of_found, clusters)
    sizes = np.bincount(of_found[of_found >= 0], minlength=clusters)
    scored = ratios(counts, sizes, document_counts(found.present), len(of_found))
    factor = len(members) / max(len(of_found), 1)
    rows = strongest(scored, _PHRASES_MAX)
    return [
        [
            (found.parts[column], score * factor, int(_row(counts, one).get(column, 0) * factor))
            for column, score in row
        ]
        for one, row in enumerate(rows)
    ]


def _row(counts: Matrix, row: int) -> dict[int, float]:
    part = slice(counts.indptr[row], counts.indptr[row + 1])
    return dict(zip(counts.indices[part].tolist(), counts.data[part].tolist(), strict=True))


def _label(
    terms: Sequence[str],
    single: list[tuple[int, float]],
    several: list[tuple[tuple[int, ...], float, int]],
    counts: dict[int, float],
    sample: tuple[Sequence[str], Sequence[str]],
) -> Label:
    chosen = _chosen(single, several, counts)
    as_terms = {phrase: tuple(terms[feature] for feature in phrase) for phrase in chosen}
    listed = [(terms[feature],) for feature, _ in single[:TERMS_MAX]]
    written = spellings([*as_terms.values(), *listed], *sample)
    shown = [
        (written[phrase], round(score, 2))
        for phrase, (_, score) in zip(listed, single, strict=False)
    ]
    parts = dict.fromkeys(written[as_terms[phrase]] for phrase in chosen)
    return Label(", ".join(parts) or UNLABELLED, tuple(shown))


def _chosen(
    single: list[tuple[int, float]],
    several: list[tuple[tuple[int, ...], float, int]],
    counts: dict[int, float],
) -> list[tuple[int, ...]]:
    """The features of each part of a label, the strongest first, none of them within another."""
    chosen: list[tuple[int, ...]] = []
    for feature, _ in single:
        if any(feature in phrase for phrase in chosen):
            continue
        within = [
            (len(phrase), score, phrase)
            for phrase, score, documents in several
            if feature in phrase and documents >= _PHRASE_SHARE * counts.get(feature, 0)
        ]
        best = max(within, default=(1, 0.0, (feature,)))[2]
        if not any(set(best) & set(phrase) for phrase in chosen):
            chosen.append(best)
        if len(chosen) == PARTS_OF_A_LABEL:
            break
    return chosen


def _distinct(called: Sequence[Label]) -> list[Label]:
    """The same labels, each once: one that was given before goes on with its next term, or with a
    number."""
    given: set[str] = set()
    labels = []
    for one in called:
        text = one.text
        for term, _ in one.terms:
            if text not in given:
                break
            if term not in text:
                text = f"{text}, {term}"
        number = 2
        plain = text
        while text in given:
            text, number = f"{plain} ({number})", number + 1
        given.add(text)
        labels.append(Label(text, one.terms))
    return labels
