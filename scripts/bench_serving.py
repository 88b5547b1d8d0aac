"""Measure the pages of `fonds serve` while slow clients keep connections open.

Normal clients request one page after the other, each over a new connection: first alone, then with slow
clients. A slow client sends one byte of its request head per second and reconnects when it is closed.
Everything runs on the loopback. The library is the sample crawl, ingested first, or that of --home.

    .venv/bin/python scripts/bench_serving.py --slow 500 --seconds 60
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from sample import write_sample

PATHS = ("/", "/search?q=flood", "/records", "/files", "/failures", "/api/search?q=river")
SLOW_BYTE_EVERY_S = 1.0
FONDS = (sys.executable, "-m", "fonds")


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--slow", type=int, default=500, help="slow clients")
    parser.add_argument("--normal", type=int, default=4, help="normal clients")
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of each part")
    parser.add_argument("--home", type=Path, help="an existing library")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fonds-serving-") as scratch:
        home = chosen.home or _create_sample(Path(scratch))
        with subprocess.Popen(
            [*FONDS, "--home", str(home), "serve", "--port", "0"], stderr=subprocess.PIPE, text=True
        ) as serving:
            port = read_port(serving)
            errors: list[str] = []
            threading.Thread(
                target=lambda: errors.extend(serving.stderr or ()), daemon=True
            ).start()
            try:
                _print("alone", _run_normal_clients(port, chosen.normal, chosen.seconds))
                with subprocess.Popen(
                    [sys.executable, __file__, *_build_slow_arguments(port, chosen.slow)]
                ) as slow:
                    time.sleep(5.0)
                    _print(
                        f"with {chosen.slow} slow",
                        _run_normal_clients(port, chosen.normal, chosen.seconds),
                    )
                    slow.terminate()
            finally:
                serving.terminate()
        print(f"lines logged by the server: {len(errors)}")


def _create_sample(folder: Path) -> Path:
    write_sample(folder / "crawl")
    home = folder / "home"
    subprocess.run([*FONDS, "--home", str(home), "-q", "ingest", str(folder / "crawl")],
                   check=False, stdout=subprocess.DEVNULL)  # fmt: skip
    return home


def read_port(serving: subprocess.Popen[str]) -> int:
    assert serving.stderr is not None
    for line in serving.stderr:
        if "http://" in line:
            return int(line.rsplit(":", 1)[1].strip().rstrip("/"))
    raise RuntimeError("the server did not start")


def _run_normal_clients(
    port: int, clients: int, seconds: float
) -> tuple[list[float], Counter[int]]:
    """Return the seconds of each request, and counts by status (0: no response)."""
    until, took, statuses = time.monotonic() + seconds, [0.0] * 0, Counter[int]()

    def ask(first: int) -> None:
        number = first
        while time.monotonic() < until:
            started, status = time.perf_counter(), 0
            with suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                connection.request("GET", PATHS[number % len(PATHS)])
                answer = connection.getresponse()
                answer.read()
                status = answer.status
                connection.close()
            took.append(time.perf_counter() - started)
            statuses[status] += 1
            number += 1

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took, statuses


def _print(name: str, measured: tuple[list[float], Counter[int]]) -> None:
    took, statuses = sorted(measured[0]), dict(measured[1])
    p50, p95, p99 = (
        took[min(int(len(took) * share), len(took) - 1)] for share in (0.5, 0.95, 0.99)
    )
    print(
        f"{name}: {len(took):,} requests, p50 {1000 * p50:.0f} ms, p95 {1000 * p95:.0f} ms,"
        f" p99 {1000 * p99:.0f} ms, slowest {1000 * took[-1]:.0f} ms; statuses {statuses}",
        flush=True,
    )


def _build_slow_arguments(port: int, clients: int) -> list[str]:
    return ["--as-slow", str(port), str(clients)]


async def _run_slow_client(port: int) -> None:
    """Run one slow client until the process ends."""
    while True:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
            while not writer.is_closing():
                writer.write(b"a")
                await writer.drain()
                await asyncio.sleep(SLOW_BYTE_EVERY_S)
        await asyncio.sleep(SLOW_BYTE_EVERY_S)


async def _run_slow_clients(port: int, clients: int) -> None:
    await asyncio.gather(*(_run_slow_client(port) for _ in range(clients)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--as-slow"]:
        asyncio.run(_run_slow_clients(int(sys.argv[2]), int(sys.argv[3])))
    else:
        main()
