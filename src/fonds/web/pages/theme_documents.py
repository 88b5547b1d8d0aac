"""Documents of a theme that are dated within some days, or that have no date."""

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
from fonds.grouping.views.timeline import UNDATED, DocumentSample, list_placed_members
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
UNCLUSTERED_DOCUMENTS_PATH = "/themes/{namespace}/{key}/apart/{reason}/documents"

router = APIRouter(dependencies=[READS])


class ThemeDocumentsForm(BaseModel):
    """Which documents of a theme, of which clustering."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    at: int | None = TIMESTAMP_FIELD
    level: int = LEVEL
    from_: Day = Field(None, alias="from", description="First day, YYYY-MM-DD; empty for any")
    to: Day = Field(None, description="Last day, YYYY-MM-DD; empty for any")
    undated: bool = Field(False, description="Only documents without a date")
    page: int = Field(1, ge=1, le=PAGES_MAX, description="Page of 20 documents, from 1")


@dataclass(frozen=True, slots=True)
class DocumentGroup:
    """A theme by its id or label, or a reason to be in none."""

    word: str
    is_reason: bool = False

    def build_url(self, selection: Selection, **params: Any) -> str:
        """The page of all its documents."""
        return (link_to_reason if self.is_reason else link_to_theme)(
            selection.name, self.word, **params
        )


@dataclass(frozen=True, slots=True)
class ThemeDocumentsPage:
    """Documents of a theme, or of those apart for a reason, 20 a page in the order of their ids; `total`
    counts all that are asked for. `name`: what a curator called the theme, '' where nobody did. `complete` is
    False where the collection has more than were looked at, the first 20,000 by id."""

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
    """Return a page of the documents. Raises HTTPException 404 for an unknown theme or reason."""
    at = selection.clustering
    if at is None:
        raise HTTPException(404, f"{selection.name} was not grouped by {selection.conf} yet.")
    one = _find_theme(collections, selection, at, group)
    looked = collections.times.get(
        collections.tables, selection.name, selection.conf, at.timestamp, level=selection.level
    )
    label = one.label if one else group.word
    found = _select_documents(looked, label, one is not None, form)
    some = found[(form.page - 1) * PAGE_SIZE : form.page * PAGE_SIZE]
    conf = (
        build_level_conf(selection.conf, selection.level)
        if one
        else build_unclustered_conf(selection.conf)
    )
    members = list_placed_members(
        collections.tables,
        selection.name,
        conf,
        at.timestamp,
        [looked.get_id(number) for number in some],
    )
    return ThemeDocumentsPage(
        answer=_build_heading(
            len(found), one.display_name if one else UNCLUSTERED_REASONS[label], form
        ),
        namespace=selection.name.namespace,
        key=selection.name.key,
        conf=selection.conf,
        theme=label,
        name=one.name if one else "",
        total=len(found),
        complete=looked.is_complete,
        page=form.page,
        pages=max(1, -(-len(found) // PAGE_SIZE)),
        documents=build_document_lines(stores.index, selection, members),
    )


def _find_theme(
    collections: CollectionService, selection: Selection, at: ClusteringView, group: DocumentGroup
) -> ClusterView | None:
    """The theme; None for a reason. Raises HTTPException 404 where there is neither."""
    found, shown = None, shorten(group.word, 200)
    if not group.is_reason:
        found = find_cluster(
            collections.tables, selection.name, group.word, selection.conf, at.timestamp,
            level=selection.level, top=0,
        )  # fmt: skip
        if found is None:
            raise HTTPException(404, f"{selection.name} has no theme “{shown}”.")
    elif group.word not in UNCLUSTERED_REASONS:
        raise HTTPException(404, f"“{shown}” is no reason to be in no theme.")
    return found


def _select_documents(
    sample: DocumentSample, label: str, is_theme: bool, form: ThemeDocumentsForm
) -> list[int]:
    """Return the numbers of the documents that match the form."""
    labels = sample.labels
    space = range(sample.clusters) if is_theme else range(sample.clusters, len(labels))
    wanted = next((at for at in space if labels[at] == label), None)
    if wanted is None:
        return []
    return [
        at
        for at, place in enumerate(sample.places)
        if place == wanted and _is_dated(sample.days[at], form)
    ]


def _is_dated(day: int, form: ThemeDocumentsForm) -> bool:
    if form.undated or day == UNDATED:
        return day == UNDATED and (form.undated or not (form.from_ or form.to))
    date = to_date(day)
    return not ((form.from_ and date < form.from_) or (form.to and date > form.to))


def _build_heading(count: int, label: str, form: ThemeDocumentsForm) -> str:
    said = f"{pluralize(count, 'document')} of “{shorten(label, 120)}”"
    if form.undated:
        said += " without a date"
    elif form.from_ or form.to:
        said += _format_days(form.from_, form.to)
    return said


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
    found = build_theme_documents_page(stores, collections, selection, group, form)
    here = f"{group.build_url(selection)}/documents"
    words = form.model_dump(by_alias=True, exclude_defaults=True, exclude={"page"}, mode="json")
    return render_page(
        request,
        "theme_documents.html",
        heading=found.answer,
        found=found,
        name=selection.name,
        conf=selection.conf,
        is_theme=not group.is_reason,
        theme_href=group.build_url(selection, **selection.build_params()),
        collection_href=link_to_collection(selection.name, **selection.build_params()),
        pictured=any(one.thumbnail_href for one in found.documents),
        pager=build_pager(here, words, found.total, form.page, PAGE_SIZE, PAGES_MAX),
        api_href=f"{API}{build_url(here, **words, page=form.page)}",
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
    """The documents asked for, of those in no theme for a reason."""
    there = resolve_selection(collections, namespace, key, form)
    return _html(
        request, stores, collections, there, DocumentGroup(unquote_part(reason), True), form
    )


@router.get(f"/api{UNCLUSTERED_DOCUMENTS_PATH}", summary="Documents in no theme, by day")
def unclustered_documents_json(
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    reason: str,
    form: Annotated[ThemeDocumentsForm, Query()],
) -> ThemeDocumentsPage:
    """Documents in no theme for a reason, by the days they are dated, 20 a page in the order of their ids."""
    there = resolve_selection(collections, namespace, key, form)
    return build_theme_documents_page(
        stores, collections, there, DocumentGroup(unquote_part(reason), True), form
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
    """The documents asked for, of a theme."""
    there = resolve_selection(collections, namespace, key, form)
    return _html(request, stores, collections, there, DocumentGroup(unquote_part(theme)), form)


@router.get(f"/api{THEME_DOCUMENTS_PATH}", summary="Documents of a theme, by day")
def theme_documents_json(
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    theme: str,
    form: Annotated[ThemeDocumentsForm, Query()],
) -> ThemeDocumentsPage:
    """Documents of a theme by the days they are dated, 20 a page in the order of their ids."""
    there = resolve_selection(collections, namespace, key, form)
    return build_theme_documents_page(
        stores, collections, there, DocumentGroup(unquote_part(theme)), form
    )
