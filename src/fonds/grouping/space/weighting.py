"""Term frequencies to tf-idf: 1 + ln(tf) times ln((1 + N) / (1 + df)) + 1, each document of length 1.

Source: the smoothed idf of scikit-learn's TfidfTransformer, with sublinear term frequencies.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fonds.grouping.text.counting import Ints, Matrix

Floats = NDArray[np.float32]


def idf(documents: int, document_counts: Ints) -> Floats:
    """The weight of each feature, float32, from 1 up."""
    weights: Floats = (np.log((1 + documents) / (1 + document_counts)) + 1).astype(np.float32)
    return weights


def tfidf(counted: Matrix, weights: Floats) -> Matrix:
    """Documents x features, float32, rows of length 1 or without any value."""
    values = np.log(counted.data, dtype=np.float32)
    values += 1
    values *= weights[counted.indices]
    places = (counted.indices, counted.indptr)
    squares = sp.csr_matrix((values**2, *places), shape=counted.shape)
    lengths = np.sqrt(squares @ np.ones(counted.shape[1], np.float32))
    values /= np.repeat(np.maximum(lengths, np.float32(1e-12)), np.diff(counted.indptr))
    return sp.csr_matrix((values, *places), shape=counted.shape)


def unit(vectors: Floats) -> Floats:
    """Rows at length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def evenly(count: int, most: int) -> Ints:
    """At most `most` of `count` places, evenly taken."""
    if count <= most:
        return np.arange(count, dtype=np.int64)
    return np.linspace(0, count - 1, most).astype(np.int64)
