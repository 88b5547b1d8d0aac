"""How much this process may take of the machine, looked at before work begins.

Source: getrlimit(2), Python's module gc.
"""

from __future__ import annotations

import gc
import os
import resource
from contextlib import suppress

from fonds.model.errors import ConfigurationError

FILES_MIN, FILES_WANTED = 64, 4_096
NEW_CONTAINERS = 50_000
ADDRESSES_MIN_BYTES, ADDRESSES_A_CORE_BYTES = 2**30, 2**28
"""Of memory that can be addressed: native code ends the process when it gets none."""


def allow_files() -> None:
    """Allow this process more open files, where its own limit is below what it may be set to."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_WANTED if hard == resource.RLIM_INFINITY else min(hard, FILES_WANTED)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def collect_seldom() -> None:
    """Look for garbage that points at itself after 50,000 new containers, not after 700.

    Records are made and dropped by the thousand and point at nothing; looking through them took 5 to 8 % of
    the time of a run, and the memory is the same.
    """
    gc.set_threshold(NEW_CONTAINERS, 20, 100)


def check_limits() -> None:
    """Raises ConfigurationError for limits with which no work can be done."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY and files < FILES_MIN:
        raise ConfigurationError(
            f"only {files} files may be open at once here, and {FILES_MIN} is the least that work"
            f" takes. Allow more: `ulimit -n 1024`, or LimitNOFILE= of the service."
        )
    size_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
    least_bytes = ADDRESSES_MIN_BYTES + ADDRESSES_A_CORE_BYTES * len(os.sched_getaffinity(0))
    if size_bytes != resource.RLIM_INFINITY and size_bytes < least_bytes:
        raise ConfigurationError(
            f"only {size_bytes // 2**20} MiB of memory may be addressed here, and"
            f" {least_bytes // 2**20} MiB is the least that work takes. Allow more:"
            " `ulimit -v unlimited`, or LimitAS= of the service."
        )
