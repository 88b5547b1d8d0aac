"""MinHash signatures of texts, for finding near-duplicates.

Source: A. Broder, "On the resemblance and containment of documents" (1997); multiply-shift hashing:
M. Dietzfelbinger (1996). Limits: linear in the first 2,000,000 characters of a text; 1,024 shingles
(runs of four words) at a time, 1 MiB.
"""

from __future__ import annotations

import zlib
from hashlib import shake_256

import numpy as np
from numpy.typing import NDArray

from fonds.text.similarity import VALUES
from fonds.text.words import split_words

SHINGLE_WORDS = 4
SHINGLES_MIN = 50
"""Minimum number of distinct shingles (runs of four words) in a text with a signature. Shorter
texts, such as notices and forms, are alike everywhere.
"""
MAX_CHARS = 2_000_000
BATCH_SIZE = 1_024
# Signatures are kept for years, so these numbers must not depend on the numpy version.
_NUMBERS = np.frombuffer(shake_256(b"minhash/1").digest(8 * (SHINGLE_WORDS + 2 * VALUES)), "<u8")
_PLACES = _NUMBERS[:SHINGLE_WORDS] | np.uint64(1)
FACTORS = _NUMBERS[SHINGLE_WORDS:-VALUES] | np.uint64(1)
ADDENDS = _NUMBERS[-VALUES:]
"""Addends of the 128 MinHash functions `hash * factor + addend` in 64 bits. Collections use the
first of the functions.
"""


def hash_shingles(text: str) -> NDArray[np.uint64]:
    """Return the distinct 32-bit hashes of all shingles (runs of four words) in a text. Shape
    (number,).

    In scripts without spaces, a shingle has four characters. Case, accents, width and punctuation
    are ignored.
    """
    words = split_words(text[:MAX_CHARS])
    runs = len(words) - SHINGLE_WORDS + 1
    if runs < 1:
        return np.zeros(0, dtype=np.uint64)
    word_hashes = np.fromiter(map(zlib.crc32, map(str.encode, words)), np.uint64, len(words))
    # The 64-bit overflow is intended: the upper half of the sum is the hash.
    shingle_sums = sum(
        word_hashes[offset : offset + runs] * _PLACES[offset] for offset in range(SHINGLE_WORDS)
    )
    hashes = np.asarray(shingle_sums, dtype=np.uint64) >> np.uint64(32)
    # Sorted and compared here, because `np.unique` takes four times as long for a page.
    hashes.sort()
    is_first = np.empty(runs, dtype=np.bool_)
    is_first[0] = True
    np.not_equal(hashes[1:], hashes[:-1], out=is_first[1:])
    return hashes[is_first]


def compute_signature(text: str) -> bytes | None:
    """Return the MinHash signature of a text: 128 minimum hashes, two bytes each; None if the text
    is too short.
    """
    hashes = hash_shingles(text)
    if len(hashes) < SHINGLES_MIN:
        return None
    return compute_minima(hashes)


def compute_minima(hashes: NDArray[np.uint64]) -> bytes:
    """Return the MinHash signature of a non-empty set of 32-bit hashes.

    The signature is the minimum of the set under each of 128 hash functions. Bits 8 to 23 of each
    minimum are stored, in two bytes, the high byte first.
    """
    minima: NDArray[np.uint64] = np.full(VALUES, 2**64 - 1, dtype=np.uint64)
    # One row of mixed hashes per function, in memory that all batches share.
    rows = np.empty((VALUES, min(len(hashes), BATCH_SIZE)), dtype=np.uint64)
    for start in range(0, len(hashes), BATCH_SIZE):
        batch = hashes[start : start + BATCH_SIZE]
        mixed_hashes = rows[:, : len(batch)]
        np.multiply(batch, FACTORS[:, None], out=mixed_hashes)
        mixed_hashes += ADDENDS[:, None]
        np.minimum(minima, mixed_hashes.min(axis=1), out=minima)
    return (minima >> np.uint64(8)).astype(np.uint16).astype(">u2").tobytes()
