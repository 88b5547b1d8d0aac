"""How much this process may take of the machine, looked at before work begins.

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
ADDRESSES_MIN_BYTES, ADDRESSES_A_CORE_BYTES = 2**30, 2**28
"""Of memory that can be addressed: native code ends the process when it gets none."""


def allow_files() -> None:
    """Allow this process more open files, where its own limit is below what it may be set to."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES_TARGET if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES_TARGET)
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


# What SIGINT and SIGTERM do while a command works.
#
# A handler runs in the main thread, between any two of its instructions, and so perhaps while that thread
# holds the lock of an event, a queue or the log. It therefore only writes the signal's number to a pipe; a
# thread reads the pipe and does what is to be done, whatever the main thread holds or waits for.


_END = b"\0"
"""No signal has this number."""


@contextmanager
def handle_stop_signals(stop: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Inside, each of both calls `stop` in a thread beside; afterwards they do what they did before.

    All signals that came before the end are heeded before it returns, one after the other. Raises ValueError
    in any thread but the main one.
    """
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)

    def handle(number: int, frame: object) -> None:
        with suppress(BlockingIOError):  # thousands wait to be heeded: one more says nothing new
            os.write(write_end, bytes((number,)))

    def heed() -> None:
        while (number := os.read(read_end, 1)) not in (_END, b""):
            stop(signal.Signals(number[0]))

    heeding = threading.Thread(target=heed, name="signals", daemon=True)
    before: dict[signal.Signals, signal._HANDLER] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, handle)
        heeding.start()
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _stop_listening(heeding, write_end)
        os.close(read_end)
        os.close(write_end)


def _stop_listening(heeding: threading.Thread, write_end: int) -> None:
    """Wait until the thread has heeded what came and left off."""
    if not heeding.ident:
        return
    os.set_blocking(write_end, True)
    os.write(write_end, _END)
    heeding.join()
