"""The space a collection's documents lie in: directions fitted once, then any document put into it.

A sparse document gets two parts, each of length 1 before they are weighed against each other. One is the
mean of its terms' vectors, which tells what it is about though it be short. The other is its place among
the collection's strongest directions (latent semantic analysis), which is exact where there are many terms:
it weighs 2n / (n + 50) for n distinct terms. A dense vector from a language model may stand before both,
which then weigh a half.

Source: truncated SVD by random projection, N. Halko, P. G. Martinsson and J. A. Tropp, 2011.
Bound: fitted on at most 20,000 documents; 200 directions, and those of the dense vector.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from fonds.grouping.algorithms.corpus import TextCollection
from fonds.grouping.algorithms.term_counts import (
    Floats,
    Ints,
    Matrix,
    normalize_rows,
    sample_evenly,
)

# Vectors of terms out of the collection itself: terms that stand beside the same terms lie together.
#
# Source: positive pointwise mutual information with context distribution smoothing at .75, factored: O. Levy,
# Y. Goldberg and I. Dagan, "Improving distributional similarity with lessons learned from word embeddings",
# 2015.
#
# Short texts on one theme often share no word; through these vectors they meet all the same. Neighbours are
# counted in passages of 64 terms, each passage weighing as much as any other of its length, and pairs met
# once do not count.
#
# Bound: 10,000 terms, 30,000 passages.


TERMS_MAX = 10_000
PASSAGES_MAX = 30_000
PASSAGE_TERMS = 64
RANK = 100
DOCUMENTS_MIN = 3
_PAIRS_MIN = 2
_SMOOTHING = 0.75
_TERM_VECTOR_ROUNDS = 2


def compute_term_vectors(collection: TextCollection, seed: int) -> Floats:
    """Features x at most 100, float32; rows of zeros for terms that are too rare, no column where all
    are."""
    document_counts = collection.dictionary.document_counts
    order = np.argsort(-document_counts, kind="stable")[:TERMS_MAX]
    frequent = np.sort(order[document_counts[order] >= DOCUMENTS_MIN])
    rank = min(RANK, len(frequent) - 1)
    if rank < 2:
        return np.zeros((len(document_counts), 0), np.float32)
    information = _compute_mutual_information(_sample_passages(collection)[:, frequent])
    if information.nnz == 0:
        return np.zeros((len(document_counts), 0), np.float32)
    left, strengths, _ = randomized_svd(
        information, rank, n_iter=_TERM_VECTOR_ROUNDS, random_state=seed
    )
    vectors = np.zeros((len(document_counts), rank), np.float32)
    vectors[frequent] = left * np.sqrt(strengths)
    return vectors


def _sample_passages(collection: TextCollection) -> Matrix:
    """Which terms stand in each passage, of passages evenly taken: float32 of ones, passages x features."""
    counts = -(-collection.count_lengths() // PASSAGE_TERMS)
    ends = np.cumsum(counts)
    chosen = sample_evenly(int(counts.sum()), PASSAGES_MAX)
    document = np.searchsorted(ends, chosen, side="right")
    number = chosen - (ends - counts)[document]
    read, place = np.unique(document, return_inverse=True)
    rows = collection.build_rows(read)
    is_term = rows.numbers >= 0
    numbers = rows.numbers[is_term]
    before = np.concatenate(([0], np.cumsum(is_term)))[rows.starts]
    begins = before[:-1][place] + number * PASSAGE_TERMS
    lengths = np.minimum(begins + PASSAGE_TERMS, before[1:][place]) - begins
    starts = np.concatenate(([0], np.cumsum(lengths)))
    places = np.arange(int(starts[-1])) + np.repeat(begins - starts[:-1], lengths)
    present = sp.csr_matrix(
        (np.ones(len(places), np.float32), numbers[places], starts),
        shape=(len(chosen), len(rows.terms)),
    )
    present.sum_duplicates()
    present.data[:] = 1
    return present


def _compute_mutual_information(present: Matrix) -> Matrix:
    """Positive pointwise mutual information of the pairs met twice or more: terms x terms."""
    lengths = np.maximum(np.asarray(present.sum(axis=1)).ravel(), 1)
    weighted = sp.csr_matrix(sp.diags((1 / lengths).astype(np.float32)) @ present)
    met = sp.csr_matrix(present.T @ present)
    weights = sp.csr_matrix(present.T @ weighted)
    met.sort_indices()
    weights.sort_indices()
    often = met.data >= _PAIRS_MIN
    row = np.repeat(np.arange(met.shape[0]), np.diff(met.indptr))[often]
    column, value = met.indices[often], weights.data[often].astype(np.float64)
    of_term = np.bincount(row, value, met.shape[0])
    of_context = of_term**_SMOOTHING
    of_context /= max(of_context.sum(), 1e-12)
    gained = np.log(value / np.maximum(of_term[row] * of_context[column], 1e-12))
    positive = gained > 0
    return sp.csr_matrix(
        (gained[positive].astype(np.float32), (row[positive], column[positive])), shape=met.shape
    )


DIRECTIONS = 100
SAMPLE_DOCUMENTS = 20_000
EXACT_WEIGHT = 2.0
EXACT_HALF_TERMS = 50
SPARSE_WEIGHT = 0.5
_ROUNDS = 3
_DOCUMENT_BATCH = 20_000


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """What puts documents into a space: features x directions, float32.

    The first `term_dimensions` columns of `directions` are term vectors, the others those of the collection;
    `dense` is the length of the dense vectors that come before, 0 without.
    """

    directions: Floats = field(repr=False)
    term_dimensions: int
    dense: int


@dataclass(frozen=True, slots=True)
class ProjectedVectors:
    """Documents in a space, worked out when they are asked for: those of all would take more room than
    their terms.

    `weighted`: their tf-idf; `dense`: documents x `space.dense`, float32 or float16, or None without.
    """

    space: VectorSpace
    weighted: Matrix = field(repr=False)
    dense: NDArray[np.floating[Any]] | None = field(repr=False)

    def __len__(self) -> int:
        return int(self.weighted.shape[0])

    @property
    def width(self) -> int:
        """How many directions there are, those of dense vectors included."""
        return int(self.space.directions.shape[1]) + self.space.dense

    def select(self, documents: Ints | slice) -> Floats:
        """Those of some documents, in the order given: float32, each of length 1."""
        dense = None if self.dense is None else self.dense[documents].astype(np.float32)
        return project(self.space, self.weighted[documents], dense)

    def iter_parts(self) -> Iterator[tuple[slice, Floats]]:
        """Those of all documents, some at a time: which, and their vectors."""
        for at in range(0, len(self), _DOCUMENT_BATCH):
            some = slice(at, min(at + _DOCUMENT_BATCH, len(self)))
            yield some, self.select(some)


def fit_space(weighted: Matrix, collection: TextCollection, dense: int, seed: int) -> VectorSpace:
    """The space of a collection; `weighted`: the tf-idf of its distinct documents. The same documents in the
    same order give the same one."""
    vectors = compute_term_vectors(collection, seed)
    sample = weighted[sample_evenly(weighted.shape[0], SAMPLE_DOCUMENTS)]
    rank = min(DIRECTIONS, min(sample.shape) - 1)
    if rank < 1:
        strongest = np.ones((weighted.shape[1], 1), np.float32)
    else:
        _, _, directions = randomized_svd(sample, rank, n_iter=_ROUNDS, random_state=seed)
        strongest = directions.T.astype(np.float32)
    return VectorSpace(np.hstack([vectors, strongest]), vectors.shape[1], dense)


def project(space: VectorSpace, weighted: Matrix, dense: Floats | None) -> Floats:
    """Documents x directions, float32, each of length 1; zeros for a document without any feature.

    `dense`, documents x `space.dense`, must be given where the space was fitted with it. Raises ValueError.
    """
    given = 0 if dense is None else dense.shape[1]
    if given != space.dense:
        raise ValueError(f"dense vectors of {space.dense} numbers are asked for, {given} are given")
    sparse = _project_sparse(space, weighted)
    if dense is None:
        return sparse
    return normalize_rows(np.hstack([normalize_rows(dense), SPARSE_WEIGHT * sparse]))


def _project_sparse(space: VectorSpace, weighted: Matrix) -> Floats:
    placed = np.asarray(weighted @ space.directions)
    terms = np.diff(weighted.indptr).astype(np.float32)[:, None]
    weight = EXACT_WEIGHT * terms / (terms + EXACT_HALF_TERMS)
    of_terms = normalize_rows(placed[:, : space.term_dimensions])
    exact = normalize_rows(placed[:, space.term_dimensions :]) * weight
    return normalize_rows(np.hstack([of_terms, exact]))
