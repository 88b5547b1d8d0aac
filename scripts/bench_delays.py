"""Measure how late delayed messages arrive, on each available queue.

. .servers/servers.env; python scripts/bench_delays.py
"""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench_servers import iter_available
from fonds.model.message import Message, Subscription
from fonds.wiring.backends import open_backend

COUNT = 120


def list_delays_s() -> list[float]:
    """Return delays of 1.0 to 12.9 s, each once, in mixed order."""
    return [1 + number * 37 % COUNT / 10 for number in range(COUNT)]


def measure_lateness_s(url: str, folder: Path) -> Iterator[float]:
    """Yield the lateness of each message in seconds."""
    queue, unique = open_backend("queue", url, folder), f"b{secrets.token_hex(5)}"
    reader = Subscription(unique, f"{unique}.topic")
    queue.declare([reader])
    queue.receive(reader.incoming, 1, 0.5)
    due_at = {}
    for number, delay_s in enumerate(list_delays_s()):
        due_at[str(number)] = time.time() + delay_s
        queue.put(reader.incoming, [Message(str(number), b"")], delay_s=delay_s)
    while due_at:
        for received in queue.receive(reader.incoming, 10, 5.0):
            yield time.time() - due_at.pop(received.message.id)
            queue.settle([received])
    queue.close()


def main() -> None:
    print(f"{'backend':10} {'first':>8} {'median':>8} {'last':>8}  ms after it was due")
    for name, url, _ in iter_available("queue"):
        with tempfile.TemporaryDirectory(prefix="fonds-bench-") as folder:
            late_ms = [late_s * 1000 for late_s in measure_lateness_s(url, Path(folder))]
        figures = (min(late_ms), median(late_ms), max(late_ms))
        print(f"{name:10} {figures[0]:8.0f} {figures[1]:8.0f} {figures[2]:8.0f}", flush=True)


if __name__ == "__main__":
    main()
