"""`fonds group` with a configuration that names an encoder, from the command to the page."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from calls import Call
from filled_home import FilledHome, open_home
from fonds.grouping import dense_vectors
from fonds.grouping.algorithms import encoder
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.names import CollectionName
from fonds.grouping.tables import Tables
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases
from fonds.web.app import create_app
from kept_collections import Clock, themed_documents

NAME = CollectionName("meant", "texts")


@pytest.fixture(autouse=True)
def _put_texts(home: Path, filled_home: FilledHome) -> Iterator[None]:
    """Put forty texts into a collection, and load no model yet."""
    with open_home(home) as stores:
        tables = Tables(stores.table)
        tables.declare()
        leases = Leases(LeaseTable(stores.records), create_worker_name(), time.monotonic)
        CollectionWriter(tables, leases, Clock()).put(NAME, themed_documents(40, themes=2))
    dense_vectors._load_encoder.cache_clear()
    yield
    dense_vectors._load_encoder.cache_clear()


def test_texts_are_grouped_by_meaning_and_shown(call: Call, home: Path) -> None:
    pytest.importorskip("onnxruntime", reason="the extra `dense` is not installed")
    assert call("configuration", "set", "meant/dense", "encoder=minilm", "clusters=2").code == 0
    result = call("group", str(NAME), "--conf", "dense")
    assert result.code == 0, result.err
    assert "40 documents in 2 clusters" in result.out
    assert '"encoder":"minilm"' in call(
        "--json", "configuration", "show", "meant/dense"
    ).out.replace(": ", ":")
    with (
        open_home(home) as stores,
        TestClient(create_app(stores), base_url="http://127.0.0.1") as client,
    ):
        themes = client.get("/api/themes/meant/texts", params={"conf": "dense"}).json()
        labels = [theme["label"] for theme in themes["themes"]]
        page = client.get("/themes/meant/texts", params={"conf": "dense"})
    assert len(labels) == 2
    assert page.status_code == 200
    assert all(label in page.text for label in labels)


def test_a_missing_extra_is_named(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "_MODEL", ("no_such_package_here", "model.onnx"))
    call("configuration", "set", "meant/gone", "encoder=minilm")
    result = call("group", str(NAME), "--conf", "gone")
    assert result.code != 0
    assert "pip install 'fonds[dense]'" in result.err
    assert "Traceback" not in result.err
    assert call("configuration", "set", "meant/gone", "encoder=minlm").code != 0
