"""Dictionaries of terms, sparse vectors over the terms, and inverted indexes (postings).

A feature is the number of a term in one dictionary. The number has no meaning in another
dictionary, so each vector and each index carries the version of its dictionary.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Weights = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Features of one collection and model version.

    `terms` are folded, distinct and in code point order; a term's index is its feature.
    `document_counts`, int64 of the same length, says in how many of the `documents` counted
    documents each term occurs.
    """

    version: int
    documents: int
    terms: tuple[str, ...]
    document_counts: Numbers = field(repr=False)


@dataclass(frozen=True, slots=True)
class Vector:
    """Sparse vector: `features` int64, ascending and distinct; `values` float32, none of them 0.

    Term frequencies are integers from 1. Tf-idf values are positive and have length 1.
    """

    version: int
    features: Numbers
    values: Weights


@dataclass(frozen=True, slots=True)
class Postings:
    """Run of an inverted index: the documents of the features from `first_feature` on.

    `counts`, int64, is the number of postings of each feature here. `documents`, int64, has the
    numbers of their documents, feature by feature, ascending within one. `weights`, float32, has
    the tf-idf of each. The postings of one feature may continue in the next run.
    """

    version: int
    first_feature: int
    counts: Numbers
    documents: Numbers
    weights: Weights
