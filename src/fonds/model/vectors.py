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
    """Terms of one collection, in one version, with the number of documents that contain each term.

    - `documents`: number of documents counted.
    - `terms`: case-folded, distinct, in code point order. The index of a term is its feature.
    - `document_counts`: for each term the number of counted documents that contain it, int64.
    """

    version: int
    documents: int
    terms: tuple[str, ...]
    document_counts: Numbers = field(repr=False)


@dataclass(frozen=True, slots=True)
class Vector:
    """Sparse vector of a document over the terms of one dictionary version.

    - `version`: version of the dictionary.
    - `features`: numbers of the terms with a value, int64, ascending and distinct.
    - `values`: values of these terms, float32, none of them 0. Term frequencies are integers from
      1. Tf-idf values are positive, and the vector then has length 1.
    """

    version: int
    features: Numbers
    values: Weights


@dataclass(frozen=True, slots=True)
class Postings:
    """Part of an inverted index. For some consecutive features, it lists the documents that contain
    each feature.

    A feature is the number of a term in the dictionary. A posting is one document of one feature.

    - `version`: version of the dictionary.
    - `first_feature`: first feature of the part.
    - `counts`: number of postings of each feature in the part, int64.
    - `documents`: document number of each posting, feature by feature, ascending within a feature,
      int64.
    - `weights`: tf-idf value of each posting, float32.

    The postings of one feature may continue in the next part.
    """

    version: int
    first_feature: int
    counts: Numbers
    documents: Numbers
    weights: Weights
