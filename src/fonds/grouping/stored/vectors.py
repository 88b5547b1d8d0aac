"""Encoding of `vector_idf` and `vector_tfidf`: sparse vectors over a collection's dictionary.

`vector_idf` stores the frequency of each term in the document. The idf follows from the
dictionary's document frequencies, so nothing else is stored. `vector_tfidf` is the weighted vector,
normalized to length 1.

Payload: varints for the dictionary's version, the number of features, and the gaps between the
features; then the frequencies as varints, or the weights as binary16. Limits: 1,000,000 features.
"""

from __future__ import annotations

import numpy as np

from fonds.grouping.stored.packing import (
    HEAD_BYTES,
    build_damaged_error,
    decode_gaps,
    encode_gaps,
    encode_half_floats,
    encode_varints,
    open_payload,
    read_halves,
    read_varints,
    seal_payload,
)
from fonds.model.vectors import Numbers, Vector

FEATURES_MAX = 1_000_000
FEATURE_MAX = 2**31 - 1
FREQUENCY_MAX = 2**24
"""Maximum term frequency stored; integers up to this one are exact as float32."""
_MAX_BYTES = HEAD_BYTES + 20 + 9 * FEATURES_MAX


def encode_idf_vector(vector: Vector) -> bytes:
    """Return the cell `processing:vector_idf` for a vector of term frequencies."""
    frequencies = np.minimum(vector.values, FREQUENCY_MAX).astype(np.int64)
    return seal_payload(b"f", _encode_features(vector) + encode_varints(frequencies - 1))


def decode_idf_vector(value: bytes) -> Vector:
    """Decode the cell `processing:vector_idf` into a vector of term frequencies.

    Raises DamagedInputError if the cell is damaged.
    """
    payload = open_payload(b"f", value, _MAX_BYTES)
    version, features, position = _read_features(payload)
    frequencies, end = read_varints(payload, len(features), position)
    if end != len(payload):
        raise build_damaged_error("bytes follow the frequencies")
    if len(frequencies) and int(frequencies.max()) >= FREQUENCY_MAX:
        raise build_damaged_error("a term's frequency exceeds the document's length")
    return Vector(version, features, (frequencies + 1).astype(np.float32))


def encode_tfidf_vector(vector: Vector) -> bytes:
    """Return the cell `processing:vector_tfidf` for a vector of tf-idf weights.

    Weights keep three digits and never become 0.
    """
    smallest = np.float32(np.finfo(np.float16).smallest_subnormal)
    return seal_payload(
        b"w", _encode_features(vector) + encode_half_floats(np.maximum(vector.values, smallest))
    )


def decode_tfidf_vector(value: bytes) -> Vector:
    """Decode the cell `processing:vector_tfidf` into a vector of tf-idf weights.

    Raises DamagedInputError if the cell is damaged.
    """
    payload = open_payload(b"w", value, _MAX_BYTES)
    version, features, position = _read_features(payload)
    return Vector(version, features, read_halves(payload, len(features), position))


def _encode_features(vector: Vector) -> bytes:
    head = np.array([vector.version, len(vector.features)], dtype=np.int64)
    return encode_varints(head) + encode_varints(encode_gaps(vector.features))


def _read_features(payload: bytes) -> tuple[int, Numbers, int]:
    head, position = read_varints(payload, 2)
    if int(head[1]) > FEATURES_MAX:
        raise build_damaged_error(f"{head[1]} features; the limit is {FEATURES_MAX}")
    gaps, position = read_varints(payload, int(head[1]), position)
    return int(head[0]), decode_gaps(gaps, FEATURE_MAX), position
