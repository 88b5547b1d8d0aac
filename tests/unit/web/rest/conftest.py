"""The service over a home of its own: asked without a server, and built by when a test says so."""

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
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A service whose runs are left waiting, as by a process that is about to end."""
    with open_home(tmp_path_factory.mktemp("rest")) as stores:
        service = create_service(stores)
        service.runs.close()
        app = create_app(stores, service=service)
        with TestClient(app, base_url="http://localhost:8765") as asked:
            yield asked


@pytest.fixture(scope="module")
def group(rest: TestClient) -> Group:
    """Builds what was asked for; how many rebuilds that was."""

    def build() -> int:
        changes = rest.app.state.service.changes  # type: ignore[attr-defined]
        pending_requests = list(iter_pending_requests(changes.tables))
        assert all(run_request(changes, name, conf, threads=1) for name, conf in pending_requests)
        return len(pending_requests)

    return build


@pytest.fixture(scope="module")
def themed(rest: TestClient, group: Group) -> TestClient:
    """With 200 documents on four themes in news/2026-11, grouped twice: 20 came between."""
    texts, _ = themed_texts(220, seed=3, themes=4)
    documents = [{"id": f"d{at}", "text": text} for at, text in enumerate(texts)]
    for some in (documents[:200], documents[200:]):
        assert rest.post("/collections/news/2026-11", json={"bulk": some}).status_code == 201
        assert rest.post("/run/news/DEFAULT/2026-11").status_code == 202
        assert group() == 1
    return rest
