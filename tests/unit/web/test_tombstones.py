"""Of what was taken down nothing is in any answer of any route; its address says that it was, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from filled_home import Filled, fill, opened
from followed_home import fill_sources
from fonds.library.tracing.takedown import TakingDown
from fonds.model.keys import sha1_base32
from fonds.model.rows import CdxRow, TakedownRow
from fonds.ports import Stores
from fonds.web.app import create_app
from fonds.web.replay.app import create_replay
from home_rows import NOW
from themed_home import fill_themes

ORIGIN = "http://localhost:8765"
TITLE = "On the measurement of water levels"
URL = "http://library.example/reports/1.pdf"
QUERIES = {
    "/search": ("q=measurement", "q=measurment", "q=flood", "q=reports", "q=url:library.example"),
    "/api/search": ("q=measurement", "q=measurment", "q=flood", "q=site:library.example"),
    "/search.json": ("q=measurement+water",),
    "/search.atom": ("q=measurement",),
    "/api/search.atom": ("q=measurement",),
    "/cdx": ("url=library.example*", f"url={URL}", "url=library.example&matchType=domain"),
    "/show": (f"key={URL}",),
    "/show.json": (f"key={URL}",),
    "/api/show": (f"key={URL}",),
    "/records": ("outcome=done", "outcome=dropped", f"url={URL}"),
    "/api/records": ("outcome=done", "outcome=dropped"),
    "/api/files": ("type=application/pdf", ""),
}
"""What routes are asked beside nothing; those with parameters of their own."""
VALUES = {
    "name": ("jsonl", "csv", "documents.jsonl"),
    "form": ("jsonl", "csv"),
    "number": ("1",),
    "act": ("retry", "accept"),
    "rest": (f"2026/{URL}",),
    "namespace": ("news", "told"),
    "ns": ("news", "told"),
    "key": ("week", "kept"),
    "theme": ("outlier",),
    "conf": ("DEFAULT",),
    "label": ("outlier",),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stores, Filled]]:
    with opened(tmp_path_factory.mktemp("home")) as stores:
        filled = fill(stores)
        fill_themes(stores)
        fill_sources(stores)
        yield stores, filled


def _paths(other: str) -> Iterator[str]:
    """Addresses of every GET route of the application, of another file where a file is named."""
    values = {**VALUES, "sha1hex": (other,), "id": (other,)}
    from fonds.web.app import ROUTERS
    from fonds.web.rest.router import ROUTERS as SERVICE

    routes = [one for router in (*ROUTERS, *SERVICE) for one in router.routes]
    for route in routes:
        assert isinstance(route, APIRoute)
        if "GET" not in route.methods:
            continue
        paths = [route.path]
        for name in re.findall(r"{(\w+)[^}]*}", route.path):
            paths = [
                re.sub(rf"{{{name}[^}}]*}}", value, path)
                for path in paths
                for value in values.get(name, ("nothing",))
            ]
        for path in paths:
            yield path
            yield from (f"{path}?{query}" for query in QUERIES.get(path, ()) if query)
    yield from ("/healthz", "/docs", "/robots.txt", "/openapi.json")
    for query in ("measurement", "flood", "water"):
        for form in ("jsonl", "csv", "bibtex", "csl-json", "parquet"):
            yield f"/search/export/fonds.{form}?q={query}"
            yield f"/search/export/{form}?q={query}"


def _leaks(client: TestClient, paths: list[str], marks: list[str]) -> dict[str, list[str]]:
    """Which marks stand in which answers; those a question brought itself do not count."""
    found = {}
    for path in paths:
        answer = client.get(path, follow_redirects=False)
        assert answer.status_code < 500, path
        told = (answer.content + str(answer.headers).encode()).lower()
        there = [one for one in marks if one not in path and one.lower().encode() in told]
        if there:
            found[path] = there
    return found


def test_no_answer_of_any_route_tells_of_it(home: tuple[Stores, Filled]) -> None:
    stores, filled = home
    sha1hex, other = filled.pdfs[1], filled.pdfs[3]
    marks = [TITLE, URL, sha1hex, sha1_base32(bytes.fromhex(sha1hex)), "reports/1.pdf"]
    captured = next(stores.records.find(CdxRow, {"sha1hex": sha1hex}))
    memento = f"/web/{captured.datetime}/{URL}"
    paths = list(_paths(other))
    with TestClient(create_app(stores), base_url=ORIGIN) as client:
        replay = TestClient(create_replay(stores, host="127.0.0.1"), base_url=ORIGIN)
        assert len(_leaks(client, paths, marks)) > 8
        assert replay.get(memento).status_code == 200
        documents = client.get("/healthz").json()["documents"]
        pdfs = client.get("/api/search?q=flood&kind=pdf").json()["total"]
        row = TakingDown(stores, None, (), lambda: NOW)(
            TakedownRow(sha1hex, "privacy", "a secret note", "ann", NOW, {})
        )
        assert row.finished is not None
        assert _leaks(client, paths, [*marks, "a secret note"]) == {}
        assert client.get("/healthz").json()["documents"] == documents - 1
        assert client.get("/api/search?q=flood&kind=pdf").json()["total"] in (pdfs, pdfs - 1)
        assert client.get("/api/search?q=measurement").json()["total"] == 0
        assert replay.get(memento).status_code == 404
        assert replay.get(f"/web/timemap/link/{URL}").status_code == 404


@pytest.mark.parametrize("spelling", ["hex", "base32"])
def test_every_address_of_a_file_is_a_tombstone(home: tuple[Stores, Filled], spelling: str) -> None:
    stores, filled = home
    sha1hex = filled.pdfs[2]
    TakingDown(stores, None, (), lambda: NOW)(
        TakedownRow(sha1hex, "court-order", "a secret note", "ann", NOW, {})
    )
    name = sha1hex if spelling == "hex" else sha1_base32(bytes.fromhex(sha1hex)).lower()
    with TestClient(create_app(stores), base_url=ORIGIN) as client:
        paths = [path for path in _paths(name) if name in path]
        paths += [f"/show?key={name}", f"/api/show?key={name}", f"/file/{name}/thumbnail"]
        assert len(paths) > 12
        for path in paths:
            answer = client.get(path, follow_redirects=False)
            assert answer.status_code == 410, path
            assert "court-order" in answer.text
            assert "14 Mar 2026" in answer.text
            assert "secret" not in answer.text
            assert "ann" not in re.findall(r"\w+", answer.text)
