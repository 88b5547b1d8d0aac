"""Queries: the searches that fill collections. A query's name is the key of its collection.

Source: Grouperfish v0.1's REST: /queries/<ns>[/<name>].
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from fastapi import APIRouter
from starlette.responses import Response

from fonds.collections.changing.collections import QUERY_CHARACTERS_MAX, create
from fonds.collections.collecting.rules import Rule, checked_rule
from fonds.collections.reading.clusterings import collection as read
from fonds.web.access.declared import CURATES, READS
from fonds.web.parameters import named, namespace_named
from fonds.web.problems import RESPONSES, RefusedError
from fonds.web.rendering import OpenStores
from fonds.web.rest.paths import Namespace, QueryName, href
from fonds.web.rest.service import Body, TheService, decoded, judged, takes, told

NAMED_MAX = 10_000
router = APIRouter(responses=RESPONSES, tags=["queries"], dependencies=[READS])


class SentQuery(msgspec.Struct, forbid_unknown_fields=True):
    """A query as it is sent: a search as `fonds search` takes it."""

    query: str


@dataclass(frozen=True, slots=True)
class QueryTold:
    """A search, and where its collection is."""

    query: str
    collection: str


_QUERY = takes(
    {
        "type": "object",
        "required": ["query"],
        "additionalProperties": False,
        "properties": {
            "query": {"type": "string", "minLength": 1, "maxLength": QUERY_CHARACTERS_MAX}
        },
    },
    {"query": "kind:story flood"},
)


@router.get("/queries/{ns}", response_model=dict[str, QueryTold], summary="All queries")
def every(service: TheService, ns: Namespace) -> Response:
    """Of a namespace, by name. 413 where there are more than 10,000."""
    namespace_named(ns)
    found = {}
    for one in service.every(ns):
        if one.query:
            found[one.name.key] = QueryTold(one.query, href("collections", ns, one.name.key))
        if len(found) > NAMED_MAX:
            said = f"There are over {NAMED_MAX:,} queries; GET /collections/{ns} has them in pages."
            raise RefusedError(413, said)
    return told(found)


@router.get("/queries/{ns}/{name}", response_model=QueryTold, summary="One query")
def get(service: TheService, ns: Namespace, name: QueryName) -> Response:
    """404 where the collection of this name is filled by no query."""
    found = service.collection(named(ns, name))
    if not found.query:
        raise RefusedError(404, f"{found.name} is filled by no query.", parameter="name")
    return told(QueryTold(found.query, href("collections", ns, name)))


@router.put(
    "/queries/{ns}/{name}",
    status_code=201,
    response_model=QueryTold,
    openapi_extra=_QUERY,
    summary="Keep a query",
    dependencies=[CURATES],
)
def put(
    service: TheService, stores: OpenStores, body: Body, ns: Namespace, name: QueryName
) -> Response:
    """Makes the collection, or gives it another query. It is a search of this library, in words."""
    sent = decoded(body, SentQuery)
    collection = named(ns, name)
    if not sent.query.strip():
        raise RefusedError(400, "The query is empty; '*' is everything.", pointer="/query")
    with judged("/query"):
        checked_rule(Rule(collection, sent.query), stores.index)
        create(service.writing(), collection, sent.query)
    where = href("queries", ns, name)
    answer = QueryTold(sent.query, href("collections", ns, name))
    return told(answer, 201, {"Location": where})


@router.delete(
    "/queries/{ns}/{name}",
    status_code=204,
    response_class=Response,
    summary="Forget it",
    dependencies=[CURATES],
)
def delete(service: TheService, ns: Namespace, name: QueryName) -> Response:
    """The collection stays with its documents, and is filled no more. 204 also where there is none."""
    collection = named(ns, name)
    found = read(service.tables, collection) if service.are_there() else None
    if found is not None and found.query:
        create(service.writing(), collection)
    return Response(status_code=204)
