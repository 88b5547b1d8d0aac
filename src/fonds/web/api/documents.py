"""Documents of a namespace without a collection of their own: they are in the collection `documents` of it.

Source: Grouperfish v0.1's REST: /documents/<ns>/<id>.
"""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from fonds.web.access.roles import CURATES, READS
from fonds.web.api import bodies
from fonds.web.api.bodies import parse_document
from fonds.web.api.collections import DocumentOut, PutOut, load_document
from fonds.web.api.paths import Id, Namespace, build_path
from fonds.web.serving.json_requests import Body, TheService, json_response, refuse_invalid
from fonds.web.serving.parameters import parse_id, parse_name
from fonds.web.serving.problems import RESPONSES

KEY = "documents"
router = APIRouter(responses=RESPONSES, tags=["documents"], dependencies=[READS])


@router.get("/documents/{ns}/{id}", response_model=DocumentOut, summary="One document")
def get_document(service: TheService, ns: Namespace, id: Id) -> Response:  # noqa: A002
    """A document of the collection `documents` of a namespace."""
    return json_response(load_document(service, ns, KEY, id))


@router.put(
    "/documents/{ns}/{id}",
    status_code=201,
    response_model=PutOut,
    openapi_extra=bodies.DOCUMENT,
    summary="Put a document into the namespace",
    dependencies=[CURATES],
)
def put_document(service: TheService, body: Body, ns: Namespace, id: Id) -> Response:  # noqa: A002
    """Into its collection `documents`, which is made where it is not there."""
    name = parse_name(ns, KEY)
    sent = parse_document(body, parse_id(id))
    with refuse_invalid():
        done = service.writing().put(name, [sent])
    where = build_path("documents", ns, id)
    said = PutOut(where, 1, done.added, done.replaced, done.unchanged)
    return json_response(said, 201, {"Location": where})


@router.delete(
    "/documents/{ns}/{id}",
    status_code=204,
    response_class=Response,
    summary="Take it out",
    dependencies=[CURATES],
)
def delete_document(service: TheService, ns: Namespace, id: Id) -> Response:  # noqa: A002
    """204 also where there is none, as it was."""
    name = parse_name(ns, KEY)
    parse_id(id)
    if service.are_there():
        service.writing().delete(name, [id])
    return Response(status_code=204)
