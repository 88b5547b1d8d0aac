"""Compare MinHash signatures of two texts, and list the keys under which similar texts are found.

Source: J. Leskovec, A. Rajaraman and J. Ullman, "Mining of Massive Datasets", section 3.4.
Bound: a signature has 256 bytes.
"""

from __future__ import annotations

import struct
import zlib

VALUES = 128
"""So many least hashes are kept: the estimate has a standard deviation of 0.04 at a resemblance of 0.7."""

BANDS, ROWS = 16, 5
"""A pair as alike as 0.7 shares a band in 95 of 100 cases, as 0.8 in 999 of 1,000, as 0.3 in 4 of 100."""


def compute_bands(signed: bytes) -> list[int]:
    """The keys, signed 64-bit numbers, under which texts that are alike are found: one a band."""
    size = 2 * ROWS
    return [_build_band_key(band, signed[band * size : (band + 1) * size]) for band in range(BANDS)]


def _build_band_key(band: int, part: bytes) -> int:
    """80 bits and the band's number in 64 bits; a collision is a candidate that turns out to be none."""
    low, high = zlib.crc32(part, band), zlib.crc32(part[::-1], ~band & 0xFFFFFFFF)
    (key,) = struct.unpack(">q", struct.pack(">II", high, low))
    return int(key)


def estimate_resemblance(first: bytes, other: bytes) -> float:
    """The estimate, 0 to 1, of how large a share of their shingles two texts have in common."""
    pairs = zip(memoryview(first).cast("H"), memoryview(other).cast("H"), strict=True)
    return sum(left == right for left, right in pairs) / VALUES
