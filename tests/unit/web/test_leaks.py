"""No response of any route reveals a hidden file, and each equals that of a library without the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from filled_home import fill_home, open_home
from fonds.config import Settings
from fonds.model.access import Role
from fonds.model.keys import encode_sha1_base32
from fonds.model.rows import EmbargoRow
from fonds.restrictions.embargo import EmbargoService
from home_rows import NOW
from leaking_home import (
    ACTS,
    NOTE,
    ORIGIN,
    UNTIL,
    LeakingHome,
    app_for,
    ask_all,
    in_path_of,
    part_of,
)
from route_urls import READING, paths_of, routes_of

CHANGING_ROUTES = {
    "/failures/{act}", "/failures/note", "/api/failures/note",
    "/collections/{ns}/{key}", "/configurations/{ns}/{conf}",
    "/configurations/{ns}/transforms/{conf}", "/queries/{ns}/{name}",
    "/run/{ns}", "/run/{ns}/{name}", "/run/{ns}/{conf}/{name}",
    "/sign-in", "/sign-out", "/admin/revoke", "/admin/keys", "/embargoes", "/embargoes/lift",
    "/takedowns",
    "/verify", "/api/verify", "/sources/{source_id}/{act}",
    "/sources/{source_id}/mute", "/sources/{source_id}/backfill", "/sources/{source_id}/edit",
    "/themes/{namespace}/{key}/{act}", "/api/themes/{namespace}/{key}/{act}",
    "/api/sources/{source_id}/{act}", "/api/sources/{source_id}/mute", "/api/sources/{source_id}",
    "/api/sources/{source_id}/backfill",
}  # fmt: skip
"""Routes that change something and name no file. Their responses say what they did."""


@pytest.fixture(scope="module", params=sorted(ACTS))
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, LeakingHome]]:
    folder = tmp_path_factory.mktemp("leaking")
    filled_home = fill_home(folder)
    with open_home(folder) as stores:
        leaking_home = LeakingHome(stores, folder, Settings(), filled_home)
        leaking_home.paths = part_of(leaking_home.paths)
        leaking_home.add_and_hide(request.param)
        yield request.param, leaking_home


def test_no_response_reveals_a_hidden_file(home: tuple[str, LeakingHome]) -> None:
    act, leaking_home = home
    if act == "embargo":
        # Check that the marks are found before the file is hidden. Otherwise this test would prove nothing.
        assert len(leaking_home.leaks(leaking_home.between)) > 60
        file_page = leaking_home.between[f"/file/{leaking_home.filled.pdfs[3]}"][1].decode()
        assert "Vexillarious waters" in file_page.partition('id="neighbours"')[2]
        bodies = [body for path, (_, body) in leaking_home.between.items() if "q=prefers" in path]
        assert any(b"no-vexillarious" in body for body in bodies)
    assert leaking_home.leaks(leaking_home.after) == {}


# A file under takedown stays counted in the ledger: decision 57.
@pytest.mark.parametrize("home", ["embargo"], indirect=True)
def test_responses_under_embargo_equal_those_without_the_file(
    home: tuple[str, LeakingHome],
) -> None:
    _, leaking_home = home
    assert leaking_home.list_differences() == []


def test_urls_of_a_hidden_file_return_only_date_and_reason(
    home: tuple[str, LeakingHome],
) -> None:
    act, leaking_home = home
    _, status, reason, day = ACTS[act]
    files = leaking_home.hidden.files
    names = [*files, *(encode_sha1_base32(bytes.fromhex(file)).lower() for file in files)]
    values = {**in_path_of(leaking_home.stores, leaking_home.filled), "sha1hex": names, "id": names}
    requests = [
        (method, path)
        for route in routes_of(leaking_home.app)
        if {"{sha1hex}", "{id}"} & set(re.findall(r"{\w+}", getattr(route, "path", "")))
        for method in sorted(route.methods)
        for path in paths_of(route, values)
    ]
    requests += [
        (READING, f"{path}?key={name}") for path in ("/show", "/api/show") for name in names
    ]
    assert len(requests) > 100
    with TestClient(leaking_home.app, base_url=ORIGIN) as client:
        for method, path in requests:
            response = client.request(method, path, headers={"Origin": ORIGIN})
            assert response.status_code == status, (method, path)
            assert (reason in response.text, day in response.text) == (True, True)
            assert "ann" not in re.findall(r"\w+", response.text)
            assert leaking_home.leaks({path: (status, response.content)}) == {}


def test_the_changing_routes_without_a_file_are_complete(
    home: tuple[str, LeakingHome],
) -> None:
    _, leaking_home = home
    paths = {
        route.path
        for route in routes_of(leaking_home.app)
        if isinstance(route, APIRoute)
        and READING not in route.methods
        and not {"{sha1hex}", "{id}"} & set(re.findall(r"{\w+}", route.path))
    }
    assert paths == CHANGING_ROUTES


def test_conditional_and_range_requests_of_hidden_files_are_refused(
    tmp_path: Path,
) -> None:
    filled_home = fill_home(tmp_path)
    with open_home(tmp_path) as stores:
        sha1hex = filled_home.pdfs[1]
        with TestClient(app_for(stores), base_url=ORIGIN) as client:
            paths = [f"/file/{sha1hex}/{part}" for part in ("thumbnail", "body", "text", "pdf")]
            responses = {path: client.get(path) for path in paths}
            assert {response.status_code for response in responses.values()} == {200}
            EmbargoService(stores, None, lambda: NOW).hide(
                EmbargoRow(sha1hex, "rights", NOTE, UNTIL, "ann", NOW)
            )
            for path, response in responses.items():
                headers = {"If-None-Match": response.headers.get("etag", ""), "Range": "bytes=0-3"}
                assert client.get(path, headers=headers).status_code == 403


def test_a_curator_sees_a_hidden_file_only_at_its_own_urls(
    home: tuple[str, LeakingHome],
) -> None:
    act, leaking_home = home
    sha1hex = leaking_home.hidden.pdf
    values = in_path_of(leaking_home.stores, leaking_home.filled)
    with TestClient(app_for(leaking_home.stores, Role.CURATOR), base_url=ORIGIN) as client:
        file_page = client.get(f"/file/{sha1hex}")
        if act == "takedown":
            assert file_page.status_code == 410
            return
        assert (file_page.status_code, "Under embargo until 13 Apr 2026" in file_page.text) == (
            200,
            True,
        )
        assert "Zyzzogeton" in file_page.text
        for form in ("text", "thumbnail", "pages/1", "cite", "raw"):
            assert client.get(f"/file/{sha1hex}/{form}").status_code == 200
        assert client.get(f"/file/{values['sha1hex'][0]}").text.count("Under embargo") == 0
    # Requests from this computer come from an admin, who sees the action log with its targets.
    expected_pages = re.compile("^replay|embargoes|takedowns|admin")
    other_paths = [path for path in leaking_home.after if not expected_pages.search(path)]
    assert leaking_home.leaks(ask_all(client.app, other_paths[::3], {})) == {}
