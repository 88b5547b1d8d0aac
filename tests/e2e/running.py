"""Run the command line as a user would: in its own process, with exit code and output."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from e2e.forking import NUMBER_BYTES
from fonds.cli.main import cli, run

ROOT = Path(__file__).parents[2]
RUN_MAX_S = 600
"""Longest run of a command. Only a run that hangs takes so long, also on a machine that is busy with
other tests."""


@dataclass(frozen=True)
class CommandResult:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def last(self) -> dict[str, Any]:
        return self.lines[-1]


def fonds(
    home: Path,
    *arguments: str | Path,
    stdin: bytes = b"",
    prefix: Sequence[str] = (),
    wait_s: float = RUN_MAX_S,
    root: Path = ROOT,
    **environment: str,
) -> CommandResult:
    """Run `fonds --home HOME ARGUMENTS…` of the repository at `root`, after the command `prefix`."""
    clean_environment = {
        name: value for name, value in os.environ.items() if not name.startswith("FONDS_")
    }
    args = ["--home", str(home), *map(str, arguments)]
    if not prefix and "PYTHONPATH" not in environment:
        return run_forked(args, stdin, clean_environment | environment, wait_s, root=root)
    process = subprocess.run(
        [*prefix, sys.executable, "-m", "fonds", *args],
        input=stdin,
        capture_output=True,
        timeout=wait_s,
        env=clean_environment | environment,
        check=False,
    )
    return CommandResult(process.returncode, process.stdout.decode(), process.stderr.decode())


def call(home: Path, *arguments: str | Path, **environment: str) -> CommandResult:
    """Run `fonds --home HOME ARGUMENTS…` in this process, for tests that need no process of its own.

    Imports are loaded only once.
    """
    clean_environment: dict[str, str | None] = {
        name: None for name in os.environ if name.startswith("FONDS_")
    }
    args = ["--home", str(home), *map(str, arguments)]
    with CliRunner().isolation(env=clean_environment | environment) as (out, err, _):
        code = run(lambda: cli.main(args, standalone_mode=False))
        return CommandResult(code, out.getvalue().decode(), err.getvalue().decode())


def run_forked(
    arguments: Sequence[str],
    stdin: bytes,
    environment: Mapping[str, str],
    wait_s: float = RUN_MAX_S,
    *,
    code: str = "",
    folder: Path | None = None,
    root: Path = ROOT,
    errors: str = "strict",
) -> CommandResult:
    """Run `fonds ARGUMENTS…`, or Python code, in a process forked from one with Fonds loaded.

    `errors` says what happens to output that is not UTF-8, as in `bytes.decode`.
    """
    with (
        tempfile.TemporaryFile() as input_file,
        tempfile.TemporaryFile() as out_file,
        tempfile.TemporaryFile() as err_file,
    ):
        input_file.write(stdin)
        input_file.seek(0)
        files = (input_file.fileno(), out_file.fileno(), err_file.fileno())
        process = start(arguments, files, environment, code=code, folder=folder, root=root)
        exit_code = process.wait(wait_s)
        out_file.seek(0)
        err_file.seek(0)
        return CommandResult(
            exit_code,
            out_file.read().decode(errors=errors),
            err_file.read().decode(errors=errors),
        )


@dataclass
class ForkedProcess:
    """A process forked from one with Fonds loaded, with the interface of `subprocess.Popen`."""

    pid: int
    response: int
    returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        if self.returncode is None and select.select([self.response], [], [], 0)[0]:
            self._read_exit_code()
        return self.returncode

    def wait(self, timeout: float = RUN_MAX_S) -> int:
        """Wait for the exit code; kill a process that takes too long."""
        if self.returncode is None and not select.select([self.response], [], [], timeout)[0]:
            self.kill()
            raise TimeoutError(f"it ran for more than {timeout:g} seconds")
        return self._read_exit_code()

    def send_signal(self, number: int) -> None:
        """Send a signal unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process and wait for its end."""
        self.send_signal(signal.SIGKILL)
        self._read_exit_code()

    def _read_exit_code(self) -> int:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(_read_number(self.response))
            os.close(self.response)
        return self.returncode


def start(
    arguments: Sequence[str],
    files: tuple[int, int, int],
    environment: Mapping[str, str],
    *,
    code: str = "",
    folder: Path | None = None,
    has_session: bool = False,
    root: Path = ROOT,
) -> ForkedProcess:
    """Start `fonds ARGUMENTS…`, or Python code, with these descriptors as standard streams."""
    order = {
        "arguments": arguments,
        "environment": dict(environment),
        "folder": str(folder or Path.cwd()),
        "code": code,
        "has_session": has_session,
    }
    response, response_writer = os.pipe()
    try:
        with _SEND_LOCK:
            socket.send_fds(orders(root), [json.dumps(order).encode()], [*files, response_writer])
    finally:
        os.close(response_writer)
    return ForkedProcess(_read_number(response), response)


def start_fonds(home: Path, *arguments: str | Path, **environment: str) -> ForkedProcess:
    """Start `fonds --home HOME ARGUMENTS…` without output, for example to kill it."""
    args = ["--home", str(home), *map(str, arguments)]
    with Path(os.devnull).open("r+b") as null_file:
        files = (null_file.fileno(),) * 3
        return start(args, files, os.environ | environment)


_SEND_LOCK = threading.Lock()


def orders(root: Path) -> socket.socket:
    """Return the socket for orders to a process with the Fonds of a repository loaded.

    The process ends with this one. Of the copies of the repository, only the last has a process.
    """
    for old_root in [known_root for known_root in _ORDER_SOCKETS if known_root not in (ROOT, root)]:
        _ORDER_SOCKETS.pop(old_root).close()
    if root not in _ORDER_SOCKETS:
        _ORDER_SOCKETS[root] = _start_fork_server(root)
    return _ORDER_SOCKETS[root]


_ORDER_SOCKETS: dict[Path, socket.socket] = {}


def _start_fork_server(root: Path) -> socket.socket:
    own_end, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    child_end.set_inheritable(True)
    command = [sys.executable, "-P", "-m", "e2e.forking", str(child_end.fileno())]
    path = os.pathsep.join(str(root / folder) for folder in ("src", "tests"))
    os.posix_spawn(command[0], command, os.environ | {"PYTHONPATH": path})
    child_end.close()
    return own_end


def _read_number(response: int) -> int:
    data = os.read(response, NUMBER_BYTES)
    assert data, "the forked process has ended"
    return int.from_bytes(data)


def adds_up(summary: dict[str, Any]) -> bool:
    """Return whether every record of an ingest has exactly one outcome."""
    ended_count = (
        summary["done"] + sum(summary["dropped"].values()) + sum(summary["quarantined"].values())
    )
    return summary["in"] == ended_count + summary["pending"]
