"""Page of all collections: the contents of each collection, the rule that fills it, and its
clusterings.
"""

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
from fonds.model.extension import extend
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
"""The list of collections shows the largest themes only of clusterings with at most this many
clusters.
"""

router = APIRouter(tags=["themes"], dependencies=[READS])
PageNumber = Annotated[
    int,
    Query(
        ge=1, le=NAMES_MAX // PAGE_SIZE, description="Page number, from 1; 25 collections per page"
    ),
]


@dataclass(frozen=True, slots=True)
class ThemeRefLink:
    """Label, size and address of a theme. `name`: name that a curator gave the theme, '' if
    none.
    """

    label: str
    size: int
    href: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class GroupingLine:
    """Current clustering of a collection by one configuration: the numbers of clustered documents
    and of themes, and the largest themes.
    """

    conf: str
    href: str
    rebuilt: dt.datetime | None
    documents: int
    themes: int
    largest: Sequence[ThemeRefLink]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionLine(CollectionView):
    """One collection in the list of collections, with its current clusterings and rebuilds."""

    href: str
    grouped: Sequence[GroupingLine]
    building: Sequence[RebuildProgress]


@dataclass(frozen=True, slots=True)
class CollectionsPage:
    """One page of the list of collections, sorted by name.

    `complete`: False if there are more than 10,000 collections. Further collections are not
        counted.
    """

    answer: str
    total: int
    complete: bool
    page: int
    pages: int
    collections: Sequence[CollectionLine]


def build_collections_page(collections: CollectionService, number: int) -> CollectionsPage:
    """Build one page of the list of collections."""
    views = list(islice(collections.iter_collections(), NAMES_MAX + 1))
    total = min(len(views), NAMES_MAX)
    page_views = views[:NAMES_MAX][(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    complete = len(views) <= NAMES_MAX
    count_text = f"{pluralize(total, 'collection')}{'' if complete else ' or more'}"
    return CollectionsPage(
        answer=f"{count_text}" if total else "No collections yet",
        total=total,
        complete=complete,
        page=number,
        pages=max(1, -(-total // PAGE_SIZE)),
        collections=[_build_line(collections, view) for view in page_views],
    )


def _build_line(collections: CollectionService, collection: CollectionView) -> CollectionLine:
    return extend(
        CollectionLine,
        collection,
        href=link_to_collection(collection.name),
        grouped=_build_groupings(collections, collection),
        building=list_progress(collections.tables, collections.writer.leases, collection.name),
    )


def _build_groupings(
    collections: CollectionService, collection: CollectionView
) -> list[GroupingLine]:
    groupings = []
    for clustering in (
        item for item in list_clusterings(collections.tables, collection.name) if item.is_served
    ):
        conf = clustering.conf if clustering.conf != DEFAULT else None
        largest: list[ThemeRefLink] = []
        if clustering.clusters <= LABELLED_MAX:
            level = load_clusters(
                collections.tables, collection.name, clustering.conf, clustering.timestamp, top=0
            )
            largest = [
                ThemeRefLink(
                    item.label,
                    item.size,
                    link_to_theme(collection.name, item.id, conf=conf),
                    item.name,
                )
                for item in (level.clusters[:LABELS_MAX] if level else ())
            ]
        groupings.append(
            GroupingLine(
                clustering.conf,
                link_to_collection(collection.name, conf=conf),
                to_datetime(clustering.timestamp),
                clustering.documents + clustering.later,
                clustering.clusters,
                largest,
            )
        )
    return groupings


@router.get("/themes", include_in_schema=False)
def collections_html(
    request: Request,
    collections: TheService,
    number: Annotated[PageNumber, Query(alias="page")] = 1,
) -> HTMLResponse:
    """Show the collections."""
    page = build_collections_page(collections, number)
    return render_page(
        request,
        "themes.html",
        heading=page.answer,
        page=page,
        pager=build_pager(THEMES, {}, page.total, number, PAGE_SIZE, NAMES_MAX // PAGE_SIZE),
        api_href=f"{API}{THEMES}",
    )


@add_csv_route(router, "/themes", lambda page: page.collections)
@router.get(
    "/api/themes", summary="Collections and their groupings", operation_id="list_theme_collections"
)
def collections_json(
    collections: TheService, number: Annotated[PageNumber, Query(alias="page")] = 1
) -> CollectionsPage:
    """List the collections, 25 per page, each with its largest themes."""
    return build_collections_page(collections, number)
