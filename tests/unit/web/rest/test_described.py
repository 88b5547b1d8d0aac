"""The service does what its description says, whatever it is sent within the description and beyond it."""

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
from fonds.web.api.paths import is_rest
from fonds.web.app import create_app
from fonds.wiring.collections import create_service

EXAMPLES = examples(4)
CHANGED = ("/api/sources/", "/api/themes/")
HOST = {"Host": "localhost"}
# What no schema says may be refused: a place in a list, a search, an id that is not that of the address,
# a whole number that is written with a fraction, a day that is yet to come or behind another.
NOT_SAID = {
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
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The description, read from a service whose runs are left waiting."""
    with open_home(tmp_path_factory.mktemp("described")) as stores:
        service = create_service(stores)
        service.runs.close()
        app = create_app(stores, service=service)
        yield schemathesis.openapi.from_asgi("/openapi.json", app, headers=HOST)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("mode", MODES)
def test_every_operation_answers_as_it_is_described(described: Any, mode: GenerationMode) -> None:
    operations = [one.ok() for one in described.get_all_operations()]
    # Of the pages' own API, what changes something.
    ours = [
        operation
        for operation in operations
        if is_rest(operation.path)
        or (operation.path.startswith(CHANGED) and operation.method != "get")
    ]
    assert len(ours) > 25
    for one in ours:
        if mode is GenerationMode.POSITIVE or one.query or one.body:
            left_out = [positive_data_acceptance] if one.label in NOT_SAID else []
            _try(one.as_strategy(generation_mode=mode), left_out)


def _try(cases: st.SearchStrategy[Case], left_out: list[Any]) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases)
    def answer(case: Case) -> None:
        case.call_and_validate(headers=HOST, excluded_checks=left_out)

    answer()
