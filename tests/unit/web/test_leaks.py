"""Of a hidden file nothing is in any answer of any route, and each is the answer of a library without it."""

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

CHANGING = {
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
"""Routes that change something and name no file: what they answer with says what they did."""


@pytest.fixture(scope="module", params=sorted(ACTS))
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, LeakingHome]]:
    folder = tmp_path_factory.mktemp("leaking")
    filled = fill_home(folder)
    with open_home(folder) as stores:
        found = LeakingHome(stores, folder, Settings(), filled)
        found.paths = part_of(found.paths)
        found.add_and_hide(request.param)
        yield request.param, found


def test_no_answer_of_any_route_tells_of_it(home: tuple[str, LeakingHome]) -> None:
    act, found = home
    if act == "embargo":
        # The marks are found where they are to be found: else this test would see nothing at all.
        assert len(found.leaks(found.between)) > 60
        beside = found.between[f"/file/{found.filled.pdfs[3]}"][1].decode()
        assert "Vexillarious waters" in beside.partition('id="neighbours"')[2]
        stated = [told for path, (_, told) in found.between.items() if "q=prefers" in path]
        assert any(b"no-vexillarious" in told for told in stated)
    assert found.leaks(found.after) == {}


def test_under_embargo_each_answer_is_that_of_a_library_without_it(
    home: tuple[str, LeakingHome],
) -> None:
    act, found = home
    if act == "takedown":
        pytest.skip("what was taken down stays counted on the books: decision 57")
    assert found.list_differences() == []


def test_every_address_that_names_it_says_when_and_why_and_no_more(
    home: tuple[str, LeakingHome],
) -> None:
    act, found = home
    _, status, reason, day = ACTS[act]
    files = found.hidden.files
    names = [*files, *(encode_sha1_base32(bytes.fromhex(file)).lower() for file in files)]
    values = {**in_path_of(found.stores, found.filled), "sha1hex": names, "id": names}
    asked = [
        (method, path)
        for route in routes_of(found.app)
        if {"{sha1hex}", "{id}"} & set(re.findall(r"{\w+}", getattr(route, "path", "")))
        for method in sorted(route.methods)
        for path in paths_of(route, values)
    ]
    asked += [(READING, f"{path}?key={name}") for path in ("/show", "/api/show") for name in names]
    assert len(asked) > 100
    with TestClient(found.app, base_url=ORIGIN) as client:
        for method, path in asked:
            answer = client.request(method, path, headers={"Origin": ORIGIN})
            assert answer.status_code == status, (method, path)
            assert (reason in answer.text, day in answer.text) == (True, True)
            assert "ann" not in re.findall(r"\w+", answer.text)
            assert found.leaks({path: (status, answer.content)}) == {}


def test_every_other_route_is_one_that_changes_something_and_names_no_file(
    home: tuple[str, LeakingHome],
) -> None:
    _, found = home
    others = {
        route.path
        for route in routes_of(found.app)
        if isinstance(route, APIRoute)
        and READING not in route.methods
        and not {"{sha1hex}", "{id}"} & set(re.findall(r"{\w+}", route.path))
    }
    assert others == CHANGING


def test_thumbnails_and_bytes_are_closed_however_they_are_asked_for(
    tmp_path: Path,
) -> None:
    filled = fill_home(tmp_path)
    with open_home(tmp_path) as stores:
        sha1hex = filled.pdfs[1]
        with TestClient(app_for(stores), base_url=ORIGIN) as client:
            paths = [f"/file/{sha1hex}/{one}" for one in ("thumbnail", "body", "text", "pdf")]
            kept = {path: client.get(path) for path in paths}
            assert {one.status_code for one in kept.values()} == {200}
            EmbargoService(stores, None, lambda: NOW).hide(
                EmbargoRow(sha1hex, "rights", NOTE, UNTIL, "ann", NOW)
            )
            for path, one in kept.items():
                told = {"If-None-Match": one.headers.get("etag", ""), "Range": "bytes=0-3"}
                assert client.get(path, headers=told).status_code == 403


def test_a_curator_sees_it_at_its_own_addresses_with_a_notice_and_nowhere_else(
    home: tuple[str, LeakingHome],
) -> None:
    act, found = home
    sha1hex = found.hidden.pdf
    values = in_path_of(found.stores, found.filled)
    with TestClient(app_for(found.stores, Role.CURATOR), base_url=ORIGIN) as client:
        own = client.get(f"/file/{sha1hex}")
        if act == "takedown":
            assert own.status_code == 410
            return
        assert (own.status_code, "Under embargo until 13 Apr 2026" in own.text) == (200, True)
        assert "Zyzzogeton" in own.text
        for form in ("text", "thumbnail", "pages/1", "cite", "raw"):
            assert client.get(f"/file/{sha1hex}/{form}").status_code == 200
        assert client.get(f"/file/{values['sha1hex'][0]}").text.count("Under embargo") == 0
    # Who asks from this machine is an admin too, and is shown the acts with what they were done to.
    apart = re.compile("^replay|embargoes|takedowns|admin")
    others = [path for path in found.after if not apart.search(path)]
    assert found.leaks(ask_all(client.app, others[::3], {})) == {}
