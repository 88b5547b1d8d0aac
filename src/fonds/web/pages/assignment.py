"""Page of one document in a collection: the document's theme, and the terms that explain why the
document is in that theme.
"""

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

router = APIRouter(tags=["themes"], dependencies=[READS])


class AssignmentForm(BaseModel):
    """Query parameters: the id of a document, and the configuration that clustered the document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1, max_length=ID_MAX_CHARS, description="Id of the document")
    conf: str = CONF


@dataclass(frozen=True, slots=True)
class TermShare:
    """One term of a document, as evidence for the document's theme.

    `share`: percentage of all evidence for the document's theme over the second nearest theme.
        Negative if the term is evidence for the second nearest theme.
    """

    term: str
    share: float


@dataclass(frozen=True, slots=True)
class PlacementLine:
    """How one configuration assigned a document at one level: to a theme, or to no theme.

    `label`: label of the theme, None if the document is unclustered.
    `name`: name that a curator gave the theme, '' if none.
    `unclustered_reason`: why the document is in no theme, None if it is in one.
    `original_href`: if the document is a near-duplicate, address of the same page for the other
        document; None if not.
    """

    conf: str
    at: dt.datetime | None
    level: int
    label: str | None
    name: str
    href: str
    score: float
    unclustered_reason: str | None
    original_href: str | None


@dataclass(frozen=True, slots=True)
class ThemeExclusion:
    """A theme from which a curator excluded the document.

    `theme`: id of the theme.
    `label`: label of the theme when the document was excluded.
    `name`: current name of the theme.
    `href`: address of the theme's page, None if the theme no longer exists.
    """

    theme: str
    label: str
    name: str
    href: str | None
    at: dt.datetime | None


@dataclass(frozen=True, slots=True)
class AssignmentPage:
    """Content of the page that explains why a document is in its theme.

    The explanation uses the model that assigned the document.
    `label`: label of the document's theme, None if the document is unclustered.
    `unclustered_reason`: why the document is in no theme, None if it is in one.
    `terms`: the terms that are the strongest evidence for the document's theme over the second
        nearest theme.
    `reach`: the lowest score at which the theme accepts documents that arrive after the clustering
        was built.
    `name`, `next_name`: names that curators gave the theme and the second nearest theme, '' if
        none.
    `excluded`: the themes from which a curator excluded the document.
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
    unclustered_reason: str | None
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
    """Build the page that explains the theme of a document.

    Raises HTTPException 404 if the collection has no document with this id.
    """
    document = find_document(collections.tables, selection.name, document_id)
    if document is None:
        detail = f"{selection.name} has no document with the id “{shorten(document_id, 200)}”."
        raise HTTPException(404, detail)
    explanation = explain_placement(
        collections.tables,
        collections.writer.models,
        selection.name,
        document_id,
        selection.conf,
        terms_max=TERMS_MAX,
    )
    place = explanation.place if explanation else None
    score = place.score if place else 0.0
    member = ClusterMember(document.id, score, document.title, document.url, document.time)
    (line,) = build_document_lines(stores.index, selection, [member])
    label = place.label if place else None
    theme_name = (place.name if place else "") or label
    return AssignmentPage(
        answer=f"Why this document is in “{theme_name}”"
        if label
        else "Why this document has no theme",
        namespace=selection.name.namespace,
        key=selection.name.key,
        conf=selection.conf,
        line=line,
        beginning=shorten(" ".join(document.text[: 4 * BEGINNING_CHARS].split()), BEGINNING_CHARS),
        label=label,
        name=place.name if place else "",
        theme_id=place.cluster_id if place else None,
        theme_href=_choose_theme_link(selection, place.cluster_id if place else None),
        unclustered_reason=place.unclustered_reason if place else None,
        score=score,
        reach=explanation.score_min if explanation else None,
        next_label=explanation.next_label if explanation else None,
        next_name=_find_theme_name(
            collections, selection, explanation.next_label if explanation else None
        ),
        next_href=_choose_theme_link(selection, explanation.next_label if explanation else None),
        terms=_build_term_shares(explanation.terms if explanation else ()),
        excluded=_list_exclusions(collections, selection, document_id),
        places=_build_placement_lines(collections, selection, document_id),
    )


def _list_exclusions(
    collections: CollectionService, selection: Selection, document_id: str
) -> list[ThemeExclusion]:
    exclusions = load_exclusions(collections.tables, selection.name, [document_id]).get(
        document_id, {}
    )
    if not exclusions:
        return []
    clustering, names = (
        selection.clustering,
        load_theme_names(collections.tables, selection.name, selection.conf),
    )
    theme_ids = (
        list_theme_ids(collections.tables, selection.name, selection.conf, clustering.timestamp)
        if clustering
        else set()
    )
    return [
        ThemeExclusion(
            theme, exclusion.label, names.get(theme, ""),
            _choose_theme_link(selection, theme) if theme in theme_ids else None, to_datetime(exclusion.at),
        )
        for (conf, theme), exclusion in sorted(exclusions.items())
        if conf == selection.conf
    ]  # fmt: skip


def _find_theme_name(
    collections: CollectionService, selection: Selection, label: str | None
) -> str:
    clustering = selection.clustering
    if label is None or clustering is None:
        return ""
    names = load_label_names(
        collections.tables, selection.name, selection.conf, clustering.timestamp, [label]
    )
    return names.get(label, "")


def _build_term_shares(terms: Sequence[TermEvidence]) -> list[TermShare]:
    total = sum(term.margin for term in terms if term.margin > 0) or 1.0
    return [TermShare(term.term, round(100 * term.margin / total, 1)) for term in terms]


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
            placement.conf,
            to_datetime(placement.timestamp),
            placement.level,
            placement.label,
            placement.name,
            _link_to_placement(selection, placement),
            placement.score,
            placement.unclustered_reason,
            link_to_assignment(selection.name, placement.original, conf=placement.conf)
            if placement.original
            else None,
        )
        for placement in list_placements(collections.tables, selection.name, document_id)[
            :PLACES_MAX
        ]
    ]


def _link_to_placement(selection: Selection, placement: DocumentPlacement) -> str:
    if placement.label is None:
        return link_to_reason(
            selection.name, placement.unclustered_reason or "", conf=placement.conf
        )
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
    """Show why a document is in its theme."""
    selection = resolve_selection(collections, namespace, key, ServedConfiguration(form.conf))
    page = build_assignment_page(stores, collections, selection, form.id)
    page_url = link_to_assignment(selection.name, form.id, conf=form.conf)
    return render_page(
        request,
        "placed.html",
        heading=page.answer,
        page=page,
        name=selection.name,
        collection_href=link_to_collection(selection.name, conf=selection.build_params()["conf"]),
        unclustered_explanations=UNCLUSTERED_REASONS,
        act_href=link_to_collection(selection.name),
        most=max((term.share for term in page.terms), default=0.0),
        api_href=f"{API}{page_url}",
    )


@router.get(
    "/api/themes/{namespace}/{key}/document",
    summary="Theme of a document, with reasons",
    operation_id="get_theme_of_document",
)
def assignment_json(
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    form: Annotated[AssignmentForm, Query()],
) -> AssignmentPage:
    """Return the theme of a document, its score, and the terms that explain the assignment."""
    selection = resolve_selection(collections, namespace, key, ServedConfiguration(form.conf))
    return build_assignment_page(stores, collections, selection, form.id)
