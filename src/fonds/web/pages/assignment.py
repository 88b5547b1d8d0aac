"""One document of a collection: which theme it is in, and which of its terms put it there."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.grouping.names import ID_MAX_CHARS
from fonds.grouping.views.clusters import ClusterMember
from fonds.grouping.views.curation import (
    list_theme_ids,
    load_exclusions,
    load_label_names,
    load_theme_names,
)
from fonds.grouping.views.documents import (
    DocumentPlacement,
    TermEvidence,
    explain_placement,
    find_document,
    list_placements,
)
from fonds.ports import Stores
from fonds.web.access.roles import READS
from fonds.web.html.rendering import OpenStores, render_page, to_datetime
from fonds.web.pages.document_lines import DocumentLine, build_document_lines
from fonds.web.pages.theme_links import (
    API,
    link_to_assignment,
    link_to_collection,
    link_to_reason,
    link_to_theme,
)
from fonds.web.pages.theme_selection import CONF, Selection, ServedConfiguration, resolve_selection
from fonds.web.pages.unclustered import UNCLUSTERED_REASONS
from fonds.web.serving.json_requests import TheService
from fonds.web.serving.parameters import shorten
from fonds.wiring.collections import CollectionService

TERMS_MAX = 15
PLACES_MAX = 50
BEGINNING_CHARS = 600

router = APIRouter(dependencies=[READS])


class AssignmentForm(BaseModel):
    """Which document, and by which configuration it was grouped."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1, max_length=ID_MAX_CHARS, description="The document's id")
    conf: str = CONF


@dataclass(frozen=True, slots=True)
class TermShare:
    """A term of the document and its `share`, in parts of 100, of all that speaks for its theme against the
    next one; below 0 where it speaks for the other."""

    term: str
    share: float


@dataclass(frozen=True, slots=True)
class PlacementLine:
    """Where the document is by a configuration: in the theme `label` of a level, or in none for the
    reason `apart`. `name`: what a curator called the theme, '' where nobody did."""

    conf: str
    at: dt.datetime | None
    level: int
    label: str | None
    name: str
    href: str
    score: float
    apart: str | None
    original_href: str | None


@dataclass(frozen=True, slots=True)
class ThemeExclusion:
    """A theme the document does not belong in, by its id, as it was labelled then and is called now; `href`
    None where it is there no more."""

    theme: str
    label: str
    name: str
    href: str | None
    at: dt.datetime | None


@dataclass(frozen=True, slots=True)
class AssignmentPage:
    """Why a document is where it is, by the model that placed it.

    `terms` are those that speak for its theme most, against the next one. `reach` is the least score its
    theme asks of documents that come later. `label` None: it is in no theme, `apart` says why. `name` and
    `next_name`: what curators called the themes, '' where nobody did. `excluded`: the themes it was taken
    out of.
    """

    answer: str
    namespace: str
    key: str
    conf: str
    line: DocumentLine
    beginning: str
    label: str | None
    name: str
    theme_id: str | None
    theme_href: str | None
    apart: str | None
    score: float
    reach: float | None
    next_label: str | None
    next_name: str
    next_href: str | None
    terms: Sequence[TermShare]
    excluded: Sequence[ThemeExclusion]
    places: Sequence[PlacementLine]


def build_assignment_page(
    stores: Stores, collections: CollectionService, selection: Selection, document_id: str
) -> AssignmentPage:
    """The document. Raises HTTPException 404 where the collection has none of this id."""
    found = find_document(collections.tables, selection.name, document_id)
    if found is None:
        said = f"{selection.name} has no document of the id “{shorten(document_id, 200)}”."
        raise HTTPException(404, said)
    told = explain_placement(
        collections.tables,
        collections.changes.models,
        selection.name,
        document_id,
        selection.conf,
        terms_max=TERMS_MAX,
    )
    place = told.place if told else None
    score = place.score if place else 0.0
    member = ClusterMember(found.id, score, found.title, found.url, found.time)
    (line,) = build_document_lines(stores.index, selection, [member])
    label = place.label if place else None
    called = (place.name if place else "") or label
    return AssignmentPage(
        answer=f"Why it is in “{called}”" if label else "Why it is in no theme",
        namespace=selection.name.namespace,
        key=selection.name.key,
        conf=selection.conf,
        line=line,
        beginning=shorten(" ".join(found.text[: 4 * BEGINNING_CHARS].split()), BEGINNING_CHARS),
        label=label,
        name=place.name if place else "",
        theme_id=place.cluster_id if place else None,
        theme_href=_choose_theme_link(selection, place.cluster_id if place else None),
        apart=place.apart if place else None,
        score=score,
        reach=told.reach if told else None,
        next_label=told.next_label if told else None,
        next_name=_find_theme_name(collections, selection, told.next_label if told else None),
        next_href=_choose_theme_link(selection, told.next_label if told else None),
        terms=_build_term_shares(told.terms if told else ()),
        excluded=_list_exclusions(collections, selection, document_id),
        places=_build_placement_lines(collections, selection, document_id),
    )


