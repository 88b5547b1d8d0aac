"""The service does what its description says, whatever it is sent within it and beyond."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from starlette.testclient import TestClient

from filled_home import opened
from fonds.web.app import create_app
from fonds.web.rest.paths import is_rest
from fonds.web.rest.service import make_service

EXAMPLES = 12


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    with opened(tmp_path_factory.mktemp("described")) as stores:
        service = make_service(stores)
        service.runs.close()
        yield create_app(stores, service=service)


