"""Fixtures of several packages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from small_pipeline import migrated, place
from step_bench import Bench, open_bench

__all__ = ["migrated", "place"]


@pytest.fixture
def bench(tmp_path: Path, migrated: Path) -> Iterator[Bench]:
    """The real embedded stores in a folder of the test's own."""
    shutil.copy(migrated, tmp_path / "records.sqlite")
    opened = open_bench(tmp_path)
    yield opened
    opened.close()
