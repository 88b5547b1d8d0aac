"""Other programs, installed into an environment that is thrown away, and run there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

PACKAGES = ("pywb==2.10.0", "warcio==1.8.1", "FastWARC==2.0.1")
INSTALL_S, RUN_S = 500, 300


def run(*command: str | Path, stdin: str = "") -> str:
    """What a program prints. Fails with what it said when it fails."""
    done = subprocess.run(
        [str(word) for word in command], input=stdin, capture_output=True, text=True, timeout=RUN_S
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def installed(*command: str | Path) -> None:
    """Run an installer; what needs it is left out when it fails, with what it said."""
    try:
        done = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, timeout=INSTALL_S
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{command[0]} did not end in {INSTALL_S} s: no registry to be reached?")
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["nothing was said"]
        pytest.skip(f"the other programs cannot be installed (no registry?): {said[-1][:300]}")
