"""Calls the command line as a person would: a process of its own, its exit code, what it prints."""

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

from e2e.forking import WORD_BYTES
from fonds.cli.main import cli, run

ROOT = Path(__file__).parents[2]
RUN_MAX_S = 240


@dataclass(frozen=True)
class Ran:
    """What a call of the command line came to."""

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
    *words: str | Path,
    stdin: bytes = b"",
    prefix: Sequence[str] = (),
    wait_s: float = RUN_MAX_S,
    root: Path = ROOT,
    **environment: str,
) -> Ran:
    """Run `fonds --home HOME WORDS…` of the repository at `root`, behind the command `prefix`."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("FONDS_")}
    called = ["--home", str(home), *map(str, words)]
    if not prefix and "PYTHONPATH" not in environment:
        return forked(called, stdin, bare | environment, wait_s, root=root)
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "fonds", *called],
        input=stdin,
        capture_output=True,
        timeout=wait_s,
        env=bare | environment,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def call(home: Path, *words: str | Path, **environment: str) -> Ran:
    """Run `fonds --home HOME WORDS…` in this process, where the command is tested and its process is not:
    what it imports is loaded once."""
    bare: dict[str, str | None] = {name: None for name in os.environ if name.startswith("FONDS_")}
    called = ["--home", str(home), *map(str, words)]
    with CliRunner().isolation(env=bare | environment) as (out, err, _):
        code = run(lambda: cli.main(called, standalone_mode=False))
        return Ran(code, out.getvalue().decode(), err.getvalue().decode())


def forked(
    words: Sequence[str],
    stdin: bytes,
    environment: Mapping[str, str],
    wait_s: float = RUN_MAX_S,
    *,
    code: str = "",
    folder: Path | None = None,
    root: Path = ROOT,
) -> Ran:
    """Run `fonds WORDS…` in a process of its own, forked off one that has it loaded, or Python code."""
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(stdin)
        given.seek(0)
        files = (given.fileno(), out.fileno(), err.fileno())
        process = start(words, files, environment, code=code, folder=folder, root=root)
        ended = process.wait(wait_s)
        out.seek(0)
        err.seek(0)
        return Ran(ended, out.read().decode(), err.read().decode())


@dataclass
class Running:
    """A process forked off one that has Fonds loaded; it is used like `subprocess.Popen`."""

    pid: int
    answer: int
    returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        if self.returncode is None and select.select([self.answer], [], [], 0)[0]:
            self._end()
        return self.returncode

    def wait(self, timeout: float = RUN_MAX_S) -> int:
        """The exit code it ends with; one that takes too long is killed."""
        if self.returncode is None and not select.select([self.answer], [], [], timeout)[0]:
            self.kill()
            raise TimeoutError(f"it ran for more than {timeout:g} seconds")
        return self._end()

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        self.send_signal(signal.SIGKILL)
        self._end()

    def _end(self) -> int:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(_read_number(self.answer))
            os.close(self.answer)
        return self.returncode


def start(
    words: Sequence[str],
    files: tuple[int, int, int],
    environment: Mapping[str, str],
    *,
    code: str = "",
    folder: Path | None = None,
    has_session: bool = False,
    root: Path = ROOT,
) -> Running:
    """Start `fonds WORDS…`, or Python code, on these descriptors of standard input, output and error."""
    order = {
        "words": words,
        "environment": dict(environment),
        "folder": str(folder or Path.cwd()),
        "code": code,
        "has_session": has_session,
    }
    answer, told = os.pipe()
    try:
        with _ASKING:
            socket.send_fds(orders(root), [json.dumps(order).encode()], [*files, told])
    finally:
        os.close(told)
    return Running(_read_number(answer), answer)


def started(home: Path, *words: str | Path, **environment: str) -> Running:
    """Start `fonds --home HOME WORDS…`, which may be killed; nobody reads what it prints."""
    called = ["--home", str(home), *map(str, words)]
    with Path(os.devnull).open("r+b") as nothing:
        files = (nothing.fileno(),) * 3
        return start(called, files, os.environ | environment)


_ASKING = threading.Lock()


def orders(root: Path) -> socket.socket:
    """Where a process that has the Fonds of a repository loaded takes orders; it ends with this one.

    Of copies of the repository only the last one has such a process.
    """
    for other in [one for one in _ORDERS if one not in (ROOT, root)]:
        _ORDERS.pop(other).close()
    if root not in _ORDERS:
        _ORDERS[root] = _load(root)
    return _ORDERS[root]


_ORDERS: dict[Path, socket.socket] = {}


def _load(root: Path) -> socket.socket:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    there.set_inheritable(True)
    words = [sys.executable, "-P", "-m", "e2e.forking", str(there.fileno())]
    path = os.pathsep.join(str(root / folder) for folder in ("src", "tests"))
    os.posix_spawn(words[0], words, os.environ | {"PYTHONPATH": path})
    there.close()
    return here


def _read_number(answer: int) -> int:
    word = os.read(answer, WORD_BYTES)
    assert word, "the process that was to run it is gone"
    return int.from_bytes(word)


def adds_up(summary: dict[str, Any]) -> bool:
    """Whether every record of an ingest has exactly one outcome."""
    ended = (
        summary["done"] + sum(summary["dropped"].values()) + sum(summary["quarantined"].values())
    )
    return summary["in"] == ended + summary["pending"]
