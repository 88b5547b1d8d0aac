"""Term frequencies of texts: sequences of term numbers, frequency matrices, tf-idf weights."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fonds.grouping.algorithms.terms import BREAK, Vocabulary, guess_language

Matrix: TypeAlias = Any
"""Sparse matrix (scipy.sparse.csr_matrix). It is `Any` because scipy has no type annotations."""
Ints = NDArray[np.int64]
Places = NDArray[np.int32]

FEATURES_MAX = 500_000
RARE_FROM = 100
"""From this number of documents on, a feature must occur in at least two of them.

Features are the terms that count when documents are compared.
"""


@dataclass(frozen=True, slots=True)
class TermRows:
    """Documents as sequences of term numbers, in the order of their texts.

    `numbers`, `starts`: the terms of document i are `numbers[starts[i]:starts[i + 1]]`, int32. A
        number is an index into `terms`. -1 separates terms that are not adjacent in the text.
    `terms`: the terms by number.
    """

    numbers: Places
    starts: Ints
    terms: Sequence[str]

    def __len__(self) -> int:
        return len(self.starts) - 1


def resolve_languages(texts: Sequence[str], languages: Sequence[str | None] | None) -> list[str]:
    """Return the two-letter language of each text.

    A text without a stated language gets the one guessed from the texts, or "" if none can be
    guessed.
    `languages`: stated language of each text, None if unknown; or None if all are unknown.
    """
    given_languages = languages or [None] * len(texts)
    usual_language = (
        guess_language(texts) if any(language is None for language in given_languages) else ""
    )
    return fill_languages(given_languages, usual_language)


def fill_languages(languages: Sequence[str | None], usual_language: str) -> list[str]:
    """Return the two-letter language to read each text in.

    `languages`: stated language of each text, such as `en-GB`; None if unknown.
    `usual_language`: language for texts that state none.
    """
    return [
        usual_language if language is None else language.partition("-")[0].lower()[:2]
        for language in languages
    ]


def read_rows(
    texts: Sequence[str], languages: Sequence[str], terms: Sequence[str] | None = None
) -> TermRows:
    """Return the terms of texts, in order, as numbers.

    `languages`: two-letter language of each text.
    `terms`: terms of a dictionary that number the terms; all other words are skipped. None to
        number all terms that occur.
    """
    vocabulary = Vocabulary(terms)
    numbers, starts = number_terms(vocabulary, texts, languages)
    return TermRows(numbers, starts, tuple(vocabulary.numbers) if terms is None else terms)


def number_terms(
    vocabulary: Vocabulary, texts: Sequence[str], languages: Sequence[str]
) -> tuple[Places, Ints]:
    """Return the terms of texts, in order, as one array of term numbers, and each text's start.

    The terms of text i are `numbers[starts[i]:starts[i + 1]]`. -1 separates terms that are not
    adjacent in the text. New terms are added to the vocabulary.
    `languages`: two-letter language of each text.
    """
    numbers = array("i")
    starts = np.zeros(len(texts) + 1, dtype=np.int64)
    for place, (text, language) in enumerate(zip(texts, languages, strict=True)):
        vocabulary.read(text, language, numbers)
        starts[place + 1] = len(numbers)
    return np.frombuffer(numbers, np.int32) if numbers else np.zeros(0, np.int32), starts


def build_frequencies(rows: TermRows) -> Matrix:
    """Return how often each term occurs in each document: documents x terms, float32.

    The column indices of each row of the sparse matrix are sorted.
    """
    return count_terms(rows.numbers, rows.starts, len(rows.terms))


def count_terms(numbers: Places, starts: Ints, width: int) -> Matrix:
    """Return how often each term occurs in each document: documents x terms, float32.

    The column indices of each row of the sparse matrix are sorted.
    `numbers`, `starts`: the terms of document i are `numbers[starts[i]:starts[i + 1]]`; -1 is no
        term.
    `width`: number of terms.
    """
    is_term = numbers >= 0
    term_offsets = np.concatenate(([0], np.cumsum(is_term)))
    frequencies = sp.csr_matrix(
        (np.ones(int(term_offsets[-1]), np.float32), numbers[is_term], term_offsets[starts]),
        shape=(len(starts) - 1, width),
    )
    frequencies.sum_duplicates()
    return frequencies


def count_documents(rows: Matrix) -> Ints:
    """Return the number of documents that contain each term.

    `rows`: term frequencies, documents x terms.
    """
    return np.bincount(rows.indices, minlength=rows.shape[1]).astype(np.int64)


def select_features(counts: Ints, documents: int) -> Ints:
    """Return the numbers of the terms that become features, ascending, at most 500,000.

    Features are the terms that count when documents are compared. From 100 documents on, a feature
    occurs in at least two of them. If more qualify, the most frequent ones are selected.
    `counts`: number of documents that contain each term.
    `documents`: number of documents.
    """
    features = np.flatnonzero(counts >= (2 if documents >= RARE_FROM else 1))
    if len(features) > FEATURES_MAX:
        features = np.sort(features[np.argsort(-counts[features], kind="stable")[:FEATURES_MAX]])
    return features


def build_feature_numbers(features: Ints, terms: int) -> Places:
    """Return an array that maps each term number to its feature number.

    Terms that are no feature map to BREAK (-1), which separates the terms around them. The last
    element is BREAK too, so that indexing the array with BREAK gives BREAK.
    `features`: term number of each feature.
    `terms`: number of terms.
    """
    places = np.full(terms + 1, BREAK, dtype=np.int32)
    places[features] = np.arange(len(features), dtype=np.int32)
    return places


def remap_columns(rows: Matrix, places: Places, width: int) -> Matrix:
    """Return a matrix with renumbered columns. Columns without a new number are dropped.

    `places`: new number of each column; negative to drop it.
    `width`: new number of columns.
    """
    indices = places[rows.indices]
    is_kept = indices >= 0
    offsets = np.zeros(len(is_kept) + 1, dtype=rows.indptr.dtype)
    np.cumsum(is_kept, out=offsets[1:])
    remapped_counts = sp.csr_matrix(
        (rows.data[is_kept], indices[is_kept], offsets[rows.indptr]), shape=(rows.shape[0], width)
    )
    remapped_counts.sort_indices()
    return remapped_counts


def select_rows(rows: TermRows, documents: Ints) -> TermRows:
    """Return the term sequences of some documents, given by position, in the given order."""
    begins, ends = rows.starts[documents].tolist(), rows.starts[documents + 1].tolist()
    selected_numbers = [rows.numbers[begin:end] for begin, end in zip(begins, ends, strict=True)]
    starts = np.zeros(len(selected_numbers) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in selected_numbers], out=starts[1:])
    return TermRows(np.concatenate([np.zeros(0, np.int32), *selected_numbers]), starts, rows.terms)


# tf-idf: 1 + ln(tf) times ln((1 + N) / (1 + df)) + 1, each document normalized to length 1
#
# Source: the smoothed idf of scikit-learn's TfidfTransformer, with sublinear term frequencies.


Floats = NDArray[np.float32]


def compute_idf(documents: int, document_counts: Ints) -> Floats:
    """Return the inverse document frequency (idf) of each feature, float32, at least 1.

    `documents`: number of documents.
    `document_counts`: number of documents that contain each feature.
    """
    weights: Floats = (np.log((1 + documents) / (1 + document_counts)) + 1).astype(np.float32)
    return weights


def compute_tfidf(counts: Matrix, weights: Floats) -> Matrix:
    """Return the tf-idf weights of documents: documents x features, float32.

    Each row has length 1, or is empty.
    `counts`: term frequencies, documents x features.
    `weights`: idf of each feature.
    """
    values = np.log(counts.data, dtype=np.float32)
    values += 1
    values *= weights[counts.indices]
    places = (counts.indices, counts.indptr)
    squares = sp.csr_matrix((values**2, *places), shape=counts.shape)
    lengths = np.sqrt(squares @ np.ones(counts.shape[1], np.float32))
    values /= np.repeat(np.maximum(lengths, np.float32(1e-12)), np.diff(counts.indptr))
    return sp.csr_matrix((values, *places), shape=counts.shape)


def normalize_rows(vectors: Floats) -> Floats:
    """Return the matrix with each row scaled to length 1; rows of zeros stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def sample_evenly(count: int, count_max: int) -> Ints:
    """Return at most `count_max` evenly spaced indices from 0 to `count` - 1, ascending."""
    if count <= count_max:
        return np.arange(count, dtype=np.int64)
    return np.linspace(0, count - 1, count_max).astype(np.int64)
