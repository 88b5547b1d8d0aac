"""Test clients for the pages of a filled, a themed and an empty home, without a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_home import FilledHome, fill_home, open_home
from fonds.ports import Stores
from fonds.web.app import create_app
from themed_home import fill_with_themes

ORIGIN = "http://localhost:8765"


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("filled")


@pytest.fixture(scope="session")
def filled_home(home: Path) -> FilledHome:
    return fill_home(home)


@pytest.fixture(scope="session")
def stores(home: Path, filled_home: FilledHome) -> Iterator[Stores]:
    """Stores of the filled home. Tests only read them."""
    with open_home(home) as stores:
        yield stores


@pytest.fixture(scope="session")
def client(stores: Stores) -> Iterator[TestClient]:
    with TestClient(create_app(stores), base_url=ORIGIN) as client:
        yield client


@pytest.fixture(scope="session")
def themed_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Client of a filled home with collections and sources in every state."""
    folder = tmp_path_factory.mktemp("themed")
    fill_with_themes(folder)
    with (
        open_home(folder) as stores,
        TestClient(create_app(stores), base_url=ORIGIN) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def empty_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Client of a home without any input."""
    with (
        open_home(tmp_path_factory.mktemp("empty")) as stores,
        TestClient(create_app(stores), base_url=ORIGIN) as client,
    ):
        yield client
