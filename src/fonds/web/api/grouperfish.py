"""REST API of Grouperfish v0.1: the collections of Fonds under the paths and names of that version.

Each route translates names and calls the functions of `collections`, `configurations` and
`clusters`.

Source: Grouperfish v0.1's REST: /documents/<ns>/<id>, /queries/<ns>[/<name>],
/configurations/<ns>/transforms/<name>, /results/<ns>/<transform>/<query>. Its /run is in `runs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from pydantic import RootModel
from starlette.responses import Response

from fonds.grouping.changes.lifecycle import (
    CollectionRule,
    create,
    validate_rule,
)
from fonds.grouping.columns import Column
from fonds.grouping.configuration import ALGORITHMS, Configuration, build_values
from fonds.grouping.document import COLUMNS, Document
from fonds.grouping.document import parse_document as parse_stored_document
from fonds.grouping.names import CollectionName
from fonds.grouping.tables import DOCUMENTS
from fonds.grouping.views import clusters as reading
from fonds.grouping.views.clusterings import find_collection, list_clusterings
from fonds.model.access import Role
from fonds.model.search import QUERY_MAX_CHARS
from fonds.model.suggestions import find_nearest_name
from fonds.web.access.roles import READS
from fonds.web.actions import Action, JsonRoute, add_actions
from fonds.web.api import bodies
from fonds.web.api.bodies import parse_document
from fonds.web.api.clusters import build_etag, choose_clustering_time, is_known
from fonds.web.api.collections import DocumentOut, PutOut, load_document, put_documents
from fonds.web.api.configurations import Parameters, save_configuration
from fonds.web.api.configurations import delete as delete_configuration
from fonds.web.api.paths import Conf, Id, Namespace, QueryName, build_path
from fonds.web.html.rendering import OpenStores
from fonds.web.serving.json_requests import (
    Body,
    TheService,
    decode_body,
    json_response,
    refuse_invalid,
    takes,
)
from fonds.web.serving.parameters import parse_conf, parse_id, parse_name, parse_namespace
from fonds.web.serving.problems import RESPONSES, RefusedError
from fonds.wiring.collections import CollectionService

KEY = "documents"
"""Key of the collection for documents that the REST API of Grouperfish v0.1 puts into a
namespace.
"""
QUERIES_MAX = 10_000
DOCUMENTS_MAX = 10_000
TEXT_MAX_CHARS = 2_000
router = APIRouter(responses=RESPONSES, dependencies=[READS])


# Documents of a namespace.


@router.get(
    "/documents/{ns}/{id}",
    response_model=DocumentOut,
    summary="One document",
    tags=["documents"],
    operation_id="get_namespace_document",
)
def get_document(service: TheService, ns: Namespace, id: Id) -> Response:  # noqa: A002
    """Return a document of the namespace's collection `documents`."""
    return json_response(load_document(service, ns, KEY, id))


def put_document(service: TheService, body: Body, ns: Namespace, id: Id) -> Response:  # noqa: A002
    """Put a document into the namespace's collection `documents`. Create it if necessary."""
    name = parse_name(ns, KEY)
    sent_document = parse_document(body, parse_id(id))
    return put_documents(service, name, [sent_document], build_path("documents", ns, id))


def delete_document(service: TheService, ns: Namespace, id: Id) -> Response:  # noqa: A002
    """Remove a document. 204 even if it does not exist, as in v0.1."""
    name = parse_name(ns, KEY)
    parse_id(id)
    if service.has_tables():
        service.open_writer().delete(name, [id])
    return Response(status_code=204)


# Queries: the searches that fill collections. A query's name is the key of its collection.


class QueryIn(msgspec.Struct, forbid_unknown_fields=True):
    """A search that fills a collection, in the syntax of `fonds search`."""

    query: str


@dataclass(frozen=True, slots=True)
class QueryOut:
    """A search, and the address of the collection that it fills."""

    query: str
    collection: str


class QueriesByName(RootModel[dict[str, QueryOut]]):
    """Queries of a namespace by name."""


