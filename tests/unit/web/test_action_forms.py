"""One struct has one meaning, whether a form or JSON brings it, and whatever else a form may hold."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from enum import StrEnum
from typing import Annotated
from urllib.parse import urlencode

import msgspec
import pytest
from fastapi import FastAPI, Request
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import JSONResponse
from starlette.testclient import TestClient

from fonds.model.access import Role
from fonds.model.errors import ConfigurationError
from fonds.web.actions import (
    Action,
    FormRoute,
    InvalidParameterError,
    JsonRoute,
    NoParameters,
    add_actions,
    parse_form,
)
from fonds.web.serving.problems import RefusedError


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Paint(msgspec.Struct, forbid_unknown_fields=True):
    """What is painted."""

    color: Color
    first: date = msgspec.field(name="from")
    word: Annotated[str, msgspec.Meta(max_length=5)] = "none"
    last: date | None = None
    is_wet: bool = False
    walls: list[str] = []
    owner: str | msgspec.UnsetType = msgspec.UNSET


FORM = {"color": "red", "from": "2027-01-31"}


def parsed(*more: tuple[str, str], **changes: str) -> Paint:
    return parse_form(urlencode([*(FORM | changes).items(), *more]).encode(), Paint)


def test_a_form_is_read_as_the_same_json_would_be() -> None:
    sent = parsed(("walls", "north"), ("walls", "south"), word="wörd", is_wet="yes", owner="")
    assert sent == msgspec.json.decode(
        '{"color": "red", "from": "2027-01-31", "walls": ["north", "south"], "word": "wörd",'
        ' "is_wet": true, "owner": ""}',
        type=Paint,
    )


def test_an_empty_field_counts_as_left_out_unless_it_is_text() -> None:
    sent = parsed(last=" ", is_wet="", walls="", word="")
    assert (sent.last, sent.is_wet, sent.walls, sent.word) == (None, False, [], "")
    assert parsed().owner is msgspec.UNSET


@pytest.mark.parametrize(
    ("changes", "parameter", "said"),
    [
        ({"from": ""}, "from", "Fill in “from”."),
        ({"from": "soon <b>"}, "from", "“soon <b>” is not a date. Write it as 2027-12-31."),
        ({"last": "2027-02-30"}, "last", "is not a date"),
        ({"color": "green"}, "color", "Choose a color: red, blue."),
        ({"word": "longer"}, "word", "The word has at most 5 characters."),
    ],
)
def test_a_field_that_cannot_be_is_named_in_a_sentence(
    changes: dict[str, str], parameter: str, said: str
) -> None:
    with pytest.raises(RefusedError) as refused:
        parsed(**changes)
    assert refused.value.status_code == 400
    assert refused.value.at == {"parameter": parameter}
    assert said in refused.value.detail


@pytest.mark.parametrize(
    "body",
    [
        b"color=red&from=2027-01-31&more=1",
        b"color=red&color=red&from=2027-01-31",
        b"color=\xff&from=2027-01-31",
        b"&".join(b"walls=x" for _ in range(100)),
    ],
)
def test_a_form_of_somebody_else_is_refused(body: bytes) -> None:
    with pytest.raises(RefusedError, match="not sent from a page of this server"):
        parse_form(body, Paint)


@given(st.dictionaries(st.sampled_from([*FORM, "word", "last", "walls", "is_wet"]), st.text()))
def test_any_form_is_read_or_refused(fields: dict[str, str]) -> None:
    with suppress(RefusedError):
        assert isinstance(parsed(**fields), Paint)


def paint(number: int, sent: Paint) -> dict[str, object]:
    if sent.word == "busy":
        raise ConfigurationError("the painter is busy")
    if sent.word == "bad":
        raise InvalidParameterError("This is no word.", "word")
    return {"number": number, "color": sent.color}


def dry(number: int) -> int:
    return number


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()
    add_actions(
        app.router,
        Action(
            "paint",
            Role.CURATOR,
            paint,
            Paint,
            FormRoute("/paint/{number}", lambda done: f"/{done.answer['number']}"),
            JsonRoute("/api/paint/{number}", "Paint", status=201),
        ),
        Action("dry", Role.CURATOR, dry, NoParameters, json=JsonRoute("/api/dry/{number}", "Dry")),
    )

    @app.exception_handler(RefusedError)
    async def answer_refused(request: Request, error: RefusedError) -> JSONResponse:
        return JSONResponse({"error": error.detail, **error.at}, error.status_code)

    return TestClient(app, follow_redirects=False)


def test_a_form_leads_on_and_json_is_answered(client: TestClient) -> None:
    done = client.post("/paint/7", data=FORM)
    assert (done.status_code, done.headers["location"]) == (303, "/7")
    done = client.post("/api/paint/7", json=FORM)
    assert (done.status_code, done.json()) == (201, {"number": 7, "color": "red"})


def test_an_error_has_one_status_and_the_place_that_its_sender_knows(client: TestClient) -> None:
    for word, status, said in (("bad", 400, "This is no word."), ("busy", 409, "The painter is")):
        form = client.post("/paint/7", data=FORM | {"word": word})
        sent = client.post("/api/paint/7", json=FORM | {"word": word})
        assert form.status_code == sent.status_code == status
        assert said in form.json()["error"] == sent.json()["error"]
    bad = FORM | {"word": "bad"}
    assert client.post("/paint/7", data=bad).json()["parameter"] == "word"
    assert client.post("/api/paint/7", json=bad).json()["pointer"] == "/word"


def test_json_says_so_and_an_action_without_parameters_takes_no_body(client: TestClient) -> None:
    assert client.post("/api/paint/7", data=FORM).status_code == 415
    assert client.post("/api/paint/7").status_code == 400
    assert client.post("/api/dry/7").json() == client.post("/api/dry/7", json={}).json() == 7
    refused = client.post("/api/dry/7", json={"for": "1 day"})
    assert (refused.status_code, refused.json()["error"]) == (400, "This request takes no body.")
