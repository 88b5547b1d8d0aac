"""Clocks for waiting by: people and time servers put the machine's clock forward and back, these run on.

Source: clock_gettime(2).
"""

from __future__ import annotations

import time
from collections.abc import Callable


def since_boot_s() -> float:
    """Seconds since the machine began, the same for all its processes; sleep included where that is told."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


def steady_clock() -> Callable[[], float]:
    """A clock that tells Unix seconds by what the machine's says now, and only runs forward from here on."""
    began_s = time.time() - since_boot_s()
    return lambda: began_s + since_boot_s()
