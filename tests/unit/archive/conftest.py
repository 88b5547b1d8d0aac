"""Records in a file of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from empty_records import open_records
from fonds.stores.records.sql import SqlRecords


@pytest.fixture
def records(tmp_path: Path) -> Iterator[SqlRecords]:
    opened = open_records(tmp_path / "records.sqlite")
    yield opened
    opened.close()
