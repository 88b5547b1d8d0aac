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

from fonds.collections.changing.collections import remove
from fonds.collections.names import Name, split
from fonds.collections.reading.clusterings import Collection, Served, clusterings, progress
from fonds.collections.reading.documents import document, places
from fonds.web.access.declared import CURATES, READS
from fonds.web.parameters import id_named, named, namespace_named
from fonds.web.problems import RESPONSES, RefusedError
from fonds.web.rest.bodies import schemas
from fonds.web.rest.bodies.documents import documents
from fonds.web.rest.paths import Id, Key, Namespace, href
from fonds.web.rest.service import Body, TheService, judged, told
from fonds.wiring.recurring.collections import CollectionService

LISTED_MAX = 1000
router = APIRouter(responses=RESPONSES, tags=["collections"], dependencies=[READS])


@dataclass(frozen=True, slots=True)
class Put:
    """Where what was sent is, how many documents it was, and how many were new, replaced another text, or
    were there as they are."""

    href: str
    documents: int
    added: int
    replaced: int
    unchanged: int


@dataclass(frozen=True, slots=True)
class CollectionTold:
    """A collection: `modified` is when a document was last put, in seconds since 1970; `query` the search
    that fills it; `served` by which configurations it is grouped, `rebuilt` when and `processed` when a
    document was last assigned."""

    namespace: str
    key: str
    size: int
    modified: int | None
    query: str
    template: str
    served: tuple[Served, ...]
    href: str


@dataclass(frozen=True, slots=True)
class Collections:
    """Collections in the order of their names; `next` leads to those behind, None behind the last."""

    collections: list[CollectionTold]
    next: str | None


@dataclass(frozen=True, slots=True)
class ClusteringTold:
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
class Building:
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
class CollectionWhole:
    """A collection with its clusterings, the newest first, and its rebuilds under way."""

    collection: CollectionTold
    clusterings: list[ClusteringTold]
    building: list[Building]


@dataclass(frozen=True, slots=True)
class PlaceTold:
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
class DocumentTold:
    """A document as it was sent, and where it is in what is served."""

    id: str
    text: str
    title: str
    url: str
    language: str
    time: int | None
    clusters: list[PlaceTold]


After = Annotated[str | None, Query(description="Begin behind this one", max_length=4000)]
Count = Annotated[int, Query(ge=1, le=LISTED_MAX, description="How many at most")]


@router.get("/collections", response_model=Collections, summary="All collections")
def all_collections(service: TheService, after: After = None, count: Count = 100) -> Response:
    """In the order of their namespaces and keys; `after` is NAMESPACE/KEY."""
    behind = _behind(after) if after else None
    found = _listed(service.every(None, behind), count, "/collections", with_namespace=True)
    return told(found)


def _behind(after: str) -> Name:
    """The collection of an `after`. Raises RefusedError 400 for what can be no name."""
    name = split(after)
    return named(name.namespace, name.key)


@router.get(
    "/collections/{ns}", response_model=Collections, summary="The collections of a namespace"
)
def of_namespace(
    service: TheService, ns: Namespace, after: After = None, count: Count = 100
) -> Response:
    """In the order of their keys; none where nobody made any."""
    namespace_named(ns)
    behind = named(ns, after) if after else None
    return told(_listed(service.every(ns, behind), count, href("collections", ns)))


@router.get("/collections/{ns}/{key}", response_model=CollectionWhole, summary="One collection")
def one_collection(service: TheService, ns: Namespace, key: Key) -> Response:
    """Its size and times, the clusterings that can be asked for, and what is being built."""
    found = service.collection(named(ns, key))
    kept = [
        ClusteringTold(
            one.conf, one.timestamp, one.is_served, one.levels, one.documents, one.clusters,
            one.begun, one.ended, one.later, one.later_outliers, one.configuration,
            f"{href('clusters', ns, key)}?conf={one.conf}&at={one.timestamp}",
        )
        for one in clusterings(service.tables, found.name)
    ]  # fmt: skip
    building = [
        Building(
            one.conf, one.timestamp, one.stage, one.done, one.total, one.begun, one.moved,
            one.who is not None,
        )
        for one in progress(service.tables, service.changes.claims, found.name)
    ]  # fmt: skip
    return told(CollectionWhole(_collection(found), kept, building))


