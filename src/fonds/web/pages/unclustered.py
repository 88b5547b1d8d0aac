"""Pages of unclustered documents, of one reason or all reasons, at URLs that no page of a theme can
have.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import HTMLResponse

from fonds.grouping.views.clusters import MemberPage, list_unclustered_members, load_clusters
from fonds.grouping.views.cursors import decode_cursor, encode_cursor
from fonds.model.encoding import pluralize
from fonds.model.suggestions import format_unknown_name
from fonds.ports import Stores
from fonds.web.access.roles import READS
from fonds.web.html.paging import AFTER, refuse_invalid_cursor
from fonds.web.html.rendering import OpenStores, build_url, capitalize, render_page, to_datetime
from fonds.web.pages.document_lines import DocumentLine, build_document_lines
from fonds.web.pages.theme_links import API, link_to_collection, link_to_reason, unquote_part
from fonds.web.pages.theme_selection import CONF, TIMESTAMP_FIELD, Selection, resolve_selection
from fonds.web.serving.csv_tables import add_csv_route
from fonds.web.serving.json_requests import TheService
from fonds.web.serving.parameters import shorten
from fonds.wiring.collections import CollectionService

# Reasons, counts and links of unclustered documents.


UNCLUSTERED_REASONS = {
    "outlier": "not similar enough to any theme",
    "short": "too short",
    "language": "in a language that is not grouped",
    "vector": "without a vector of the required length",
    "field": "without the required fields",
    "empty": "without usable words",
    "excluded": "removed from a theme, and not similar enough to another",
}
EXPLAINED = {
    "outlier": "The next rebuild compares these documents again.",
    "short": "These documents have fewer characters than characters_min of the configuration.",
    "language": "The configuration groups only documents in its languages.",
    "vector": "The configuration requires a vector of the length dense for each document.",
    "field": "The configuration groups only documents with the fields in where.",
    "excluded": "A curator removed these documents from a theme. They stay out of it after every rebuild.",
    "empty": "These documents are empty or contain only stop words and numbers.",
}


@dataclass(frozen=True, slots=True)
class UnclusteredLine:
    """Number of documents that are unclustered for one reason."""

    reason: str
    explanation: str
    count: int
    href: str


def link_to_unclustered(selection: Selection, reason: str = "") -> str:
    """Return the URL of the unclustered documents with one reason, or of all of them if `reason` is
    ''.

    The URL is the same for all levels.
    """
    return link_to_reason(selection.name, reason, **{**selection.build_params(), "level": None})


def build_unclustered_lines(
    selection: Selection, unclustered_count: Mapping[str, int]
) -> list[UnclusteredLine]:
    """Build a line with the number of documents for each reason why documents are unclustered.
    Reasons without documents are left out.
    """
    return [
        UnclusteredLine(
            reason,
            UNCLUSTERED_REASONS.get(reason, reason),
            count,
            link_to_unclustered(selection, reason),
        )
        for reason, count in unclustered_count.items()
        if count
    ]


def build_heading(reason: str, size: int) -> str:
    """Return the number of unclustered documents with a reason ('' for any) as a heading."""
    return f"{pluralize(size, 'document')} {UNCLUSTERED_REASONS.get(reason, 'without a theme')}"


PAGE_SIZE = 20
PATH = "/themes/{namespace}/{key}/unclustered"

router = APIRouter(tags=["themes"], dependencies=[READS])


class UnclusteredForm(BaseModel):
    """Query parameters that select a clustering of a collection and a page of its unclustered
    documents.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    at: int | None = TIMESTAMP_FIELD
    after: str = AFTER

    @property
    def level(self) -> int:
        """Return 0: a document that is unclustered at the first level is so at all levels."""
        return 0


@dataclass(frozen=True, slots=True)
class UnclusteredPage:
    """One page of the unclustered documents of a clustering, 20 per page, sorted by reason.

    `reason`: the only reason that is listed, None if all reasons are listed.
    `size`: number of unclustered documents on all pages.
    `reasons`: number of unclustered documents by reason.
    `next`: value of the parameter `after` for the next page, None on the last page.
    """

    answer: str
    namespace: str
    key: str
    conf: str
    shown_at: dt.datetime | None
    reason: str | None
    size: int
    reasons: Sequence[UnclusteredLine]
    documents: Sequence[DocumentLine]
    next: str | None


