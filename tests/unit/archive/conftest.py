"""SQL records in their own file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from empty_records import open_records
from fonds.stores.records.sql import SqlRecords


@pytest.fixture
def records(tmp_path: Path) -> Iterator[SqlRecords]:
    new_records = open_records(tmp_path / "records.sqlite")
    yield new_records
    new_records.close()
