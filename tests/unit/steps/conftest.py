"""Every step is called over the real embedded stores in a folder of the test's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fonds.stores.records.sql import open_sqlite
from step_bench import Bench, open_bench


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Empty records, migrated once for all tests."""
    path = tmp_path_factory.mktemp("migrated") / "records.sqlite"
    open_sqlite(path).close()
    return path


@pytest.fixture
def bench(tmp_path: Path, migrated: Path) -> Iterator[Bench]:
    shutil.copy(migrated, tmp_path / "records.sqlite")
    opened = open_bench(tmp_path)
    yield opened
    opened.close()
