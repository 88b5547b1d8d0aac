"""Pages over a filled and over an empty home, asked without a server."""

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
def filled(home: Path) -> FilledHome:
    return fill_home(home)


@pytest.fixture(scope="session")
def stores(home: Path, filled: FilledHome) -> Iterator[Stores]:
    """The stores of the filled home; tests read them only."""
    with open_home(home) as found:
        yield found


@pytest.fixture(scope="session")
def client(stores: Stores) -> Iterator[TestClient]:
    with TestClient(create_app(stores), base_url=ORIGIN) as found:
        yield found


@pytest.fixture(scope="session")
def themed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The pages of a filled home with collections and sources in every state."""
    folder = tmp_path_factory.mktemp("themed")
    fill_with_themes(folder)
    with (
        open_home(folder) as found,
        TestClient(create_app(found), base_url=ORIGIN) as asked,
    ):
        yield asked


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The pages of a home that nothing ever came into."""
    with (
        open_home(tmp_path_factory.mktemp("empty")) as found,
        TestClient(create_app(found), base_url=ORIGIN) as asked,
    ):
        yield asked
