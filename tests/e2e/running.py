"""Calls the command line as a person would: a process of its own, its exit code, what it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    **environment: str,
) -> Ran:
    """Run `fonds --home HOME WORDS…`, behind the command `prefix` if there is one."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("FONDS_")}
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "fonds", "--home", str(home), *map(str, words)],
        input=stdin,
        capture_output=True,
        timeout=RUN_MAX_S,
        env=bare | environment,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def adds_up(summary: dict[str, Any]) -> bool:
    """Whether every record of an ingest has exactly one outcome."""
    ended = (
        summary["done"] + sum(summary["dropped"].values()) + sum(summary["quarantined"].values())
    )
    return summary["in"] == ended + summary["pending"]
