"""Fixtures that several tests of the command line use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.answering import Answering, answering


@pytest.fixture
def server() -> Iterator[Answering]:
    with answering() as state:
        yield state


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"
