"""Labels of clusters: terms and phrases that distinguish a cluster, spelled as in its documents.

A phrase replaces a single term that it contains if the phrase is frequent enough. A label has up to
three terms or phrases, which share no term. No two clusters have the same label.
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

# Phrases: pairs and triples of adjacent strong terms
#
# Limits: 5,000,000 term occurrences, from documents sampled evenly. A phrase occurs in at least two
# documents.


PLACES_MAX = 5_000_000
DOCUMENTS_MIN = 2


@dataclass(frozen=True, slots=True)
class Phrases:
    """Phrases of a collection: pairs and triples of adjacent terms.

    `parts`: for each phrase, its terms in order, as feature numbers.
    `present`: sampled documents x phrases, float32 ones where a document contains a phrase.
    `documents`: positions of the sampled documents.
    """

    parts: tuple[tuple[int, ...], ...]
    present: Matrix
    documents: Ints


def find_phrases(collection: TextCollection, strong: Ints) -> Phrases:
    """Find the pairs and triples of adjacent strong terms in a sample of a collection's documents.

    `strong`: feature numbers of the terms that are characteristic of a cluster, ascending.
    """
    count = len(collection.distinct)
    share = max(1, -(-int(collection.count_lengths().sum()) // PLACES_MAX))
    documents = sample_evenly(count, count // share)
    rows = collection.build_rows(documents)
    numbers = _number_strong_terms(rows, strong)
    of_place = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    pairs, pair_numbers = _find_adjacent_pairs(numbers[:-1], numbers[1:], of_place)
    triples, triple_numbers = _find_adjacent_pairs(pair_numbers[:-1], pair_numbers[1:], of_place)
    triples = [(pairs[first][0], *pairs[second]) for first, second in triples]
    parts = [tuple(int(strong[part]) for part in phrase) for phrase in (*pairs, *triples)]
    shifted_numbers = np.where(triple_numbers >= 0, triple_numbers + len(pairs), -1)
    phrase_numbers = np.concatenate((pair_numbers, shifted_numbers))
    row_numbers = np.concatenate((of_place[: len(pair_numbers)], of_place[: len(shifted_numbers)]))
    present = sp.csr_matrix(
        (
            np.ones(int((phrase_numbers >= 0).sum()), np.float32),
            (row_numbers[phrase_numbers >= 0], phrase_numbers[phrase_numbers >= 0]),
        ),
        shape=(len(rows), max(len(parts), 1)),
    )
    present.data[:] = 1
    return Phrases(tuple(parts), present, documents)


def _number_strong_terms(rows: TermRows, strong: Ints) -> NDArray[np.int64]:
    """Return, for each term occurrence in the documents, the index of its term in `strong`.

    The number is -1 for a term that is not in `strong`.
    `rows`: documents as sequences of feature numbers.
    `strong`: feature numbers of the terms that are characteristic of a cluster.
    """
    places = np.full(len(rows.terms) + 1, -1, dtype=np.int64)
    places[strong] = np.arange(len(strong))
    return places[rows.numbers]


def _find_adjacent_pairs(
    first: NDArray[np.int64], second: NDArray[np.int64], document_numbers: Ints
) -> tuple[list[tuple[int, ...]], NDArray[np.int64]]:
    """Find the pairs of adjacent terms or phrases that occur in two or more documents.

    A position is the index of a term occurrence in all documents joined. Return the pairs as tuples
    of two numbers, and an array with the index of the pair that begins at each position; -1 for
    none.
    `first`, `second`: number of the term or phrase at each position, and at the next position; -1
        for none.
    `document_numbers`: number of the document that each position belongs to.
    """
    count = len(first)
    if count <= 0:
        return [], np.zeros(0, dtype=np.int64)
    is_pair = (
        (first >= 0) & (second >= 0) & (document_numbers[:count] == document_numbers[1 : count + 1])
    )
    base = int(max(first.max(), second.max())) + 1
    keys = first[is_pair] * base + second[is_pair]
    # Count each pair once per document.
    documents = document_numbers[:count][is_pair]
    order = np.lexsort((documents, keys))
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (np.diff(keys[order]) != 0) | (np.diff(documents[order]) != 0)
    pair_keys, counts = np.unique(keys[order][is_first], return_counts=True)
    pair_keys = pair_keys[counts >= DOCUMENTS_MIN]
    numbers = np.full(count, -1, dtype=np.int64)
    if len(pair_keys):
        positions = np.minimum(np.searchsorted(pair_keys, keys), len(pair_keys) - 1)
        numbers[is_pair] = np.where(pair_keys[positions] == keys, positions, -1)
    return [(int(key // base), int(key % base)) for key in pair_keys], numbers


# Signed log-likelihood ratio: how unexpectedly often a term occurs in a cluster's documents
#
# Source: T. Dunning, "Accurate methods for the statistics of surprise and coincidence", 1993. It
# counts documents instead of occurrences, so that one repetitive document weighs no more than any
# other.


Doubles = NDArray[np.float64]
SHARE_MIN = 1.5
"""Minimum ratio between a term's frequency in a cluster and elsewhere.

