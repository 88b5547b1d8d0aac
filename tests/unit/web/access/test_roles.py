"""Every route of both applications declares the role it needs and enforces it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.routing import Mount

from fonds.model.access import Role
from fonds.web.access.roles import find_least_role, list_routes
from fonds.web.api.paths import is_rest_path
from guarded_home import OWN, GuardedHome, bearer, open_guarded_home

READING_POSTS = {"/verify", "/api/verify"}
"""POST routes that change nothing."""
ROLES_OF_RESTRICTED_READS = {
    "/api/admin": "admin", "/api/embargoes": "curator", "/api/takedowns": "curator",
}  # fmt: skip
PATH_VALUES = {"act": "retry", "number": "1", "number:int": "1", "name": "some"}


@pytest.fixture(scope="module", params=[False, True], ids=["reading-is-free", "reading-needs-key"])
def home(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedHome]:
    with open_guarded_home(tmp_path_factory.mktemp("guarded"), reading=request.param) as home:
        yield home


def list_all_routes(home: GuardedHome) -> list[tuple[Any, Any]]:
    """Return each route with its application."""
    pages = [(home.pages, route) for route in list_routes(home.pages)]
    return pages + [(home.replay, route) for route in home.replay.routes]


def test_every_route_declares_a_role(home: GuardedHome) -> None:
    declared_roles = [(route.path, find_least_role(route)) for _, route in list_all_routes(home)]
    assert [path for path, requirement in declared_roles if requirement is None] == []
    assert len(declared_roles) > 90


def test_each_route_enforces_its_declared_role(home: GuardedHome) -> None:
    request_count = 0
    for app, route in list_all_routes(home):
        client, requirement = home.client(app), find_least_role(route)
        path = f"{route.path}/fonds.css" if isinstance(route, Mount) else fill_path(route.path)
        for method in sorted(getattr(route, "methods", None) or {"GET"}):
            for role in (None, *Role):
                headers = OWN | (bearer(home.secrets[role]) if role else {})
                form = {"key": home.secrets[Role.READER]} if path == "/sign-in" else None
                response = client.request(method, path, headers=headers, data=form)
                expected = get_expected_refusal(requirement.role, role, home.gate.needs_key_to_read)
                refusal = response.status_code if response.status_code in (401, 403) else None
                assert refusal == expected, f"{method} {path} as {role}: {response.status_code}"
                check_refusal(response, path, app is home.pages)
                request_count += 1
    assert request_count > 400


def get_expected_refusal(
    least_role: Role | None, role: Role | None, reading_needs_key: bool
) -> int | None:
    if least_role is None:
        return None
    if role is None:
        return 401 if reading_needs_key or least_role is not Role.READER else None
    return None if role.covers(least_role) else 403


def check_refusal(response: Any, path: str, is_pages: bool) -> None:
    assert ("www-authenticate" in response.headers) == (response.status_code == 401)
    if response.status_code in (401, 403) and is_pages and is_rest_path(path):
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["status"] == response.status_code


def fill_path(path: str) -> str:
    """Return the path with a value in the place of each parameter."""
    return re.sub(r"{([^}]*)}", lambda match: PATH_VALUES.get(match[1], "x"), path)


def test_a_route_without_a_role_is_admin_only(home: GuardedHome) -> None:
    def undeclared() -> dict[str, str]:
        return {"told": "all"}

    home.pages.add_api_route("/forgotten", undeclared)
    try:
        client = home.client()
        statuses = {
            role: client.get("/forgotten", headers=bearer(home.secrets[role])).status_code
            for role in Role
        }
    finally:
        home.pages.router.routes.pop()
    assert statuses == {Role.READER: 403, Role.CURATOR: 403, Role.ADMIN: 200}


def test_the_openapi_schema_declares_keys_and_roles(
    home: GuardedHome,
) -> None:
    schema = home.client().get("/openapi.json", headers=bearer(home.secrets[Role.READER])).json()
    assert schema["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    operations = {
        (method, path): operation
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    }
    for (method, path), operation in operations.items():
        if path == "/healthz":
            assert "security" not in operation
        else:
            assert {"key": []} in operation["security"]
            reading_role = ROLES_OF_RESTRICTED_READS.get(path, "reader")
            least_role = reading_role if method == "get" or path in READING_POSTS else "curator"
            assert operation["x-least-role"] == least_role, path