def _list_exclusions(
    collections: CollectionService, selection: Selection, document_id: str
) -> list[ThemeExclusion]:
    told = load_exclusions(collections.tables, selection.name, [document_id]).get(document_id, {})
    if not told:
        return []
    at, names = (
        selection.clustering,
        load_theme_names(collections.tables, selection.name, selection.conf),
    )
    known = (
        list_theme_ids(collections.tables, selection.name, selection.conf, at.timestamp)
        if at
        else set()
    )
    return [
        ThemeExclusion(
            theme, said.label, names.get(theme, ""),
            _choose_theme_link(selection, theme) if theme in known else None, to_datetime(said.at),
        )
        for (conf, theme), said in sorted(told.items())
        if conf == selection.conf
    ]  # fmt: skip


def _find_theme_name(
    collections: CollectionService, selection: Selection, label: str | None
) -> str:
    at = selection.clustering
    if label is None or at is None:
        return ""
    names = load_label_names(
        collections.tables, selection.name, selection.conf, at.timestamp, [label]
    )
    return names.get(label, "")


def _build_term_shares(terms: Sequence[TermEvidence]) -> list[TermShare]:
    whole = sum(one.speaks for one in terms if one.speaks > 0) or 1.0
    return [TermShare(one.term, round(100 * one.speaks / whole, 1)) for one in terms]


def _choose_theme_link(selection: Selection, theme: str | None) -> str | None:
    return (
        link_to_theme(selection.name, theme, conf=selection.build_params()["conf"])
        if theme
        else None
    )


def _build_placement_lines(
    collections: CollectionService, selection: Selection, document_id: str
) -> list[PlacementLine]:
    return [
        PlacementLine(
            one.conf,
            to_datetime(one.timestamp),
            one.level,
            one.label,
            one.name,
            _link_to_placement(selection, one),
            one.score,
            one.apart,
            link_to_assignment(selection.name, one.original, conf=one.conf)
            if one.original
            else None,
        )
        for one in list_placements(collections.tables, selection.name, document_id)[:PLACES_MAX]
    ]


def _link_to_placement(selection: Selection, placement: DocumentPlacement) -> str:
    if placement.label is None:
        return link_to_reason(selection.name, placement.apart or "", conf=placement.conf)
    theme = placement.cluster_id or placement.label
    return link_to_theme(selection.name, theme, conf=placement.conf, level=placement.level or None)


@router.get("/themes/{namespace}/{key}/document", include_in_schema=False)
def assignment_html(
    request: Request,
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    form: Annotated[AssignmentForm, Query()],
) -> HTMLResponse:
    """Why a document is where it is."""
    there = resolve_selection(collections, namespace, key, ServedConfiguration(form.conf))
    found = build_assignment_page(stores, collections, there, form.id)
    here = link_to_assignment(there.name, form.id, conf=form.conf)
    return render_page(
        request,
        "placed.html",
        heading=found.answer,
        found=found,
        name=there.name,
        collection_href=link_to_collection(there.name, conf=there.build_params()["conf"]),
        why_apart=UNCLUSTERED_REASONS,
        act_href=link_to_collection(there.name),
        most=max((one.share for one in found.terms), default=0.0),
        api_href=f"{API}{here}",
    )


@router.get("/api/themes/{namespace}/{key}/document", summary="Why a document is in its theme")
def assignment_json(
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    form: Annotated[AssignmentForm, Query()],
) -> AssignmentPage:
    """A document by its id: its theme, its score, and the terms that speak for it."""
    there = resolve_selection(collections, namespace, key, ServedConfiguration(form.conf))
    return build_assignment_page(stores, collections, there, form.id)
