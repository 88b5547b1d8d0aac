"""Fixtures with a SQLite queue and its clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fonds.queues.sqlite import SqliteQueue
from unit.queues.queue_of_a_test import OTHER_READER, READER, Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "queue.sqlite"


@pytest.fixture
def queue(path: Path, clock: Clock) -> Iterator[SqliteQueue]:
    opened = SqliteQueue(path, clock=clock)
    opened.declare([READER, OTHER_READER])
    yield opened
    opened.close()
