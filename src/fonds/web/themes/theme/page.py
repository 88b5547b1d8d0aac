"""One theme: its terms, its course, the themes nearest to it, its documents."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import HTMLResponse

from fonds.collections.reading.clusters import Cluster, Members, cluster, clusters, members
from fonds.collections.reading.curated import names_of_labels
from fonds.collections.reading.nearness import nearest
from fonds.model.names import no_such
from fonds.ports import Stores
from fonds.web.access.declared import READS
from fonds.web.charts import histogram
from fonds.web.parameters import shorten
from fonds.web.rendering import OpenStores, instant, link, page, sentence
from fonds.web.rest.service import TheService
from fonds.web.serving.tables import tabled
from fonds.web.themes.addresses import API, collection_href, theme_href, unpart
from fonds.web.themes.asking import AT, CONF, LEVEL, Asked, asked
from fonds.web.themes.changes import marks, sizes_before
from fonds.web.themes.documents.lines import DocumentLine, document_lines
from fonds.web.themes.documents.paging import AFTER, pages, to_row, to_text
from fonds.web.themes.theme.courses import Months, Stage, Turn, bars, months, stages, turns
from fonds.wiring.recurring.collections import CollectionService

PAGE_SIZE = 20
TERMS_SHOWN = 20

router = APIRouter(dependencies=[READS])


class ThemeForm(BaseModel):
    """Which clustering of a collection, and which page of a theme's documents."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    at: int | None = AT
    level: int = LEVEL
    after: str = AFTER


@dataclass(frozen=True, slots=True)
class Nearby:
    """Another theme, and the cosine of the two middles; `name`: what a curator called it, '' where nobody
    did."""

    label: str
    cosine: float
    href: str
    name: str


@dataclass(frozen=True, slots=True)
class ThemePage:
    """A theme. `name` is what a curator called it, '' where nobody did; `pinned`, whether one put it before
    the others.

    `terms` with their log-likelihood ratios. `distinct` counts the documents that were no near-duplicate of
    another when it was built. `turns` are splits and mergers since the clustering before. The page of
    documents behind this one is had with `after` = `next`, None at the end; pages behind the first have
    `months` None and no stages, turns and nearest themes.
    """

    answer: str
    namespace: str
    key: str
    conf: str
    shown_at: dt.datetime | None
    id: str
    label: str
    name: str
    pinned: bool
    size: int
    distinct: int
    mark: str
    parent: str | None
    parent_name: str
    parent_href: str | None
    terms: Sequence[tuple[str, float]]
    months: Months | None
    stages: Sequence[Stage]
    turns: Sequence[Turn]
    nearest: Sequence[Nearby]
    documents: Sequence[DocumentLine]
    next: str | None


def theme_page(
    stores: Stores, themes: CollectionService, there: Asked, theme: str, after: str
) -> ThemePage:
    """The theme of this id or label. Raises HTTPException 404 where there is none, naming the nearest, and
    400 for an `after` that is none of its pages."""
    at, tables = there.clustering, themes.tables
    if at is None:
        raise HTTPException(404, f"{there.name} was not grouped by {there.conf} yet.")
    one = cluster(
        tables, there.name, theme, there.conf, at.timestamp, level=there.level, top=0
    )  # fmt: skip
    if one is None:
        raise HTTPException(404, _unknown(themes, there, theme))
    page_of = _members(themes, there, one.label, after)
    lines = document_lines(stores.index, there, page_of.members)
    following = None if page_of.after is None else to_text(page_of.after)
    before = sizes_before(tables, there)
    every = clusters(tables, there.name, there.conf, at.timestamp, top=0) if before else None
    return ThemePage(
        answer=one.called,
        namespace=there.name.namespace,
        key=there.name.key,
        conf=there.conf,
        shown_at=instant(at.timestamp),
        id=one.id,
        label=one.label,
        name=one.name,
        pinned=one.pinned,
        size=one.size,
        distinct=one.distinct,
        mark=marks(every.clusters if every else (), before).get(one.id, ""),
        parent=one.parent,
        parent_name=_parent_name(themes, there, one),
        parent_href=_parent(there, one),
        terms=one.terms[:TERMS_SHOWN],
        months=None if after else months(tables, there, one.label),
        stages=() if after else stages(tables, there, one.id),
        turns=() if after else turns(tables, there, one.id),
        nearest=() if after else _nearest(themes, there, one.label),
        documents=lines,
        next=following,
    )


