"""Documents of a namespace without a collection of their own: they are in the collection `documents` of it.

Source: Grouperfish v0.1's REST: /documents/<ns>/<id>.
"""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from fonds.web.access.declared import CURATES, READS
from fonds.web.parameters import id_named, named
from fonds.web.problems import RESPONSES
from fonds.web.rest.bodies import schemas
from fonds.web.rest.bodies.documents import document
from fonds.web.rest.collections import DocumentTold, Put, found_document
from fonds.web.rest.paths import Id, Namespace, href
from fonds.web.rest.service import Body, TheService, judged, told

KEY = "documents"
router = APIRouter(responses=RESPONSES, tags=["documents"], dependencies=[READS])


@router.get("/documents/{ns}/{id}", response_model=DocumentTold, summary="One document")
def get_document(service: TheService, ns: Namespace, id: Id) -> Response:  # noqa: A002
    """A document of the collection `documents` of a namespace."""
    return told(found_document(service, ns, KEY, id))


@router.put(
    "/documents/{ns}/{id}",
    status_code=201,
    response_model=Put,
    openapi_extra=schemas.DOCUMENT,
    summary="Put a document into the namespace",
    dependencies=[CURATES],
)
def put_document(service: TheService, body: Body, ns: Namespace, id: Id) -> Response:  # noqa: A002
    """Into its collection `documents`, which is made where it is not there."""
    name = named(ns, KEY)
    sent = document(body, id_named(id))
    with judged():
        done = service.writing().put(name, [sent])
    where = href("documents", ns, id)
    said = Put(where, 1, done.added, done.replaced, done.unchanged)
    return told(said, 201, {"Location": where})


@router.delete(
    "/documents/{ns}/{id}",
    status_code=204,
    response_class=Response,
    summary="Take it out",
    dependencies=[CURATES],
)
def delete_document(service: TheService, ns: Namespace, id: Id) -> Response:  # noqa: A002
    """204 also where there is none, as it was."""
    name = named(ns, KEY)
    id_named(id)
    if service.are_there():
        service.writing().delete(name, [id])
    return Response(status_code=204)
