"""Notes on failure groups: curators set and clear them, and all viewers see them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from starlette.testclient import TestClient

from answer_checks import check_answers
from failed_home import fail
from filled_home import open_home
from fonds.cli.main import cli
from fonds.failures import decisions
from fonds.model.access import Role, Viewer
from fonds.model.rows import ActRow, FailureNoteRow
from fonds.ports import Stores
from fonds.web.access.viewers import get_viewer
from fonds.web.app import create_app
from page_reading import read

ORIGIN = "http://localhost:8765"
OWN = {"sec-fetch-site": "same-origin"}
API = "/api/failures/note"
HOSTILE = "<script>alert('x')</script>"


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    with open_home(tmp_path) as stores:
        fail(stores, *range(6))
        yield stores


@pytest.fixture
def client(stores: Stores) -> Iterator[TestClient]:
    app = create_app(stores)
    app.dependency_overrides[get_viewer] = lambda: Viewer("ann", Role.CURATOR)
    with TestClient(app, base_url=ORIGIN) as client:
        yield client


def get_group(client: TestClient, reason: str = "timeout") -> dict[str, str]:
    (group,) = client.get(f"/failures.json?reason={reason}").json()["groups"]
    return {"pipeline": group["pipeline"], "group": group["group"]}


def get_note(client: TestClient, reason: str = "timeout") -> dict[str, str] | None:
    (group_row,) = client.get(f"/failures.json?reason={reason}").json()["groups"]
    note: dict[str, str] | None = group_row["note"]
    return note


def test_the_form_sets_and_clears_a_note(client: TestClient, stores: Stores) -> None:
    fields = get_group(client) | {"note": f"asked  {HOSTILE}", "owner": "Ann & Bo"}
    response = client.post("/failures/note", data=fields, headers=OWN, follow_redirects=False)
    group_url = f"/failures?pipeline=library&group={fields['group']}"
    assert (response.status_code, response.headers["location"]) == (303, group_url)
    note = get_note(client)
    assert note is not None
    assert (note["note"], note["owner"], note["noted_by"]) == (
        f"asked {HOSTILE}",
        "Ann & Bo",
        "ann",
    )
    page = read(client, group_url)
    assert f"asked {HOSTILE} assigned to Ann & Bo by " in page.words("//dl[@class='sample']")
    assert HOSTILE not in client.get(group_url).text
    assert "POST /failures/note" in [row.what for row in stores.records.find(ActRow)]
    client.post("/failures/note", data=fields | {"note": " ", "owner": ""}, headers=OWN)
    assert get_note(client) is None


def test_the_api_sets_and_clears_a_note(client: TestClient) -> None:
    fields = get_group(client) | {"owner": "Bo"}
    note = client.put(API, json=fields).json()
    assert note == get_note(client)
    assert (note["note"], note["owner"]) == ("", "Bo")
    assert client.put(API, json=get_group(client)).json() is None
    assert get_note(client) is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"note": "x" * 501}, "at most 500 characters"),
        ({"owner": "x" * 101}, "an owner 100"),
        ({"group": "0" * 16, "note": "x"}, "has no failures in a group named"),
        ({"pipeline": "news", "note": "x"}, "has no failures in a group named"),
    ],
)
def test_invalid_notes_are_refused(
    client: TestClient, fields: dict[str, str], message: str
) -> None:
    response = client.put(API, json=get_group(client) | fields)
    assert (response.status_code, message in response.json()["error"]) == (400, True)
    assert client.put(API, json=get_group(client) | {"nonsense": 1}).status_code == 400


def test_readers_see_notes_but_cannot_set_them(client: TestClient, stores: Stores) -> None:
    chosen_group = get_group(client)
    client.put(API, json=chosen_group | {"note": "wait"})
    proxied = {"X-Forwarded-For": "192.0.2.1"}
    with TestClient(create_app(stores), base_url=ORIGIN, headers=proxied) as reader:
        assert get_note(reader) is not None
        page = read(reader, "/failures")
        assert "wait" in page.words("//dl[@class='sample']")
        assert not page.tree.xpath("//form[@action='/failures/note']")
        assert reader.put(API, json=chosen_group).status_code in (401, 403)
        assert reader.get("/failures.json").json()["settled_notes"] is None


def test_a_note_is_listed_as_settled_once_its_group_is_empty(
    client: TestClient, stores: Stores
) -> None:
    chosen_group = get_group(client)
    client.put(API, json=chosen_group | {"note": "wait"})
    fail(stores, 6)
    assert get_note(client) is not None
    assert client.get("/failures.json").json()["settled_notes"] == []
    accept = chosen_group | {"key": "a" * 32, "note": "", "entry": ""}
    assert client.post("/failures/accept", data=accept, headers=OWN).status_code == 200
    (settled,) = client.get("/failures.json").json()["settled_notes"]
    assert (settled["note"], settled["failure_group"]) == ("wait", chosen_group["group"])
    words = read(client, "/failures").words("//section[@aria-labelledby='settled']")
    assert "timeout at extract_pdf (library): wait" in words
    client.post("/failures/note", data=chosen_group, headers=OWN)
    assert client.get("/failures.json").json()["settled_notes"] == []


def test_the_number_of_notes_is_limited(
    client: TestClient, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "NOTES_MAX", 1)
    first, second = get_group(client), get_group(client, "broken-pdf")
    client.put(API, json=first | {"note": "x"})
    assert (
        "limit of 1 groups with a note"
        in client.put(API, json=second | {"note": "x"}).json()["error"]
    )
    assert client.put(API, json=first | {"note": "y"}).status_code == 200
    assert stores.records.count(FailureNoteRow)[()] == 1


def run_command(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), *words])


def test_the_command_sets_and_shows_a_note(
    stores: Stores, client: TestClient, tmp_path: Path
) -> None:
    id_ = get_group(client)["group"]
    result = run_command(
        tmp_path, "failures", "note", "--group", id_, "--note", "wait", "--owner", "Bo"
    )
    assert f"group {id_}: wait; assigned to Bo; noted by local:" in result.stdout
    assert "wait; assigned to Bo" in run_command(tmp_path, "failures").stdout
    output = run_command(tmp_path, "failures", "--json").stdout
    check_answers(("failures", "--json"), output)
    assert "wait" in [
        (json.loads(line).get("note") or {}).get("note") for line in output.splitlines()
    ]
    assert f"fonds failures note --group {id_}" in [row.what for row in stores.records.find(ActRow)]
    result = run_command(tmp_path, "failures", "note", "--group", id_, "--note", "", "--json")
    check_answers(("failures", "note", "--json"), result.stdout)
    assert json.loads(result.stdout) == {"noted": None}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("note", "--note", "x"), "Name a group"),
        (("note", "--group", "0" * 16), "Give --note or --owner"),
        (("note", "--group", "0" * 16, "--note", "x"), "not found"),
        (("--owner", "x"), "--owner works only with note."),
        (("retry", "--note", "x"), "--note works only with accept and note."),
    ],
)
def test_the_command_refuses_invalid_notes(
    stores: Stores, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    result = run_command(tmp_path, "failures", *words)
    assert (result.exit_code, message in result.stderr) == (2, True)
