"""A client can be generated from the OpenAPI description: every operation and every schema has a name of its
own.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

PUBLISHED = Path(__file__).parents[3] / "docs/openapi.json"
OPERATION_ID = re.compile(r"[a-z]+(_[a-z]+)*")
SCHEMA_NAME = re.compile(r"([A-Z][a-z]*)+")


@pytest.fixture(params=["served", "published"])
def description(request: pytest.FixtureRequest, client: TestClient) -> dict[str, Any]:
    """The description of all routes as served, and that of the REST API in docs/openapi.json."""
    text = client.get("/openapi.json").text if request.param == "served" else PUBLISHED.read_text()
    content: dict[str, Any] = json.loads(text)
    return content


def _iter_operations(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            yield f"{method.upper()} {path}", operation


def test_operation_ids_are_unique_and_readable(description: dict[str, Any]) -> None:
    ids = Counter(operation["operationId"] for _, operation in _iter_operations(description))
    assert [name for name, count in ids.items() if count > 1] == []
    assert [name for name in ids if not OPERATION_ID.fullmatch(name)] == []


def test_every_operation_has_a_tag_and_a_summary(description: dict[str, Any]) -> None:
    for name, operation in _iter_operations(description):
        assert len(operation["tags"]) == 1, name
        assert operation["summary"], name


def test_every_json_response_has_a_named_schema(description: dict[str, Any]) -> None:
    for name, operation in _iter_operations(description):
        for status, response in operation["responses"].items():
            for media_type, content in response.get("content", {}).items():
                if media_type.endswith("json"):
                    assert "$ref" in content["schema"], (name, status)


def test_schema_names_have_no_module_path_and_no_number(description: dict[str, Any]) -> None:
    names = description["components"]["schemas"]
    assert [name for name in names if not SCHEMA_NAME.fullmatch(name)] == []


def test_every_reference_leads_to_a_schema(description: dict[str, Any]) -> None:
    names = description["components"]["schemas"]
    references = set(re.findall(r'"#/components/schemas/([^"]*)"', json.dumps(description)))
    assert references - names.keys() == set()


def test_request_bodies_have_only_media_types_that_generators_support(
    description: dict[str, Any],
) -> None:
    for name, operation in _iter_operations(description):
        content = operation.get("requestBody", {}).get("content", {})
        assert set(content) <= {"application/json"}, name
