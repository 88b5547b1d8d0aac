"""MinHash signatures of texts, by which near-duplicates are found.

Source: A. Broder, "On the resemblance and containment of documents" (1997); multiply-shift hashing:
M. Dietzfelbinger (1996).
Bound: linear in the first 2,000,000 characters of a text; 4,096 shingles at once, 4 MiB.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from hashlib import shake_256

import numpy as np
from numpy.typing import NDArray

from fonds.text.similarity import VALUES

SHINGLE_WORDS = 4
SHINGLES_MIN = 50
"""Of less text nothing is told: notices and forms are alike everywhere."""
MAX_CHARS = 2_000_000
BATCH_SIZE = 4_096
_TOKEN = re.compile(
    # Scripts without blanks between words: each character counts as one.
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    "|[^\\W_]+(?:['\u2019][^\\W_]+)*"
)
# Signatures are kept for years: their numbers must not change with a version of numpy.
_NUMBERS = np.frombuffer(shake_256(b"minhash/1").digest(8 * (SHINGLE_WORDS + 2 * VALUES)), "<u8")
_PLACES = _NUMBERS[:SHINGLE_WORDS] | np.uint64(1)
_FACTORS = _NUMBERS[SHINGLE_WORDS:-VALUES] | np.uint64(1)
_ADDENDS = _NUMBERS[-VALUES:]


class _WordHashes(dict[str, int]):
    """The hash of each word of one text, computed once."""

    def __missing__(self, word: str) -> int:
        self[word] = found = zlib.crc32(word.encode("utf-8", "replace"))
        return found


def hash_shingles(text: str) -> NDArray[np.uint64]:
    """The hashes, 32 bits each, of all runs of four words, each once; of scripts without blanks of four
    characters. Shape (shingles,).

    Letter case, width and marks between words do not count.
    """
    folded = unicodedata.normalize("NFKC", text[:MAX_CHARS]).casefold()
    words = list(map(_WordHashes().__getitem__, _TOKEN.findall(folded)))
    runs = len(words) - SHINGLE_WORDS + 1
    if runs < 1:
        return np.zeros(0, dtype=np.uint64)
    hashed = np.array(words, dtype=np.uint64)
    # What overflows 64 bits is meant to: the upper half of the sum is the hash.
    mixed = sum(hashed[at : at + runs] * _PLACES[at] for at in range(SHINGLE_WORDS))
    return np.unique(np.asarray(mixed, dtype=np.uint64) >> np.uint64(32))


def compute_signature(text: str) -> bytes | None:
    """The text's 128 least hashes, two bytes each; None for a text too short to be told from others."""
    hashes = hash_shingles(text)
    if len(hashes) < SHINGLES_MIN:
        return None
    least: NDArray[np.uint64] = np.full(VALUES, 2**64 - 1, dtype=np.uint64)
    for at in range(0, len(hashes), BATCH_SIZE):
        mixed = hashes[at : at + BATCH_SIZE, None] * _FACTORS + _ADDENDS
        np.minimum(least, mixed.min(axis=0), out=least)
    return (least >> np.uint64(8)).astype(np.uint16).astype(">u2").tobytes()
