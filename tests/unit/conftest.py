"""Fixtures that several packages use."""

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
    """The real embedded stores in the temporary folder of the test."""
    shutil.copy(migrated, tmp_path / "records.sqlite")
    bench = open_bench(tmp_path)
    yield bench
    bench.close()
