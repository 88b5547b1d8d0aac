"""Installation and runs of other programs in a temporary environment."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

PACKAGES = ("pywb==2.10.0", "warcio==1.8.1", "FastWARC==2.0.1")
INSTALL_S, RUN_S = 500, 300


def run(*command: str | Path, stdin: str = "") -> str:
    """Return the output of a program; if it fails, fail with its errors."""
    result = subprocess.run(
        [str(word) for word in command], input=stdin, capture_output=True, text=True, timeout=RUN_S
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


def install(*command: str | Path) -> None:
    """Run an installer; if it fails, skip the test with its errors."""
    try:
        result = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, timeout=INSTALL_S
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{command[0]} did not end in {INSTALL_S} s: is a registry reachable?")
    if result.returncode:
        lines = (result.stderr.strip() or result.stdout.strip()).splitlines() or ["no output"]
        pytest.skip(f"other programs cannot be installed (no registry?): {lines[-1][:300]}")
