"""Documents put into collections and taken out, in all shapes they may be sent in."""

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


def test_one_document_makes_its_collection_and_is_where_the_answer_says(rest: TestClient) -> None:
    sent = rest.post("/collections/opinions/firefox", json={"id": 17, "text": "It is fast"})
    assert sent.status_code == 201
    assert sent.headers["Location"] == sent.json()["href"] == "/docs/opinions/firefox/17"
    found = rest.get(sent.headers["Location"]).json()
    assert (found["id"], found["text"], found["clusters"]) == ("17", "It is fast", [])
    assert rest.get("/collections/opinions/firefox/17").json() == found
    assert rest.get("/collections/opinions/firefox").json()["collection"]["size"] == 1


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
def test_many_come_as_a_list_as_bulk_or_one_a_line(
    rest: TestClient, body: str, headers: dict[str, str]
) -> None:
    rest.delete("/collections/many/one")
    first = rest.post("/collections/many/one", content=body, headers=headers)
    assert (first.status_code, first.headers["Location"]) == (201, "/collections/many/one")
    assert first.json() | {"href": ""} == {
        "href": "", "documents": 2, "added": 2, "replaced": 0, "unchanged": 0,
    }  # fmt: skip
    again = rest.post("/collections/many/one", content=body, headers=headers).json()
    assert (again["added"], again["unchanged"]) == (0, 2)


def test_what_is_deleted_is_gone_by_both_addresses(rest: TestClient) -> None:
    for at in ("docs", "collections"):
        rest.post("/collections/gone/k", json={"id": "x", "text": "here"})
        assert rest.delete(f"/{at}/gone/k/x").status_code == 204
        assert rest.get(f"/{at}/gone/k/x").status_code == 404
        assert rest.delete(f"/{at}/gone/k/x").status_code == 404
    assert rest.delete("/collections/gone/k").status_code == 204
    assert rest.get("/collections/gone/k").status_code == 404


def test_collections_are_paged_whatever_their_namespaces_are_called(rest: TestClient) -> None:
    names = [("paging", "b"), ("paging/a", "c/d"), ("paging/a%2F", "%25"), ("paging/b", "e")]
    for namespace, key in names:
        rest.post(build_path("collections", namespace, key), json={"id": "x", "text": "here"})
    found, at = [], "/collections?count=1"
    while at:
        page = rest.get(at).json()
        found += [(one["namespace"], one["key"]) for one in page["collections"]]
        at = page["next"]
    assert [one for one in found if one[0].startswith("paging")] == names


NAMES = st.text(min_size=1, max_size=20).filter(lambda name: name not in (".", ".."))


@pytest.mark.parametrize("name", [".", ".."])
def test_what_no_address_can_hold_is_no_name(rest: TestClient, name: str) -> None:
    """Clients resolve such parts of a path, percent-encoded or not (RFC 3986, section 5.2.4)."""
    sent = rest.post("/collections/news/dots", json={"id": name, "text": "x"})
    assert sent.status_code == 400
    assert "because a URL cannot contain it" in sent.text
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
def test_any_namespace_key_and_id_can_be_said_in_an_address(
    rest: TestClient, namespace: str, key: str, document_id: str
) -> None:
    path = build_path("collections", namespace, key)
    sent = rest.post(path, json={"id": document_id, "text": f"of {document_id}"})
    assert sent.status_code == 201
    assert rest.get(sent.headers["Location"]).json()["text"] == f"of {document_id}"
    told = rest.get(path).json()["collection"]
    assert (told["namespace"], told["key"]) == (namespace, key)
    name = CollectionName(namespace, key)
    assert parse(str(name)) == name
    assert rest.get(link_to_collection(name)).status_code == 200


def test_documents_of_a_namespace_are_a_collection_of_it(rest: TestClient) -> None:
    sent = rest.put("/documents/plain/d%2F1", json={"text": "hello", "title": "A title"})
    assert (sent.status_code, sent.headers["Location"]) == (201, "/documents/plain/d%2F1")
    assert rest.get("/documents/plain/d%2F1").json()["title"] == "A title"
    assert rest.get("/docs/plain/documents/d%2F1").json()["text"] == "hello"
    assert rest.delete("/documents/plain/d%2F1").status_code == 204
    assert rest.delete("/documents/plain/d%2F1").status_code == 204
    assert rest.get("/documents/plain/d%2F1").status_code == 404


def test_collections_are_listed_page_by_page(rest: TestClient) -> None:
    for key in ("a", "b/c", "d"):
        rest.post(build_path("collections", "paged", key), json={"id": "1", "text": "x"})
    first = rest.get("/collections/paged?count=2").json()
    assert [one["key"] for one in first["collections"]] == ["a", "b/c"]
    second = rest.get(first["next"]).json()
    assert ([one["key"] for one in second["collections"]], second["next"]) == (["d"], None)
    seen, path = [], "/collections?count=1"
    while path:
        page = rest.get(path).json()
        seen += [(one["namespace"], one["key"]) for one in page["collections"]]
        path = page["next"]
    assert [one for one in seen if one[0] == "paged"] == [("paged", k) for k in ("a", "b/c", "d")]
    assert len(seen) == len(set(seen))


def test_nothing_is_there_before_anything_was_sent(empty: TestClient) -> None:
    assert empty.get("/collections").json() == {"collections": [], "next": None}
    assert empty.get("/queries/n").json() == {}
    assert empty.get("/run/n").json() == {"runs": []}
    assert list(empty.get("/configurations/n").json()) == ["DEFAULT"]
    assert empty.delete("/documents/n/1").status_code == 204
