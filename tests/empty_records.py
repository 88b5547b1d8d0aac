"""Empty records, migrated once per process and then copied."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from fonds.stores.records.sql import SqlRecords, open_sqlite


def open_records(path: Path) -> SqlRecords:
    """Open the records in a file; create it if it does not exist."""
    copy_empty_records(path)
    return open_sqlite(path)


def copy_empty_records(path: Path) -> None:
    """Create a file of empty records unless it exists.

    A copy takes 1 ms, a migration 50 ms.
    """
    if not path.exists():
        shutil.copy(_create_migrated(), path)


@cache
def _create_migrated() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="fonds-migrated-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "records.sqlite"
    open_sqlite(path).close()
    return path
