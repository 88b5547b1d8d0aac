"""Term frequencies of texts: rows of term numbers, frequency matrices, and tf-idf weights."""

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
"""A scipy.sparse.csr_matrix; scipy has no types."""
Ints = NDArray[np.int64]
Places = NDArray[np.int32]

FEATURES_MAX = 500_000
RARE_FROM = 100
"""From this number of documents on, a term that occurs in only one of them is no feature."""


@dataclass(frozen=True, slots=True)
class TermRows:
    """Documents as term numbers in order.

    Document i is `numbers[starts[i]:starts[i + 1]]`, int32. A number is an index into `terms`; -1
    separates terms that are not adjacent in the text.
    """

    numbers: Places
    starts: Ints
    terms: Sequence[str]

    def __len__(self) -> int:
        return len(self.starts) - 1


def resolve_languages(texts: Sequence[str], languages: Sequence[str | None] | None) -> list[str]:
    """Return the two-letter language of each text.

    Texts without a language get the language guessed from the texts, or "".
    """
    given_languages = languages or [None] * len(texts)
    usual_language = (
        guess_language(texts) if any(language is None for language in given_languages) else ""
    )
    return fill_languages(given_languages, usual_language)


def fill_languages(languages: Sequence[str | None], usual_language: str) -> list[str]:
    """Return the two-letter language to read each text in; `usual_language` if it states none."""
    return [
        usual_language if language is None else language.partition("-")[0].lower()[:2]
        for language in languages
    ]


def read_rows(
    texts: Sequence[str], languages: Sequence[str], terms: Sequence[str] | None = None
) -> TermRows:
    """Return the rows of texts, each read in its language.

    With `terms`, the terms of a dictionary, other words are skipped.
    """
    vocabulary = Vocabulary(terms)
    numbers, starts = number_terms(vocabulary, texts, languages)
    return TermRows(numbers, starts, tuple(vocabulary.numbers) if terms is None else terms)


def number_terms(
    vocabulary: Vocabulary, texts: Sequence[str], languages: Sequence[str]
) -> tuple[Places, Ints]:
    """Return the term numbers of texts, and the start of each text, as in `TermRows`."""
    numbers = array("i")
    starts = np.zeros(len(texts) + 1, dtype=np.int64)
    for place, (text, language) in enumerate(zip(texts, languages, strict=True)):
        vocabulary.read(text, language, numbers)
        starts[place + 1] = len(numbers)
    return np.frombuffer(numbers, np.int32) if numbers else np.zeros(0, np.int32), starts


def build_frequencies(rows: TermRows) -> Matrix:
    """Count each term in each document: float32, documents x terms, indices sorted."""
    return count_terms(rows.numbers, rows.starts, len(rows.terms))


def count_terms(numbers: Places, starts: Ints, width: int) -> Matrix:
    """Count the terms in the rows of `numbers`, as `build_frequencies` does.

    `width` is the number of terms.
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
    """Return the number of documents that contain each term."""
    return np.bincount(rows.indices, minlength=rows.shape[1]).astype(np.int64)


def select_features(counts: Ints, documents: int) -> Ints:
    """Select the terms that become features, ascending, at most 500,000.

    From `RARE_FROM` documents on, a feature occurs in at least two of them.
    `counts`: number of documents that contain each term.
    """
    features = np.flatnonzero(counts >= (2 if documents >= RARE_FROM else 1))
    if len(features) > FEATURES_MAX:
        features = np.sort(features[np.argsort(-counts[features], kind="stable")[:FEATURES_MAX]])
    return features


def build_feature_numbers(features: Ints, terms: int) -> Places:
    """Return the feature number of each term, BREAK for the others.

    The last element maps BREAK to BREAK.
    """
    places = np.full(terms + 1, BREAK, dtype=np.int32)
    places[features] = np.arange(len(features), dtype=np.int32)
    return places


def remap_columns(rows: Matrix, places: Places, width: int) -> Matrix:
    """Renumber the columns of a matrix, indices sorted; drop those without a new number."""
    indices = places[rows.indices]
    is_kept = indices >= 0
    offsets = np.zeros(len(is_kept) + 1, dtype=rows.indptr.dtype)
    np.cumsum(is_kept, out=offsets[1:])
    remapped = sp.csr_matrix(
        (rows.data[is_kept], indices[is_kept], offsets[rows.indptr]), shape=(rows.shape[0], width)
    )
    remapped.sort_indices()
    return remapped


def select_rows(rows: TermRows, documents: Ints) -> TermRows:
    """Return the rows of some documents in the given order."""
    begins, ends = rows.starts[documents].tolist(), rows.starts[documents + 1].tolist()
    selected = [rows.numbers[begin:end] for begin, end in zip(begins, ends, strict=True)]
    starts = np.zeros(len(selected) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in selected], out=starts[1:])
    return TermRows(np.concatenate([np.zeros(0, np.int32), *selected]), starts, rows.terms)


# tf-idf: 1 + ln(tf) times ln((1 + N) / (1 + df)) + 1, each document normalized to length 1
#
# Source: the smoothed idf of scikit-learn's TfidfTransformer, with sublinear term frequencies.


Floats = NDArray[np.float32]


def compute_idf(documents: int, document_counts: Ints) -> Floats:
    """Return the weight of each feature, float32, at least 1."""
    weights: Floats = (np.log((1 + documents) / (1 + document_counts)) + 1).astype(np.float32)
    return weights


def compute_tfidf(counts: Matrix, weights: Floats) -> Matrix:
    """Return documents x features, float32; rows have length 1 or are empty."""
    values = np.log(counts.data, dtype=np.float32)
    values += 1
    values *= weights[counts.indices]
    places = (counts.indices, counts.indptr)
    squares = sp.csr_matrix((values**2, *places), shape=counts.shape)
    lengths = np.sqrt(squares @ np.ones(counts.shape[1], np.float32))
    values /= np.repeat(np.maximum(lengths, np.float32(1e-12)), np.diff(counts.indptr))
    return sp.csr_matrix((values, *places), shape=counts.shape)


def normalize_rows(vectors: Floats) -> Floats:
    """Normalize rows to length 1; zero rows stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def sample_evenly(count: int, count_max: int) -> Ints:
    """Return at most `count_max` evenly spaced indices below `count`."""
    if count <= count_max:
        return np.arange(count, dtype=np.int64)
    return np.linspace(0, count - 1, count_max).astype(np.int64)
