"""Results: what is served of a collection by a configuration, as v0.1 tells it.

Source: Grouperfish v0.1's REST: /results/<ns>/<transform>/<query>.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from fonds.grouping.document import COLUMNS, Document, parse_document
from fonds.grouping.names import CollectionName
from fonds.grouping.tables import DOCUMENTS
from fonds.grouping.views import clusters as reading
from fonds.grouping.views.clusterings import list_clusterings
from fonds.web.access.roles import READS
from fonds.web.api.clusters import build_etag, choose_clustering_time, is_known
from fonds.web.api.configurations import TOP_DOCUMENTS
from fonds.web.api.paths import Conf, Namespace, QueryName
from fonds.web.serving.json_requests import TheService, json_response
from fonds.web.serving.parameters import parse_name
from fonds.web.serving.problems import RESPONSES, RefusedError
from fonds.wiring.collections import CollectionService

DOCUMENTS_MAX = 10_000
TEXT_MAX_CHARS = 2_000
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
class ResultMeta:
    """By what and of what it was built; `date` is when that began."""

    transform: str
    date: str
    query: str
    input_size: int


@dataclass(frozen=True, slots=True)
class Results:
    """The last result."""

    clusters: list[ResultCluster]
    meta: ResultMeta


@router.get("/results/{ns}/{conf}/{name}", response_model=Results, summary="The last result")
def get_results(
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
    found = service.collection(parse_name(ns, name))
    time = choose_clustering_time(service, found.name, conf, None)
    etag = build_etag(service, found.name, time)
    if is_known(request, etag):
        return Response(status_code=304, headers={"ETag": etag})
    level = reading.load_clusters(service.tables, found.name, conf, time, top=0)
    if level is None:
        raise RefusedError(404, "The clustering was removed just now; ask again.", parameter="name")
    if len(level.clusters) * top > DOCUMENTS_MAX:
        said = f"These are over {DOCUMENTS_MAX:,} documents; ask for fewer of each cluster."
        raise RefusedError(413, said, parameter="top")
    shown = reading.load_clusters(service.tables, found.name, conf, time, top=top) or level
    documents = _load_documents(
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
        one for one in list_clusterings(service.tables, found.name, conf) if one.timestamp == time
    )
    date = datetime.fromtimestamp(time, UTC).isoformat()
    meta = ResultMeta(conf, date, name, built.documents)
    return json_response(Results(listed, meta), headers={"ETag": etag})


def _load_documents(
    service: CollectionService, name: CollectionName, ids: list[str]
) -> dict[str, TopDocument]:
    """The documents by id; those that are gone meanwhile are left out."""
    rows = service.tables.get_rows(
        DOCUMENTS, [name.build_document_row(id_) for id_ in ids], COLUMNS
    )
    found = (parse_document(cells).document for cells in rows.values() if "main:id" in cells)
    return {one.id: _build_top_document(one) for one in found}


def _build_top_document(document: Document) -> TopDocument:
    text = document.text[:TEXT_MAX_CHARS]
    return TopDocument(
        document.id, text, document.title, document.url, document.language, document.time
    )
