"""Clusters as they are served: whole, plain, by time, in pages, and what changed."""

from __future__ import annotations

from urllib.parse import quote

from starlette.testclient import TestClient

AT = "/clusters/news/2026-11"


def test_labels_sizes_terms_and_documents_of_what_is_served(themed: TestClient) -> None:
    answer = themed.get(AT, params={"top": 2})
    told = answer.json()
    assert len(told["clusters"]) == 4
    sizes = [one["size"] for one in told["clusters"]]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) + sum(told["unclustered"].values()) == 220
    for one in told["clusters"]:
        assert one["terms"][0][0] in one["label"]
        assert [each["score"] for each in one["top"]] == sorted(
            (each["score"] for each in one["top"]), reverse=True
        )
        assert len(one["top"]) == 2
        assert themed.get(one["href"]).json()["cluster"]["id"] == one["id"]
    assert answer.headers["ETag"].removeprefix("W/").startswith(f'"{told["timestamp"]}-')


def test_the_plain_form_is_the_originals(themed: TestClient) -> None:
    plain = themed.get(AT, params={"form": "plain"}).json()
    told = themed.get(AT).json()["clusters"]
    assert {label: len(ids) for label, ids in plain.items()} == {
        one["label"]: one["size"] for one in told
    }
    label = told[0]["label"]
    assert themed.get(f"{AT}/{quote(label)}", params={"form": "plain"}).json() == plain[label]


def test_members_come_page_by_page_the_nearest_first(themed: TestClient) -> None:
    one = themed.get(AT).json()["clusters"][0]
    seen, path = [], f"{AT}/{quote(one['label'])}?count=7"
    while path:
        answer = themed.get(path)
        page = answer.json()
        assert ("Link" in answer.headers) is (page["next"] is not None)
        seen += [(each["score"], each["id"]) for each in page["members"]]
        path = page["next"]
    assert len(seen) == len(set(seen)) == one["size"]
    assert [score for score, _ in seen] == sorted((score for score, _ in seen), reverse=True)
    assert {id_ for _, id_ in seen} == set(
        themed.get(AT, params={"form": "plain"}).json()[one["label"]]
    )
    assert themed.get(f"{AT}/{one['id']}").json()["cluster"]["label"] == one["label"]


def test_documents_in_no_cluster_are_asked_for_by_the_reason(themed: TestClient) -> None:
    themed.post("/collections/news/2026-11", json={"id": "short", "text": "no"})
    told = themed.get(f"{AT}/short").json()
    assert (told["cluster"], told["unclustered_reason"]) == (None, "short")
    assert [one["id"] for one in told["members"]] == ["short"]
    assert (
        themed.get("/docs/news/2026-11/short").json()["clusters"][0]["unclustered_reason"]
        == "short"
    )
    themed.delete("/docs/news/2026-11/short")


def test_a_clustering_before_is_told_by_its_time_and_what_changed_since(themed: TestClient) -> None:
    kept = themed.get("/collections/news/2026-11").json()["clusterings"]
    new, old = [one["timestamp"] for one in kept]
    assert [one["is_served"] for one in kept] == [True, False]
    for asked, told in ((None, new), (new + 100, new), (new - 1, old), (old, old)):
        answer = themed.get(AT, params={} if asked is None else {"at": asked}).json()
        assert answer["timestamp"] == told
    changes = themed.get(AT, params={"changes": old}).json()
    assert (changes["before"], changes["after"]) == (old, new)
    assert {one["change"] for one in changes["changes"]} <= {"kept", "grown"}
    assert changes["stayed"] > 0.9


def test_who_has_it_already_is_told_so_until_something_changes(themed: TestClient) -> None:
    etag = themed.get(AT).headers["ETag"]
    for given in (etag, f'"other", {etag}', "*"):
        answer = themed.get(AT, headers={"If-None-Match": given})
        assert (answer.status_code, answer.text) == (304, "")
        assert answer.headers["ETag"] == etag.removeprefix("W/")
    themed.post("/collections/news/2026-11", json={"id": "later", "text": "a later document"})
    assert themed.get(AT, headers={"If-None-Match": etag}).status_code == 200
    themed.delete("/docs/news/2026-11/later")


def test_results_are_told_as_the_original_did(themed: TestClient) -> None:
    told = themed.get("/results/news/DEFAULT/2026-11").json()
    assert told["meta"]["transform"] == "DEFAULT"
    assert told["meta"]["query"] == "2026-11"
    assert told["meta"]["input_size"] == 220
    assert len(told["clusters"]) == 4
    first = themed.get(AT, params={"top": 10}).json()["clusters"][0]
    documents = told["clusters"][0]["top_documents"]
    assert [document["id"] for document in documents] == [one["id"] for one in first["top"]]
    assert all(document["text"] for document in documents)
    assert told["clusters"][0]["top_terms"] == [term for term, _ in first["terms"]]
