"""Terms, their dictionary and the sparse vectors over it, as they are stored and counted with.

A feature is a term's number in one dictionary. Feature numbers mean nothing beside another dictionary, so
each value carries the version of the dictionary it was made by.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Weights = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The features of one collection and model version.

    `terms` are folded, distinct and in code point order; a term's place is its feature. `document_counts`,
    int64 of the same length, says in how many of the `documents` counted documents each stands.
    """

    version: int
    documents: int
    terms: tuple[str, ...]
    document_counts: Numbers = field(repr=False)


@dataclass(frozen=True, slots=True)
class Vector:
    """A sparse vector: `features` int64, ascending and distinct; `values` float32, none of them 0.

    As term frequencies the values are whole numbers from 1; as tf-idf they are positive with length 1.
    """

    version: int
    features: Numbers
    values: Weights


@dataclass(frozen=True, slots=True)
class Postings:
    """A run of an inverted index: the documents of the features from `first_feature` on.

    `counts`, int64, says how many postings each feature has here; `documents`, int64, holds the numbers of
    their documents, feature by feature, ascending within one; `weights`, float32, the tf-idf beside each.
    The postings of one feature may go on in the next run.
    """

    version: int
    first_feature: int
    counts: Numbers
    documents: Numbers
    weights: Weights
