"""Client of a home with the files that are read in the browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from fonds.ports import Stores
from fonds.web.app import create_app
from reading_home import ReadingHome, create_local_page_views, fill_reading

ORIGIN = "http://localhost:8765"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reading")


@pytest.fixture(scope="module")
def reading(home: Path) -> ReadingHome:
    return fill_reading(home)


@pytest.fixture(scope="module")
def stores(home: Path, reading: ReadingHome) -> Iterator[Stores]:
    with open_home(home) as stores:
        yield stores


@pytest.fixture(scope="module")
def client(stores: Stores) -> Iterator[TestClient]:
    app = create_app(stores, views=create_local_page_views())
    with TestClient(app, base_url=ORIGIN, follow_redirects=False) as client:
        yield client
