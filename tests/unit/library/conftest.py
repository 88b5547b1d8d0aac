"""What the library knows is asked over the real embedded stores in a folder of the test's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from step_bench import Bench, open_bench


@pytest.fixture
def bench(tmp_path: Path, migrated: Path) -> Iterator[Bench]:
    shutil.copy(migrated, tmp_path / "records.sqlite")
    opened = open_bench(tmp_path)
    yield opened
    opened.close()
