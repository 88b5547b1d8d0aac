"""The service conforms to its OpenAPI description for valid and for invalid requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from depth import examples
from filled_home import open_home
from fonds.web.api.paths import is_rest_path
from fonds.web.app import create_app
from fonds.wiring.collections import create_service

EXAMPLES = examples(4)
CHANGING_PREFIXES = ("/api/sources/", "/api/themes/")
HOST = {"Host": "localhost"}
# Operations that may refuse what their schema allows: a cursor, a query, an id that differs from that in the
# URL, an integer written with a fraction, a day in the future or after another day.
LOOSELY_DESCRIBED = {
    "GET /collections",
    "GET /collections/{ns}",
    "GET /clusters/{ns}/{key}/{label}",
    "POST /collections/{ns}/{key}",
    "PUT /configurations/{ns}/{conf}",
    "PUT /configurations/{ns}/transforms/{conf}",
    "PUT /queries/{ns}/{name}",
    "PUT /documents/{ns}/{id}",
    "POST /api/themes/{namespace}/{key}/{act}",
    "POST /api/sources/{source_id}/backfill",
}
MODES = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]


@pytest.fixture(scope="module")
def api_schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The OpenAPI schema, read from a service that leaves its runs queued."""
    with open_home(tmp_path_factory.mktemp("described")) as stores:
        service = create_service(stores)
        service.runs.close()
        app = create_app(stores, service=service)
        yield schemathesis.openapi.from_asgi("/openapi.json", app, headers=HOST)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("mode", MODES)
def test_every_operation_conforms_to_its_description(api_schema: Any, mode: GenerationMode) -> None:
    operations = [operation.ok() for operation in api_schema.get_all_operations()]
    # Include the operations of the pages' own API that change something.
    tested_operations = [
        operation
        for operation in operations
        if is_rest_path(operation.path)
        or (operation.path.startswith(CHANGING_PREFIXES) and operation.method != "get")
    ]
    assert len(tested_operations) > 25
    for operation in tested_operations:
        if mode is GenerationMode.POSITIVE or operation.query or operation.body:
            left_out = [positive_data_acceptance] if operation.label in LOOSELY_DESCRIBED else []
            _check(operation.as_strategy(generation_mode=mode), left_out)


def _check(cases: st.SearchStrategy[Case], excluded_checks: list[Any]) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases)
    def check_case(case: Case) -> None:
        case.call_and_validate(headers=HOST, excluded_checks=excluded_checks)

    check_case()
