"""Resemblance of texts: its definition, the thresholds of near-duplicates, and MinHash signatures.

The resemblance of two texts is the Jaccard index of their features: the number in both divided by
the number in either. Words are those of `text/words.py`. For stories and files, a feature is a run
of four words. In collections of documents to be grouped, a feature is a single word (decision 89
says why). One changed word changes four runs, so the threshold is lower for runs.

Source: A. Broder, "On the resemblance and containment of documents" (1997); J. Leskovec, A.
Rajaraman and J. Ullman, "Mining of Massive Datasets", section 3.4. Limits: a MinHash signature has
256 bytes.
"""

from __future__ import annotations

import zlib

RUNS_RESEMBLANCE_MIN = 0.6
"""Minimum resemblance (0 to 1) of near-duplicates, if features are runs of four words."""

TERMS_RESEMBLANCE_MIN = 0.8
"""Minimum resemblance (0 to 1) of near-duplicates, if features are terms (single words), as in
collections.
"""

VALUES = 128
"""Number of minimum hashes in a MinHash signature. The estimated resemblance has a standard
deviation of 0.04 at a resemblance of 0.7.
"""

BANDS, ROWS = 16, 5
"""Number of bands (parts) in a MinHash signature, and of minimum hashes in a band. Two texts share
a band in 95 of 100 cases at a resemblance of 0.7, in 999 of 1,000 at 0.8, and in 4 of 100 at 0.3.
"""


def compute_bands(signature: bytes) -> list[int]:
    """Return one key for each band (part) of a MinHash signature, as signed 32-bit numbers.

    Similar texts are very likely to share at least one key.
    """
    size = 2 * ROWS
    # A key is a hash of the band and its number. A collision only adds a pair of texts that a later
    # comparison rejects: among ten million texts, less than one for each text.
    return [
        zlib.crc32(signature[band * size : (band + 1) * size], band) - 2**31
        for band in range(BANDS)
    ]


def compute_resemblance(shared_count: int, count: int, other_count: int) -> float:
    """Return the resemblance (0 to 1) of two texts with `count` and `other_count` features,
    `shared_count` of them in both.
    """
    return shared_count / max(count + other_count - shared_count, 1)


def estimate_resemblance(first: bytes, other_signature: bytes) -> float:
    """Return the resemblance (0 to 1) of two texts, estimated from their MinHash signatures."""
    pairs = zip(memoryview(first).cast("H"), memoryview(other_signature).cast("H"), strict=True)
    return sum(left == right for left, right in pairs) / VALUES
