"""Real servers of tests: the shared ones, and private ones that a test may stop or kill."""

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
"""Folder in which `scripts/servers.py` keeps its builds; private servers reuse them."""
BUILD_FOLDERS = ("lib", "lib.complete", "versitygw", "home")
END_MAX_S = 30.0
PORT_MAX = 32_700


EMBEDDED = frozenset({"sqlite", "large-bodies", "folder", "local", "cached", "tantivy"})


NIGHTLY_ONLY = frozenset({"opensearch", "rabbitmq-quorum"})
"""Variants of another backend: they share the code of elasticsearch and rabbitmq."""


def backend_params(backends: Iterable[str]) -> list[Any]:
    """Return backends as test parameters; those on servers are marked."""
    return [pytest.param(name, marks=_marks(name)) for name in backends]


def _marks(backend: str) -> list[pytest.MarkDecorator]:
    if backend in EMBEDDED:
        return []
    return [pytest.mark.servers, *([pytest.mark.nightly] if backend in NIGHTLY_ONLY else [])]


def url_of(variable: str) -> str:
    """Return the URL of a running server.

    Without one, skip the test, or fail where all servers are required.
    """
    url = os.environ.get(variable, "")
    if not url and os.environ.get("TEST_SERVERS_REQUIRED"):
        pytest.fail(f"{variable} is not set: the server did not start")
    if not url:
        pytest.skip(f"{variable} is not set: make servers")
    return url


_PORTS = count(30_100 + os.getpid() % 100 * 20, 7)


def free_port() -> int:
    """Return an unused port on loopback, another on each call; the next three are also unused."""
    for port in _PORTS:
        if port > PORT_MAX:
            raise OSError("no port is free")
        if all(_is_free(port + more) for more in range(4)):
            return port
    raise OSError("no port is free")


def _is_free(port: int) -> bool:
    with socket.socket() as connection:
        try:
            connection.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@dataclass
class PrivateServer:
    """A server on its own port that a test stops and starts."""

    server: Server
    folder: Path
    port: int
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return self.server.build_url(self.folder, self.port)

    def start(self) -> None:
        """Start the server and wait until it is ready."""
        self.processes = self.server.start(self.folder, self.port)
        deadline = time.monotonic() + self.server.ready_max_s
        while not self.server.is_ready(self.folder, self.port):
            assert time.monotonic() < deadline, f"{self.server.name} does not answer\n{self._log()}"
            assert any(process.poll() is None for process in self.processes), self._log()
            time.sleep(0.1)

    def _log(self) -> str:
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(path.read_text("utf-8", "replace")[-2000:] for path in logs)

    def stop(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End the server: by default as in a crash, or with another signal."""
        for process in self.processes:
            os.killpg(process.pid, number)
            process.wait(END_MAX_S)
        self.processes = []


@contextmanager
def run_private_server(name: str, data: Path | None = None) -> Iterator[PrivateServer]:
    """Run the server `name` in its own folder.

    The folder is outside the test's, because some servers run as users who cannot enter it. `data`
    is the data folder, if it is elsewhere.
    """
    server: Server = import_module(f"server_{name}").SERVER
    url_of(server.variable)
    folder = SERVERS / "private" / f"{name}-{os.urandom(4).hex()}"
    folder.mkdir(parents=True)
    for folder_name in BUILD_FOLDERS:
        built_folder = SERVERS / name / folder_name
        if built_folder.exists():
            (folder / folder_name).symlink_to(built_folder)
    if data is not None:
        (folder / "data").symlink_to(data)
    server.install(folder)
    private_server = PrivateServer(server, folder, free_port())
    try:
        private_server.start()
        yield private_server
    finally:
        private_server.stop()
        shutil.rmtree(folder, ignore_errors=True)
