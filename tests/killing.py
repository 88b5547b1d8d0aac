"""Kill a command after a number of changes to its folder, independent of machine speed."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from e2e.running import start_fonds

POLL_S = 0.01


def kill_after_changes(home: Path, args: Sequence[str], changes: int) -> bool:
    """Run `fonds ARGUMENTS…` and SIGKILL it after `changes` changes to the files of the home.

    Returns False if the command ended before.
    """
    previous_files = files_in(home)
    process = start_fonds(home, *args)
    while changes and process.poll() is None:
        time.sleep(POLL_S)
        current_files = files_in(home)
        changes -= current_files != previous_files
        previous_files = current_files
    process.kill()
    return process.wait() < 0


def files_in(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and modification time of every file below a folder."""
    files, folders = dict[str, tuple[int, int]](), [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir():
                        folders.append(entry.path)
                    else:
                        stat = entry.stat()
                        files[entry.path] = (stat.st_size, stat.st_mtime_ns)
        except FileNotFoundError:  # removed since it was listed
            continue
    return files
