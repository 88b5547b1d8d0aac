"""All collections: what each holds, what fills it, how it was grouped and when."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse

from fonds.grouping.names import DEFAULT
from fonds.grouping.views.clusterings import (
    CollectionView,
    RebuildProgress,
    list_clusterings,
    list_progress,
)
from fonds.grouping.views.clusters import load_clusters
from fonds.model.encoding import pluralize
from fonds.web.access.roles import READS
from fonds.web.html.rendering import build_pager, render_page, to_datetime
from fonds.web.pages.theme_links import API, THEMES, link_to_collection, link_to_theme
from fonds.web.pages.theme_selection import NAMES_MAX
from fonds.web.serving.csv_tables import add_csv_route
from fonds.web.serving.json_requests import TheService
from fonds.wiring.collections import CollectionService

PAGE_SIZE = 25
LABELS_MAX = 6
LABELLED_MAX = 200
"""The labels of clusterings of more clusters are not read for a list."""

router = APIRouter(dependencies=[READS])
PageNumber = Annotated[
    int, Query(ge=1, le=NAMES_MAX // PAGE_SIZE, description="Page of 25 collections, from 1")
]


@dataclass(frozen=True, slots=True)
class ThemeRefLink:
    """A theme with a page of its own; `name`: what a curator called it, '' where nobody did."""

    label: str
    size: int
    href: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class GroupingLine:
    """A clustering that is served: of how many documents and clusters, the largest of them by label."""

    conf: str
    href: str
    rebuilt: dt.datetime | None
    documents: int
    themes: int
    largest: Sequence[ThemeRefLink]


@dataclass(frozen=True, slots=True)
class CollectionLine:
    """A collection in the list. `query` is the search that fills it, empty where others put documents."""

    namespace: str
    key: str
    href: str
    documents: int
    modified: dt.datetime | None
    query: str
    grouped: Sequence[GroupingLine]
    building: Sequence[RebuildProgress]


@dataclass(frozen=True, slots=True)
class CollectionsPage:
    """One page of collections in the order of their names; of more than 10,000 the others are not
    counted, and `complete` is False."""

    answer: str
    total: int
    complete: bool
    page: int
    pages: int
    collections: Sequence[CollectionLine]


def build_collections_page(collections: CollectionService, number: int) -> CollectionsPage:
    """The collections of one page."""
    found = list(islice(collections.every(), NAMES_MAX + 1))
    total = min(len(found), NAMES_MAX)
    some = found[:NAMES_MAX][(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    complete = len(found) <= NAMES_MAX
    counted = f"{pluralize(total, 'collection')}{'' if complete else ' or more'}"
    return CollectionsPage(
        answer=f"{counted} of documents, grouped by theme" if total else "No collections yet",
        total=total,
        complete=complete,
        page=number,
        pages=max(1, -(-total // PAGE_SIZE)),
        collections=[_build_line(collections, one) for one in some],
    )


def _build_line(collections: CollectionService, collection: CollectionView) -> CollectionLine:
    return CollectionLine(
        namespace=collection.name.namespace,
        key=collection.name.key,
        href=link_to_collection(collection.name),
        documents=collection.size,
        modified=to_datetime(collection.modified),
        query=collection.query,
        grouped=_build_groupings(collections, collection),
        building=list_progress(collections.tables, collections.changes.leases, collection.name),
    )


def _build_groupings(
    collections: CollectionService, collection: CollectionView
) -> list[GroupingLine]:
    found = []
    for served in (
        each for each in list_clusterings(collections.tables, collection.name) if each.is_served
    ):
        conf = served.conf if served.conf != DEFAULT else None
        largest: list[ThemeRefLink] = []
        if served.clusters <= LABELLED_MAX:
            there = load_clusters(
                collections.tables, collection.name, served.conf, served.timestamp, top=0
            )
            largest = [
                ThemeRefLink(
                    each.label,
                    each.size,
                    link_to_theme(collection.name, each.id, conf=conf),
                    each.name,
                )
                for each in (there.clusters[:LABELS_MAX] if there else ())
            ]
        found.append(
            GroupingLine(
                served.conf,
                link_to_collection(collection.name, conf=conf),
                to_datetime(served.timestamp),
                served.documents + served.later,
                served.clusters,
                largest,
            )
        )
    return found


@router.get("/themes", include_in_schema=False)
def collections_html(
    request: Request,
    collections: TheService,
    number: Annotated[PageNumber, Query(alias="page")] = 1,
) -> HTMLResponse:
    """The collections there are."""
    found = build_collections_page(collections, number)
    return render_page(
        request,
        "themes.html",
        heading=found.answer,
        found=found,
        pager=build_pager(THEMES, {}, found.total, number, PAGE_SIZE, NAMES_MAX // PAGE_SIZE),
        api_href=f"{API}{THEMES}",
    )


@add_csv_route(router, "/themes", lambda found: found.collections)
@router.get("/api/themes", summary="Collections and how they are grouped")
def collections_json(
    collections: TheService, number: Annotated[PageNumber, Query(alias="page")] = 1
) -> CollectionsPage:
    """The collections there are, 25 a page, each with its largest themes."""
    return build_collections_page(collections, number)
