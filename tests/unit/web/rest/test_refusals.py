"""What the service refuses, as problem+json: the parameter or place at fault, what was meant, the limits."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

from fonds.ports import Stores
from fonds.web.api.bodies import DOCUMENTS_MAX
from fonds.web.api.paths import is_rest
from fonds.web.app import create_app
from fonds.web.serving.concurrency import BODY_MAX_BYTES, ReadWriteLimits
from rest_answers import detail

AT = "/collections/news/k"
LINES = {"Content-Type": "application/x-ndjson"}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ([{"id": 1, "text": "x"}, {"id": 2, "txet": "x"}], {"pointer": "/1", "nearest": "text"}),
        ({"bulk": [{"id": "a", "text": 3}]}, {"pointer": "/bulk/0/text"}),
        ({"bulk": [{"id": "a", "txet": 3}]}, {"pointer": "/bulk/0", "nearest": "text"}),
        ({"id": "a"}, {"pointer": ""}),
        ({"id": "", "text": "x"}, {"pointer": ""}),
        ({"id": "a", "text": "x", "time": -1}, {"pointer": "/time"}),
        ({"id": "a", "text": {"deep": []}}, {"pointer": "/text"}),
        ("text", {"pointer": ""}),
    ],
)
def test_a_body_that_is_none_is_told_by_its_place(
    rest: TestClient, body: Any, told: dict[str, str]
) -> None:
    before = rest.get("/collections/news").json()
    found = detail(rest.post(AT, json=body), 400)
    assert {name: found.get(name) for name in told} == told
    assert rest.get("/collections/news").json() == before


def test_a_line_that_is_none_is_told_by_its_number_and_nothing_is_put(rest: TestClient) -> None:
    body = '{"id":"a","text":"b"}\n{"id":"c"}\n'
    assert detail(rest.post("/collections/l/k", content=body, headers=LINES), 400)["line"] == 2
    assert rest.get("/collections/l/k").status_code == 404


@pytest.mark.parametrize("body", [b"", b"  ", b"{", b"\xff", b"[" * 100_000, b'{"bulk":' * 50_000])
def test_what_is_no_json_is_refused(rest: TestClient, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    detail(rest.post(AT, content=body, headers=headers), 400)


def test_size_and_count_are_bounded(rest: TestClient) -> None:
    over = msgspec.json.encode([{"id": n, "text": ""} for n in range(DOCUMENTS_MAX + 1)])
    headers = {"Content-Type": "application/json"}
    assert "10,000" in detail(rest.post(AT, content=over, headers=headers), 413)["detail"]
    lines = b"\n".join(b'{"id":%d,"text":""}' % number for number in range(DOCUMENTS_MAX + 1))
    assert "10,000" in detail(rest.post(AT, content=lines, headers=LINES), 413)["detail"]
    long = {"id": "a", "text": "x" * (4 * 1024 * 1024 + 1)}
    assert detail(rest.post(AT, json=long), 413)["pointer"] == "/text"
    large = b" " * (BODY_MAX_BYTES + 1)
    assert (
        f"{BODY_MAX_BYTES:,}"
        in detail(rest.post(AT, content=large, headers=headers), 413)["detail"]
    )


def test_a_body_without_a_length_is_bounded_and_all_bodies_are(rest: TestClient) -> None:
    def sent():  # type: ignore[no-untyped-def]
        yield b"x" * 60
        yield b"x" * 60

    headers = {"Content-Type": "application/json"}
    for bounds, status in (({"body_max_bytes": 100}, 413), ({"all_max_bytes": 100}, 503)):
        lanes = ReadWriteLimits(rest.app, is_rest, **bounds)
        client = TestClient(lanes, base_url="http://localhost:8765")
        for _ in range(3):
            told = detail(client.post(AT, content=sent(), headers=headers), status)
            assert ("again" in told["detail"]) is (status == 503)
        assert client.post(AT, json={"id": 1, "text": "x"}).status_code == 201


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_what_a_form_of_another_site_can_send_is_refused(rest: TestClient, kind: str) -> None:
    body = '{"id":"a","text":"b"}'
    told = detail(rest.post(AT, content=body, headers={"Content-Type": kind}), 415)
    assert told["parameter"] == "Content-Type"
    detail(rest.post("/run/news", headers={"Content-Type": kind}), 415)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Referer": "http://x/"},
    ],
)
def test_a_page_from_elsewhere_changes_nothing(rest: TestClient, headers: dict[str, str]) -> None:
    detail(rest.post(AT, json={"id": "a", "text": "b"}, headers=headers), 403)
    detail(rest.delete(AT, headers=headers), 403)
    own = {"Origin": "http://localhost:8765"}
    assert rest.post(AT, json={"id": "a", "text": "b"}, headers=own).status_code == 201


@pytest.mark.parametrize("host", ["0.0.0.0", "archive.example", "192.168.1.5"])
def test_bound_to_others_the_service_is_only_read(stores: Stores, host: str) -> None:
    with TestClient(create_app(stores, host=host), base_url="http://localhost:8765") as client:
        told = detail(client.post(AT, json={"id": "a", "text": "b"}), 403)
        assert "--host 127.0.0.1" in told["detail"]
        assert client.get("/collections").status_code == 200


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/collections?count=0", 400, {"parameter": "count"}),
        ("/collections?after=x", 400, {"parameter": "key"}),
        ("/collections/news?count=1001", 400, {"parameter": "count"}),
        (f"/collections/news?after={'x' * 251}", 400, {"parameter": "key"}),
        (f"/collections/{'x' * 251}/k", 400, {"parameter": "ns"}),
        ("/collections/news?cuont=3", 400, {"parameter": "cuont", "nearest": "count"}),
        ("/collections/news/2026-1", 404, {"parameter": "key", "nearest": "2026-11"}),
        ("/collections/a%2Fb/k", 404, {"parameter": "key"}),
        ("/collections/%FF/k", 400, {}),
        ("/docs/news/2026-11/nobody", 404, {"parameter": "id"}),
        (f"/docs/news/2026-11/{'x' * 1001}", 400, {"parameter": "id"}),
        ("/clusters/news/2026-11?conf=DEFALT", 404, {"parameter": "conf", "nearest": "DEFAULT"}),
        ("/clusters/news/2026-11?conf=a%20b", 400, {"parameter": "conf"}),
        ("/clusters/news/2026-11?at=1", 404, {"parameter": "at"}),
        ("/clusters/news/2026-11?level=7", 404, {"parameter": "level"}),
        ("/clusters/news/2026-11?top=101", 400, {"parameter": "top"}),
        ("/clusters/news/2026-11?form=plan", 400, {"parameter": "form", "nearest": "plain"}),
        ("/clusters/news/2026-11?changes=1", 404, {"parameter": "at"}),
        ("/clusters/news/2026-11/nothing", 404, {"parameter": "label"}),
        ("/clusters/news/2026-11/nothing?conf=x", 404, {"parameter": "conf"}),
        ("/clusters/news/2026-11/nothing?level=99", 400, {"parameter": "level"}),
        ("/clusters/news/2026-11/nothing?at=x", 400, {"parameter": "at"}),
        ("/clusters/news/2026-11/outlier?after=%21", 400, {"parameter": "after"}),
        ("/clusters/news/2026-11/outlier?after=eHg=", 400, {"parameter": "after"}),
        ("/clusters/news/2026-11/outlier?count=0", 400, {"parameter": "count"}),
        ("/clusters/news/2026-11/outlier?form=fll", 400, {"parameter": "form", "nearest": "full"}),
        ("/configurations/news/DEFALT", 404, {"parameter": "conf", "nearest": "DEFAULT"}),
        ("/queries/news/2026-11", 404, {"parameter": "name"}),
        ("/results/news/DEFAULT/2026-11?top=-1", 400, {"parameter": "top"}),
        ("/run/news/DEFAULT/2026-12", 404, {"parameter": "key", "nearest": "2026-11"}),
        ("/collections/a/b/c/d", 404, {}),
    ],
)
def test_what_of_an_address_is_at_fault_is_named(
    themed: TestClient, path: str, status: int, told: dict[str, str]
) -> None:
    found = detail(themed.get(path), status)
    assert {name: found.get(name) for name in told} == told


def test_methods_there_are_not_are_refused_in_the_same_form(rest: TestClient) -> None:
    detail(rest.patch(AT), 405)
    detail(rest.put("/results/news/DEFAULT/k", json={}), 405)
