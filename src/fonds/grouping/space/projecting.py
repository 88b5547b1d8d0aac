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
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from fonds.grouping.space.term_vectors import term_vectors
from fonds.grouping.space.weighting import Floats, evenly, unit
from fonds.grouping.text.collection import Collection
from fonds.grouping.text.counting import Ints, Matrix

DIRECTIONS = 100
SAMPLE_DOCUMENTS = 20_000
EXACT_WEIGHT = 2.0
EXACT_HALF_TERMS = 50
SPARSE_BESIDE_DENSE = 0.5
_ROUNDS = 3
_DOCUMENTS_AT_ONCE = 20_000


@dataclass(frozen=True, slots=True)
class Space:
    """What puts documents into a space: features x directions, float32.

    The first `of_terms` columns of `directions` are term vectors, the others those of the collection;
    `dense` is the length of the dense vectors that come before, 0 without.
    """

    directions: Floats = field(repr=False)
    of_terms: int
    dense: int


@dataclass(frozen=True, slots=True)
class Vectors:
    """Documents in a space, worked out when they are asked for: those of all would take more room than
    their terms.

    `weighted`: their tf-idf; `dense`: documents x `space.dense`, float32 or float16, or None without.
    """

    space: Space
    weighted: Matrix = field(repr=False)
    dense: NDArray[np.floating[Any]] | None = field(repr=False)

    def __len__(self) -> int:
        return int(self.weighted.shape[0])

    @property
    def width(self) -> int:
        """How many directions there are, those of dense vectors included."""
        return int(self.space.directions.shape[1]) + self.space.dense

    def of(self, documents: Ints | slice) -> Floats:
        """Those of some documents, in the order given: float32, each of length 1."""
        dense = None if self.dense is None else self.dense[documents].astype(np.float32)
        return project(self.space, self.weighted[documents], dense)

    def parts(self) -> Iterator[tuple[slice, Floats]]:
        """Those of all documents, some at a time: which, and their vectors."""
        for at in range(0, len(self), _DOCUMENTS_AT_ONCE):
            some = slice(at, min(at + _DOCUMENTS_AT_ONCE, len(self)))
            yield some, self.of(some)


def fit(weighted: Matrix, collection: Collection, dense: int, seed: int) -> Space:
    """The space of a collection; `weighted`: the tf-idf of its distinct documents. The same documents in the
    same order give the same one."""
    vectors = term_vectors(collection, seed)
    sample = weighted[evenly(weighted.shape[0], SAMPLE_DOCUMENTS)]
    rank = min(DIRECTIONS, min(sample.shape) - 1)
    if rank < 1:
        strongest = np.ones((weighted.shape[1], 1), np.float32)
    else:
        _, _, directions = randomized_svd(sample, rank, n_iter=_ROUNDS, random_state=seed)
        strongest = directions.T.astype(np.float32)
    return Space(np.hstack([vectors, strongest]), vectors.shape[1], dense)


def project(space: Space, weighted: Matrix, dense: Floats | None) -> Floats:
    """Documents x directions, float32, each of length 1; zeros for a document without any feature.

    `dense`, documents x `space.dense`, must be given where the space was fitted with it. Raises ValueError.
    """
    given = 0 if dense is None else dense.shape[1]
    if given != space.dense:
        raise ValueError(f"dense vectors of {space.dense} numbers are asked for, {given} are given")
    sparse = _sparse(space, weighted)
    if dense is None:
        return sparse
    return unit(np.hstack([unit(dense), SPARSE_BESIDE_DENSE * sparse]))


def _sparse(space: Space, weighted: Matrix) -> Floats:
    placed = np.asarray(weighted @ space.directions)
    terms = np.diff(weighted.indptr).astype(np.float32)[:, None]
    weight = EXACT_WEIGHT * terms / (terms + EXACT_HALF_TERMS)
    of_terms = unit(placed[:, : space.of_terms])
    exact = unit(placed[:, space.of_terms :]) * weight
    return unit(np.hstack([of_terms, exact]))
