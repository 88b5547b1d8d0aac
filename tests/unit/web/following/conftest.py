"""Stores and client with followed sources that a test may change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from followed_home import GOOD, LATER, ORIGIN, fill_sources
from fonds.model.rows import SourceRow
from fonds.ports import Stores
from fonds.web.app import create_app


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    with open_home(tmp_path) as stores:
        fill_sources(stores)
        stores.records.change(SourceRow, [GOOD.source_id], {"next_poll": LATER})
        yield stores


@pytest.fixture
def client(stores: Stores) -> Iterator[TestClient]:
    with TestClient(create_app(stores), base_url=ORIGIN) as client:
        yield client
