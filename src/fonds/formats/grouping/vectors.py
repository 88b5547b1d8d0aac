"""`vector_idf` and `vector_tfidf`: the sparse vectors of one document, over its collection's dictionary.

`vector_idf` keeps how often each term stands in the document: with the dictionary's document counts, from
which every idf follows, nothing else has to be kept. `vector_tfidf` is the same vector weighted, of length
1.

Payload: varints for the dictionary's version, the number of features, and the gaps between the features;
then the frequencies as varints, or the weights as binary16. Bound: 1,000,000 features.
"""

from __future__ import annotations

import numpy as np

from fonds.formats.grouping.packing import (
    HEAD_BYTES,
    damaged,
    from_gaps,
    gaps,
    halves,
    opened,
    read_halves,
    read_varints,
    sealed,
    varints,
)
from fonds.model.vectors import Numbers, Vector

FEATURES_MAX = 1_000_000
FEATURE_MAX = 2**31 - 1
FREQUENCY_MAX = 2**24
"""Whole numbers up to here are exact as float32."""
_BYTES_MAX = HEAD_BYTES + 20 + 9 * FEATURES_MAX


def to_vector_idf(vector: Vector) -> bytes:
    """The cell `processing:vector_idf` of a vector of term frequencies."""
    frequencies = np.minimum(vector.values, FREQUENCY_MAX).astype(np.int64)
    return sealed(b"f", _features(vector) + varints(frequencies - 1))


def from_vector_idf(value: bytes) -> Vector:
    """Term frequencies. Raises DamagedInputError."""
    payload = opened(b"f", value, _BYTES_MAX)
    version, features, at = _read_features(payload)
    frequencies, end = read_varints(payload, len(features), at)
    if end != len(payload):
        raise damaged("something follows the frequencies")
    if len(frequencies) and int(frequencies.max()) >= FREQUENCY_MAX:
        raise damaged("a term stands more often than a document is long")
    return Vector(version, features, (frequencies + 1).astype(np.float32))


def to_vector_tfidf(vector: Vector) -> bytes:
    """The cell `processing:vector_tfidf`; weights are kept to three digits, and none becomes 0."""
    smallest = np.float32(np.finfo(np.float16).smallest_subnormal)
    return sealed(b"w", _features(vector) + halves(np.maximum(vector.values, smallest)))


def from_vector_tfidf(value: bytes) -> Vector:
    """Weights. Raises DamagedInputError."""
    payload = opened(b"w", value, _BYTES_MAX)
    version, features, at = _read_features(payload)
    return Vector(version, features, read_halves(payload, len(features), at))


def _features(vector: Vector) -> bytes:
    head = np.array([vector.version, len(vector.features)], dtype=np.int64)
    return varints(head) + varints(gaps(vector.features))


def _read_features(payload: bytes) -> tuple[int, Numbers, int]:
    head, at = read_varints(payload, 2)
    if int(head[1]) > FEATURES_MAX:
        raise damaged(f"{head[1]} features, where {FEATURES_MAX} is the most")
    steps, at = read_varints(payload, int(head[1]), at)
    return int(head[0]), from_gaps(steps, FEATURE_MAX), at