@router.post(
    "/collections/{ns}/{key}",
    status_code=201,
    response_model=Put,
    openapi_extra=schemas.DOCUMENTS,
    summary="Put documents into a collection",
    dependencies=[CURATES],
)
def send(service: TheService, request: Request, body: Body, ns: Namespace, key: Key) -> Response:
    """One document, a list, `{"bulk": […]}`, or one a line (application/x-ndjson). The collection is made
    where it is not there. All of the body is judged before any of it is put; answered when it is kept and
    placed in every clustering that is served. Sent again it changes nothing.
    """
    name = named(ns, key)
    sent = documents(body, request)
    where = href("docs", ns, key, sent[0].id) if len(sent) == 1 else href("collections", ns, key)
    with judged():
        done = service.writing().put(name, sent)
    said = Put(where, len(sent), done.added, done.replaced, done.unchanged)
    return told(said, 201, {"Location": where})


@router.delete(
    "/collections/{ns}/{key}",
    status_code=204,
    response_class=Response,
    summary="Remove it",
    dependencies=[CURATES],
)
def delete_collection(service: TheService, ns: Namespace, key: Key) -> Response:
    """With its documents and clusterings. 404 where there is none."""
    found = service.collection(named(ns, key))
    remove(service.writing(), found.name)
    return Response(status_code=204)


@router.get("/docs/{ns}/{key}/{id}", response_model=DocumentTold, summary="One document")
@router.get("/collections/{ns}/{key}/{id}", response_model=DocumentTold, summary="One document")
def get_document(service: TheService, ns: Namespace, key: Key, id: Id) -> Response:  # noqa: A002
    """The document, and the clusters it is in."""
    return told(found_document(service, ns, key, id))


@router.delete(
    "/docs/{ns}/{key}/{id}",
    status_code=204,
    response_class=Response,
    summary="Take it out",
    dependencies=[CURATES],
)
@router.delete(
    "/collections/{ns}/{key}/{id}",
    status_code=204,
    response_class=Response,
    summary="Take it out",
    dependencies=[CURATES],
)
def delete_document(service: TheService, ns: Namespace, key: Key, id: Id) -> Response:  # noqa: A002
    """Of the collection and all its clusterings. 404 where there is none."""
    found = service.collection(named(ns, key))
    if not service.writing().delete(found.name, [id_named(id)]):
        raise _no_document(ns, key, id)
    return Response(status_code=204)


def found_document(
    service: CollectionService, namespace: str, key: str, document_id: str
) -> DocumentTold:
    """The document. Raises RefusedError 404."""
    name = service.collection(named(namespace, key)).name
    found = document(service.tables, name, id_named(document_id))
    if found is None:
        raise _no_document(namespace, key, document_id)
    at = [
        PlaceTold(
            one.conf, one.timestamp, one.level, one.label, one.cluster_id, one.score, one.apart,
            one.original,
        )
        for one in places(service.tables, name, document_id)
    ]  # fmt: skip
    return DocumentTold(
        found.id, found.text, found.title, found.url, found.language, found.time, at
    )


def _no_document(namespace: str, key: str, document_id: str) -> RefusedError:
    said = f"There is no document {document_id[:200]!r} in {namespace}/{key}."
    return RefusedError(404, said, parameter="id")


def _listed(
    found: Iterable[Collection], count: int, path: str, *, with_namespace: bool = False
) -> Collections:
    some = list(islice(found, count + 1))
    shown = [_collection(one) for one in some[:count]]
    following = None
    if len(some) > count:
        last = some[count - 1].name
        behind = href(str(last) if with_namespace else last.key)[1:]
        following = f"{path}?count={count}&after={behind}"
    return Collections(shown, following)


def _collection(found: Collection) -> CollectionTold:
    name = found.name
    return CollectionTold(
        name.namespace, name.key, found.size, found.modified, found.query, found.template,
        found.served, href("collections", name.namespace, name.key),
    )  # fmt: skip
