"""All collections: what each holds, what fills it, how it was grouped and when."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse

from fonds.collections.names import DEFAULT
from fonds.collections.reading.clusterings import Collection, Progress, clusterings, progress
from fonds.collections.reading.clusters import clusters
from fonds.model.numbers import how_many
from fonds.web.access.declared import READS
from fonds.web.rendering import instant, page, pager
from fonds.web.rest.service import TheService
from fonds.web.serving.tables import tabled
from fonds.web.themes.addresses import API, THEMES, collection_href, theme_href
from fonds.web.themes.asking import NAMES_MAX
from fonds.wiring.recurring.collections import CollectionService

PAGE_SIZE = 25
LABELS_SHOWN = 6
LABELLED_MAX = 200
"""The labels of clusterings of more clusters are not read for a list."""

router = APIRouter(dependencies=[READS])
PageNumber = Annotated[
    int, Query(ge=1, le=NAMES_MAX // PAGE_SIZE, description="Page of 25 collections, from 1")
]


@dataclass(frozen=True, slots=True)
class Linked:
    """A theme with a page of its own; `name`: what a curator called it, '' where nobody did."""

    label: str
    size: int
    href: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Grouped:
    """A clustering that is served: of how many documents and clusters, the largest of them by label."""

    conf: str
    href: str
    rebuilt: dt.datetime | None
    documents: int
    themes: int
    largest: Sequence[Linked]


@dataclass(frozen=True, slots=True)
class CollectionLine:
    """A collection in the list. `query` is the search that fills it, empty where others put documents."""

    namespace: str
    key: str
    href: str
    documents: int
    modified: dt.datetime | None
    query: str
    grouped: Sequence[Grouped]
    building: Sequence[Progress]


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


def collections_page(themes: CollectionService, number: int) -> CollectionsPage:
    """The collections of one page."""
    found = list(islice(themes.every(), NAMES_MAX + 1))
    total = min(len(found), NAMES_MAX)
    some = found[:NAMES_MAX][(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    complete = len(found) <= NAMES_MAX
    counted = f"{how_many(total, 'collection')}{'' if complete else ' or more'}"
    return CollectionsPage(
        answer=f"{counted} of documents, grouped by theme" if total else "No collections yet",
        total=total,
        complete=complete,
        page=number,
        pages=max(1, -(-total // PAGE_SIZE)),
        collections=[_line(themes, one) for one in some],
    )


def _line(themes: CollectionService, one: Collection) -> CollectionLine:
    return CollectionLine(
        namespace=one.name.namespace,
        key=one.name.key,
        href=collection_href(one.name),
        documents=one.size,
        modified=instant(one.modified),
        query=one.query,
        grouped=_grouped(themes, one),
        building=progress(themes.tables, themes.changes.claims, one.name),
    )


def _grouped(themes: CollectionService, one: Collection) -> list[Grouped]:
    found = []
    for served in (each for each in clusterings(themes.tables, one.name) if each.is_served):
        conf = served.conf if served.conf != DEFAULT else None
        largest: list[Linked] = []
        if served.clusters <= LABELLED_MAX:
            there = clusters(themes.tables, one.name, served.conf, served.timestamp, top=0)
            largest = [
                Linked(each.label, each.size, theme_href(one.name, each.id, conf=conf), each.name)
                for each in (there.clusters[:LABELS_SHOWN] if there else ())
            ]
        found.append(
            Grouped(
                served.conf,
                collection_href(one.name, conf=conf),
                instant(served.timestamp),
                served.documents + served.later,
                served.clusters,
                largest,
            )
        )
    return found


@router.get("/themes", include_in_schema=False)
def collections_html(
    request: Request, themes: TheService, number: Annotated[PageNumber, Query(alias="page")] = 1
) -> HTMLResponse:
    """The collections there are."""
    found = collections_page(themes, number)
    return page(
        request,
        "themes.html",
        heading=found.answer,
        found=found,
        pager=pager(THEMES, {}, found.total, number, PAGE_SIZE, NAMES_MAX // PAGE_SIZE),
        api_href=f"{API}{THEMES}",
    )


@tabled(router, "/themes", lambda found: found.collections)
@router.get("/api/themes", summary="Collections and how they are grouped")
def collections_json(
    themes: TheService, number: Annotated[PageNumber, Query(alias="page")] = 1
) -> CollectionsPage:
    """The collections there are, 25 a page, each with its largest themes."""
    return collections_page(themes, number)
