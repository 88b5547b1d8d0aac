"""What SIGINT and SIGTERM do while a command works.

A handler runs in the main thread, between any two of its instructions, and so perhaps while that thread
holds the lock of an event, a queue or the log. It therefore only writes the signal's number to a pipe; a
thread reads the pipe and does what is to be done, whatever the main thread holds or waits for.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_END = b"\0"
"""No signal has this number."""


@contextmanager
def on_stop_signals(stop: Callable[[signal.Signals], None]) -> Iterator[None]:
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
        _end(heeding, write_end)
        os.close(read_end)
        os.close(write_end)


def _end(heeding: threading.Thread, write_end: int) -> None:
    """Wait until the thread has heeded what came and left off."""
    if not heeding.ident:
        return
    os.set_blocking(write_end, True)
    os.write(write_end, _END)
    heeding.join()