_QUERY = takes(
    {
        "type": "object",
        "required": ["query"],
        "additionalProperties": False,
        "properties": {"query": {"type": "string", "minLength": 1, "maxLength": QUERY_MAX_CHARS}},
    },
    {"query": "kind:story flood"},
)


@router.get(
    "/queries/{ns}",
    response_model=QueriesByName,
    summary="All queries",
    tags=["queries"],
    operation_id="list_queries",
)
def list_queries(service: TheService, ns: Namespace) -> Response:
    """List the queries of a namespace by name. 413 if there are more than 10,000."""
    parse_namespace(ns)
    queries = {}
    for collection in service.iter_collections(ns):
        if collection.query:
            queries[collection.name.key] = QueryOut(
                collection.query, build_path("collections", ns, collection.name.key)
            )
        if len(queries) > QUERIES_MAX:
            message = (
                f"The namespace has more than {QUERIES_MAX:,} queries. "
                f"List them page by page with GET /collections/{ns}."
            )
            raise RefusedError(413, message)
    return json_response(queries)


@router.get(
    "/queries/{ns}/{name}",
    response_model=QueryOut,
    summary="One query",
    tags=["queries"],
    operation_id="get_query",
)
def get_query(service: TheService, ns: Namespace, name: QueryName) -> Response:
    """Return the query of a collection. 404 if it has none."""
    collection = service.collection(parse_name(ns, name))
    if not collection.query:
        raise RefusedError(404, f"{collection.name} has no query.", parameter="name")
    return json_response(QueryOut(collection.query, build_path("collections", ns, name)))


def put_query(
    service: TheService, stores: OpenStores, body: Body, ns: Namespace, name: QueryName
) -> Response:
    """Create the collection, or change its query. The query is a search of this library."""
    sent_query = decode_body(body, QueryIn)
    collection = parse_name(ns, name)
    if not sent_query.query.strip():
        raise RefusedError(400, "The query is empty. '*' finds all documents.", pointer="/query")
    with refuse_invalid("/query"):
        validate_rule(CollectionRule(collection, sent_query.query), stores.index)
        create(service.open_writer(), collection, sent_query.query)
    where = build_path("queries", ns, name)
    answer = QueryOut(sent_query.query, build_path("collections", ns, name))
    return json_response(answer, 201, {"Location": where})


def delete_query(service: TheService, ns: Namespace, name: QueryName) -> Response:
    """Delete a query.

    Its collection keeps its documents and receives no more. 204 even if it does not exist.
    """
    collection = parse_name(ns, name)
    view = find_collection(service.tables, collection) if service.has_tables() else None
    if view is not None and view.query:
        create(service.open_writer(), collection)
    return Response(status_code=204)


# Transforms are configurations.


TRANSFORMS = {"textcluster": "stories", "coclustering": "topics"}
"""Names of Grouperfish's transforms, each with the algorithm of Fonds closest in purpose."""
TOP_DOCUMENTS = 10
_FIELDS = {"id": "id", "text": "text"}


class TransformIn(msgspec.Struct, forbid_unknown_fields=True):
    """A configuration as the REST API of Grouperfish v0.1 defines it.

    `transform` is an algorithm of Fonds or the name of a transform of Grouperfish.
    """

    transform: str
    parameters: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Transform:
    """A configuration in the format of the REST API of Grouperfish v0.1."""

    transform: str
    parameters: Parameters


_TRANSFORM = takes(
    {
        "type": "object",
        "required": ["transform"],
        "additionalProperties": False,
        "properties": {
            "transform": {"enum": [*ALGORITHMS, *TRANSFORMS]},
            "parameters": {
                **bodies.PARAMETERS,
                "properties": {
                    name: value
                    for name, value in bodies.PARAMETERS["properties"].items()
                    if name != "algorithm"
                },
            },
        },
    },
    {"transform": "topics", "parameters": {"clusters": 12}},
)


@router.get(
    "/configurations/{ns}/transforms/{conf}",
    response_model=Transform,
    summary="One configuration in the format of v0.1",
    tags=["configurations"],
    operation_id="get_transform",
)
def get_transform(service: TheService, ns: Namespace, conf: Conf) -> Response:
    """Return the algorithm as `transform` and everything else as `parameters`."""
    return json_response(
        _build_transform(service.configuration(parse_namespace(ns), parse_conf(conf)))
    )


