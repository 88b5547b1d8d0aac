"""Texts to rows of term numbers, and rows to a matrix of term frequencies over one dictionary.

Terms are numbered in code point order and documents ranked by what they hold, so that neither depends on the
order in which documents came.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fonds.grouping.text.tokens import BREAK, Vocabulary, guess_language

Matrix: TypeAlias = Any
"""A scipy.sparse.csr_matrix, of which there are no types."""
Ints = NDArray[np.int64]

FEATURES_MAX = 500_000
_DOCUMENTS_AT_ONCE = 50_000
RARE_FROM = 100
"""From so many documents on, a term that stands in only one of them is no feature."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Documents as term numbers in order.

    `numbers`, int32, holds them one document after the other, -1 where neighbours do not belong together;
    document i is `numbers[starts[i]:starts[i + 1]]`. A number is a place in `terms`, which are in order.
    """

    numbers: NDArray[np.int32]
    starts: Ints
    terms: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.starts) - 1


def resolved(texts: Sequence[str], languages: Sequence[str | None] | None) -> list[str]:
    """The two letters of each text's language; where none is said, of that most of them are in, or ""."""
    asked = languages or [None] * len(texts)
    usual = guess_language(texts) if any(language is None for language in asked) else ""
    return [usual if said is None else said.partition("-")[0].lower()[:2] for said in asked]


def read_rows(
    texts: Sequence[str], languages: Sequence[str], known: Sequence[str] | None = None
) -> Rows:
    """The rows of texts, each in its language.

    With `known`, the terms of a dictionary, other words are passed over.
    """
    vocabulary = Vocabulary(known)
    numbers = array("i")
    starts = np.zeros(len(texts) + 1, dtype=np.int64)
    for place, (text, language) in enumerate(zip(texts, languages, strict=True)):
        vocabulary.read(text, language, numbers)
        starts[place + 1] = len(numbers)
    read = np.frombuffer(numbers, dtype=np.int32) if numbers else np.zeros(0, np.int32)
    if known is not None:
        return Rows(read, starts, tuple(known))
    return _in_order(read, starts, list(vocabulary.numbers))


def _in_order(numbers: NDArray[np.int32], starts: Ints, terms: list[str]) -> Rows:
    """The same rows with their terms in code point order."""
    order = sorted(range(len(terms)), key=terms.__getitem__)
    places = np.full(len(terms) + 1, BREAK, dtype=np.int32)
    places[order] = np.arange(len(terms), dtype=np.int32)
    return Rows(places[numbers], starts, tuple(terms[number] for number in order))


def frequencies(rows: Rows) -> Matrix:
    """How often each term stands in each document: float32, documents x terms, indices in order."""
    is_term = rows.numbers >= 0
    before = np.concatenate(([0], np.cumsum(is_term)))
    counted = sp.csr_matrix(
        (np.ones(int(before[-1]), np.float32), rows.numbers[is_term], before[rows.starts]),
        shape=(len(rows), len(rows.terms)),
    )
    counted.sum_duplicates()
    return counted


def document_counts(counted: Matrix) -> Ints:
    """In how many documents each term stands."""
    return np.bincount(counted.indices, minlength=counted.shape[1]).astype(np.int64)


def features(counted: Matrix) -> Ints:
    """The terms that become features, ascending: in two documents or more where there are many, at most
    500,000."""
    counts = document_counts(counted)
    kept = np.flatnonzero(counts >= (2 if counted.shape[0] >= RARE_FROM else 1))
    if len(kept) > FEATURES_MAX:
        kept = np.sort(kept[np.argsort(-counts[kept], kind="stable")[:FEATURES_MAX]])
    return kept


def renumbered(rows: Rows, kept: Ints) -> Rows:
    """Rows over the kept terms alone; a term that is none breaks the row."""
    places = np.full(len(rows.terms) + 1, BREAK, dtype=np.int32)
    places[kept] = np.arange(len(kept), dtype=np.int32)
    return Rows(places[rows.numbers], rows.starts, tuple(rows.terms[place] for place in kept))


def taken(rows: Rows, documents: Ints) -> Rows:
    """The rows of some documents, in the order given."""
    lengths = np.diff(rows.starts)[documents]
    starts = np.concatenate(([0], np.cumsum(lengths)))
    offsets = np.repeat(rows.starts[documents] - starts[:-1], lengths)
    return Rows(rows.numbers[np.arange(int(starts[-1])) + offsets], starts, rows.terms)


def contents(counted: Matrix, seed: int = 0) -> NDArray[np.uint64]:
    """A number for what each document holds, the same for the same term frequencies; 0 for none."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(1, 2**63 - 1, size=counted.shape[1]).astype(np.uint64)
    parts = [np.zeros(0, np.uint64)]
    for at in range(0, counted.shape[0], _DOCUMENTS_AT_ONCE):
        starts = counted.indptr[at : at + _DOCUMENTS_AT_ONCE + 1]
        some = slice(starts[0], starts[-1])
        often = 2 * counted.data[some].astype(np.uint64) + np.uint64(1)
        mixed = drawn[counted.indices[some]] * often
        parts.append(_sums(mixed ^ (mixed >> np.uint64(29)), starts - starts[0]))
    return np.concatenate(parts)


def _sums(values: NDArray[np.uint64], starts: NDArray[Any]) -> NDArray[np.uint64]:
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)))
    held: NDArray[np.uint64] = sums[starts[1:]] - sums[starts[:-1]]
    return held
