"""Collections, and documents put into them and taken out.

Source: Grouperfish v0.2's REST: POST /collections/<ns>/<ck>, GET /docs/<ns>/<ck>/<id>.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from fonds.grouping.changes.lifecycle import remove
from fonds.grouping.configuration import build_values
from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName, split
from fonds.grouping.views.clusterings import (
    CollectionView,
    ServedClustering,
    list_clusterings,
    list_progress,
)
from fonds.grouping.views.documents import find_document, list_placements
from fonds.model.access import Role
from fonds.web.access.roles import READS
from fonds.web.actions import Action, JsonRoute, add_actions
from fonds.web.api import bodies
from fonds.web.api.bodies import parse_documents
from fonds.web.api.paths import Id, Key, Namespace, build_path
from fonds.web.serving.json_requests import Body, TheService, json_response, refuse_invalid
from fonds.web.serving.parameters import namespace_named, parse_id, parse_name
from fonds.web.serving.problems import RESPONSES, RefusedError
from fonds.wiring.collections import CollectionService

LISTED_MAX = 1000
router = APIRouter(responses=RESPONSES, tags=["collections"], dependencies=[READS])


@dataclass(frozen=True, slots=True)
class PutOut:
    """Where what was sent is, how many documents it was, and how many were new, replaced another text, or
    were there as they are."""

    href: str
    documents: int
    added: int
    replaced: int
    unchanged: int


@dataclass(frozen=True, slots=True)
class CollectionOut:
    """A collection: `modified` is when a document was last put, in seconds since 1970; `query` the search
    that fills it; `served` by which configurations it is grouped, `rebuilt` when and `processed` when a
    document was last assigned."""

    namespace: str
    key: str
    size: int
    modified: int | None
    query: str
    template: str
    served: tuple[ServedClustering, ...]
    href: str


@dataclass(frozen=True, slots=True)
class Collections:
    """Collections in the order of their names; `next` leads to those behind, None behind the last."""

    collections: list[CollectionOut]
    next: str | None


@dataclass(frozen=True, slots=True)
class ClusteringOut:
    """A clustering that is served or was: built of `documents`, `later` ones came since."""

    conf: str
    timestamp: int
    is_served: bool
    levels: int
    documents: int
    clusters: int
    begun: int
    ended: int
    later: int
    later_outliers: int
    configuration: Mapping[str, Any]
    href: str


@dataclass(frozen=True, slots=True)
class RebuildOut:
    """A rebuild under way: its stage, and how many documents are done of how many, 0 where not known."""

    conf: str
    timestamp: int
    stage: str
    done: int
    total: int
    begun: int
    moved: int
    is_alive: bool


@dataclass(frozen=True, slots=True)
class CollectionDetailOut:
    """A collection with its clusterings, the newest first, and its rebuilds under way."""

    collection: CollectionOut
    clusterings: list[ClusteringOut]
    building: list[RebuildOut]


@dataclass(frozen=True, slots=True)
class PlacementOut:
    """Where a document is by a configuration: in the cluster `label` of a level with its cosine to the
    middle, or `apart` for a reason; `original` is the one it is a near-duplicate of."""

    conf: str
    timestamp: int
    level: int
    label: str | None
    cluster_id: str | None
    score: float
    apart: str | None
    original: str | None


@dataclass(frozen=True, slots=True)
class DocumentOut:
    """A document as it was sent, and where it is in what is served."""

    id: str
    text: str
    title: str
    url: str
    language: str
    time: int | None
    clusters: list[PlacementOut]


After = Annotated[str | None, Query(description="Begin behind this one", max_length=4000)]
Count = Annotated[int, Query(ge=1, le=LISTED_MAX, description="How many at most")]


@router.get("/collections", response_model=Collections, summary="All collections")
def list_collections(service: TheService, after: After = None, count: Count = 100) -> Response:
    """In the order of their namespaces and keys; `after` is NAMESPACE/KEY."""
    behind = _parse_after(after) if after else None
    listing = _build_listing(
        service.every(None, behind), count, "/collections", with_namespace=True
    )
    return json_response(listing)


def _parse_after(after: str) -> CollectionName:
    """The collection of an `after`. Raises RefusedError 400 for what can be no name."""
    name = split(after)
    return parse_name(name.namespace, name.key)


@router.get(
    "/collections/{ns}", response_model=Collections, summary="The collections of a namespace"
)
def list_namespace_collections(
    service: TheService, ns: Namespace, after: After = None, count: Count = 100
) -> Response:
    """In the order of their keys; none where nobody made any."""
    namespace_named(ns)
    behind = parse_name(ns, after) if after else None
    return json_response(
        _build_listing(service.every(ns, behind), count, build_path("collections", ns))
    )


@router.get("/collections/{ns}/{key}", response_model=CollectionDetailOut, summary="One collection")
def get_collection(service: TheService, ns: Namespace, key: Key) -> Response:
    """Its size and times, the clusterings that can be asked for, and what is being built."""
    found = service.collection(parse_name(ns, key))
    kept = [
        ClusteringOut(
            clustering.conf,
            clustering.timestamp,
            clustering.is_served,
            clustering.levels,
            clustering.documents,
            clustering.clusters,
            clustering.begun,
            clustering.ended,
            clustering.later,
            clustering.later_outliers,
            build_values(clustering.configuration),
            f"{build_path('clusters', ns, key)}?conf={clustering.conf}&at={clustering.timestamp}",
        )
        for clustering in list_clusterings(service.tables, found.name)
    ]
    building = [
        RebuildOut(
            one.conf, one.timestamp, one.stage, one.done, one.total, one.begun, one.moved,
            one.who is not None,
        )
        for one in list_progress(service.tables, service.changes.leases, found.name)
    ]  # fmt: skip
    return json_response(CollectionDetailOut(_build_collection(found), kept, building))


def send(service: TheService, request: Request, body: Body, ns: Namespace, key: Key) -> Response:
    """One document, a list, `{"bulk": […]}`, or one a line (application/x-ndjson). The collection is made
    where it is not there. All of the body is judged before any of it is put; answered when it is kept and
    placed in every clustering that is served. Sent again it changes nothing.
    """
    name = parse_name(ns, key)
    sent = parse_documents(body, request)
    where = (
        build_path("docs", ns, key, sent[0].id)
        if len(sent) == 1
        else build_path("collections", ns, key)
    )
    return put_documents(service, name, sent, where)


def put_documents(
    service: CollectionService, name: CollectionName, documents: list[Document], where: str
) -> Response:
    """Put documents into a collection, and answer with counts and the address `where`."""
    with refuse_invalid():
        done = service.writing().put(name, documents)
    counts = PutOut(where, len(documents), done.added, done.replaced, done.unchanged)
    return json_response(counts, 201, {"Location": where})


def delete_collection(service: TheService, ns: Namespace, key: Key) -> Response:
    """With its documents and clusterings. 404 where there is none."""
    found = service.collection(parse_name(ns, key))
    remove(service.writing(), found.name)
    return Response(status_code=204)


@router.get("/docs/{ns}/{key}/{id}", response_model=DocumentOut, summary="One document")
@router.get("/collections/{ns}/{key}/{id}", response_model=DocumentOut, summary="One document")
def get_document(service: TheService, ns: Namespace, key: Key, id: Id) -> Response:  # noqa: A002
    """The document, and the clusters it is in."""
    return json_response(load_document(service, ns, key, id))


def delete_document(service: TheService, ns: Namespace, key: Key, id: Id) -> Response:  # noqa: A002
    """Of the collection and all its clusterings. 404 where there is none."""
    found = service.collection(parse_name(ns, key))
    if not service.writing().delete(found.name, [parse_id(id)]):
        raise _build_no_document_error(ns, key, id)
    return Response(status_code=204)


def load_document(
    service: CollectionService, namespace: str, key: str, document_id: str
) -> DocumentOut:
    """The document. Raises RefusedError 404."""
    name = service.collection(parse_name(namespace, key)).name
    document = find_document(service.tables, name, parse_id(document_id))
    if document is None:
        raise _build_no_document_error(namespace, key, document_id)
    at = [
        PlacementOut(
            placement.conf,
            placement.timestamp,
            placement.level,
            placement.label,
            placement.cluster_id,
            placement.score,
            placement.apart,
            placement.original,
        )
        for placement in list_placements(service.tables, name, document_id)
    ]
    return DocumentOut(
        document.id,
        document.text,
        document.title,
        document.url,
        document.language,
        document.time,
        at,
    )


def _build_no_document_error(namespace: str, key: str, document_id: str) -> RefusedError:
    said = f"There is no document {document_id[:200]!r} in {namespace}/{key}."
    return RefusedError(404, said, parameter="id")


def _build_listing(
    collections: Iterable[CollectionView], count: int, path: str, *, with_namespace: bool = False
) -> Collections:
    some = list(islice(collections, count + 1))
    shown = [_build_collection(one) for one in some[:count]]
    following = None
    if len(some) > count:
        last = some[count - 1].name
        behind = build_path(str(last) if with_namespace else last.key)[1:]
        following = f"{path}?count={count}&after={behind}"
    return Collections(shown, following)


def _build_collection(collection: CollectionView) -> CollectionOut:
    name = collection.name
    return CollectionOut(
        name.namespace, name.key, collection.size, collection.modified, collection.query, collection.template,
        collection.served, build_path("collections", name.namespace, name.key),
    )  # fmt: skip


add_actions(
    router,
    Action(
        "put documents into a collection",
        Role.CURATOR,
        send,
        json=JsonRoute(
            "/collections/{ns}/{key}",
            "Put documents into a collection",
            status=201,
            answer=PutOut,
            request_body=bodies.DOCUMENTS,
        ),
    ),
    Action(
        "remove a collection",
        Role.CURATOR,
        delete_collection,
        json=JsonRoute("/collections/{ns}/{key}", "Remove it", "DELETE", status=204),
    ),
    Action(
        "take a document out of a collection",
        Role.CURATOR,
        delete_document,
        json=JsonRoute(
            "/docs/{ns}/{key}/{id}",
            "Take it out",
            "DELETE",
            path_aliases=("/collections/{ns}/{key}/{id}",),
            status=204,
        ),
    ),
)
