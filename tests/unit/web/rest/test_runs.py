"""Requested runs, and named configurations and queries as in version 0.1."""

from __future__ import annotations

import threading
from pathlib import Path

from starlette.testclient import TestClient

from filled_home import open_home
from fonds.grouping.names import CollectionName
from fonds.grouping.rebuild import requests
from fonds.wiring.collections import create_service
from rest_answers import Group, detail
from themed_texts import themed_texts


def _fill(client: TestClient, key: str, count: int = 40) -> None:
    texts, _ = themed_texts(count, seed=5, themes=3)
    documents = [{"id": number, "text": text} for number, text in enumerate(texts)]
    assert client.post(f"/collections/runs/{key}", json=documents).status_code == 201


def test_repeated_requests_share_one_run_until_it_starts(
    rest_client: TestClient, group: Group
) -> None:
    _fill(rest_client, "a")
    response = rest_client.post("/run/runs/DEFAULT/a")
    assert response.status_code == 202
    assert response.headers["Location"] == "/run/runs/DEFAULT/a"
    first = response.json()["runs"][0]
    assert (first["state"], first["rebuilt"]) == ("queued", None)
    assert rest_client.post("/run/runs/a").json()["runs"] == [first]
    assert rest_client.get("/run/runs/DEFAULT/a").json() == first
    assert group() == 1
    finished_run = rest_client.get("/run/runs/DEFAULT/a").json()
    assert (finished_run["state"], finished_run["requested_at"]) == ("done", first["requested_at"])
    assert finished_run["rebuilt"] >= finished_run["requested_at"]
    assert rest_client.get(finished_run["results"]).status_code == 200
    second = rest_client.post("/run/runs/DEFAULT/a").json()["runs"][0]
    assert second["requested_at"] > finished_run["rebuilt"]
    assert second["state"] == "queued"
    assert rest_client.get("/clusters/runs/a").json()["timestamp"] == finished_run["rebuilt"]
    assert group() == 1


def test_a_run_of_a_namespace_rebuilds_all_its_collections(
    rest_client: TestClient, group: Group
) -> None:
    _fill(rest_client, "b")
    rest_client.put("/configurations/runs/fine", json={"algorithm": "stories"})
    rest_client.post("/run/runs/fine/b")
    assert group() == 1
    runs = rest_client.post("/run/runs").json()["runs"]
    assert ("fine", "b") in {(run["transform"], run["query"]) for run in runs}
    assert group() == len(runs)
    assert {run["state"] for run in rest_client.get("/run/runs").json()["runs"]} == {"done"}


def test_a_failed_run_stores_its_error_and_can_be_requested_again(
    rest_client: TestClient, group: Group
) -> None:
    _fill(rest_client, "c")
    rest_client.put("/configurations/runs/brief", json={"clusters": 3})
    rest_client.post("/run/runs/brief/c")
    rest_client.delete("/configurations/runs/brief")
    assert group() == 1
    service = rest_client.app.state.service  # type: ignore[attr-defined]
    name = service.collection(CollectionName("runs", "c")).name
    request = requests.find_request(service.tables, service.writer.leases, name, "brief")
    assert request is not None
    assert request.state == requests.FAILED
    assert "brief" in request.error
    rest_client.put("/configurations/runs/brief", json={"clusters": 3})
    assert rest_client.get("/run/runs/brief/c").json()["state"] == "failed"
    assert rest_client.post("/run/runs/brief/c").json()["runs"][0]["state"] == "queued"
    assert group() == 1
    assert rest_client.get("/run/runs/brief/c").json()["state"] == "done"


def test_the_next_service_builds_the_queued_runs(tmp_path: Path) -> None:
    with open_home(tmp_path) as stores:
        first = create_service(stores)
        first.runs.close()
        texts, _ = themed_texts(30, seed=5, themes=3)
        from fonds.grouping.document import Document
        from fonds.grouping.names import CollectionName

        name = CollectionName("runs", "later")
        first.open_writer().put(
            name, [Document(str(number), text) for number, text in enumerate(texts)]
        )
        requests.request_rebuild(first.writer, name, "DEFAULT")
        second, is_done = create_service(stores, threads=1), threading.Event()
        with second.runs.run_in_background():
            while not is_done.wait(0.05):
                request = requests.find_request(
                    second.tables, second.writer.leases, name, "DEFAULT"
                )
                assert request is not None
                assert request.state != requests.FAILED, request.error
                if request.state == requests.DONE:
                    is_done.set()


def test_both_configuration_formats_return_the_same_values(rest_client: TestClient) -> None:
    old_format = {
        "transform": "textcluster",
        "parameters": {
            "fields": {"id": "id", "text": "text"},
            "limits": {"clusters": 10, "top_documents": 10},
            "threshold": 0.3,
        },
    }
    response = rest_client.put("/configurations/conf/transforms/original", json=old_format)
    assert response.status_code == 201
    new_format = rest_client.get("/configurations/conf/original").json()
    assert (new_format["algorithm"], new_format["clusters_max"], new_format["threshold"]) == (
        "stories",
        10,
        0.3,
    )
    configuration = rest_client.get(response.headers["Location"]).json()
    assert configuration["transform"] == new_format.pop("algorithm")
    assert configuration["parameters"] == new_format
    assert rest_client.get("/configurations/conf").json().keys() == {"DEFAULT", "original"}
    assert (
        rest_client.put("/configurations/conf/plain", json={"clusters": 3}).json()["clusters"] == 3
    )
    assert rest_client.delete("/configurations/conf/transforms/original").status_code == 204
    assert rest_client.get("/configurations/conf/original").status_code == 404


def test_an_invalid_configuration_is_refused_with_its_json_pointer(rest_client: TestClient) -> None:
    path = "/configurations/conf/x"
    problem = detail(rest_client.put(path, json={"clustres": 3}), 400)
    assert (problem["pointer"], problem["nearest"]) == ("/clustres", "clusters")
    detail(rest_client.put(path, json={"clusters": 0}), 400)
    detail(rest_client.put(path, json=[1]), 400)
    v01 = "/configurations/conf/transforms/x"
    problem = detail(rest_client.put(v01, json={"transform": "storeis"}), 400)
    assert (problem["pointer"], problem["nearest"]) == ("/transform", "stories")
    for parameters, pointer in (
        ({"fields": {"id": "no"}}, "/parameters/fields"),
        ({"limits": {"x": 1}}, "/parameters/limits"),
        ({"limits": {"top_documents": 5}}, "/parameters/limits/top_documents"),
        ({"a/b": 1}, "/parameters/a~1b"),
    ):
        configuration = {"transform": "topics", "parameters": parameters}
        assert detail(rest_client.put(v01, json=configuration), 400)["pointer"] == pointer


def test_a_query_creates_a_collection_with_a_rule(rest_client: TestClient) -> None:
    response = rest_client.put("/queries/q/floods", json={"query": "kind:story flood"})
    assert response.status_code == 201
    assert rest_client.get("/queries/q").json() == {"floods": response.json()}
    assert (
        rest_client.get("/collections/q/floods").json()["collection"]["query"] == "kind:story flood"
    )
    for query in ("", "autor:x", '"open'):
        assert (
            detail(rest_client.put("/queries/q/bad", json={"query": query}), 400)["pointer"]
            == "/query"
        )
    assert (
        detail(rest_client.put("/queries/q/bad", json={"query": {"match_all": {}}}), 400)["pointer"]
        == "/query"
    )
    assert rest_client.delete("/queries/q/floods").status_code == 204
    assert rest_client.get("/queries/q/floods").status_code == 404
    assert rest_client.get("/collections/q/floods").status_code == 200
