"""Results: what is served of a collection by a configuration, as v0.1 tells it.

Source: Grouperfish v0.1's REST: /results/<ns>/<transform>/<query>.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from fonds.collections.documents import COLUMNS, Document, document_of
from fonds.collections.names import Name
from fonds.collections.reading import clusters as reading
from fonds.collections.reading.clusterings import clusterings
from fonds.collections.tables import DOCUMENTS
from fonds.web.access.declared import READS
from fonds.web.parameters import named
from fonds.web.problems import RESPONSES, RefusedError
from fonds.web.rest.clusters.routes import chosen, etag_of, is_known
from fonds.web.rest.configurations import TOP_DOCUMENTS
from fonds.web.rest.paths import Conf, Namespace, QueryName
from fonds.web.rest.service import TheService, told
from fonds.wiring.recurring.collections import CollectionService

DOCUMENTS_TOLD_MAX = 10_000
TEXT_TOLD_CHARACTERS = 2_000
router = APIRouter(responses=RESPONSES, tags=["results"], dependencies=[READS])


@dataclass(frozen=True, slots=True)
class TopDocument:
    """A document of a cluster; of its text the beginning, 2,000 characters at most."""

    id: str
    text: str
    title: str
    url: str
    language: str
    time: int | None


@dataclass(frozen=True, slots=True)
class ResultCluster:
    """A cluster: its documents with the highest scores, and its terms, the strongest first."""

    top_documents: list[TopDocument]
    top_terms: list[str]


@dataclass(frozen=True, slots=True)
class Meta:
    """By what and of what it was built; `date` is when that began."""

    transform: str
    date: str
    query: str
    input_size: int


@dataclass(frozen=True, slots=True)
class Results:
    """The last result."""

    clusters: list[ResultCluster]
    meta: Meta


@router.get("/results/{ns}/{conf}/{name}", response_model=Results, summary="The last result")
def results(
    service: TheService,
    request: Request,
    ns: Namespace,
    conf: Conf,
    name: QueryName,
    top: Annotated[
        int, Query(ge=0, le=100, description="Documents of each cluster")
    ] = TOP_DOCUMENTS,
) -> Response:
    """The largest clusters first. 413 where that is over 10,000 documents: ask for fewer of each."""
    found = service.collection(named(ns, name))
    time = chosen(service, found.name, conf, None)
    etag = etag_of(service, found.name, time)
    if is_known(request, etag):
        return Response(status_code=304, headers={"ETag": etag})
    level = reading.clusters(service.tables, found.name, conf, time, top=0)
    if level is None:
        raise RefusedError(404, "The clustering was removed just now; ask again.", parameter="name")
    if len(level.clusters) * top > DOCUMENTS_TOLD_MAX:
        said = f"These are over {DOCUMENTS_TOLD_MAX:,} documents; ask for fewer of each cluster."
        raise RefusedError(413, said, parameter="top")
    shown = reading.clusters(service.tables, found.name, conf, time, top=top) or level
    documents = _documents(
        service, found.name, [each.id for one in shown.clusters for each in one.top]
    )
    listed = [
        ResultCluster(
            [documents[each.id] for each in one.top if each.id in documents],
            [term for term, _ in one.terms],
        )
        for one in shown.clusters
    ]
    built = next(
        one for one in clusterings(service.tables, found.name, conf) if one.timestamp == time
    )
    date = datetime.fromtimestamp(time, UTC).isoformat()
    meta = Meta(conf, date, name, built.documents)
    return told(Results(listed, meta), headers={"ETag": etag})


def _documents(service: CollectionService, name: Name, ids: list[str]) -> dict[str, TopDocument]:
    """The documents by id; those that are gone meanwhile are left out."""
    rows = service.tables.rows(DOCUMENTS, [name.document(id_) for id_ in ids], COLUMNS)
    found = (document_of(cells).document for cells in rows.values() if "main:id" in cells)
    return {one.id: _told(one) for one in found}


def _told(one: Document) -> TopDocument:
    text = one.text[:TEXT_TOLD_CHARACTERS]
    return TopDocument(one.id, text, one.title, one.url, one.language, one.time)
