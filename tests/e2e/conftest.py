"""Fixtures that several tests of the command line use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.http_server import HttpServer, serve_http


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with serve_http() as state:
        yield state


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"
