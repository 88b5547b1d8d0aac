"""Records without a row: migrated once for a whole process, then copied."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from fonds.stores.records.sql import SqlRecords, open_sqlite


def open_records(path: Path) -> SqlRecords:
    """Open the records in a file, which is made when it does not exist."""
    copy_empty_records(path)
    return open_sqlite(path)


def copy_empty_records(path: Path) -> None:
    """Make a file of empty records unless it exists. Migrating a new one takes 50 ms, this takes one."""
    if not path.exists():
        shutil.copy(_migrated(), path)


@cache
def _migrated() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="fonds-migrated-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "records.sqlite"
    open_sqlite(path).close()
    return path
