"""Vectors of terms out of the collection itself: terms that stand beside the same terms lie together.

Source: positive pointwise mutual information with context distribution smoothing at .75, factored: O. Levy,
Y. Goldberg and I. Dagan, "Improving distributional similarity with lessons learned from word embeddings",
2015.

Short texts on one theme often share no word; through these vectors they meet all the same. Neighbours are
counted in passages of 64 terms, each passage weighing as much as any other of its length, and pairs met
once do not count.

Bound: 10,000 terms, 30,000 passages.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from fonds.grouping.space.weighting import Floats, evenly
from fonds.grouping.text.collection import Collection
from fonds.grouping.text.counting import Matrix

TERMS_MAX = 10_000
PASSAGES_MAX = 30_000
PASSAGE_TERMS = 64
RANK = 100
DOCUMENTS_MIN = 3
_PAIRS_MIN = 2
_SMOOTHING = 0.75
_ROUNDS = 2


def term_vectors(collection: Collection, seed: int) -> Floats:
    """Features x at most 100, float32; rows of zeros for terms that are too rare, no column where all
    are."""
    document_counts = collection.dictionary.document_counts
    order = np.argsort(-document_counts, kind="stable")[:TERMS_MAX]
    frequent = np.sort(order[document_counts[order] >= DOCUMENTS_MIN])
    rank = min(RANK, len(frequent) - 1)
    if rank < 2:
        return np.zeros((len(document_counts), 0), np.float32)
    information = _information(_passages(collection)[:, frequent])
    if information.nnz == 0:
        return np.zeros((len(document_counts), 0), np.float32)
    left, strengths, _ = randomized_svd(information, rank, n_iter=_ROUNDS, random_state=seed)
    vectors = np.zeros((len(document_counts), rank), np.float32)
    vectors[frequent] = left * np.sqrt(strengths)
    return vectors


def _passages(collection: Collection) -> Matrix:
    """Which terms stand in each passage, of passages evenly taken: float32 of ones, passages x features."""
    counts = -(-collection.lengths() // PASSAGE_TERMS)
    ends = np.cumsum(counts)
    chosen = evenly(int(counts.sum()), PASSAGES_MAX)
    document = np.searchsorted(ends, chosen, side="right")
    number = chosen - (ends - counts)[document]
    read, place = np.unique(document, return_inverse=True)
    rows = collection.rows(read)
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


def _information(present: Matrix) -> Matrix:
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
