"""The real servers of a test: those that run for all of them, and one of its own that may be harmed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from server import Server

SERVERS = Path(os.environ.get("TEST_SERVERS_FOLDER", Path(__file__).parents[1] / ".servers"))
"""Where `scripts/servers.py` keeps what it built: a server of a test's own is not built again."""
BUILT = ("lib", "lib.complete", "versitygw", "home")
END_MAX_S = 30.0
PORT_MAX = 32_700


EMBEDDED = frozenset({"sqlite", "large-bodies", "folder", "local", "cached", "tantivy"})


NIGHTLY_ONLY = frozenset({"opensearch", "rabbitmq-quorum"})
"""Twins of another backend: the same code as elasticsearch and rabbitmq, on another server or queue type."""


def each(backends: Iterable[str]) -> list[Any]:
    """Backends by name as parameters of tests; those on servers are marked, and can be left out."""
    return [pytest.param(name, marks=_marks(name)) for name in backends]


def _marks(backend: str) -> list[pytest.MarkDecorator]:
    if backend in EMBEDDED:
        return []
    return [pytest.mark.servers, *([pytest.mark.nightly] if backend in NIGHTLY_ONLY else [])]


def url_of(variable: str) -> str:
    """The URL of a server that runs; without one the test is skipped, or fails where all are required."""
    url = os.environ.get(variable, "")
    if not url and os.environ.get("TEST_SERVERS_REQUIRED"):
        pytest.fail(f"{variable} is not set: the server did not start")
    if not url:
        pytest.skip(f"{variable} is not set: make servers")
    return url


_PORTS = count(30_100 + os.getpid() % 100 * 20, 7)


def free_port() -> int:
    """A port of loopback where nobody listens, each time another; the next few are free as well."""
    for port in _PORTS:
        if port > PORT_MAX:
            raise OSError("no port is free")
        if all(_is_free(port + more) for more in range(4)):
            return port
    raise OSError("no port is free")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@dataclass
class PrivateServer:
    """One server on a port of its own, stopped and started at will."""

    server: Server
    folder: Path
    port: int
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return self.server.url(self.folder, self.port)

    def start(self) -> None:
        """Returns when it answers."""
        self.processes = self.server.start(self.folder, self.port)
        deadline = time.monotonic() + self.server.ready_max_s
        while not self.server.ready(self.folder, self.port):
            assert time.monotonic() < deadline, f"{self.server.name} does not answer"
            assert any(process.poll() is None for process in self.processes), self._log()
            time.sleep(0.1)

    def _log(self) -> str:
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(path.read_text("utf-8", "replace")[-2000:] for path in logs)

    def stop(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it as a crash does, or politely."""
        for process in self.processes:
            os.killpg(process.pid, number)
            process.wait(END_MAX_S)
        self.processes = []


@contextmanager
def private(name: str, data: Path | None = None) -> Iterator[PrivateServer]:
    """The server `name` in a folder of its own, running; some run as users who cannot enter ours.

    `data` is where it keeps its data, if not in that folder.
    """
    server: Server = import_module(f"server_{name}").SERVER
    url_of(server.variable)
    folder = SERVERS / "private" / f"{name}-{os.urandom(4).hex()}"
    folder.mkdir(parents=True)
    for built in BUILT:
        there = SERVERS / name / built
        if there.exists():
            (folder / built).symlink_to(there)
    if data is not None:
        (folder / "data").symlink_to(data)
    server.install(folder)
    own = PrivateServer(server, folder, free_port())
    try:
        own.start()
        yield own
    finally:
        own.stop()
        shutil.rmtree(folder, ignore_errors=True)