A term with a lower ratio cannot name the cluster. Frequencies are shares of documents.
"""


def count_by_cluster(present: Matrix, members: Ints, clusters: int) -> Matrix:
    """Return how many documents of each cluster contain each term or phrase.

    The result has one row per cluster, and the columns of `present`.
    `present`: documents x terms or phrases; one where a document contains the term or phrase.
    `members`: cluster number of each document, -1 for none.
    `clusters`: number of clusters.
    """
    inside = members >= 0
    belongs = sp.csr_matrix(
        (np.ones(int(inside.sum()), np.float32), (members[inside], np.flatnonzero(inside))),
        shape=(clusters, present.shape[0]),
    )
    counts = sp.csr_matrix(belongs @ present)
    counts.sort_indices()
    return counts


def compute_ratios(counts: Matrix, sizes: Ints, total_counts: Ints, documents: int) -> Matrix:
    """Return the log-likelihood ratio of each term or phrase in each cluster: clusters x columns.

    It is above 0 if the term is characteristic of the cluster, else 0.
    `counts`: number of documents of each cluster that contain each column's term: clusters x
        columns.
    `sizes`: number of documents in each cluster.
    `total_counts`: number of all documents that contain each column's term.
    `documents`: number of all documents.
    """
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    inside = counts.data.astype(np.float64)
    of_cluster = sizes[row].astype(np.float64)
    of_term = total_counts[counts.indices].astype(np.float64)
    outside_counts = np.maximum(documents - of_cluster, 0)
    surprise = 2 * (
        _compute_entropy(inside, of_cluster * of_term / documents)
        + _compute_entropy(of_term - inside, outside_counts * of_term / documents)
        + _compute_entropy(of_cluster - inside, of_cluster * (documents - of_term) / documents)
        + _compute_entropy(
            outside_counts - of_term + inside, outside_counts * (documents - of_term) / documents
        )
    )
    share = inside / np.maximum(of_cluster, 1)
    share_elsewhere = (of_term - inside) / np.maximum(outside_counts, 1)
    stands_out = (share > SHARE_MIN * share_elsewhere) | (outside_counts == 0)
    scores = np.where(stands_out, np.maximum(surprise, 0), 0) + (outside_counts == 0) * share
    return sp.csr_matrix((scores, counts.indices.copy(), counts.indptr.copy()), shape=counts.shape)


def find_strongest(scores: Matrix, count_max: int) -> list[list[tuple[int, float]]]:
    """Return the columns with the highest scores in each row of a matrix.

    For each row, return at most `count_max` (column number, score) pairs with a score above 0,
    highest score first.
    `scores`: for example, clusters x terms.
    """
    strongest = []
    for row in range(scores.shape[0]):
        part = slice(scores.indptr[row], scores.indptr[row + 1])
        columns, values = scores.indices[part], scores.data[part]
        order = np.lexsort((columns, -values))[:count_max]
        strongest.append(
            [
                (int(columns[position]), float(values[position]))
                for position in order
                if values[position] > 0
            ]
        )
    return strongest


def _compute_entropy(observed_counts: Doubles, expected_counts: Doubles) -> Doubles:
    """Return observed x ln(observed / expected), element by element; 0 where observed is 0."""
    safe = np.where(observed_counts > 0, observed_counts, 1)
    terms: Doubles = np.where(
        observed_counts > 0, observed_counts * np.log(safe / np.maximum(expected_counts, 1e-12)), 0
    )
    return terms


# Spelling: the most common written form of a term or phrase
#
# Limits: 40 documents per cluster and 20,000 characters of each.


DOCUMENTS_MAX = 40
MAX_CHARS = 20_000
_WRITTEN_WORD = re.compile(r"\w[\w\u0300-\u036f]*", re.UNICODE)
_WHITESPACE = re.compile(r"\s+")

Phrase = tuple[str, ...]


def find_spellings(
    phrases: Iterable[Phrase], texts: Sequence[str], languages: Sequence[str]
) -> dict[Phrase, str]:
    """Return the most common written form of each phrase in some texts.

    A phrase is a tuple of one to three terms. If no text contains it, its joined terms are
    returned.
    `languages`: two-letter language of each text.
    """
    phrase_set = set(phrases)
    spellings: dict[Phrase, Counter[str]] = defaultdict(Counter)
    for text, language in zip(texts[:DOCUMENTS_MAX], languages, strict=False):
        _count_spelling(compose_text(text[:MAX_CHARS]), language, phrase_set, spellings)
    return {
        phrase: _find_most_common(spellings[phrase]) or join_phrase(phrase) for phrase in phrase_set
    }


def join_phrase(phrase: Phrase) -> str:
    """Join the terms of a phrase to one text, with spaces between words.

    Overlapping character pairs, the terms of scripts without spaces, are merged.
    """
    text = phrase[0]
    for term in phrase[1:]:
        overlaps = is_spaceless(term[0]) and text.endswith(term[0])
        text = text + term[1:] if overlaps else f"{text} {term}"
    return text


def _count_spelling(
    text: str, language: str, phrases: set[Phrase], spellings: dict[Phrase, Counter[str]]
) -> None:
    words = list(_WRITTEN_WORD.finditer(text))
    terms_read = [_find_single_term(word.group(), language) for word in words]
    for place in range(len(terms_read)):
        for length in (1, 2, 3):
            phrase = tuple(terms_read[place : place + length])
            if len(phrase) == length and phrase in phrases:
                span = text[words[place].start() : words[place + length - 1].end()]
                spellings[phrase][_WHITESPACE.sub(" ", span)] += 1


def _find_single_term(word: str, language: str) -> str:
    """Return the comparable term of one word as written in a text.

    Return "" if the word has no term, such as a stop word, or several.
    `language`: two-letter language of the text.
    """
    terms = [term for term in split_terms(word, language) if term]
    return terms[0] if len(terms) == 1 else ""


def _find_most_common(counts: Counter[str]) -> str:
    return min(counts, key=lambda form: (-counts[form], form)) if counts else ""


TERMS_MAX = 10
LABEL_PARTS_MAX = 3
UNLABELLED = "unlabelled"
_STRONG_TERMS = 60
_PHRASES_MAX = 20
_PHRASE_SHARE = 0.4
"""Minimum share of a term's documents in a cluster that contain a phrase with the term.

