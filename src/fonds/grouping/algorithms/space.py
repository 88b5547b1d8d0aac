"""Vector space of a collection: fit its dimensions once, then project any document.

The vector of a document has two parts, each normalized to length 1 before weighting:
- The mean of its terms' vectors. It captures the subject even of a short text.
- Its coordinates in the strongest latent dimensions (latent semantic analysis). This part is
  precise for documents with many terms and has the weight 2n / (n + 50) for n distinct terms.

A dense vector from a language model may precede both parts, which then have the weight one half.

Source: truncated SVD by random projection, N. Halko, P. G. Martinsson and J. A. Tropp, 2011.
Limits: fitted on at most 20,000 documents; 200 dimensions, plus those of the dense vector.
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

# Term vectors from the collection itself: terms with similar neighbours get similar vectors
#
# Source: positive pointwise mutual information with context distribution smoothing at .75,
# factored: O. Levy, Y. Goldberg and I. Dagan, "Improving distributional similarity with lessons
# learned from word embeddings", 2015.
#
# Short texts on one theme often share no word; these vectors still make them similar. Neighbours
# are counted in passages of 64 terms. Each passage has the same weight, and pairs that occur once
# are ignored.
#
# Limits: 10,000 terms, 30,000 passages.


TERMS_MAX = 10_000
PASSAGES_MAX = 30_000
PASSAGE_TERMS = 64
RANK = 100
DOCUMENTS_MIN = 3
_PAIRS_MIN = 2
_SMOOTHING = 0.75
_TERM_VECTOR_ROUNDS = 2


def compute_term_vectors(collection: TextCollection, seed: int) -> Floats:
    """Return a vector for each feature (term that counts): features x at most 100, float32.

    Terms with similar neighbours get similar vectors. Rare terms get zeros. Without enough frequent
    terms, there are no columns.
    `seed`: seed of the random projection.
    """
    document_counts = collection.dictionary.document_counts
    order = np.argsort(-document_counts, kind="stable")[:TERMS_MAX]
    frequent = np.sort(order[document_counts[order] >= DOCUMENTS_MIN])
    rank = min(RANK, len(frequent) - 1)
    if rank < 2:
        return np.zeros((len(document_counts), 0), np.float32)
    information = _compute_mutual_information(_sample_passages(collection)[:, frequent])
    if information.nnz == 0:
        return np.zeros((len(document_counts), 0), np.float32)
    left_vectors, strengths, _ = randomized_svd(
        information, rank, n_iter=_TERM_VECTOR_ROUNDS, random_state=seed
    )
    vectors = np.zeros((len(document_counts), rank), np.float32)
    vectors[frequent] = left_vectors * np.sqrt(strengths)
    return vectors


def _sample_passages(collection: TextCollection) -> Matrix:
    """Return which features occur in evenly sampled passages: passages x features, float32 ones.

    A passage is 64 consecutive terms of a document.
    """
    counts = -(-collection.count_lengths() // PASSAGE_TERMS)
    ends = np.cumsum(counts)
    passages = sample_evenly(int(counts.sum()), PASSAGES_MAX)
    document = np.searchsorted(ends, passages, side="right")
    number = passages - (ends - counts)[document]
    sampled_documents, place = np.unique(document, return_inverse=True)
    rows = collection.build_rows(sampled_documents)
    is_term = rows.numbers >= 0
    numbers = rows.numbers[is_term]
    earlier_counts = np.concatenate(([0], np.cumsum(is_term)))[rows.starts]
    begins = earlier_counts[:-1][place] + number * PASSAGE_TERMS
    lengths = np.minimum(begins + PASSAGE_TERMS, earlier_counts[1:][place]) - begins
    starts = np.concatenate(([0], np.cumsum(lengths)))
    places = np.arange(int(starts[-1])) + np.repeat(begins - starts[:-1], lengths)
    present = sp.csr_matrix(
        (np.ones(len(places), np.float32), numbers[places], starts),
        shape=(len(passages), len(rows.terms)),
    )
    present.sum_duplicates()
    present.data[:] = 1
    return present


def _compute_mutual_information(present: Matrix) -> Matrix:
    """Return the positive pointwise mutual information of pairs of terms: terms x terms.

    Only pairs that occur in at least two passages count.
    `present`: passages x terms; one where a passage contains the term.
    """
    lengths = np.maximum(np.asarray(present.sum(axis=1)).ravel(), 1)
    weighted_rows = sp.csr_matrix(sp.diags((1 / lengths).astype(np.float32)) @ present)
    pair_counts = sp.csr_matrix(present.T @ present)
    weights = sp.csr_matrix(present.T @ weighted_rows)
    pair_counts.sort_indices()
    weights.sort_indices()
    is_frequent = pair_counts.data >= _PAIRS_MIN
    row = np.repeat(np.arange(pair_counts.shape[0]), np.diff(pair_counts.indptr))[is_frequent]
    column, value = pair_counts.indices[is_frequent], weights.data[is_frequent].astype(np.float64)
    term_weights = np.bincount(row, value, pair_counts.shape[0])
    context_weights = term_weights**_SMOOTHING
    context_weights /= max(context_weights.sum(), 1e-12)
    information = np.log(value / np.maximum(term_weights[row] * context_weights[column], 1e-12))
    positive = information > 0
    return sp.csr_matrix(
        (information[positive].astype(np.float32), (row[positive], column[positive])),
        shape=pair_counts.shape,
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
    """Projection of documents into a vector space.

    `directions`: features x dimensions, float32. The first `term_dimensions` columns are term
        vectors, the others are latent dimensions of the collection.
    `term_dimensions`: number of dimensions from term vectors.
    `dense`: length of the dense vectors that precede these dimensions; 0 if there are none.
    """

    directions: Floats = field(repr=False)
    term_dimensions: int
    dense: int


@dataclass(frozen=True, slots=True)
class ProjectedVectors:
    """Vectors of documents in a vector space, computed on demand.

    All vectors at once would need more memory than the term weights.

    `space`: the vector space.
    `weighted_rows`: tf-idf of the documents, documents x features.
    `dense`: dense vectors of the documents, documents x `space.dense`, float32 or float16; None if
        the space uses none.
    """

    space: VectorSpace
    weighted_rows: Matrix = field(repr=False)
    dense: NDArray[np.floating[Any]] | None = field(repr=False)

    def __len__(self) -> int:
        return int(self.weighted_rows.shape[0])

    @property
    def width(self) -> int:
        """Number of dimensions of the vectors, including those of dense vectors."""
        return int(self.space.directions.shape[1]) + self.space.dense

    def select(self, documents: Ints | slice) -> Floats:
        """Return the vectors of some documents in the given order: documents x dimensions, float32.

        Each vector has length 1. It is zero for a document with neither features (terms that count)
        nor a dense vector.
        `documents`: positions of the documents.
        """
        dense = None if self.dense is None else self.dense[documents].astype(np.float32)
        return project(self.space, self.weighted_rows[documents], dense)

    def iter_parts(self) -> Iterator[tuple[slice, Floats]]:
        """Iterate over the vectors of all documents, 20,000 documents at a time.

        Yields the slice of document positions and their vectors.
        """
        for start in range(0, len(self), _DOCUMENT_BATCH):
            part = slice(start, min(start + _DOCUMENT_BATCH, len(self)))
            yield part, self.select(part)


def fit_space(
    weighted_rows: Matrix, collection: TextCollection, dense: int, seed: int
) -> VectorSpace:
    """Fit the vector space of a collection.

    The same documents in the same order give the same space.
    `weighted_rows`: tf-idf of the collection's distinct documents.
    `dense`: length of the documents' dense vectors; 0 if there are none.
    `seed`: seed of the random projections.
    """
    vectors = compute_term_vectors(collection, seed)
    sample = weighted_rows[sample_evenly(weighted_rows.shape[0], SAMPLE_DOCUMENTS)]
    rank = min(DIRECTIONS, min(sample.shape) - 1)
    if rank < 1:
        strongest = np.ones((weighted_rows.shape[1], 1), np.float32)
    else:
        _, _, directions = randomized_svd(sample, rank, n_iter=_ROUNDS, random_state=seed)
        strongest = directions.T.astype(np.float32)
    return VectorSpace(np.hstack([vectors, strongest]), vectors.shape[1], dense)


def project(space: VectorSpace, weighted_rows: Matrix, dense: Floats | None) -> Floats:
    """Return the vectors of documents in a vector space: documents x dimensions, float32.

    Each vector has length 1. It is zero for a document with neither features (terms that count) nor
    a dense vector.
    `weighted_rows`: tf-idf of the documents, documents x features.
    `dense`: dense vectors of the documents, documents x `space.dense`; None if the space uses none.
    Raises ValueError if the length of the dense vectors differs from the space's.
    """
    dense_length = 0 if dense is None else dense.shape[1]
    if dense_length != space.dense:
        raise ValueError(f"dense vectors must have {space.dense} numbers, not {dense_length}")
    sparse = _project_sparse(space, weighted_rows)
    if dense is None:
        return sparse
    return normalize_rows(np.hstack([normalize_rows(dense), SPARSE_WEIGHT * sparse]))


def _project_sparse(space: VectorSpace, weighted_rows: Matrix) -> Floats:
    projected_rows = np.asarray(weighted_rows @ space.directions)
    term_counts = np.diff(weighted_rows.indptr).astype(np.float32)[:, None]
    weight = EXACT_WEIGHT * term_counts / (term_counts + EXACT_HALF_TERMS)
    term_part = normalize_rows(projected_rows[:, : space.term_dimensions])
    latent_part = normalize_rows(projected_rows[:, space.term_dimensions :]) * weight
    return normalize_rows(np.hstack([term_part, latent_part]))
