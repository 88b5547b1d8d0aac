"""Refused requests return problem+json with the parameter or position, the nearest name and the limits."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

from fonds.ports import Stores
from fonds.web.api.bodies import DOCUMENTS_MAX
from fonds.web.api.paths import is_rest_path
from fonds.web.app import create_app
from fonds.web.serving.concurrency import BODY_MAX_BYTES, ReadWriteLimits
from rest_answers import detail

COLLECTION_PATH = "/collections/news/k"
LINES = {"Content-Type": "application/x-ndjson"}


@pytest.mark.parametrize(
    ("body", "expected"),
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
def test_an_invalid_body_is_refused_with_its_json_pointer(
    rest_client: TestClient, body: Any, expected: dict[str, str]
) -> None:
    before = rest_client.get("/collections/news").json()
    problem = detail(rest_client.post(COLLECTION_PATH, json=body), 400)
    assert {name: problem.get(name) for name in expected} == expected
    assert rest_client.get("/collections/news").json() == before


def test_an_invalid_line_is_refused_with_its_number_and_stores_nothing(
    rest_client: TestClient,
) -> None:
    body = '{"id":"a","text":"b"}\n{"id":"c"}\n'
    assert (
        detail(rest_client.post("/collections/l/k", content=body, headers=LINES), 400)["line"] == 2
    )
    assert rest_client.get("/collections/l/k").status_code == 404


@pytest.mark.parametrize("body", [b"", b"  ", b"{", b"\xff", b"[" * 100_000, b'{"bulk":' * 50_000])
def test_invalid_json_is_refused(rest_client: TestClient, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    detail(rest_client.post(COLLECTION_PATH, content=body, headers=headers), 400)


def test_too_many_or_too_large_documents_are_refused(rest_client: TestClient) -> None:
    documents = msgspec.json.encode([{"id": n, "text": ""} for n in range(DOCUMENTS_MAX + 1)])
    headers = {"Content-Type": "application/json"}
    assert (
        "10,000"
        in detail(rest_client.post(COLLECTION_PATH, content=documents, headers=headers), 413)[
            "detail"
        ]
    )
    lines = b"\n".join(b'{"id":%d,"text":""}' % number for number in range(DOCUMENTS_MAX + 1))
    assert (
        "10,000"
        in detail(rest_client.post(COLLECTION_PATH, content=lines, headers=LINES), 413)["detail"]
    )
    long = {"id": "a", "text": "x" * (4 * 1024 * 1024 + 1)}
    assert detail(rest_client.post(COLLECTION_PATH, json=long), 413)["pointer"] == "/text"
    large = b" " * (BODY_MAX_BYTES + 1)
    assert (
        f"{BODY_MAX_BYTES:,}"
        in detail(rest_client.post(COLLECTION_PATH, content=large, headers=headers), 413)["detail"]
    )


def test_bodies_without_a_length_are_limited_singly_and_in_total(rest_client: TestClient) -> None:
    def iter_chunks():  # type: ignore[no-untyped-def]
        yield b"x" * 60
        yield b"x" * 60

    headers = {"Content-Type": "application/json"}
    for bounds, status in (({"body_max_bytes": 100}, 413), ({"all_max_bytes": 100}, 503)):
        lanes = ReadWriteLimits(rest_client.app, is_rest_path, **bounds)
        client = TestClient(lanes, base_url="http://localhost:8765")
        for _ in range(3):
            problem = detail(
                client.post(COLLECTION_PATH, content=iter_chunks(), headers=headers), status
            )
            assert ("again" in problem["detail"]) is (status == 503)
        assert client.post(COLLECTION_PATH, json={"id": 1, "text": "x"}).status_code == 201


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_content_types_that_a_form_can_send_are_refused(rest_client: TestClient, kind: str) -> None:
    body = '{"id":"a","text":"b"}'
    problem = detail(
        rest_client.post(COLLECTION_PATH, content=body, headers={"Content-Type": kind}), 415
    )
    assert problem["parameter"] == "Content-Type"
    detail(rest_client.post("/run/news", headers={"Content-Type": kind}), 415)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Referer": "http://x/"},
    ],
)
def test_requests_from_another_origin_are_refused(
    rest_client: TestClient, headers: dict[str, str]
) -> None:
    detail(rest_client.post(COLLECTION_PATH, json={"id": "a", "text": "b"}, headers=headers), 403)
    detail(rest_client.delete(COLLECTION_PATH, headers=headers), 403)
    own = {"Origin": "http://localhost:8765"}
    assert (
        rest_client.post(COLLECTION_PATH, json={"id": "a", "text": "b"}, headers=own).status_code
        == 201
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "archive.example", "192.168.1.5"])
def test_a_service_bound_to_another_host_is_read_only(stores: Stores, host: str) -> None:
    with TestClient(create_app(stores, host=host), base_url="http://localhost:8765") as client:
        problem = detail(client.post(COLLECTION_PATH, json={"id": "a", "text": "b"}), 403)
        assert "--host 127.0.0.1" in problem["detail"]
        assert client.get("/collections").status_code == 200


@pytest.mark.parametrize(
    ("path", "status", "expected"),
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
def test_an_invalid_url_is_refused_with_the_wrong_parameter(
    themed_client: TestClient, path: str, status: int, expected: dict[str, str]
) -> None:
    problem = detail(themed_client.get(path), status)
    assert {name: problem.get(name) for name in expected} == expected


def test_unsupported_methods_return_405(rest_client: TestClient) -> None:
    detail(rest_client.patch(COLLECTION_PATH), 405)
    detail(rest_client.put("/results/news/DEFAULT/k", json={}), 405)
