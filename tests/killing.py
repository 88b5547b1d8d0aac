"""Kills a command where its work is: behind so many changes to its folder, however fast the machine is."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from e2e.running import started

POLLED_S = 0.01


def killed_behind(home: Path, words: Sequence[str], changes: int) -> bool:
    """Run `fonds WORDS…` and SIGKILL it when so many changes to the files of the home were seen; False where
    it ended before."""
    before = files_in(home)
    running = started(home, *words)
    while changes and running.poll() is None:
        time.sleep(POLLED_S)
        now = files_in(home)
        changes -= now != before
        before = now
    running.kill()
    return running.wait() < 0


def files_in(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file below a folder."""
    found, folders = dict[str, tuple[int, int]](), [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir():
                        folders.append(entry.path)
                    else:
                        said = entry.stat()
                        found[entry.path] = (said.st_size, said.st_mtime_ns)
        except FileNotFoundError:  # gone since it was listed
            continue
    return found
