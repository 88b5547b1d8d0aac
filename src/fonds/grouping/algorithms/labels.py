"""What clusters are called: the terms and phrases that set each apart, in their documents' spelling.

A phrase takes the place of its parts where it says as much; a label is the strongest two or three that do
not say the same. No label is given twice.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fonds.grouping.algorithms.corpus import TextCollection
from fonds.grouping.algorithms.term_counts import (
    Ints,
    Matrix,
    TermRows,
    count_documents,
    sample_evenly,
)
from fonds.grouping.algorithms.terms import singularize, split_terms
from fonds.text.words import compose_text, is_spaceless

# Terms that stand side by side: which two- and three-word phrases of a collection's strong terms there
# are.
#
# Bound: 5,000,000 term places are looked at, of documents evenly taken; a phrase stands in two documents or
# more.


PLACES_MAX = 5_000_000
DOCUMENTS_MIN = 2


@dataclass(frozen=True, slots=True)
class Phrases:
    """`parts`: the features of each phrase in order; `present`: documents looked at x phrases, float32 of
    ones; `documents`: which documents were looked at."""

    parts: tuple[tuple[int, ...], ...]
    present: Matrix
    documents: Ints


def find_phrases(collection: TextCollection, strong: Ints) -> Phrases:
    """The phrases that consist of strong terms alone; `strong` holds their features."""
    count = len(collection.distinct)
    share = max(1, -(-int(collection.count_lengths().sum()) // PLACES_MAX))
    documents = sample_evenly(count, count // share)
    some = collection.build_rows(documents)
    numbers = _number_strong_terms(some, strong)
    of_place = np.repeat(np.arange(len(some)), np.diff(some.starts))
    pairs, pair_numbers = _find_adjacent_pairs(numbers[:-1], numbers[1:], of_place)
    triples, triple_numbers = _find_adjacent_pairs(pair_numbers[:-1], pair_numbers[1:], of_place)
    triples = [(pairs[first][0], *pairs[second]) for first, second in triples]
    parts = [tuple(int(strong[part]) for part in phrase) for phrase in (*pairs, *triples)]
    shifted = np.where(triple_numbers >= 0, triple_numbers + len(pairs), -1)
    found = np.concatenate((pair_numbers, shifted))
    where = np.concatenate((of_place[: len(pair_numbers)], of_place[: len(shifted)]))
    present = sp.csr_matrix(
        (
            np.ones(int((found >= 0).sum()), np.float32),
            (where[found >= 0], found[found >= 0]),
        ),
        shape=(len(some), max(len(parts), 1)),
    )
    present.data[:] = 1
    return Phrases(tuple(parts), present, documents)


def _number_strong_terms(rows: TermRows, strong: Ints) -> NDArray[np.int64]:
    """Each place's number among the strong terms, -1 for others."""
    places = np.full(len(rows.terms) + 1, -1, dtype=np.int64)
    places[strong] = np.arange(len(strong))
    return places[rows.numbers]


