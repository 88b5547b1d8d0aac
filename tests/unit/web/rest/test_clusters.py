"""Clusters in the REST service: full and plain form, by time, page by page, and their changes."""

from __future__ import annotations

from urllib.parse import quote

from starlette.testclient import TestClient

CLUSTERS_PATH = "/clusters/news/2026-11"


def test_the_served_clusters_have_labels_sizes_terms_and_documents(
    themed_client: TestClient,
) -> None:
    response = themed_client.get(CLUSTERS_PATH, params={"top": 2})
    data = response.json()
    assert len(data["clusters"]) == 4
    sizes = [cluster["size"] for cluster in data["clusters"]]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) + sum(data["unclustered"].values()) == 220
    for cluster in data["clusters"]:
        assert cluster["terms"][0][0] in cluster["label"]
        assert [document["score"] for document in cluster["top"]] == sorted(
            (document["score"] for document in cluster["top"]), reverse=True
        )
        assert len(cluster["top"]) == 2
        assert themed_client.get(cluster["href"]).json()["cluster"]["id"] == cluster["id"]
    assert response.headers["ETag"].removeprefix("W/").startswith(f'"{data["timestamp"]}-')


def test_the_plain_form_maps_labels_to_document_ids(themed_client: TestClient) -> None:
    ids_by_label = themed_client.get(CLUSTERS_PATH, params={"form": "plain"}).json()
    clusters = themed_client.get(CLUSTERS_PATH).json()["clusters"]
    assert {label: len(ids) for label, ids in ids_by_label.items()} == {
        cluster["label"]: cluster["size"] for cluster in clusters
    }
    label = clusters[0]["label"]
    assert (
        themed_client.get(f"{CLUSTERS_PATH}/{quote(label)}", params={"form": "plain"}).json()
        == ids_by_label[label]
    )


def test_members_are_paged_by_descending_score(themed_client: TestClient) -> None:
    cluster = themed_client.get(CLUSTERS_PATH).json()["clusters"][0]
    members, path = [], f"{CLUSTERS_PATH}/{quote(cluster['label'])}?count=7"
    while path:
        response = themed_client.get(path)
        page = response.json()
        assert ("Link" in response.headers) is (page["next"] is not None)
        members += [(member["score"], member["id"]) for member in page["members"]]
        path = page["next"]
    assert len(members) == len(set(members)) == cluster["size"]
    assert [score for score, _ in members] == sorted((score for score, _ in members), reverse=True)
    assert {id_ for _, id_ in members} == set(
        themed_client.get(CLUSTERS_PATH, params={"form": "plain"}).json()[cluster["label"]]
    )
    assert (
        themed_client.get(f"{CLUSTERS_PATH}/{cluster['id']}").json()["cluster"]["label"]
        == cluster["label"]
    )


def test_unclustered_documents_are_listed_by_reason(themed_client: TestClient) -> None:
    themed_client.post("/collections/news/2026-11", json={"id": "short", "text": "no"})
    data = themed_client.get(f"{CLUSTERS_PATH}/short").json()
    assert (data["cluster"], data["unclustered_reason"]) == (None, "short")
    assert [member["id"] for member in data["members"]] == ["short"]
    assert (
        themed_client.get("/docs/news/2026-11/short").json()["clusters"][0]["unclustered_reason"]
        == "short"
    )
    themed_client.delete("/docs/news/2026-11/short")


def test_an_older_clustering_is_returned_by_time_with_its_changes(
    themed_client: TestClient,
) -> None:
    clusterings = themed_client.get("/collections/news/2026-11").json()["clusterings"]
    new, old = [clustering["timestamp"] for clustering in clusterings]
    assert [clustering["is_served"] for clustering in clusterings] == [True, False]
    for at, timestamp in ((None, new), (new + 100, new), (new - 1, old), (old, old)):
        response = themed_client.get(CLUSTERS_PATH, params={} if at is None else {"at": at}).json()
        assert response["timestamp"] == timestamp
    changes = themed_client.get(CLUSTERS_PATH, params={"changes": old}).json()
    assert (changes["before"], changes["after"]) == (old, new)
    assert {change["change"] for change in changes["changes"]} <= {"kept", "grown"}
    assert changes["stayed"] > 0.9


def test_a_matching_etag_returns_304_until_documents_change(themed_client: TestClient) -> None:
    etag = themed_client.get(CLUSTERS_PATH).headers["ETag"]
    for header in (etag, f'"other", {etag}', "*"):
        response = themed_client.get(CLUSTERS_PATH, headers={"If-None-Match": header})
        assert (response.status_code, response.text) == (304, "")
        assert response.headers["ETag"] == etag.removeprefix("W/")
    themed_client.post(
        "/collections/news/2026-11", json={"id": "later", "text": "a later document"}
    )
    assert themed_client.get(CLUSTERS_PATH, headers={"If-None-Match": etag}).status_code == 200
    themed_client.delete("/docs/news/2026-11/later")


def test_results_have_the_format_of_the_original_service(themed_client: TestClient) -> None:
    results = themed_client.get("/results/news/DEFAULT/2026-11").json()
    assert results["meta"]["transform"] == "DEFAULT"
    assert results["meta"]["query"] == "2026-11"
    assert results["meta"]["input_size"] == 220
    assert len(results["clusters"]) == 4
    first = themed_client.get(CLUSTERS_PATH, params={"top": 10}).json()["clusters"][0]
    documents = results["clusters"][0]["top_documents"]
    assert [document["id"] for document in documents] == [
        expected["id"] for expected in first["top"]
    ]
    assert all(document["text"] for document in documents)
    assert results["clusters"][0]["top_terms"] == [term for term, _ in first["terms"]]
