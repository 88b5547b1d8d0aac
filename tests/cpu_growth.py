"""Check that CPU time grows with the size of the input and not with its square, on any machine."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

SIZE_FACTOR = 4
GROWTH_MAX = 10.0
"""Linear work costs 4 times as much for 4 times the input, quadratic work 16 times."""

SHORTEST_S = 0.002
"""Shorter times count as this long, because the clock is not precise enough."""

ROUNDS = 3


def assert_linear_cpu(act: Callable[[int], object], size: int) -> None:
    """Assert that `act(size)` takes at most ten times the CPU of a quarter of the size."""
    small_s = _measure_cpu_s(act, size // SIZE_FACTOR)
    large_s = _measure_cpu_s(act, size)
    growth = large_s / max(small_s, SHORTEST_S)
    assert growth < GROWTH_MAX, f"{small_s:.3f} s for a quarter of the input, {large_s:.3f} s"


def _measure_cpu_s(act: Callable[[int], object], size: int) -> float:
    """Return the CPU seconds of the fastest round, so that other load on the machine counts
    little.
    """
    rounds_s: list[float] = []
    for _ in range(ROUNDS):
        gc.collect()
        start_s = time.process_time()
        act(size)
        rounds_s.append(time.process_time() - start_s)
    return min(rounds_s)
