"""Resource limits, garbage collection and stop signals of this process.

Source: getrlimit(2), Python's module gc.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from fonds.model.errors import ConfigurationError

FILES_MIN, OPEN_FILES_TARGET = 64, 4_096
NEW_CONTAINERS = 50_000
ARENAS_MAX = 2
_M_ARENA_MAX = -8
"""Number of the option `M_ARENA_MAX` in malloc.h."""
ADDRESSES_MIN_BYTES, ADDRESSES_A_CORE_BYTES = 2**30, 2**28
"""Minimum address space of the process in bytes: a base, and an amount for each core.

Native code aborts the process if an allocation fails.
"""


def allow_files() -> None:
    """Raise this process's soft limit on open files to 4,096, or to the hard limit if that is
    lower.

    A higher soft limit is kept. Nothing happens if the limit cannot be raised.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = OPEN_FILES_TARGET if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES_TARGET)
    if soft != resource.RLIM_INFINITY and soft < limit:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def collect_seldom() -> None:
    """Make Python collect cyclic garbage after 50,000 new containers instead of 700.

    Thousands of records are created and dropped, and none of them is in a cycle. Scanning them took
    5 to 8 % of a run; memory use is unchanged.
    """
    gc.set_threshold(NEW_CONTAINERS, 20, 100)


def end_without_collecting() -> None:
    """Exempt all objects of this process, which is about to exit, from garbage collection.

    The interpreter collects garbage several times before it exits. Traversing the imported modules
    takes 0.1 s. Files that only cyclic garbage refers to are not flushed.
    """
    gc.freeze()


def share_arenas() -> None:
    """Make all threads of this process allocate from two arenas of memory instead of one each.

    Free memory in the arena of one thread is not used by the others. With a dozen threads, a run
    over 10,000 pages needed 100 MB more. Nothing happens with other C libraries than glibc. Source:
    mallopt(3).
    """
    import ctypes  # It is slow to import.

    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS_MAX)


def check_limits() -> None:
    """Raise ConfigurationError if this process may open too few files or use too little address
    space.
    """
    files_limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files_limit != resource.RLIM_INFINITY and files_limit < FILES_MIN:
        raise ConfigurationError(
            f"The limit is {files_limit} open files; Fonds needs at least {FILES_MIN}. "
            "Raise it with `ulimit -n 1024`, or LimitNOFILE= of the service."
        )
    size_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
    min_bytes = ADDRESSES_MIN_BYTES + ADDRESSES_A_CORE_BYTES * len(os.sched_getaffinity(0))
    if size_bytes != resource.RLIM_INFINITY and size_bytes < min_bytes:
        raise ConfigurationError(
            f"The limit is {size_bytes // 2**20} MiB of address space; Fonds needs at "
            f"least {min_bytes // 2**20} MiB. Raise it with `ulimit -v unlimited`, or "
            "LimitAS= of the service."
        )


# Handling of SIGINT and SIGTERM.
#
# A handler runs in the main thread between any two instructions, perhaps while that thread holds
# the lock of an event, a queue or the log. It therefore only writes the signal's number to a pipe.
# Another thread reads the pipe and acts, whatever the main thread holds or waits for.


_END = b"\0"
"""Byte that ends the reading of signal numbers from the pipe; no signal has this number."""


@contextmanager
def handle_stop_signals(stop: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Context manager that calls `stop` in another thread for each SIGINT or SIGTERM.

    At the end, it restores the old signal handlers and waits until all received signals are
    handled, in order. Raises ValueError outside the main thread.
    """
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)

    def handle(number: int, frame: object) -> None:
        with suppress(
            BlockingIOError
        ):  # a full pipe holds thousands of unread signals, so one more adds nothing
            os.write(write_end, bytes((number,)))

    def heed() -> None:
        while (number := os.read(read_end, 1)) not in (_END, b""):
            stop(signal.Signals(number[0]))

    signal_thread = threading.Thread(target=heed, name="signals", daemon=True)
    old_handlers: dict[signal.Signals, signal._HANDLER] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            old_handlers[number] = signal.signal(number, handle)
        signal_thread.start()
        yield
    finally:
        for number, handler in old_handlers.items():
            signal.signal(number, handler)
        _stop_listening(signal_thread, write_end)
        os.close(read_end)
        os.close(write_end)


def _stop_listening(heeding: threading.Thread, write_end: int) -> None:
    """Wait until the thread that handles signals has handled all received signals and ended."""
    if not heeding.ident:
        return
    os.set_blocking(write_end, True)
    os.write(write_end, _END)
    heeding.join()