def put_transform(service: TheService, body: Body, ns: Namespace, conf: Conf) -> Response:
    """Create or replace a configuration in the format of v0.1.

    `fields` must have its default value. Of the `limits`, `clusters` becomes `clusters_max`, and
    `top_documents` must be 10: `/results` has the parameter `top` for another number.
    """
    sent_transform = decode_body(body, TransformIn)
    algorithm = TRANSFORMS.get(sent_transform.transform, sent_transform.transform)
    if algorithm not in ALGORITHMS:
        near = find_nearest_name(sent_transform.transform, (*ALGORITHMS, *TRANSFORMS))
        message = f"There is no transform {sent_transform.transform[:100]!r}. Known: {', '.join(ALGORITHMS)}."
        raise RefusedError(400, message, pointer="/transform", nearest=near)
    values = {**_translate_parameters(sent_transform.parameters), "algorithm": algorithm}
    where = build_path("configurations", ns, "transforms", conf)
    saved_configuration = save_configuration(service, ns, conf, values, "/parameters")
    return json_response(_build_transform(saved_configuration), 201, {"Location": where})


def _build_transform(configuration: Configuration) -> Transform:
    values = build_values(configuration)
    return Transform(values.pop("algorithm"), values)


def _translate_parameters(parameters: Parameters) -> Parameters:
    """Translate the parameters of a transform of Grouperfish v0.1 into those of a configuration.

    Raises RefusedError 400 for parameters that Fonds does not support.
    """
    values = dict(parameters)
    fields, limits = values.pop("fields", _FIELDS), values.pop("limits", {})
    if fields != _FIELDS:
        message = 'The only supported value is {"id": "id", "text": "text"}.'
        raise RefusedError(400, message, pointer="/parameters/fields")
    if not isinstance(limits, dict) or limits.keys() - {"clusters", "top_documents"}:
        message = "The supported limits are clusters and top_documents."
        raise RefusedError(400, message, pointer="/parameters/limits")
    if limits.get("top_documents", TOP_DOCUMENTS) != TOP_DOCUMENTS:
        message = (
            f"top_documents can only be {TOP_DOCUMENTS}. Use /results?top=N for another number."
        )
        raise RefusedError(400, message, pointer="/parameters/limits/top_documents")
    if "clusters" in limits:
        values.setdefault("clusters_max", limits["clusters"])
    return values


# Results are the served clustering of a collection by a configuration.


@dataclass(frozen=True, slots=True)
class TopDocument:
    """A document of a cluster, with the first 2,000 characters of its text."""

    id: str
    text: str
    title: str
    url: str
    language: str
    time: int | None


@dataclass(frozen=True, slots=True)
class ResultCluster:
    """A cluster: its documents with the highest scores (10 by default), and its terms, strongest
    first.
    """

    top_documents: list[TopDocument]
    top_terms: list[str]


@dataclass(frozen=True, slots=True)
class ResultMeta:
    """Configuration (`transform`) and collection (`query`) of a clustering. `date` is when its
    build began.
    """

    transform: str
    date: str
    query: str
    input_size: int


@dataclass(frozen=True, slots=True)
class Results:
    """Current clustering of a collection, in the format of the REST API of Grouperfish v0.1."""

    clusters: list[ResultCluster]
    meta: ResultMeta


