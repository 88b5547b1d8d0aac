"""Page of the documents of a theme that are dated within a range of days, or have no date."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.grouping.names import build_level_conf, build_unclustered_conf
from fonds.grouping.views.clusterings import ClusteringView
from fonds.grouping.views.clusters import ClusterView, find_cluster
from fonds.grouping.views.timeline import UNDATED, DocumentSample, list_sampled_members
from fonds.model.encoding import pluralize
from fonds.ports import Stores
from fonds.web.access.roles import READS
from fonds.web.html.rendering import OpenStores, build_pager, build_url, render_page
from fonds.web.pages.document_lines import DocumentLine, build_document_lines
from fonds.web.pages.theme_links import (
    API,
    link_to_collection,
    link_to_reason,
    link_to_theme,
    unquote_part,
)
from fonds.web.pages.theme_selection import (
    CONF,
    LEVEL,
    TIMESTAMP_FIELD,
    Selection,
    resolve_selection,
)
from fonds.web.pages.theme_timelines import to_date
from fonds.web.pages.unclustered import UNCLUSTERED_REASONS
from fonds.web.serving.json_requests import TheService
from fonds.web.serving.parameters import Day, shorten
from fonds.wiring.collections import CollectionService

PAGE_SIZE = 20
PAGES_MAX = 1_000
THEME_DOCUMENTS_PATH = "/themes/{namespace}/{key}/{theme}/documents"
UNCLUSTERED_DOCUMENTS_PATH = "/themes/{namespace}/{key}/unclustered/{reason}/documents"

router = APIRouter(tags=["themes"], dependencies=[READS])


class ThemeDocumentsForm(BaseModel):
    """Query parameters that select a clustering of a collection and documents of a theme by
    date.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    at: int | None = TIMESTAMP_FIELD
    level: int = LEVEL
    from_: Day = Field(None, alias="from", description="First day, YYYY-MM-DD; empty for any")
    to: Day = Field(None, description="Last day, YYYY-MM-DD; empty for any")
    undated: bool = Field(False, description="Only documents without a date")
    page: int = Field(
        1, ge=1, le=PAGES_MAX, description="Page number, from 1; 20 documents per page"
    )


@dataclass(frozen=True, slots=True)
class DocumentGroup:
    """A theme, or the unclustered documents with one reason, as a request names it.

    `word`: id or label of the theme; if `is_reason`, the reason why the documents are unclustered.
    """

    word: str
    is_reason: bool = False

    def build_url(self, selection: Selection, **params: Any) -> str:
        """Build the URL of the page with all documents of the theme, or all unclustered documents
        with the reason.
        """
        return (link_to_reason if self.is_reason else link_to_theme)(
            selection.name, self.word, **params
        )


@dataclass(frozen=True, slots=True)
class ThemeDocumentsPage:
    """Documents of a theme, or unclustered documents with one reason, 20 per page in order of id.

    `total`: number of matching documents.
    `name`: the name a curator gave the theme, '' if none.
    `complete`: False if the collection has more documents than were searched, the first 20,000 by
        id.
    """

    answer: str
    namespace: str
    key: str
    conf: str
    theme: str
    name: str
    total: int
    complete: bool
    page: int
    pages: int
    documents: Sequence[DocumentLine]


