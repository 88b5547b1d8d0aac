"""Every route that changes something is an action: refused to readers and other sites, and logged once."""

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
from fonds.web.api.paths import is_rest
from guarded_home import OWN, GuardedHome, bearer, open_guarded_home

NOT_ACTIONS = {
    "/sign-in": "starts the session of a browser, before it has a role",
    "/sign-out": "ends the session of a browser",
    "/verify": "compares a manifest with the library and changes nothing",
    "/api/verify": "compares a manifest with the library and changes nothing",
}
ELSEWHERE = {"origin": "https://evil.example"}
FILLED = {"act": "retry", "number": "1"}
Route = tuple[Action[Any, Any], str, str]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedHome]:
    with open_guarded_home(tmp_path_factory.mktemp("guarded")) as found:
        yield found


def changing_routes(home: GuardedHome) -> list[Any]:
    routes = list_routes(home.pages)
    return [route for route in routes if ACTS_METHODS & set(getattr(route, "methods", None) or ())]


def action_routes(home: GuardedHome) -> list[Route]:
    """Each action with the method and an address of each of its routes."""
    found = [
        (action, method, re.sub(r"{(\w+)[^}]*}", lambda one: FILLED.get(one[1], "x"), route.path))
        for route in changing_routes(home)
        if (action := find_action(route)) is not None
        for method in route.methods
    ]
    assert len(found) > 30
    return found


def is_for_programs(path: str) -> bool:
    return is_rest(path) or path.startswith("/api/")


def logged(home: GuardedHome) -> list[ActRow]:
    return home.gate.action_log.list_newest(500)


def test_every_route_that_changes_something_is_an_action(home: GuardedHome) -> None:
    routes = changing_routes(home)
    others = {one.path for one in routes if find_action(one) is None}
    assert others == set(NOT_ACTIONS)
    for route in routes:
        action, least = find_action(route), find_least_role(route)
        assert least is not None
        if action is None:
            assert least.role in (None, Role.READER), route.path
        else:
            assert least.role is action.role
            assert action.role.covers(Role.CURATOR), route.path
            assert len(route.methods) == 1


def test_each_action_has_a_name_of_its_own_and_routes_of_both_kinds_where_they_belong(
    home: GuardedHome,
) -> None:
    actions = {id(one): one for one, _, _ in action_routes(home)}.values()
    names = [action.name for action in actions]
    assert len(names) == len(set(names))
    for one in actions:
        assert one.form or one.json, one.name
        assert one.form is None or not is_for_programs(one.form.path), one.name
        assert one.json is None or is_for_programs(one.json.path), one.name
    assert sum(action.form is not None and action.json is not None for action in actions) >= 6


def test_a_reader_is_refused_and_nothing_is_logged(home: GuardedHome) -> None:
    for action, method, path in action_routes(home):
        answer = home.client().request(
            method, path, headers=OWN | bearer(home.secrets[Role.READER])
        )
        assert answer.status_code == 403, (action.name, method, path)
        assert home.client().request(method, path, headers=OWN).status_code == 401, action.name
    assert logged(home) == []


def test_a_request_that_another_site_made_is_refused_and_not_logged(home: GuardedHome) -> None:
    admin = home.sign_in(Role.ADMIN)
    for action, method, path in action_routes(home):
        for headers in ({}, ELSEWHERE, {"sec-fetch-site": "cross-site"}):
            answer = admin.request(method, path, headers=headers)
            assert answer.status_code == 403, (action.name, method, path, headers)
        if not is_for_programs(path):
            key = bearer(home.secrets[Role.ADMIN])
            assert home.client().request(method, path, headers=key).status_code == 403, path
    assert logged(home) == []


def test_each_request_that_is_let_in_is_logged_once_with_how_it_ended(tmp_path: Path) -> None:
    with open_guarded_home(tmp_path) as home:
        for count, (action, method, path) in enumerate(action_routes(home), start=1):
            key = bearer(home.secrets[Role.ADMIN])
            answer = home.client().request(method, path, headers=OWN | key)
            rows = logged(home)
            assert len(rows) == count, (action.name, method, path)
            newest = rows[0]
            assert newest.what.split()[:2] == [method, path], action.name
            assert (newest.who, newest.outcome) == ("admin", answer.status_code), action.name
            assert answer.status_code not in (401, 403, 500), (action.name, method, path)