@router.get(
    "/results/{ns}/{conf}/{name}",
    response_model=Results,
    summary="Latest result of a collection",
    tags=["results"],
    operation_id="get_results",
)
def get_results(
    service: TheService,
    request: Request,
    ns: Namespace,
    conf: Conf,
    name: QueryName,
    top: Annotated[
        int, Query(ge=0, le=100, description="Maximum documents per cluster")
    ] = TOP_DOCUMENTS,
) -> Response:
    """Return the clusters, largest first.

    413 if the result has more than 10,000 documents. Then request fewer per cluster.
    """
    collection = service.collection(parse_name(ns, name))
    time = choose_clustering_time(service, collection.name, conf, None)
    etag = build_etag(service, collection.name, time)
    if is_known(request, etag):
        return Response(status_code=304, headers={"ETag": etag})
    level = reading.load_clusters(service.tables, collection.name, conf, time, top=0)
    if level is None:
        raise RefusedError(
            404, "The clustering was removed during the request. Try again.", parameter="name"
        )
    if len(level.clusters) * top > DOCUMENTS_MAX:
        message = (
            f"The result has more than {DOCUMENTS_MAX:,} documents. Request fewer per cluster."
        )
        raise RefusedError(413, message, parameter="top")
    detailed_level = (
        reading.load_clusters(service.tables, collection.name, conf, time, top=top) or level
    )
    documents = _load_documents(
        service,
        collection.name,
        [member.id for cluster in detailed_level.clusters for member in cluster.top],
    )
    clusters = [
        ResultCluster(
            [documents[member.id] for member in cluster.top if member.id in documents],
            [term for term, _ in cluster.terms],
        )
        for cluster in detailed_level.clusters
    ]
    built_clustering = next(
        clustering
        for clustering in list_clusterings(service.tables, collection.name, conf)
        if clustering.timestamp == time
    )
    date = datetime.fromtimestamp(time, UTC).isoformat()
    meta = ResultMeta(conf, date, name, built_clustering.documents)
    return json_response(Results(clusters, meta), headers={"ETag": etag})


def _load_documents(
    service: CollectionService, name: CollectionName, ids: list[str]
) -> dict[str, TopDocument]:
    """Load documents of a collection by id. The result lacks documents that were removed in the
    meantime.
    """
    rows = service.tables.get_rows(
        DOCUMENTS, [name.build_document_row(id_) for id_ in ids], COLUMNS
    )
    documents = (
        parse_stored_document(cells).document for cells in rows.values() if Column.ID in cells
    )
    return {document.id: _build_top_document(document) for document in documents}


def _build_top_document(document: Document) -> TopDocument:
    text = document.text[:TEXT_MAX_CHARS]
    return TopDocument(
        document.id, text, document.title, document.url, document.language, document.time
    )


add_actions(
    router,
    Action(
        "add a document to a namespace",
        Role.CURATOR,
        put_document,
        json=JsonRoute(
            "/documents/{ns}/{id}",
            "Add a document to a namespace",
            "PUT",
            operation_id="put_namespace_document",
            status=201,
            answer=PutOut,
            request_body=bodies.DOCUMENT,
            tags=["documents"],
        ),
    ),
    Action(
        "remove a document from a namespace",
        Role.CURATOR,
        delete_document,
        json=JsonRoute(
            "/documents/{ns}/{id}",
            "Remove a document",
            "DELETE",
            operation_id="delete_namespace_document",
            status=204,
            tags=["documents"],
        ),
    ),
    Action(
        "save a query",
        Role.CURATOR,
        put_query,
        json=JsonRoute(
            "/queries/{ns}/{name}",
            "Save a query",
            "PUT",
            operation_id="put_query",
            status=201,
            answer=QueryOut,
            request_body=_QUERY,
            tags=["queries"],
        ),
    ),
    Action(
        "delete a query",
        Role.CURATOR,
        delete_query,
        json=JsonRoute(
            "/queries/{ns}/{name}",
            "Delete a query",
            "DELETE",
            operation_id="delete_query",
            status=204,
            tags=["queries"],
        ),
    ),
    Action(
        "save a transform",
        Role.CURATOR,
        put_transform,
        json=JsonRoute(
            "/configurations/{ns}/transforms/{conf}",
            "Save a configuration in the format of v0.1",
            "PUT",
            status=201,
            answer=Transform,
            request_body=_TRANSFORM,
            tags=["configurations"],
        ),
    ),
    Action(
        "delete a transform",
        Role.CURATOR,
        delete_configuration,
        json=JsonRoute(
            "/configurations/{ns}/transforms/{conf}",
            "Delete a configuration",
            "DELETE",
            operation_id="delete_transform",
            status=204,
            tags=["configurations"],
        ),
    ),
)
