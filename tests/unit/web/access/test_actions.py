"""Every route that changes something is an action: refused to readers and to other sites, and logged once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fonds.model.access import Role
from fonds.model.rows import ActRow
from fonds.web.access.roles import ACTS_METHODS, find_least_role, list_routes
from fonds.web.actions import Action, find_action
from fonds.web.api.paths import is_rest_path
from guarded_home import OWN, GuardedHome, bearer, open_guarded_home

NOT_ACTIONS = {
    "/sign-in": "starts the session of a browser, before it has a role",
    "/sign-out": "ends the session of a browser",
    "/verify": "compares a manifest with the library and changes nothing",
    "/api/verify": "compares a manifest with the library and changes nothing",
}
OTHER_SITE = {"origin": "https://evil.example"}
PATH_VALUES = {"act": "retry", "number": "1"}
Route = tuple[Action[Any, Any], str, str]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedHome]:
    with open_guarded_home(tmp_path_factory.mktemp("guarded")) as home:
        yield home


def list_changing_routes(home: GuardedHome) -> list[Any]:
    routes = list_routes(home.pages)
    return [route for route in routes if ACTS_METHODS & set(getattr(route, "methods", None) or ())]


def list_action_routes(home: GuardedHome) -> list[Route]:
    """Return each action with the method and a URL of each of its routes."""
    routes = [
        (
            action,
            method,
            re.sub(r"{(\w+)[^}]*}", lambda match: PATH_VALUES.get(match[1], "x"), route.path),
        )
        for route in list_changing_routes(home)
        if (action := find_action(route)) is not None
        for method in route.methods
    ]
    assert len(routes) > 30
    return routes


def is_api_path(path: str) -> bool:
    return is_rest_path(path) or path.startswith("/api/")


def list_log(home: GuardedHome) -> list[ActRow]:
    return home.gate.action_log.list_newest(500)


def test_every_route_that_changes_something_is_an_action(home: GuardedHome) -> None:
    routes = list_changing_routes(home)
    other_paths = {route.path for route in routes if find_action(route) is None}
    assert other_paths == set(NOT_ACTIONS)
    for route in routes:
        action, requirement = find_action(route), find_least_role(route)
        assert requirement is not None
        if action is None:
            assert requirement.role in (None, Role.READER), route.path
        else:
            assert requirement.role is action.role
            assert action.role.covers(Role.CURATOR), route.path
            assert len(route.methods) == 1


def test_action_names_are_unique_and_routes_match_their_kind(
    home: GuardedHome,
) -> None:
    actions = {id(action): action for action, _, _ in list_action_routes(home)}.values()
    names = [action.name for action in actions]
    assert len(names) == len(set(names))
    for action in actions:
        assert action.form or action.json, action.name
        assert action.form is None or not is_api_path(action.form.path), action.name
        assert action.json is None or is_api_path(action.json.path), action.name
    assert sum(action.form is not None and action.json is not None for action in actions) >= 6


def test_readers_are_refused_every_action_without_a_log_row(home: GuardedHome) -> None:
    for action, method, path in list_action_routes(home):
        response = home.client().request(
            method, path, headers=OWN | bearer(home.secrets[Role.READER])
        )
        assert response.status_code == 403, (action.name, method, path)
        assert home.client().request(method, path, headers=OWN).status_code == 401, action.name
    assert list_log(home) == []


def test_requests_from_other_sites_are_refused_without_a_log_row(home: GuardedHome) -> None:
    admin = home.sign_in(Role.ADMIN)
    for action, method, path in list_action_routes(home):
        for headers in ({}, OTHER_SITE, {"sec-fetch-site": "cross-site"}):
            response = admin.request(method, path, headers=headers)
            assert response.status_code == 403, (action.name, method, path, headers)
        if not is_api_path(path):
            key = bearer(home.secrets[Role.ADMIN])
            assert home.client().request(method, path, headers=key).status_code == 403, path
    assert list_log(home) == []


def test_each_allowed_request_is_logged_once_with_its_status(tmp_path: Path) -> None:
    with open_guarded_home(tmp_path) as home:
        for count, (action, method, path) in enumerate(list_action_routes(home), start=1):
            key = bearer(home.secrets[Role.ADMIN])
            response = home.client().request(method, path, headers=OWN | key)
            rows = list_log(home)
            assert len(rows) == count, (action.name, method, path)
            newest = rows[0]
            assert newest.what.split()[:2] == [method, path], action.name
            assert (newest.who, newest.outcome) == ("admin", response.status_code), action.name
            assert response.status_code not in (401, 403, 500), (action.name, method, path)
