"""Queries: the searches that fill collections. A query's name is the key of its collection.

Source: Grouperfish v0.1's REST: /queries/<ns>[/<name>].
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from fastapi import APIRouter
from starlette.responses import Response

from fonds.grouping.changes.lifecycle import (
    QUERY_MAX_CHARS,
    CollectionRule,
    create,
    validate_rule,
)
from fonds.grouping.views.clusterings import find_collection as read
from fonds.web.access.roles import CURATES, READS
from fonds.web.api.paths import Namespace, QueryName, build_path
from fonds.web.html.rendering import OpenStores
from fonds.web.serving.json_requests import (
    Body,
    TheService,
    decode_body,
    json_response,
    refuse_invalid,
    takes,
)
from fonds.web.serving.parameters import namespace_named, parse_name
from fonds.web.serving.problems import RESPONSES, RefusedError

QUERIES_MAX = 10_000
router = APIRouter(responses=RESPONSES, tags=["queries"], dependencies=[READS])


class QueryIn(msgspec.Struct, forbid_unknown_fields=True):
    """A query as it is sent: a search as `fonds search` takes it."""

    query: str


@dataclass(frozen=True, slots=True)
class QueryOut:
    """A search, and where its collection is."""

    query: str
    collection: str


_QUERY = takes(
    {
        "type": "object",
        "required": ["query"],
        "additionalProperties": False,
        "properties": {"query": {"type": "string", "minLength": 1, "maxLength": QUERY_MAX_CHARS}},
    },
    {"query": "kind:story flood"},
)


@router.get("/queries/{ns}", response_model=dict[str, QueryOut], summary="All queries")
def list_queries(service: TheService, ns: Namespace) -> Response:
    """Of a namespace, by name. 413 where there are more than 10,000."""
    namespace_named(ns)
    found = {}
    for one in service.every(ns):
        if one.query:
            found[one.name.key] = QueryOut(one.query, build_path("collections", ns, one.name.key))
        if len(found) > QUERIES_MAX:
            said = (
                f"There are over {QUERIES_MAX:,} queries; GET /collections/{ns} has them in pages."
            )
            raise RefusedError(413, said)
    return json_response(found)


@router.get("/queries/{ns}/{name}", response_model=QueryOut, summary="One query")
def get(service: TheService, ns: Namespace, name: QueryName) -> Response:
    """404 where the collection of this name is filled by no query."""
    found = service.collection(parse_name(ns, name))
    if not found.query:
        raise RefusedError(404, f"{found.name} is filled by no query.", parameter="name")
    return json_response(QueryOut(found.query, build_path("collections", ns, name)))


@router.put(
    "/queries/{ns}/{name}",
    status_code=201,
    response_model=QueryOut,
    openapi_extra=_QUERY,
    summary="Keep a query",
    dependencies=[CURATES],
)
def put(
    service: TheService, stores: OpenStores, body: Body, ns: Namespace, name: QueryName
) -> Response:
    """Makes the collection, or gives it another query. It is a search of this library, in words."""
    sent = decode_body(body, QueryIn)
    collection = parse_name(ns, name)
    if not sent.query.strip():
        raise RefusedError(400, "The query is empty; '*' is everything.", pointer="/query")
    with refuse_invalid("/query"):
        validate_rule(CollectionRule(collection, sent.query), stores.index)
        create(service.writing(), collection, sent.query)
    where = build_path("queries", ns, name)
    answer = QueryOut(sent.query, build_path("collections", ns, name))
    return json_response(answer, 201, {"Location": where})


@router.delete(
    "/queries/{ns}/{name}",
    status_code=204,
    response_class=Response,
    summary="Forget it",
    dependencies=[CURATES],
)
def delete(service: TheService, ns: Namespace, name: QueryName) -> Response:
    """The collection stays with its documents, and is filled no more. 204 also where there is none."""
    collection = parse_name(ns, name)
    found = read(service.tables, collection) if service.are_there() else None
    if found is not None and found.query:
        create(service.writing(), collection)
    return Response(status_code=204)
