"""Notes on groups of failures: set and cleared by curators, shown to all, kept until a person clears them."""

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
    with open_home(tmp_path) as found:
        fail(found, *range(6))
        yield found


@pytest.fixture
def client(stores: Stores) -> Iterator[TestClient]:
    app = create_app(stores)
    app.dependency_overrides[get_viewer] = lambda: Viewer("ann", Role.CURATOR)
    with TestClient(app, base_url=ORIGIN) as found:
        yield found


def group(client: TestClient, reason: str = "timeout") -> dict[str, str]:
    (one,) = client.get(f"/failures.json?reason={reason}").json()["groups"]
    return {"pipeline": one["pipeline"], "group": one["group"]}


def note(client: TestClient, reason: str = "timeout") -> dict[str, str] | None:
    (one,) = client.get(f"/failures.json?reason={reason}").json()["groups"]
    told: dict[str, str] | None = one["note"]
    return told


def test_the_form_of_a_group_sets_a_note_and_clears_it(client: TestClient, stores: Stores) -> None:
    sent = group(client) | {"note": f"asked  {HOSTILE}", "owner": "Ann & Bo"}
    answer = client.post("/failures/note", data=sent, headers=OWN, follow_redirects=False)
    at = f"/failures?pipeline=library&group={sent['group']}"
    assert (answer.status_code, answer.headers["location"]) == (303, at)
    told = note(client)
    assert told is not None
    assert (told["note"], told["owner"], told["noted_by"]) == (
        f"asked {HOSTILE}",
        "Ann & Bo",
        "ann",
    )
    page = read(client, at)
    assert f"asked {HOSTILE} assigned to Ann & Bo by " in page.words("//dl[@class='sample']")
    assert HOSTILE not in client.get(at).text
    assert "POST /failures/note" in [row.what for row in stores.records.find(ActRow)]
    client.post("/failures/note", data=sent | {"note": " ", "owner": ""}, headers=OWN)
    assert note(client) is None


def test_programs_do_the_same(client: TestClient) -> None:
    sent = group(client) | {"owner": "Bo"}
    told = client.put(API, json=sent).json()
    assert told == note(client)
    assert (told["note"], told["owner"]) == ("", "Bo")
    assert client.put(API, json=group(client)).json() is None
    assert note(client) is None


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"note": "x" * 501}, "at most 500 characters"),
        ({"owner": "x" * 101}, "an owner 100"),
        ({"group": "0" * 16, "note": "x"}, "has no failures in a group named"),
        ({"pipeline": "news", "note": "x"}, "has no failures in a group named"),
    ],
)
def test_what_cannot_be_noted_is_refused(
    client: TestClient, sent: dict[str, str], told: str
) -> None:
    answer = client.put(API, json=group(client) | sent)
    assert (answer.status_code, told in answer.json()["error"]) == (400, True)
    assert client.put(API, json=group(client) | {"nonsense": 1}).status_code == 400


def test_readers_see_notes_and_set_none(client: TestClient, stores: Stores) -> None:
    chosen = group(client)
    client.put(API, json=chosen | {"note": "wait"})
    elsewhere = {"X-Forwarded-For": "192.0.2.1"}
    with TestClient(create_app(stores), base_url=ORIGIN, headers=elsewhere) as reader:
        assert note(reader) is not None
        page = read(reader, "/failures")
        assert "wait" in page.words("//dl[@class='sample']")
        assert not page.tree.xpath("//form[@action='/failures/note']")
        assert reader.put(API, json=chosen).status_code in (401, 403)
        assert reader.get("/failures.json").json()["settled_notes"] is None


def test_a_note_is_kept_while_its_group_goes_on_failing_and_told_when_nothing_is_left(
    client: TestClient, stores: Stores
) -> None:
    chosen = group(client)
    client.put(API, json=chosen | {"note": "wait"})
    fail(stores, 6)
    assert note(client) is not None
    assert client.get("/failures.json").json()["settled_notes"] == []
    accept = chosen | {"key": "a" * 32, "note": "", "entry": ""}
    assert client.post("/failures/accept", data=accept, headers=OWN).status_code == 200
    (told,) = client.get("/failures.json").json()["settled_notes"]
    assert (told["note"], told["failure_group"]) == ("wait", chosen["group"])
    words = read(client, "/failures").words("//section[@aria-labelledby='settled']")
    assert "timeout at extract_pdf (library): wait" in words
    client.post("/failures/note", data=chosen, headers=OWN)
    assert client.get("/failures.json").json()["settled_notes"] == []


def test_notes_have_a_bound(
    client: TestClient, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "NOTES_MAX", 1)
    first, second = group(client), group(client, "broken-pdf")
    client.put(API, json=first | {"note": "x"})
    assert (
        "limit of 1 groups with a note"
        in client.put(API, json=second | {"note": "x"}).json()["error"]
    )
    assert client.put(API, json=first | {"note": "y"}).status_code == 200
    assert stores.records.count(FailureNoteRow)[()] == 1


def fonds(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), *words])


def test_the_command_line_notes_and_tells(
    stores: Stores, client: TestClient, tmp_path: Path
) -> None:
    id_ = group(client)["group"]
    done = fonds(tmp_path, "failures", "note", "--group", id_, "--note", "wait", "--owner", "Bo")
    assert f"group {id_}: wait; assigned to Bo; noted by local:" in done.stdout
    assert "wait; assigned to Bo" in fonds(tmp_path, "failures").stdout
    told = fonds(tmp_path, "failures", "--json").stdout
    check_answers(("failures", "--json"), told)
    assert "wait" in [
        (json.loads(line).get("note") or {}).get("note") for line in told.splitlines()
    ]
    assert f"fonds failures note --group {id_}" in [row.what for row in stores.records.find(ActRow)]
    done = fonds(tmp_path, "failures", "note", "--group", id_, "--note", "", "--json")
    check_answers(("failures", "note", "--json"), done.stdout)
    assert json.loads(done.stdout) == {"noted": None}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("note", "--note", "x"), "Name a group"),
        (("note", "--group", "0" * 16), "Give --note or --owner"),
        (("note", "--group", "0" * 16, "--note", "x"), "not found"),
        (("--owner", "x"), "--owner works only with note."),
        (("retry", "--note", "x"), "--note works only with accept and note."),
    ],
)
def test_what_the_command_line_cannot_note_is_refused(
    stores: Stores, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    done = fonds(tmp_path, "failures", *words)
    assert (done.exit_code, told in done.stderr) == (2, True)
