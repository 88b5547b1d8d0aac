"""The parameters of an action mean the same in a form and in JSON. Other fields are refused."""

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
    """Parameters of the action of these tests."""

    color: Color
    first: date = msgspec.field(name="from")
    word: Annotated[str, msgspec.Meta(max_length=5)] = "none"
    last: date | None = None
    is_wet: bool = False
    walls: list[str] = []
    owner: str | msgspec.UnsetType = msgspec.UNSET


FORM = {"color": "red", "from": "2027-01-31"}


def parse_fields(*more_fields: tuple[str, str], **changes: str) -> Paint:
    return parse_form(urlencode([*(FORM | changes).items(), *more_fields]).encode(), Paint)


def test_a_form_parses_like_the_same_json() -> None:
    parameters = parse_fields(
        ("walls", "north"), ("walls", "south"), word="wörd", is_wet="yes", owner=""
    )
    assert parameters == msgspec.json.decode(
        '{"color": "red", "from": "2027-01-31", "walls": ["north", "south"], "word": "wörd",'
        ' "is_wet": true, "owner": ""}',
        type=Paint,
    )


def test_empty_fields_are_omitted_unless_they_are_text() -> None:
    parameters = parse_fields(last=" ", is_wet="", walls="", word="")
    assert (parameters.last, parameters.is_wet, parameters.walls, parameters.word) == (
        None,
        False,
        [],
        "",
    )
    assert parse_fields().owner is msgspec.UNSET


@pytest.mark.parametrize(
    ("changes", "parameter", "message"),
    [
        ({"from": ""}, "from", "Fill in “from”."),
        ({"from": "soon <b>"}, "from", "“soon <b>” is not a date. Write it as 2027-12-31."),
        ({"last": "2027-02-30"}, "last", "is not a date"),
        ({"color": "green"}, "color", "Choose a color: red, blue."),
        ({"word": "longer"}, "word", "The word has at most 5 characters."),
    ],
)
def test_an_invalid_field_is_refused_with_its_name(
    changes: dict[str, str], parameter: str, message: str
) -> None:
    with pytest.raises(RefusedError) as error:
        parse_fields(**changes)
    assert error.value.status_code == 400
    assert error.value.at == {"parameter": parameter}
    assert message in error.value.detail


@pytest.mark.parametrize(
    "body",
    [
        b"color=red&from=2027-01-31&more=1",
        b"color=red&color=red&from=2027-01-31",
        b"color=\xff&from=2027-01-31",
        b"&".join(b"walls=x" for _ in range(100)),
    ],
)
def test_a_form_with_unexpected_fields_is_refused(body: bytes) -> None:
    with pytest.raises(RefusedError, match="not sent from a page of this server"):
        parse_form(body, Paint)


@given(st.dictionaries(st.sampled_from([*FORM, "word", "last", "walls", "is_wet"]), st.text()))
def test_any_form_is_parsed_or_refused(fields: dict[str, str]) -> None:
    with suppress(RefusedError):
        assert isinstance(parse_fields(**fields), Paint)


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
            FormRoute("/paint/{number}", lambda outcome: f"/{outcome.answer['number']}"),
            JsonRoute("/api/paint/{number}", "Paint", status=201),
        ),
        Action("dry", Role.CURATOR, dry, NoParameters, json=JsonRoute("/api/dry/{number}", "Dry")),
    )

    @app.exception_handler(RefusedError)
    async def answer_refused(request: Request, error: RefusedError) -> JSONResponse:
        return JSONResponse({"error": error.detail, **error.at}, error.status_code)

    return TestClient(app, follow_redirects=False)


def test_a_form_redirects_and_json_returns_a_result(client: TestClient) -> None:
    response = client.post("/paint/7", data=FORM)
    assert (response.status_code, response.headers["location"]) == (303, "/7")
    response = client.post("/api/paint/7", json=FORM)
    assert (response.status_code, response.json()) == (201, {"number": 7, "color": "red"})


def test_an_error_names_the_field_or_the_json_pointer(client: TestClient) -> None:
    for word, status, message in (
        ("bad", 400, "This is no word."),
        ("busy", 409, "The painter is"),
    ):
        form_response = client.post("/paint/7", data=FORM | {"word": word})
        json_response = client.post("/api/paint/7", json=FORM | {"word": word})
        assert form_response.status_code == json_response.status_code == status
        assert message in form_response.json()["error"] == json_response.json()["error"]
    invalid = FORM | {"word": "bad"}
    assert client.post("/paint/7", data=invalid).json()["parameter"] == "word"
    assert client.post("/api/paint/7", json=invalid).json()["pointer"] == "/word"


def test_an_action_without_parameters_refuses_a_body(client: TestClient) -> None:
    assert client.post("/api/paint/7", data=FORM).status_code == 415
    assert client.post("/api/paint/7").status_code == 400
    assert client.post("/api/dry/7").json() == client.post("/api/dry/7", json={}).json() == 7
    response = client.post("/api/dry/7", json={"for": "1 day"})
    assert (response.status_code, response.json()["error"]) == (400, "This request takes no body.")
