"""Records of a home, and a clock that a test sets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from day_clock import DayClock
from filled_home import open_home
from fonds.ports import Records


@pytest.fixture
def clock() -> DayClock:
    return DayClock()


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    with open_home(tmp_path) as stores:
        yield stores.records
