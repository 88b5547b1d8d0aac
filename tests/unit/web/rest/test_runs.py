"""Runs that are asked for, configurations and queries by name, as v0.1 has them."""

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
    sent = [{"id": at, "text": text} for at, text in enumerate(texts)]
    assert client.post(f"/collections/runs/{key}", json=sent).status_code == 201


def test_a_run_is_queued_then_done_and_is_one_until_it_began(
    rest: TestClient, group: Group
) -> None:
    _fill(rest, "a")
    answer = rest.post("/run/runs/DEFAULT/a")
    assert answer.status_code == 202
    assert answer.headers["Location"] == "/run/runs/DEFAULT/a"
    first = answer.json()["runs"][0]
    assert (first["state"], first["rebuilt"]) == ("queued", None)
    assert rest.post("/run/runs/a").json()["runs"] == [first]
    assert rest.get("/run/runs/DEFAULT/a").json() == first
    assert group() == 1
    done = rest.get("/run/runs/DEFAULT/a").json()
    assert (done["state"], done["requested_at"]) == ("done", first["requested_at"])
    assert done["rebuilt"] >= done["requested_at"]
    assert rest.get(done["results"]).status_code == 200
    again = rest.post("/run/runs/DEFAULT/a").json()["runs"][0]
    assert again["requested_at"] > done["rebuilt"]
    assert again["state"] == "queued"
    assert rest.get("/clusters/runs/a").json()["timestamp"] == done["rebuilt"]
    assert group() == 1


def test_a_namespace_is_run_whole_by_what_it_is_grouped_by(rest: TestClient, group: Group) -> None:
    _fill(rest, "b")
    rest.put("/configurations/runs/fine", json={"algorithm": "stories"})
    rest.post("/run/runs/fine/b")
    assert group() == 1
    told = rest.post("/run/runs").json()["runs"]
    assert ("fine", "b") in {(one["transform"], one["query"]) for one in told}
    assert group() == len(told)
    assert {one["state"] for one in rest.get("/run/runs").json()["runs"]} == {"done"}


def test_a_run_that_cannot_be_done_says_why_and_may_be_asked_for_again(
    rest: TestClient, group: Group
) -> None:
    _fill(rest, "c")
    rest.put("/configurations/runs/brief", json={"clusters": 3})
    rest.post("/run/runs/brief/c")
    rest.delete("/configurations/runs/brief")
    assert group() == 1
    service = rest.app.state.service  # type: ignore[attr-defined]
    name = service.collection(CollectionName("runs", "c")).name
    request = requests.find_request(service.tables, service.changes.leases, name, "brief")
    assert request is not None
    assert request.state == requests.FAILED
    assert "brief" in request.error
    rest.put("/configurations/runs/brief", json={"clusters": 3})
    assert rest.get("/run/runs/brief/c").json()["state"] == "failed"
    assert rest.post("/run/runs/brief/c").json()["runs"][0]["state"] == "queued"
    assert group() == 1
    assert rest.get("/run/runs/brief/c").json()["state"] == "done"


def test_what_was_asked_for_is_built_by_the_service_that_comes_next(tmp_path: Path) -> None:
    with open_home(tmp_path) as stores:
        first = create_service(stores)
        first.runs.close()
        texts, _ = themed_texts(30, seed=5, themes=3)
        from fonds.grouping.document import Document
        from fonds.grouping.names import CollectionName

        name = CollectionName("runs", "later")
        first.open_writer().put(name, [Document(str(at), text) for at, text in enumerate(texts)])
        requests.request_rebuild(first.changes, name, "DEFAULT")
        second, done = create_service(stores, threads=1), threading.Event()
        with second.runs.run_in_background():
            while not done.wait(0.05):
                request = requests.find_request(
                    second.tables, second.changes.leases, name, "DEFAULT"
                )
                assert request is not None
                assert request.state != requests.FAILED, request.error
                if request.state == requests.DONE:
                    done.set()


def test_configurations_are_the_same_in_both_forms(rest: TestClient) -> None:
    sent = {
        "transform": "textcluster",
        "parameters": {
            "fields": {"id": "id", "text": "text"},
            "limits": {"clusters": 10, "top_documents": 10},
            "threshold": 0.3,
        },
    }
    made = rest.put("/configurations/conf/transforms/original", json=sent)
    assert made.status_code == 201
    plain = rest.get("/configurations/conf/original").json()
    assert (plain["algorithm"], plain["clusters_max"], plain["threshold"]) == ("stories", 10, 0.3)
    told = rest.get(made.headers["Location"]).json()
    assert told["transform"] == plain.pop("algorithm")
    assert told["parameters"] == plain
    assert rest.get("/configurations/conf").json().keys() == {"DEFAULT", "original"}
    assert rest.put("/configurations/conf/plain", json={"clusters": 3}).json()["clusters"] == 3
    assert rest.delete("/configurations/conf/transforms/original").status_code == 204
    assert rest.get("/configurations/conf/original").status_code == 404


def test_a_configuration_that_is_none_is_told_by_its_place(rest: TestClient) -> None:
    at = "/configurations/conf/x"
    told = detail(rest.put(at, json={"clustres": 3}), 400)
    assert (told["pointer"], told["nearest"]) == ("/clustres", "clusters")
    detail(rest.put(at, json={"clusters": 0}), 400)
    detail(rest.put(at, json=[1]), 400)
    v01 = "/configurations/conf/transforms/x"
    told = detail(rest.put(v01, json={"transform": "storeis"}), 400)
    assert (told["pointer"], told["nearest"]) == ("/transform", "stories")
    for parameters, pointer in (
        ({"fields": {"id": "no"}}, "/parameters/fields"),
        ({"limits": {"x": 1}}, "/parameters/limits"),
        ({"limits": {"top_documents": 5}}, "/parameters/limits/top_documents"),
        ({"a/b": 1}, "/parameters/a~1b"),
    ):
        sent = {"transform": "topics", "parameters": parameters}
        assert detail(rest.put(v01, json=sent), 400)["pointer"] == pointer


def test_a_query_is_what_fills_a_collection(rest: TestClient) -> None:
    made = rest.put("/queries/q/floods", json={"query": "kind:story flood"})
    assert made.status_code == 201
    assert rest.get("/queries/q").json() == {"floods": made.json()}
    assert rest.get("/collections/q/floods").json()["collection"]["query"] == "kind:story flood"
    for query in ("", "autor:x", '"open'):
        assert detail(rest.put("/queries/q/bad", json={"query": query}), 400)["pointer"] == "/query"
    assert (
        detail(rest.put("/queries/q/bad", json={"query": {"match_all": {}}}), 400)["pointer"]
        == "/query"
    )
    assert rest.delete("/queries/q/floods").status_code == 204
    assert rest.get("/queries/q/floods").status_code == 404
    assert rest.get("/collections/q/floods").status_code == 200
