"""Texts to rows of term numbers, and rows to a matrix of term frequencies."""

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
"""A scipy.sparse.csr_matrix, of which there are no types."""
Ints = NDArray[np.int64]
Places = NDArray[np.int32]

FEATURES_MAX = 500_000
RARE_FROM = 100
"""From so many documents on, a term that stands in only one of them is no feature."""


@dataclass(frozen=True, slots=True)
class TermRows:
    """Documents as term numbers in order.

    `numbers`, int32, holds them one document after the other, -1 where neighbours do not belong together;
    document i is `numbers[starts[i]:starts[i + 1]]`. A number is a place in `terms`.
    """

    numbers: Places
    starts: Ints
    terms: Sequence[str]

    def __len__(self) -> int:
        return len(self.starts) - 1


def resolve_languages(texts: Sequence[str], languages: Sequence[str | None] | None) -> list[str]:
    """The two letters of each text's language; where none is said, of that most of them are in, or ""."""
    asked = languages or [None] * len(texts)
    usual = guess_language(texts) if any(language is None for language in asked) else ""
    return fill_languages(asked, usual)


def fill_languages(languages: Sequence[str | None], usual_language: str) -> list[str]:
    """The two letters each text is read in, the usual ones where none are said."""
    return [
        usual_language if said is None else said.partition("-")[0].lower()[:2] for said in languages
    ]


def read_rows(
    texts: Sequence[str], languages: Sequence[str], terms: Sequence[str] | None = None
) -> TermRows:
    """The rows of texts, each in its language.

    With `terms`, the terms of a dictionary, other words are passed over.
    """
    vocabulary = Vocabulary(terms)
    numbers, starts = number_terms(vocabulary, texts, languages)
    return TermRows(numbers, starts, tuple(vocabulary.numbers) if terms is None else terms)


def number_terms(
    vocabulary: Vocabulary, texts: Sequence[str], languages: Sequence[str]
) -> tuple[Places, Ints]:
    """The numbers of the terms of texts by a vocabulary, and where each text's begin, as in `TermRows`."""
    numbers = array("i")
    starts = np.zeros(len(texts) + 1, dtype=np.int64)
    for place, (text, language) in enumerate(zip(texts, languages, strict=True)):
        vocabulary.read(text, language, numbers)
        starts[place + 1] = len(numbers)
    return np.frombuffer(numbers, np.int32) if numbers else np.zeros(0, np.int32), starts


def build_frequencies(rows: TermRows) -> Matrix:
    """How often each term stands in each document: float32, documents x terms, indices in order."""
    return count_terms(rows.numbers, rows.starts, len(rows.terms))


def count_terms(numbers: Places, starts: Ints, width: int) -> Matrix:
    """The frequencies of so many terms in the rows of `numbers`, as `build_frequencies` has them."""
    is_term = numbers >= 0
    before = np.concatenate(([0], np.cumsum(is_term)))
    found = sp.csr_matrix(
        (np.ones(int(before[-1]), np.float32), numbers[is_term], before[starts]),
        shape=(len(starts) - 1, width),
    )
    found.sum_duplicates()
    return found


def count_documents(rows: Matrix) -> Ints:
    """In how many documents each term stands."""
    return np.bincount(rows.indices, minlength=rows.shape[1]).astype(np.int64)


def select_features(counts: Ints, documents: int) -> Ints:
    """The terms that become features, ascending: in two documents or more where there are many, at most
    500,000. `counts`: in how many of the documents each term stands."""
    kept = np.flatnonzero(counts >= (2 if documents >= RARE_FROM else 1))
    if len(kept) > FEATURES_MAX:
        kept = np.sort(kept[np.argsort(-counts[kept], kind="stable")[:FEATURES_MAX]])
    return kept


def build_feature_numbers(features: Ints, terms: int) -> Places:
    """For each term its place among the kept ones, BREAK for others, and behind them BREAK for BREAK."""
    places = np.full(terms + 1, BREAK, dtype=np.int32)
    places[features] = np.arange(len(features), dtype=np.int32)
    return places


def remap_columns(rows: Matrix, places: Places, width: int) -> Matrix:
    """A matrix with its columns at other places, indices in order; those without a place are left out."""
    indices = places[rows.indices]
    inside = indices >= 0
    before = np.zeros(len(inside) + 1, dtype=rows.indptr.dtype)
    np.cumsum(inside, out=before[1:])
    found = sp.csr_matrix(
        (rows.data[inside], indices[inside], before[rows.indptr]), shape=(rows.shape[0], width)
    )
    found.sort_indices()
    return found


def select_rows(rows: TermRows, documents: Ints) -> TermRows:
    """The rows of some documents, in the order given."""
    begins, ends = rows.starts[documents].tolist(), rows.starts[documents + 1].tolist()
    some = [rows.numbers[begin:end] for begin, end in zip(begins, ends, strict=True)]
    starts = np.zeros(len(some) + 1, dtype=np.int64)
    np.cumsum([len(one) for one in some], out=starts[1:])
    return TermRows(np.concatenate([np.zeros(0, np.int32), *some]), starts, rows.terms)


# Term frequencies to tf-idf: 1 + ln(tf) times ln((1 + N) / (1 + df)) + 1, each document of length 1.
#
# Source: the smoothed idf of scikit-learn's TfidfTransformer, with sublinear term frequencies.


Floats = NDArray[np.float32]


def compute_idf(documents: int, document_counts: Ints) -> Floats:
    """The weight of each feature, float32, from 1 up."""
    weights: Floats = (np.log((1 + documents) / (1 + document_counts)) + 1).astype(np.float32)
    return weights


def compute_tfidf(counts: Matrix, weights: Floats) -> Matrix:
    """Documents x features, float32, rows of length 1 or without any value."""
    values = np.log(counts.data, dtype=np.float32)
    values += 1
    values *= weights[counts.indices]
    places = (counts.indices, counts.indptr)
    squares = sp.csr_matrix((values**2, *places), shape=counts.shape)
    lengths = np.sqrt(squares @ np.ones(counts.shape[1], np.float32))
    values /= np.repeat(np.maximum(lengths, np.float32(1e-12)), np.diff(counts.indptr))
    return sp.csr_matrix((values, *places), shape=counts.shape)


def normalize_rows(vectors: Floats) -> Floats:
    """Rows at length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def sample_evenly(count: int, count_max: int) -> Ints:
    """At most `count_max` of `count` places, evenly taken."""
    if count <= count_max:
        return np.arange(count, dtype=np.int64)
    return np.linspace(0, count - 1, count_max).astype(np.int64)
