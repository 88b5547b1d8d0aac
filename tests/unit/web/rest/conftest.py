"""A client of the REST service, without a server. Rebuilds run only when a test calls `group`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from fonds.grouping.rebuild.requests import iter_pending_requests, run_request
from fonds.web.app import create_app
from fonds.wiring.collections import create_service
from rest_answers import Group
from themed_texts import themed_texts


@pytest.fixture(scope="module")
def rest_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Client of a service that leaves its runs queued, like a process that is about to end."""
    with open_home(tmp_path_factory.mktemp("rest")) as stores:
        service = create_service(stores)
        service.runs.close()
        app = create_app(stores, service=service)
        with TestClient(app, base_url="http://localhost:8765") as client:
            yield client


@pytest.fixture(scope="module")
def group(rest_client: TestClient) -> Group:
    """A function that runs the requested rebuilds and returns their number."""

    def build() -> int:
        writer = rest_client.app.state.service.writer  # type: ignore[attr-defined]
        pending_requests = list(iter_pending_requests(writer.tables))
        assert all(run_request(writer, name, conf, threads=1) for name, conf in pending_requests)
        return len(pending_requests)

    return build


@pytest.fixture(scope="module")
def themed_client(rest_client: TestClient, group: Group) -> TestClient:
    """Client with documents about four themes in news/2026-11: 200, grouped, then 20 more, grouped again."""
    texts, _ = themed_texts(220, seed=3, themes=4)
    documents = [{"id": f"d{number}", "text": text} for number, text in enumerate(texts)]
    for batch in (documents[:200], documents[200:]):
        assert (
            rest_client.post("/collections/news/2026-11", json={"bulk": batch}).status_code == 201
        )
        assert rest_client.post("/run/news/DEFAULT/2026-11").status_code == 202
        assert group() == 1
    return rest_client
