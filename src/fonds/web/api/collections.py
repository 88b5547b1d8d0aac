"""REST API of collections, and of adding, replacing and removing their documents.

Source: Grouperfish v0.2's REST: POST /collections/<ns>/<ck>, GET /docs/<ns>/<ck>/<id>.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from fonds.grouping.changes.lifecycle import remove
from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName, split_key
from fonds.grouping.views.clusterings import (
    ClusteringView,
    CollectionView,
    RebuildProgress,
    list_clusterings,
    list_progress,
)
from fonds.grouping.views.documents import DocumentPlacement, find_document, list_placements
from fonds.model.access import Role
from fonds.model.extension import extend
from fonds.web.access.roles import READS
from fonds.web.actions import Action, JsonRoute, add_actions
from fonds.web.api import bodies
from fonds.web.api.bodies import parse_documents
from fonds.web.api.paths import Id, Key, Namespace, build_path
from fonds.web.serving.json_requests import Body, TheService, json_response, refuse_invalid
from fonds.web.serving.parameters import parse_id, parse_name, parse_namespace
from fonds.web.serving.problems import RESPONSES, RefusedError
from fonds.wiring.collections import CollectionService

LISTED_MAX = 1000
router = APIRouter(responses=RESPONSES, tags=["collections"], dependencies=[READS])


@dataclass(frozen=True, slots=True)
class PutOut:
    """Result of putting documents into a collection.

    `href`: address of the document, or of the collection if several documents were sent.
    `documents`: number of documents sent.
    `added`, `replaced`, `unchanged`: how many of these documents were new, replaced another
        document with the same id, or were already stored.
    """

    href: str
    documents: int
    added: int
    replaced: int
    unchanged: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionOut(CollectionView):
    """A collection, with the address of its details.

    `modified`: when a document was last put, in seconds since 1970.
    `query`: search that fills the collection.
    `template`: key with a field in braces, such as `news/{month}`, if a rule fills one collection
        per value of the field; '' if not.
    `served`: configurations that group the collection; `rebuilt` and `processed` are the times of
        the current clustering and of the last assignment of a document.
    """

    href: str


@dataclass(frozen=True, slots=True)
class Collections:
    """One page of collections sorted by name. `next` is the address of the next page; None on the
    last page.
    """

    collections: list[CollectionOut]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringOut(ClusteringView):
    """A clustering that is or was served, with the address of its clusters.

    `documents`: number of documents from which the clustering was built.
    `later`: number of documents added since the clustering was built.
    """

    href: str


@dataclass(frozen=True, slots=True)
class CollectionDetailOut:
    """A collection with its clusterings, newest first, and its rebuilds in progress."""

    collection: CollectionOut
    clusterings: list[ClusteringOut]
    building: list[RebuildProgress]


@dataclass(frozen=True, slots=True)
class DocumentOut:
    """A document as it was sent, and the clusters to which the served clusterings assign it."""

    id: str
    text: str
    title: str
    url: str
    language: str
    time: int | None
    clusters: list[DocumentPlacement]


After = Annotated[str | None, Query(description="Start after this collection", max_length=4000)]
Count = Annotated[int, Query(ge=1, le=LISTED_MAX, description="Maximum number of collections")]


@router.get(
    "/collections",
    response_model=Collections,
    summary="All collections",
    operation_id="list_collections",
)
def list_collections(service: TheService, after: After = None, count: Count = 100) -> Response:
    """List collections by namespace and key. `after` is NAMESPACE/KEY."""
    after_name = _parse_after(after) if after else None
    listing = _build_listing(
        service.iter_collections(None, after_name), count, "/collections", with_namespace=True
    )
    return json_response(listing)


def _parse_after(after: str) -> CollectionName:
    """Parse the `after` parameter, the name of a collection. Raises RefusedError 400 for an invalid
    name.
    """
    name = split_key(after)
    return parse_name(name.namespace, name.key)


@router.get(
    "/collections/{ns}",
    response_model=Collections,
    summary="Collections of a namespace",
    operation_id="list_namespace_collections",
)
def list_namespace_collections(
    service: TheService, ns: Namespace, after: After = None, count: Count = 100
) -> Response:
    """List collections by key. The list is empty for an unknown namespace."""
    parse_namespace(ns)
    after_name = parse_name(ns, after) if after else None
    return json_response(
        _build_listing(
            service.iter_collections(ns, after_name), count, build_path("collections", ns)
        )
    )


@router.get(
    "/collections/{ns}/{key}",
    response_model=CollectionDetailOut,
    summary="One collection",
    operation_id="get_collection",
)
def get_collection(service: TheService, ns: Namespace, key: Key) -> Response:
    """Return the size and times of a collection, its clusterings, and the rebuilds in progress."""
    collection = service.collection(parse_name(ns, key))
    clusterings = [
        extend(
            ClusteringOut,
            clustering,
            href=f"{build_path('clusters', ns, key)}?conf={clustering.conf}&at={clustering.timestamp}",
        )
        for clustering in list_clusterings(service.tables, collection.name)
    ]
    building = list_progress(service.tables, service.writer.leases, collection.name)
    return json_response(CollectionDetailOut(_build_collection(collection), clusterings, building))


def send(service: TheService, request: Request, body: Body, ns: Namespace, key: Key) -> Response:
    """Send one document, a list, `{"bulk": […]}`, or one document per line (application/x-ndjson).

    The collection is created if it does not exist. The whole body is validated before any of it is
    stored. The response comes after the documents are stored and assigned in every served
    clustering. Sending the same documents again changes nothing.
    """
    name = parse_name(ns, key)
    sent_documents = parse_documents(body, request)
    where = (
        build_path("docs", ns, key, sent_documents[0].id)
        if len(sent_documents) == 1
        else build_path("collections", ns, key)
    )
    return put_documents(service, name, sent_documents, where)


def put_documents(
    service: CollectionService, name: CollectionName, documents: list[Document], where: str
) -> Response:
    """Put documents into a collection. Return the response with the counts.

    `where`: address of the document or collection, for the `Location` header.
    """
    with refuse_invalid():
        put_counts = service.open_writer().put(name, documents)
    counts = PutOut(
        where, len(documents), put_counts.added, put_counts.replaced, put_counts.unchanged
    )
    return json_response(counts, 201, {"Location": where})


def delete_collection(service: TheService, ns: Namespace, key: Key) -> Response:
    """Remove a collection with its documents and clusterings. 404 if it does not exist."""
    collection = service.collection(parse_name(ns, key))
    remove(service.open_writer(), collection.name)
    return Response(status_code=204)


@router.get(
    "/docs/{ns}/{key}/{id}",
    response_model=DocumentOut,
    summary="One document",
    operation_id="get_document",
)
@router.get(
    "/collections/{ns}/{key}/{id}",
    response_model=DocumentOut,
    summary="One document",
    operation_id="get_collection_document",
)
def get_document(service: TheService, ns: Namespace, key: Key, id: Id) -> Response:  # noqa: A002
    """Return the document and its clusters."""
    return json_response(load_document(service, ns, key, id))


def delete_document(service: TheService, ns: Namespace, key: Key, id: Id) -> Response:  # noqa: A002
    """Remove a document from the collection and all its clusterings. 404 if it does not exist."""
    collection = service.collection(parse_name(ns, key))
    if not service.open_writer().delete(collection.name, [parse_id(id)]):
        raise _build_no_document_error(ns, key, id)
    return Response(status_code=204)


def load_document(
    service: CollectionService, namespace: str, key: str, document_id: str
) -> DocumentOut:
    """Load a document of a collection. Raises RefusedError 404 if it does not exist."""
    name = service.collection(parse_name(namespace, key)).name
    document = find_document(service.tables, name, parse_id(document_id))
    if document is None:
        raise _build_no_document_error(namespace, key, document_id)
    return DocumentOut(
        document.id,
        document.text,
        document.title,
        document.url,
        document.language,
        document.time,
        list_placements(service.tables, name, document_id),
    )


def _build_no_document_error(namespace: str, key: str, document_id: str) -> RefusedError:
    message = f"There is no document {document_id[:200]!r} in {namespace}/{key}."
    return RefusedError(404, message, parameter="id")


def _build_listing(
    collections: Iterable[CollectionView], count: int, path: str, *, with_namespace: bool = False
) -> Collections:
    views = list(islice(collections, count + 1))
    page = [_build_collection(view) for view in views[:count]]
    next_href = None
    if len(views) > count:
        last = views[count - 1].name
        cursor = build_path(str(last) if with_namespace else last.key)[1:]
        next_href = f"{path}?count={count}&after={cursor}"
    return Collections(page, next_href)


def _build_collection(collection: CollectionView) -> CollectionOut:
    href = build_path("collections", collection.namespace, collection.key)
    return extend(CollectionOut, collection, href=href)


add_actions(
    router,
    Action(
        "add documents to a collection",
        Role.CURATOR,
        send,
        json=JsonRoute(
            "/collections/{ns}/{key}",
            "Add documents to a collection",
            operation_id="add_documents",
            status=201,
            answer=PutOut,
            request_body=bodies.DOCUMENTS,
        ),
    ),
    Action(
        "delete a collection",
        Role.CURATOR,
        delete_collection,
        json=JsonRoute("/collections/{ns}/{key}", "Delete a collection", "DELETE", status=204),
    ),
    Action(
        "remove a document from a collection",
        Role.CURATOR,
        delete_document,
        json=JsonRoute(
            "/docs/{ns}/{key}/{id}",
            "Remove a document",
            "DELETE",
            path_aliases={"/collections/{ns}/{key}/{id}": "delete_collection_document"},
            status=204,
        ),
    ),
)
