"""Which range a record falls in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence


def range_of(ranges: Sequence[bytes], record: bytes) -> int:
    """The number of the range: how many of the sorted keys are not greater than the record."""
    return bisect_right(ranges, record)