def build_unclustered_page(
    stores: Stores, collections: CollectionService, selection: Selection, reason: str, after: str
) -> UnclusteredPage:
    """Build the page of unclustered documents with one reason ('' for any).

    Raises HTTPException 404 for an unknown reason, 400 for an invalid `after`.
    """
    clustering = selection.clustering
    if clustering is None:
        raise HTTPException(404, f"{selection.name} has not been grouped by {selection.conf} yet.")
    if reason and reason not in UNCLUSTERED_REASONS:
        message = format_unknown_name(
            "reason for a missing theme", shorten(reason, 200), UNCLUSTERED_REASONS
        )
        raise HTTPException(404, f"{capitalize(message)}.")
    level = load_clusters(
        collections.tables, selection.name, selection.conf, clustering.timestamp, top=0
    )
    counts = level.unclustered if level else {}
    with refuse_invalid_cursor():
        members = list_unclustered_members(
            collections.tables, selection.name, selection.conf, clustering.timestamp,
            reason=reason, after=decode_cursor(after), count_max=PAGE_SIZE,
        )  # fmt: skip
    member_page = members or MemberPage((), None)
    size = counts.get(reason, 0) if reason else sum(counts.values())
    return UnclusteredPage(
        answer=build_heading(reason, size),
        namespace=selection.name.namespace,
        key=selection.name.key,
        conf=selection.conf,
        shown_at=to_datetime(clustering.timestamp),
        reason=reason or None,
        size=size,
        reasons=build_unclustered_lines(selection, counts),
        documents=build_document_lines(stores.index, selection, member_page.members),
        next=None if member_page.after is None else encode_cursor(member_page.after),
    )


def _html(
    request: Request, selection: Selection, unclustered_page: UnclusteredPage, after: str
) -> HTMLResponse:
    page_url, params = (
        link_to_reason(selection.name, unclustered_page.reason or ""),
        selection.build_params(),
    )
    return render_page(
        request,
        "unclustered.html",
        heading=unclustered_page.answer,
        page=unclustered_page,
        name=selection.name,
        conf=selection.conf,
        is_served=selection.clustering is not None and selection.clustering.is_served,
        collection_href=link_to_collection(selection.name, **params),
        newest_href=link_to_collection(selection.name, conf=params["conf"]),
        every_href=link_to_unclustered(selection),
        explanation=EXPLAINED.get(unclustered_page.reason or "", ""),
        pictured=any(document.file_href for document in unclustered_page.documents),
        first_page_href=build_url(page_url, **params) if after else None,
        next_href=build_url(page_url, **params, after=unclustered_page.next)
        if unclustered_page.next
        else None,
        api_href=f"{API}{build_url(page_url, **params, after=after)}",
    )


@router.get(PATH, include_in_schema=False)
def every_html(
    request: Request,
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    form: Annotated[UnclusteredForm, Query()],
) -> HTMLResponse:
    """Show the unclustered documents and their number by reason."""
    selection = resolve_selection(collections, namespace, key, form)
    return _html(
        request,
        selection,
        build_unclustered_page(stores, collections, selection, "", form.after),
        form.after,
    )


@router.get(f"{PATH}/{{reason}}", include_in_schema=False)
def unclustered_html(
    request: Request,
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    reason: str,
    form: Annotated[UnclusteredForm, Query()],
) -> HTMLResponse:
    """Show the unclustered documents with one reason."""
    selection = resolve_selection(collections, namespace, key, form)
    page = build_unclustered_page(stores, collections, selection, unquote_part(reason), form.after)
    return _html(request, selection, page, form.after)


@add_csv_route(router, PATH, lambda page: page.documents)
@router.get(f"/api{PATH}", summary="Documents without a theme", operation_id="get_unclustered")
def every_json(
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    form: Annotated[UnclusteredForm, Query()],
) -> UnclusteredPage:
    """List the unclustered documents, 20 per page, sorted by reason, and their number by reason."""
    selection = resolve_selection(collections, namespace, key, form)
    return build_unclustered_page(stores, collections, selection, "", form.after)


@add_csv_route(router, f"{PATH}/{{reason}}", lambda page: page.documents)
@router.get(
    f"/api{PATH}/{{reason}}",
    summary="Documents without a theme, by reason",
    operation_id="get_unclustered_by_reason",
)
def unclustered_json(
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    reason: str,
    form: Annotated[UnclusteredForm, Query()],
) -> UnclusteredPage:
    """List the unclustered documents with one reason, 20 per page.

    The reasons are `outlier`, `short`, `language`, `field`, `vector`, `empty` and `excluded`.
    """
    selection = resolve_selection(collections, namespace, key, form)
    return build_unclustered_page(stores, collections, selection, unquote_part(reason), form.after)
