"""A folder where nothing can be written for a while: mounted so for an administrator, else by its modes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """The folder, read-only while the context lasts."""
    with _mounted(folder) if os.geteuid() == 0 else _without_modes(folder):
        yield folder


@contextmanager
def _mounted(folder: Path) -> Iterator[None]:
    """Modes say nothing to an administrator."""
    if shutil.which("mount") is None or _ran("mount", "--bind", folder, folder) != 0:
        pytest.skip("an administrator that may not mount can write everywhere")
    try:
        assert _ran("mount", "-o", "remount,ro,bind", folder) == 0
        yield
    finally:
        # Whoever still looks into it does so unseen.
        _ran("umount", "--lazy", folder)


def _ran(*words: str | Path) -> int:
    return subprocess.run(words, check=False, capture_output=True).returncode


@contextmanager
def _without_modes(folder: Path) -> Iterator[None]:
    paths = [folder, *folder.rglob("*")]
    modes = [(path, path.stat().st_mode) for path in paths]
    try:
        for path in paths:
            path.chmod(path.stat().st_mode & ~0o222)
        yield
    finally:
        for path, mode in modes:
            path.chmod(mode)