def _nearest(themes: CollectionService, there: Asked, label: str) -> list[Nearby]:
    """The themes nearest by the model, which knows the first level only."""
    at = there.clustering
    if at is None or there.level:
        return []
    return [
        Nearby(one.label, one.cosine, theme_href(there.name, one.label, **there.params()), one.name)
        for one in nearest(themes.tables, there.name, there.conf, at.timestamp, label)
    ]


def _parent(there: Asked, one: Cluster) -> str | None:
    if one.parent is None:
        return None
    return theme_href(there.name, one.parent, **{**there.params(), "level": one.parent_level})


def _act_href(there: Asked) -> str | None:
    """Where a curator sends what is to be done; None of a theme whose id does not stay, or of the past."""
    at = there.clustering
    can = at is not None and at.is_served and not there.level
    return collection_href(there.name) if can else None


def _parent_name(themes: CollectionService, there: Asked, one: Cluster) -> str:
    """What a curator called the theme above; those of the first level alone are called."""
    at = there.clustering
    if one.parent is None or one.parent_level or at is None:
        return ""
    names = names_of_labels(themes.tables, there.name, there.conf, at.timestamp, [one.parent])
    return names.get(one.parent, "")


def _members(themes: CollectionService, there: Asked, label: str, after: str) -> Members:
    at = there.clustering
    with pages():
        found = members(
            themes.tables, there.name, label, there.conf, at.timestamp if at else None,
            level=there.level, after=to_row(after), count_max=PAGE_SIZE,
        )  # fmt: skip
    # One that was removed meanwhile has no documents any more.
    return found or Members((), None)


def _unknown(themes: CollectionService, there: Asked, theme: str) -> str:
    at = there.clustering
    found = clusters(
        themes.tables, there.name, there.conf, at.timestamp if at else None,
        level=there.level, top=0,
    )  # fmt: skip
    labels = [said for one in (found.clusters if found else ()) for said in (one.name, one.label)]
    return f"{sentence(shorten(no_such('theme', shorten(theme, 200), labels), 3_000))}."


@router.get("/themes/{namespace}/{key}/{theme}", include_in_schema=False)
def theme_html(
    request: Request,
    stores: OpenStores,
    themes: TheService,
    namespace: str,
    key: str,
    theme: str,
    form: Annotated[ThemeForm, Query()],
) -> HTMLResponse:
    """A theme and its documents."""
    there = asked(themes, namespace, key, form)
    found = theme_page(stores, themes, there, unpart(theme), form.after)
    here = theme_href(there.name, found.id)
    shown = bars(found.months) if found.months else []
    return page(
        request,
        "theme.html",
        heading=found.answer,
        found=found,
        name=there.name,
        conf=there.conf,
        is_served=there.clustering is not None and there.clustering.is_served,
        collection_href=collection_href(there.name, **there.params()),
        act_href=_act_href(there),
        newest_href=collection_href(there.name, conf=there.params()["conf"]),
        params=there.params(),
        documents_href=f"{here}/documents",
        over_time_href=link(f"{collection_href(there.name)}/over-time", **there.params()),
        terms_most=max((weight for _, weight in found.terms), default=0.0),
        stages_most=max((one.size for one in found.stages), default=0),
        bars=shown,
        pictured=any(one.file_href for one in found.documents),
        chart=histogram(shown, "Documents by date"),
        most=max(shown, key=lambda bar: bar.count, default=None),
        first_page_href=link(here, **there.params()) if form.after else None,
        next_href=link(here, **there.params(), after=found.next) if found.next else None,
        api_href=f"{API}{link(here, **there.params(), after=form.after)}",
    )


@tabled(router, "/themes/{namespace}/{key}/{theme}", lambda found: found.documents)
@router.get("/api/themes/{namespace}/{key}/{theme}", summary="A theme and its documents")
def theme_json(
    stores: OpenStores,
    themes: TheService,
    namespace: str,
    key: str,
    theme: str,
    form: Annotated[ThemeForm, Query()],
) -> ThemePage:
    """A theme by its id or label, its documents the nearest first, 20 a page."""
    there = asked(themes, namespace, key, form)
    return theme_page(stores, themes, there, unpart(theme), form.after)