From this share on, the phrase replaces the term in the cluster's label.
"""


@dataclass(frozen=True, slots=True)
class Label:
    """Label of a cluster.

    `text`: name of the cluster.
    `terms`: its strongest single terms as written in its documents, with their log-likelihood
        ratios.
    """

    text: str
    terms: tuple[tuple[str, float], ...]


def label_clusters(
    collection: TextCollection,
    weighted_rows: Matrix,
    members: Ints,
    clusters: int,
    samples: Sequence[tuple[Sequence[str], Sequence[str]]],
) -> list[Label]:
    """Return a label for each of the clusters 0 to `clusters` - 1.

    `weighted_rows`: tf-idf of the distinct documents, documents x features.
    `members`: cluster number of each distinct document, -1 for none.
    `samples`: for each cluster, the texts of some documents and their languages, to spell terms.
    """
    terms = collection.dictionary.terms
    sizes = np.bincount(members[members >= 0], minlength=clusters)
    present = sp.csr_matrix(
        (np.ones(weighted_rows.nnz, np.float32), weighted_rows.indices, weighted_rows.indptr),
        shape=weighted_rows.shape,
    )
    counts = count_by_cluster(present, members, clusters)
    ratios = compute_ratios(counts, sizes, collection.dictionary.document_counts, len(members))
    single = [_filter_label_terms(terms, row) for row in find_strongest(ratios, _STRONG_TERMS)]
    strong = np.array(sorted({feature for row in single for feature, _ in row}), dtype=np.int64)
    phrases = find_phrases(collection, strong)
    phrases_by_cluster = _find_phrases(phrases, members, clusters)
    labels = [
        _build_label(
            terms,
            single[cluster],
            phrases_by_cluster[cluster],
            _get_row(counts, cluster),
            samples[cluster],
        )
        for cluster in range(clusters)
    ]
    return _make_distinct(labels)


def _filter_label_terms(
    terms: Sequence[str], row: list[tuple[int, float]]
) -> list[tuple[int, float]]:
    """Return those (feature number, score) pairs of a cluster whose terms may be part of its label.

    Terms that are numerals are left out. If a word occurs as singular and plural, only the stronger
    one stays.
    `row`: pairs to select from, strongest first.
    `terms`: term of each feature number.
    """
    naming: dict[str, tuple[int, float]] = {}
    for feature, score in row:
        if not terms[feature].isnumeric():
            naming.setdefault(singularize(terms[feature]), (feature, score))
    return list(naming.values())


def _find_phrases(
    phrases: Phrases, members: Ints, clusters: int
) -> list[list[tuple[tuple[int, ...], float, int]]]:
    """Return the strongest phrases of each cluster.

    Each phrase is a tuple of its feature numbers, its log-likelihood ratio, and the number of
    documents of the cluster that contain it. Both numbers are scaled up from the sample to all
    documents.
    """
    if not phrases.parts:
        return [[] for _ in range(clusters)]
    sampled_members = members[phrases.documents]
    counts = count_by_cluster(phrases.present, sampled_members, clusters)
    sizes = np.bincount(sampled_members[sampled_members >= 0], minlength=clusters)
    ratios = compute_ratios(counts, sizes, count_documents(phrases.present), len(sampled_members))
    factor = len(members) / max(len(sampled_members), 1)
    rows = find_strongest(ratios, _PHRASES_MAX)
    return [
        [
            (
                phrases.parts[column],
                score * factor,
                int(_get_row(counts, cluster).get(column, 0) * factor),
            )
            for column, score in row
        ]
        for cluster, row in enumerate(rows)
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
    parts_chosen = _choose_parts(single, several, counts)
    phrase_terms = {phrase: tuple(terms[feature] for feature in phrase) for phrase in parts_chosen}
    single_terms = [(terms[feature],) for feature, _ in single[:TERMS_MAX]]
    spellings = find_spellings([*phrase_terms.values(), *single_terms], *sample)
    spelled_terms = [
        (spellings[phrase], round(score, 2))
        for phrase, (_, score) in zip(single_terms, single, strict=False)
    ]
    parts = dict.fromkeys(spellings[phrase_terms[phrase]] for phrase in parts_chosen)
    return Label(", ".join(parts) or UNLABELLED, tuple(spelled_terms))


def _choose_parts(
    single: list[tuple[int, float]],
    several: list[tuple[tuple[int, ...], float, int]],
    counts: dict[int, float],
) -> list[tuple[int, ...]]:
    """Return the terms and phrases of a cluster's label, strongest first, at most three.

    Each term or phrase is a tuple of feature numbers, and no two share a feature.
    `single`: strongest single terms as (feature number, log-likelihood ratio) pairs.
    `several`: phrases as tuples: feature numbers, log-likelihood ratio, and number of the cluster's
        documents that contain the phrase.
    `counts`: for each feature, the number of the cluster's documents that contain it.
    """
    label_parts: list[tuple[int, ...]] = []
    for feature, _ in single:
        if any(feature in phrase for phrase in label_parts):
            continue
        phrases = [
            (len(phrase), score, phrase)
            for phrase, score, documents in several
            if feature in phrase and documents >= _PHRASE_SHARE * counts.get(feature, 0)
        ]
        best = max(phrases, default=(1, 0.0, (feature,)))[2]
        if not any(set(best) & set(phrase) for phrase in label_parts):
            label_parts.append(best)
        if len(label_parts) == LABEL_PARTS_MAX:
            break
    return label_parts


def _make_distinct(cluster_labels: Sequence[Label]) -> list[Label]:
    """Return the labels of clusters with repeated texts made unique.

    A repeated text gets the cluster's next strongest terms appended, and a number if that is not
    enough.
    """
    used_texts: set[str] = set()
    labels = []
    for label in cluster_labels:
        text = label.text
        for term, _ in label.terms:
            if text not in used_texts:
                break
            if term not in text:
                text = f"{text}, {term}"
        number = 2
        plain = text
        while text in used_texts:
            text, number = f"{plain} ({number})", number + 1
        used_texts.add(text)
        labels.append(Label(text, label.terms))
    return labels