def _find_adjacent_pairs(
    first: NDArray[np.int64], second: NDArray[np.int64], document_numbers: Ints
) -> tuple[list[tuple[int, ...]], NDArray[np.int64]]:
    """Neighbours of one document that stand together in two or more, and the number of the pair at each
    place."""
    count = len(first)
    if count <= 0:
        return [], np.zeros(0, dtype=np.int64)
    beside = (
        (first >= 0) & (second >= 0) & (document_numbers[:count] == document_numbers[1 : count + 1])
    )
    base = int(max(first.max(), second.max())) + 1
    keys = first[beside] * base + second[beside]
    # Of one document each pair counts once.
    documents = document_numbers[:count][beside]
    order = np.lexsort((documents, keys))
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (np.diff(keys[order]) != 0) | (np.diff(documents[order]) != 0)
    known, counts = np.unique(keys[order][fresh], return_counts=True)
    known = known[counts >= DOCUMENTS_MIN]
    numbers = np.full(count, -1, dtype=np.int64)
    if len(known):
        at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        numbers[beside] = np.where(known[at] == keys, at, -1)
    return [(int(key // base), int(key % base)) for key in known], numbers


# How surprisingly often a term stands in a cluster's documents: the signed log-likelihood ratio.
#
# Source: T. Dunning, "Accurate methods for the statistics of surprise and coincidence", 1993. Documents are
# counted, not occurrences, so that one repetitive document says no more than any other.


Doubles = NDArray[np.float64]
SHARE_MIN = 1.5
"""A term that names a cluster stands there at least so many times as often as elsewhere."""


def count_by_cluster(present: Matrix, members: Ints, clusters: int) -> Matrix:
    """In how many documents of each cluster each column of `present` stands: clusters x columns."""
    inside = members >= 0
    belongs = sp.csr_matrix(
        (np.ones(int(inside.sum()), np.float32), (members[inside], np.flatnonzero(inside))),
        shape=(clusters, present.shape[0]),
    )
    counts = sp.csr_matrix(belongs @ present)
    counts.sort_indices()
    return counts


def compute_ratios(counts: Matrix, sizes: Ints, everywhere: Ints, documents: int) -> Matrix:
    """The ratio of each count, above 0 where a term stands out: clusters x columns.

    `sizes`: documents of each cluster; `everywhere`: documents each column stands in; `documents`: all of
    them.
    """
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    inside = counts.data.astype(np.float64)
    of_cluster = sizes[row].astype(np.float64)
    of_term = everywhere[counts.indices].astype(np.float64)
    elsewhere = np.maximum(documents - of_cluster, 0)
    surprise = 2 * (
        _compute_entropy(inside, of_cluster * of_term / documents)
        + _compute_entropy(of_term - inside, elsewhere * of_term / documents)
        + _compute_entropy(of_cluster - inside, of_cluster * (documents - of_term) / documents)
        + _compute_entropy(
            elsewhere - of_term + inside, elsewhere * (documents - of_term) / documents
        )
    )
    share = inside / np.maximum(of_cluster, 1)
    share_elsewhere = (of_term - inside) / np.maximum(elsewhere, 1)
    stands_out = (share > SHARE_MIN * share_elsewhere) | (elsewhere == 0)
    scores = np.where(stands_out, np.maximum(surprise, 0), 0) + (elsewhere == 0) * share
    return sp.csr_matrix((scores, counts.indices.copy(), counts.indptr.copy()), shape=counts.shape)


def find_strongest(scores: Matrix, count_max: int) -> list[list[tuple[int, float]]]:
    """For each row its columns with the highest scores above 0, the highest first, at most `count_max`."""
    found = []
    for row in range(scores.shape[0]):
        part = slice(scores.indptr[row], scores.indptr[row + 1])
        columns, values = scores.indices[part], scores.data[part]
        order = np.lexsort((columns, -values))[:count_max]
        found.append([(int(columns[at]), float(values[at])) for at in order if values[at] > 0])
    return found


def _compute_entropy(observed: Doubles, expected: Doubles) -> Doubles:
    """Observed x ln(observed / expected), 0 where nothing was observed."""
    safe = np.where(observed > 0, observed, 1)
    terms: Doubles = np.where(
        observed > 0, observed * np.log(safe / np.maximum(expected, 1e-12)), 0
    )
    return terms


# Terms as their documents spell them: the written form that stands most often for a term or phrase.
#
# Bound: 40 documents a cluster and 20,000 characters of each.


DOCUMENTS_MAX = 40
MAX_CHARS = 20_000
_WRITTEN = re.compile(r"\w[\w\u0300-\u036f]*", re.UNICODE)
_WHITESPACE = re.compile(r"\s+")

Phrase = tuple[str, ...]


def find_spellings(
    phrases: Iterable[Phrase], texts: Sequence[str], languages: Sequence[str]
) -> dict[Phrase, str]:
    """For each phrase of terms how it is mostly written; joined as it is where no text has it."""
    asked = set(phrases)
    seen: dict[Phrase, Counter[str]] = defaultdict(Counter)
    for text, language in zip(texts[:DOCUMENTS_MAX], languages, strict=False):
        _count_spelling(compose_text(text[:MAX_CHARS]), language, asked, seen)
    return {phrase: _find_most_common(seen[phrase]) or join_phrase(phrase) for phrase in asked}


def join_phrase(phrase: Phrase) -> str:
    """Terms side by side as one text; pairs of characters that overlap are laid over each other."""
    text = phrase[0]
    for term in phrase[1:]:
        overlaps = is_spaceless(term[0]) and text.endswith(term[0])
        text = text + term[1:] if overlaps else f"{text} {term}"
    return text


def _count_spelling(
    text: str, language: str, phrases: set[Phrase], spellings: dict[Phrase, Counter[str]]
) -> None:
    written = list(_WRITTEN.finditer(text))
    read = [_find_single_term(one.group(), language) for one in written]
    for place in range(len(read)):
        for length in (1, 2, 3):
            phrase = tuple(read[place : place + length])
            if len(phrase) == length and phrase in phrases:
                span = text[written[place].start() : written[place + length - 1].end()]
                spellings[phrase][_WHITESPACE.sub(" ", span)] += 1


def _find_single_term(word: str, language: str) -> str:
    """The one term of a written word; "" for none or several."""
    found = [term for term in split_terms(word, language) if term]
    return found[0] if len(found) == 1 else ""


def _find_most_common(counts: Counter[str]) -> str:
    return min(counts, key=lambda form: (-counts[form], form)) if counts else ""


TERMS_MAX = 10
LABEL_PARTS_MAX = 3
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


def label_clusters(
    collection: TextCollection,
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
    counts = count_by_cluster(present, members, clusters)
    scored = compute_ratios(counts, sizes, collection.dictionary.document_counts, len(members))
    single = [_filter_label_terms(terms, row) for row in find_strongest(scored, _STRONG_TERMS)]
    strong = np.array(sorted({feature for row in single for feature, _ in row}), dtype=np.int64)
    found = find_phrases(collection, strong)
    several = _find_phrases(found, members, clusters)
    called = [
        _build_label(terms, single[one], several[one], _get_row(counts, one), samples[one])
        for one in range(clusters)
    ]
    return _make_distinct(called)


def _filter_label_terms(
    terms: Sequence[str], row: list[tuple[int, float]]
) -> list[tuple[int, float]]:
    """The terms that may stand in a label: no numbers alone; of a plural and its singular the stronger."""
    naming: dict[str, tuple[int, float]] = {}
    for feature, score in row:
        if not terms[feature].isnumeric():
            naming.setdefault(singularize(terms[feature]), (feature, score))
    return list(naming.values())


def _find_phrases(
    phrases: Phrases, members: Ints, clusters: int
) -> list[list[tuple[tuple[int, ...], float, int]]]:
    """The strongest phrases of each cluster: features, ratio, documents of the cluster."""
    if not phrases.parts:
        return [[] for _ in range(clusters)]
    of_found = members[phrases.documents]
    counts = count_by_cluster(phrases.present, of_found, clusters)
    sizes = np.bincount(of_found[of_found >= 0], minlength=clusters)
    scored = compute_ratios(counts, sizes, count_documents(phrases.present), len(of_found))
    factor = len(members) / max(len(of_found), 1)
    rows = find_strongest(scored, _PHRASES_MAX)
    return [
        [
            (
                phrases.parts[column],
                score * factor,
                int(_get_row(counts, one).get(column, 0) * factor),
            )
            for column, score in row
        ]
        for one, row in enumerate(rows)
    ]


def _get_row(counts: Matrix, row: int) -> dict[int, float]:
    part = slice(counts.indptr[row], counts.indptr[row + 1])
    return dict(zip(counts.indices[part].tolist(), counts.data[part].tolist(), strict=True))


def _build_label(
    terms: Sequence[str],
    single: list[tuple[int, float]],
    several: list[tuple[tuple[int, ...], float, int]],
    counts: dict[int, float],
    sample: tuple[Sequence[str], Sequence[str]],
) -> Label:
    chosen = _choose_parts(single, several, counts)
    as_terms = {phrase: tuple(terms[feature] for feature in phrase) for phrase in chosen}
    listed = [(terms[feature],) for feature, _ in single[:TERMS_MAX]]
    written = find_spellings([*as_terms.values(), *listed], *sample)
    shown = [
        (written[phrase], round(score, 2))
        for phrase, (_, score) in zip(listed, single, strict=False)
    ]
    parts = dict.fromkeys(written[as_terms[phrase]] for phrase in chosen)
    return Label(", ".join(parts) or UNLABELLED, tuple(shown))


def _choose_parts(
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
        if len(chosen) == LABEL_PARTS_MAX:
            break
    return chosen


def _make_distinct(called: Sequence[Label]) -> list[Label]:
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
