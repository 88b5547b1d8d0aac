"""What SIGINT and SIGTERM do while a command works."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_stop_signals(stop: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Inside, both call `stop` in the main thread; afterwards they do what they did before."""

    def handle(number: int, frame: object) -> None:
        stop(signal.Signals(number))

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
