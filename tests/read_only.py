"""File permissions in tests: read-only folders, and the permissions of ordinary users for root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from fonds.isolation.privileges import drop_capabilities

T = TypeVar("T")


@contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """Make the folder read-only while the context lasts."""
    with _mount_read_only(folder) if os.geteuid() == 0 else _remove_write_modes(folder):
        yield folder


@contextmanager
def _mount_read_only(folder: Path) -> Iterator[None]:
    """Remount the folder read-only; root ignores file modes."""
    if shutil.which("mount") is None or _get_exit_code("mount", "--bind", folder, folder) != 0:
        pytest.skip("root can write everywhere and may not mount here")
    try:
        assert _get_exit_code("mount", "-o", "remount,ro,bind", folder) == 0
        yield
    finally:
        # A lazy unmount succeeds even while a process uses the folder.
        _get_exit_code("umount", "--lazy", folder)


def _get_exit_code(*args: str | Path) -> int:
    return subprocess.run(args, check=False, capture_output=True).returncode


@contextmanager
def _remove_write_modes(folder: Path) -> Iterator[None]:
    paths = [folder, *folder.rglob("*")]
    modes = [(path, path.stat().st_mode) for path in paths]
    try:
        for path in paths:
            path.chmod(path.stat().st_mode & ~0o222)
        yield
    finally:
        for path, mode in modes:
            path.chmod(mode)


def obey_file_modes(function: Callable[[], T]) -> T:
    """Call a function in a thread that obeys file modes, also if it belongs to root."""
    with ThreadPoolExecutor(1, initializer=drop_capabilities) as threads:
        return threads.submit(function).result()
