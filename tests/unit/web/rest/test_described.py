"""The service does what its description says, whatever it is sent within it and beyond."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from filled_home import opened
from fonds.web.app import create_app
from fonds.web.rest.service import make_service

EXAMPLES = 12


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    with opened(tmp_path_factory.mktemp("described")) as stores:
        service = make_service(stores)
        service.runs.close()
        yield create_app(stores, service=service)
