"""Adding documents to collections and deleting them, in every accepted request format."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from depth import examples
from fonds.grouping.names import CollectionName, parse, validate_name
from fonds.web.api.paths import build_path
from fonds.web.pages.theme_links import link_to_collection

LINES = {"Content-Type": "application/x-ndjson"}


def test_posting_a_document_creates_its_collection_and_returns_its_url(
    rest_client: TestClient,
) -> None:
    response = rest_client.post(
        "/collections/opinions/firefox", json={"id": 17, "text": "It is fast"}
    )
    assert response.status_code == 201
    assert response.headers["Location"] == response.json()["href"] == "/docs/opinions/firefox/17"
    document = rest_client.get(response.headers["Location"]).json()
    assert (document["id"], document["text"], document["clusters"]) == ("17", "It is fast", [])
    assert rest_client.get("/collections/opinions/firefox/17").json() == document
    assert rest_client.get("/collections/opinions/firefox").json()["collection"]["size"] == 1


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ('[{"id":"a","text":"one"},{"id":"b","text":"two"}]', {"Content-Type": "application/json"}),
        (
            '{"bulk":[{"id":"a","text":"one"},{"id":"b","text":"two"}]}',
            {"Content-Type": "application/json; charset=utf-8"},
        ),
        ('{"id":"a","text":"one"}\n\r\n{"id":"b","text":"two"}\n', LINES),
    ],
)
def test_documents_are_accepted_as_a_list_as_bulk_and_as_lines(
    rest_client: TestClient, body: str, headers: dict[str, str]
) -> None:
    rest_client.delete("/collections/many/one")
    first = rest_client.post("/collections/many/one", content=body, headers=headers)
    assert (first.status_code, first.headers["Location"]) == (201, "/collections/many/one")
    assert first.json() | {"href": ""} == {
        "href": "", "documents": 2, "added": 2, "replaced": 0, "unchanged": 0,
    }  # fmt: skip
    second = rest_client.post("/collections/many/one", content=body, headers=headers).json()
    assert (second["added"], second["unchanged"]) == (0, 2)


def test_a_deleted_document_returns_404_at_both_urls(rest_client: TestClient) -> None:
    for prefix in ("docs", "collections"):
        rest_client.post("/collections/gone/k", json={"id": "x", "text": "here"})
        assert rest_client.delete(f"/{prefix}/gone/k/x").status_code == 204
        assert rest_client.get(f"/{prefix}/gone/k/x").status_code == 404
        assert rest_client.delete(f"/{prefix}/gone/k/x").status_code == 404
    assert rest_client.delete("/collections/gone/k").status_code == 204
    assert rest_client.get("/collections/gone/k").status_code == 404


def test_paging_lists_collections_with_slashes_and_percents_in_names(
    rest_client: TestClient,
) -> None:
    names = [("paging", "b"), ("paging/a", "c/d"), ("paging/a%2F", "%25"), ("paging/b", "e")]
    for namespace, key in names:
        rest_client.post(
            build_path("collections", namespace, key), json={"id": "x", "text": "here"}
        )
    listed_names, path = [], "/collections?count=1"
    while path:
        page = rest_client.get(path).json()
        listed_names += [
            (collection["namespace"], collection["key"]) for collection in page["collections"]
        ]
        path = page["next"]
    assert [
        collection for collection in listed_names if collection[0].startswith("paging")
    ] == names


NAMES = st.text(min_size=1, max_size=20).filter(lambda name: name not in (".", ".."))


@pytest.mark.parametrize("name", [".", ".."])
def test_names_that_a_url_cannot_contain_are_refused(rest_client: TestClient, name: str) -> None:
    """Clients resolve such parts of a path, percent-encoded or not (RFC 3986, section 5.2.4)."""
    response = rest_client.post("/collections/news/dots", json={"id": name, "text": "x"})
    assert response.status_code == 400
    assert "because a URL cannot contain it" in response.text
    with pytest.raises(ValueError, match="because a URL cannot contain it"):
        validate_name(CollectionName(name, "key"))
    with pytest.raises(ValueError, match="because a URL cannot contain it"):
        validate_name(CollectionName("news", name))


@settings(
    deadline=None,
    max_examples=examples(12),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(namespace=NAMES, key=NAMES, document_id=NAMES)
@example(namespace="news/2026", key="a/b", document_id="c/d")
@example(namespace="50%/%2F", key="%2F", document_id="%25")
def test_any_namespace_key_and_id_can_be_encoded_in_a_url(
    rest_client: TestClient, namespace: str, key: str, document_id: str
) -> None:
    path = build_path("collections", namespace, key)
    response = rest_client.post(path, json={"id": document_id, "text": f"of {document_id}"})
    assert response.status_code == 201
    assert rest_client.get(response.headers["Location"]).json()["text"] == f"of {document_id}"
    collection = rest_client.get(path).json()["collection"]
    assert (collection["namespace"], collection["key"]) == (namespace, key)
    name = CollectionName(namespace, key)
    assert parse(str(name)) == name
    assert rest_client.get(link_to_collection(name)).status_code == 200


def test_documents_of_a_namespace_are_stored_in_its_documents_collection(
    rest_client: TestClient,
) -> None:
    response = rest_client.put("/documents/plain/d%2F1", json={"text": "hello", "title": "A title"})
    assert (response.status_code, response.headers["Location"]) == (201, "/documents/plain/d%2F1")
    assert rest_client.get("/documents/plain/d%2F1").json()["title"] == "A title"
    assert rest_client.get("/docs/plain/documents/d%2F1").json()["text"] == "hello"
    assert rest_client.delete("/documents/plain/d%2F1").status_code == 204
    assert rest_client.delete("/documents/plain/d%2F1").status_code == 204
    assert rest_client.get("/documents/plain/d%2F1").status_code == 404


def test_collections_are_listed_page_by_page(rest_client: TestClient) -> None:
    for key in ("a", "b/c", "d"):
        rest_client.post(build_path("collections", "paged", key), json={"id": "1", "text": "x"})
    first = rest_client.get("/collections/paged?count=2").json()
    assert [collection["key"] for collection in first["collections"]] == ["a", "b/c"]
    second = rest_client.get(first["next"]).json()
    assert ([collection["key"] for collection in second["collections"]], second["next"]) == (
        ["d"],
        None,
    )
    names, path = [], "/collections?count=1"
    while path:
        page = rest_client.get(path).json()
        names += [
            (collection["namespace"], collection["key"]) for collection in page["collections"]
        ]
        path = page["next"]
    assert [collection for collection in names if collection[0] == "paged"] == [
        ("paged", k) for k in ("a", "b/c", "d")
    ]
    assert len(names) == len(set(names))


def test_an_empty_home_lists_nothing_but_the_default_configuration(
    empty_client: TestClient,
) -> None:
    assert empty_client.get("/collections").json() == {"collections": [], "next": None}
    assert empty_client.get("/queries/n").json() == {}
    assert empty_client.get("/run/n").json() == {"runs": []}
    assert list(empty_client.get("/configurations/n").json()) == ["DEFAULT"]
    assert empty_client.delete("/documents/n/1").status_code == 204


def test_answers_do_not_contain_checksums(rest_client: TestClient) -> None:
    rest_client.post("/collections/sums/k", json={"id": "x", "text": "here"})
    rest_client.put("/configurations/sums/few", json={"clusters": 3})
    paths = (
        "/collections",
        "/collections/sums",
        "/collections/sums/k",
        "/docs/sums/k/x",
        "/documents/sums/x",
        "/configurations/sums",
        "/configurations/sums/few",
    )
    answers = [rest_client.get(path) for path in paths]
    texts = [answer.text for answer in answers if answer.status_code == 200]
    assert len(texts) >= 6
    assert [text for text in texts if "checksum" in text or "curation" in text] == []
