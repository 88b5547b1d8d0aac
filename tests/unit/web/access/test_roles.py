"""Every route of both applications says what role it needs, and each is held to what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.routing import Mount

from fonds.model.access import Role
from fonds.web.access.roles import find_least_role, list_routes
from fonds.web.api.paths import is_rest
from guarded_home import OWN, GuardedHome, bearer, open_guarded_home

READING_ACTS = {"/verify", "/api/verify"}
"""What is sent there is read and answered, and changes nothing."""
KEPT_FROM_READERS = {
    "/api/admin": "admin", "/api/embargoes": "curator", "/api/takedowns": "curator",
}  # fmt: skip
FILLED = {"act": "retry", "number": "1", "number:int": "1", "name": "some"}


@pytest.fixture(scope="module", params=[False, True], ids=["reading-is-free", "reading-needs-key"])
def home(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedHome]:
    with open_guarded_home(tmp_path_factory.mktemp("guarded"), reading=request.param) as found:
        yield found


def routes(home: GuardedHome) -> list[tuple[Any, Any]]:
    """Each route with its application."""
    pages = [(home.pages, route) for route in list_routes(home.pages)]
    return pages + [(home.replay, route) for route in home.replay.routes]


def test_every_route_declares_what_it_needs(home: GuardedHome) -> None:
    found = [(route.path, find_least_role(route)) for _, route in routes(home)]
    assert [path for path, least in found if least is None] == []
    assert len(found) > 90


def test_each_route_takes_each_role_as_it_says(home: GuardedHome) -> None:
    asked = 0
    for app, route in routes(home):
        client, least = home.client(app), find_least_role(route)
        path = f"{route.path}/fonds.css" if isinstance(route, Mount) else filled(route.path)
        for method in sorted(getattr(route, "methods", None) or {"GET"}):
            for role in (None, *Role):
                headers = OWN | (bearer(home.secrets[role]) if role else {})
                sent = {"key": home.secrets[Role.READER]} if path == "/sign-in" else None
                answer = client.request(method, path, headers=headers, data=sent)
                expected = refused_with(least.role, role, home.gate.needs_key_to_read)
                told = answer.status_code if answer.status_code in (401, 403) else None
                assert told == expected, f"{method} {path} as {role}: {answer.status_code}"
                check_refusal(answer, path, app is home.pages)
                asked += 1
    assert asked > 400


def refused_with(least: Role | None, role: Role | None, reading_needs_key: bool) -> int | None:
    if least is None:
        return None
    if role is None:
        return 401 if reading_needs_key or least is not Role.READER else None
    return None if role.covers(least) else 403


def check_refusal(answer: Any, path: str, is_pages: bool) -> None:
    assert ("www-authenticate" in answer.headers) == (answer.status_code == 401)
    if answer.status_code in (401, 403) and is_pages and is_rest(path):
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code


def filled(path: str) -> str:
    """The path with something in the place of each parameter."""
    return re.sub(r"{([^}]*)}", lambda match: FILLED.get(match[1], "x"), path)


def test_a_route_that_declares_nothing_is_nobodys_but_an_admins(home: GuardedHome) -> None:
    def forgotten() -> dict[str, str]:
        return {"told": "all"}

    home.pages.add_api_route("/forgotten", forgotten)
    try:
        client = home.client()
        told = {
            role: client.get("/forgotten", headers=bearer(home.secrets[role])).status_code
            for role in Role
        }
    finally:
        home.pages.router.routes.pop()
    assert told == {Role.READER: 403, Role.CURATOR: 403, Role.ADMIN: 200}


def test_the_description_says_how_a_key_is_shown_and_what_each_operation_needs(
    home: GuardedHome,
) -> None:
    described = home.client().get("/openapi.json", headers=bearer(home.secrets[Role.READER])).json()
    assert described["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    operations = {
        (method, path): one
        for path, methods in described["paths"].items()
        for method, one in methods.items()
    }
    for (method, path), one in operations.items():
        if path == "/healthz":
            assert "security" not in one
        else:
            assert {"key": []} in one["security"]
            read = KEPT_FROM_READERS.get(path, "reader")
            least = read if method == "get" or path in READING_ACTS else "curator"
            assert one["x-least-role"] == least, path