def build_theme_documents_page(
    stores: Stores,
    collections: CollectionService,
    selection: Selection,
    group: DocumentGroup,
    form: ThemeDocumentsForm,
) -> ThemeDocumentsPage:
    """Build a page of the documents of a theme, or of the unclustered documents with one reason.

    Raises HTTPException 404 for an unknown theme or reason.
    """
    clustering = selection.clustering
    if clustering is None:
        raise HTTPException(404, f"{selection.name} has not been grouped by {selection.conf} yet.")
    cluster = _find_theme(collections, selection, clustering, group)
    sample = collections.times.get(
        collections.tables,
        selection.name,
        selection.conf,
        clustering.timestamp,
        level=selection.level,
    )
    label = cluster.label if cluster else group.word
    matches = _select_documents(sample, label, cluster is not None, form)
    page_numbers = matches[(form.page - 1) * PAGE_SIZE : form.page * PAGE_SIZE]
    conf = (
        build_level_conf(selection.conf, selection.level)
        if cluster
        else build_unclustered_conf(selection.conf)
    )
    members = list_sampled_members(
        collections.tables,
        selection.name,
        conf,
        clustering.timestamp,
        [sample.get_id(number) for number in page_numbers],
    )
    return ThemeDocumentsPage(
        answer=_build_heading(
            len(matches), cluster.display_name if cluster else UNCLUSTERED_REASONS[label], form
        ),
        namespace=selection.name.namespace,
        key=selection.name.key,
        conf=selection.conf,
        theme=label,
        name=cluster.name if cluster else "",
        total=len(matches),
        complete=sample.is_complete,
        page=form.page,
        pages=max(1, -(-len(matches) // PAGE_SIZE)),
        documents=build_document_lines(stores.index, selection, members),
    )


def _find_theme(
    collections: CollectionService,
    selection: Selection,
    clustering: ClusteringView,
    group: DocumentGroup,
) -> ClusterView | None:
    """Return the theme that `group` names, None if `group` is the unclustered documents with one
    reason.

    Raises HTTPException 404 if there is no such theme or reason.
    """
    cluster, excerpt = None, shorten(group.word, 200)
    if not group.is_reason:
        cluster = find_cluster(
            collections.tables, selection.name, group.word, selection.conf, clustering.timestamp,
            level=selection.level, top=0,
        )  # fmt: skip
        if cluster is None:
            raise HTTPException(404, f"{selection.name} has no theme “{excerpt}”.")
    elif group.word not in UNCLUSTERED_REASONS:
        raise HTTPException(404, f"“{excerpt}” is not a reason for a missing theme.")
    return cluster


def _select_documents(
    sample: DocumentSample, label: str, is_theme: bool, form: ThemeDocumentsForm
) -> list[int]:
    """Return the positions, in the sample, of the documents of a theme, or unclustered for one
    reason, whose dates match the form.

    `label`: label of the theme or, unless `is_theme`, the reason why the documents are unclustered.
    """
    labels = sample.labels
    space = range(sample.clusters) if is_theme else range(sample.clusters, len(labels))
    label_number = next((index for index in space if labels[index] == label), None)
    if label_number is None:
        return []
    return [
        index
        for index, place in enumerate(sample.places)
        if place == label_number and _is_dated(sample.days[index], form)
    ]


def _is_dated(day: int, form: ThemeDocumentsForm) -> bool:
    if form.undated or day == UNDATED:
        return day == UNDATED and (form.undated or not (form.from_ or form.to))
    date = to_date(day)
    return not ((form.from_ and date < form.from_) or (form.to and date > form.to))


def _build_heading(count: int, label: str, form: ThemeDocumentsForm) -> str:
    heading = f"{pluralize(count, 'document')} in “{shorten(label, 120)}”"
    if form.undated:
        heading += " without a date"
    elif form.from_ or form.to:
        heading += _format_days(form.from_, form.to)
    return heading


def _format_days(first: dt.date | None, last: dt.date | None) -> str:
    if first and last:
        return f" of {first}" if first == last else f" from {first} to {last}"
    return f" since {first}" if first else f" up to {last}"


def _html(
    request: Request,
    stores: Stores,
    collections: CollectionService,
    selection: Selection,
    group: DocumentGroup,
    form: ThemeDocumentsForm,
) -> HTMLResponse:
    page = build_theme_documents_page(stores, collections, selection, group, form)
    page_url = f"{group.build_url(selection)}/documents"
    params = form.model_dump(by_alias=True, exclude_defaults=True, exclude={"page"}, mode="json")
    return render_page(
        request,
        "theme_documents.html",
        heading=page.answer,
        page=page,
        name=selection.name,
        conf=selection.conf,
        is_theme=not group.is_reason,
        theme_href=group.build_url(selection, **selection.build_params()),
        collection_href=link_to_collection(selection.name, **selection.build_params()),
        pictured=any(document.thumbnail_href for document in page.documents),
        pager=build_pager(page_url, params, page.total, form.page, PAGE_SIZE, PAGES_MAX),
        api_href=f"{API}{build_url(page_url, **params, page=form.page)}",
    )


@router.get(UNCLUSTERED_DOCUMENTS_PATH, include_in_schema=False)
def unclustered_documents_html(
    request: Request,
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    reason: str,
    form: Annotated[ThemeDocumentsForm, Query()],
) -> HTMLResponse:
    """Show the matching unclustered documents with one reason."""
    selection = resolve_selection(collections, namespace, key, form)
    return _html(
        request, stores, collections, selection, DocumentGroup(unquote_part(reason), True), form
    )


@router.get(
    f"/api{UNCLUSTERED_DOCUMENTS_PATH}",
    summary="Documents without a theme, by day",
    operation_id="list_unclustered_documents",
)
def unclustered_documents_json(
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    reason: str,
    form: Annotated[ThemeDocumentsForm, Query()],
) -> ThemeDocumentsPage:
    """List unclustered documents with one reason by date, 20 per page in order of id."""
    selection = resolve_selection(collections, namespace, key, form)
    return build_theme_documents_page(
        stores, collections, selection, DocumentGroup(unquote_part(reason), True), form
    )


@router.get(THEME_DOCUMENTS_PATH, include_in_schema=False)
def theme_documents_html(
    request: Request,
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    theme: str,
    form: Annotated[ThemeDocumentsForm, Query()],
) -> HTMLResponse:
    """Show the matching documents of a theme."""
    selection = resolve_selection(collections, namespace, key, form)
    return _html(request, stores, collections, selection, DocumentGroup(unquote_part(theme)), form)


@router.get(
    f"/api{THEME_DOCUMENTS_PATH}",
    summary="Documents of a theme, by day",
    operation_id="list_theme_documents",
)
def theme_documents_json(
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    theme: str,
    form: Annotated[ThemeDocumentsForm, Query()],
) -> ThemeDocumentsPage:
    """List documents of a theme by date, 20 per page in order of id."""
    selection = resolve_selection(collections, namespace, key, form)
    return build_theme_documents_page(
        stores, collections, selection, DocumentGroup(unquote_part(theme)), form
    )
