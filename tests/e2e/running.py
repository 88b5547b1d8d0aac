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
from functools import cache
from pathlib import Path
from typing import IO, Any

from click.testing import CliRunner

from e2e.forking import WORD_BYTES
from fonds.cli.main import cli, run

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
    **environment: str,
) -> Ran:
    """Run `fonds --home HOME WORDS…`, behind the command `prefix` if there is one; with another PYTHONPATH a
    Fonds of another folder is meant."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("FONDS_")}
    called = ["--home", str(home), *map(str, words)]
    if not prefix and "PYTHONPATH" not in environment:
        return forked(called, stdin, bare | environment, wait_s)
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
) -> Ran:
    """Run `fonds WORDS…` in a process of its own, forked off one that has it loaded."""
    order = {"words": words, "environment": dict(environment), "folder": str(Path.cwd())}
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(stdin)
        given.seek(0)
        answer, told = os.pipe()
        try:
            sent = [given.fileno(), out.fileno(), err.fileno(), told]
            with _ASKING:
                socket.send_fds(_orders(), [json.dumps(order).encode()], sent)
        finally:
            os.close(told)
        code = os.waitstatus_to_exitcode(_ended(answer, wait_s))
        out.seek(0)
        err.seek(0)
        return Ran(code, out.read().decode(), err.read().decode())


_ASKING = threading.Lock()


@cache
def _orders() -> socket.socket:
    """Where orders are taken by a process that ends with this one."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    there.set_inheritable(True)
    words = [sys.executable, "-m", "e2e.forking", str(there.fileno())]
    os.posix_spawn(words[0], words, os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])})
    there.close()
    return here


def _ended(answer: int, wait_s: float) -> int:
    """The status a process ended with; one that takes too long is killed."""
    with open(answer, "rb", buffering=0) as told:
        process_id = int.from_bytes(_word(told))
        if not select.select([told], [], [], wait_s)[0]:
            os.kill(process_id, signal.SIGKILL)
            raise TimeoutError(f"it ran for more than {wait_s:g} seconds")
        return int.from_bytes(_word(told))


def _word(told: IO[bytes]) -> bytes:
    word = told.read(WORD_BYTES)
    assert word, "the process that was to run it is gone"
    return word


def adds_up(summary: dict[str, Any]) -> bool:
    """Whether every record of an ingest has exactly one outcome."""
    ended = (
        summary["done"] + sum(summary["dropped"].values()) + sum(summary["quarantined"].values())
    )
    return summary["in"] == ended + summary["pending"]
