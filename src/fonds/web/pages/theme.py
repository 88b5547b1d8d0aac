"""One theme: its terms, its course, the themes nearest to it, its documents."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import HTMLResponse

from fonds.grouping.tables import Tables
from fonds.grouping.views.clusters import (
    MEMBERS_MAX,
    ClusterView,
    MemberPage,
    find_cluster,
    list_members,
    load_clusters,
)
from fonds.grouping.views.curation import load_label_names
from fonds.grouping.views.lineage import list_recorded_changes
from fonds.grouping.views.similar_clusters import find_nearest_clusters
from fonds.model.suggestions import format_unknown_name
from fonds.ports import Stores
from fonds.web.access.roles import READS
from fonds.web.html.charts import HistogramBar, build_periods, draw_histogram
from fonds.web.html.paging import AFTER, decode_cursor, encode_cursor, refuse_invalid_cursor
from fonds.web.html.rendering import OpenStores, build_url, capitalize, render_page, to_datetime
from fonds.web.pages.document_lines import DocumentLine, build_document_lines
from fonds.web.pages.theme_changes import ChangeLine, link_change, load_previous_sizes, mark_changes
from fonds.web.pages.theme_links import API, link_to_collection, link_to_theme, unquote_part
from fonds.web.pages.theme_selection import (
    CONF,
    LEVEL,
    TIMESTAMP_FIELD,
    Selection,
    resolve_selection,
)
from fonds.web.serving.csv_tables import add_csv_route
from fonds.web.serving.json_requests import TheService
from fonds.web.serving.parameters import shorten
from fonds.wiring.collections import CollectionService

# The course of a theme: its documents by month, and its size from clustering to clustering.


DATED_MAX = 2 * MEMBERS_MAX
"""The dates of so many documents are looked at, those nearest to the theme's middle."""

STAGES_MAX = 12


@dataclass(frozen=True, slots=True)
class MonthCounts:
    """Documents by YYYY-MM; `undated` of the `looked_at` have no date."""

    months: Sequence[tuple[str, int]]
    undated: int
    looked_at: int


@dataclass(frozen=True, slots=True)
class ThemeStage:
    """The theme in one clustering: its label and size there."""

    at: dt.datetime | None
    label: str
    size: int
    href: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class ThemeTurn:
    """A split or merger the theme took part in: `change` says which."""

    change: str
    what: ChangeLine


def count_months(tables: Tables, selection: Selection, theme: str) -> MonthCounts:
    """When the documents of a theme are dated."""
    counts: Counter[str] = Counter()
    undated, looked_at = 0, 0
    after: bytes | None = None
    at = selection.clustering
    while at is not None and looked_at < DATED_MAX:
        found = list_members(
            tables, selection.name, theme, selection.conf, at.timestamp,
            level=selection.level, after=after, count_max=MEMBERS_MAX,
        )  # fmt: skip
        for one in found.members if found else ():
            looked_at += 1
            day = to_datetime(one.time)
            if day is None:
                undated += 1
            else:
                counts[f"{day:%Y-%m}"] += 1
        after = found.after if found else None
        if after is None:
            break
    return MonthCounts(sorted(counts.items()), undated, looked_at)


def build_bars(months: MonthCounts) -> list[HistogramBar]:
    """The same as bars, which open nothing."""
    return [HistogramBar(one.label, one.count, "") for one in build_periods(months.months)]


def load_stages(tables: Tables, selection: Selection, theme_id: str) -> list[ThemeStage]:
    """The theme in every clustering kept that has it, the newest twelve at most, the oldest first."""
    if selection.level:
        return []
    found = []
    for one in selection.clusterings[:STAGES_MAX]:
        then = find_cluster(tables, selection.name, theme_id, selection.conf, one.timestamp, top=0)
        if then is not None:
            params = {**selection.build_params(), "at": None if one.is_served else one.timestamp}
            href = link_to_theme(selection.name, theme_id, **params)
            chosen = one == selection.clustering
            found.append(
                ThemeStage(to_datetime(one.timestamp), then.label, then.size, href, chosen)
            )
    return found[::-1]


def load_splits_and_mergers(tables: Tables, selection: Selection, theme_id: str) -> list[ThemeTurn]:
    """The splits and mergers since the clustering before that the theme came of or led to."""
    at, before = selection.clustering, selection.previous
    if at is None or before is None:
        return []
    told = list_recorded_changes(
        tables, selection.name, selection.conf, at.timestamp, before.timestamp
    )
    return [
        ThemeTurn(one.change, link_change(selection, one))
        for one in told
        if one.change in ("split", "merged")
        and theme_id in {side.id for side in (*one.before, *one.after)}
    ]


PAGE_SIZE = 20
TERMS_MAX = 20

router = APIRouter(dependencies=[READS])


class ThemeForm(BaseModel):
    """Which clustering of a collection, and which page of a theme's documents."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    at: int | None = TIMESTAMP_FIELD
    level: int = LEVEL
    after: str = AFTER


@dataclass(frozen=True, slots=True)
class NearbyTheme:
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

    `terms` with their log-likelihood ratios. `distinct` counts the documents that were no near-duplicate
    of another when it was built. `turns` are splits and mergers since the clustering
    before. The page of documents behind this one is had with `after` = `next`, None at the end; pages
    behind the first have `months` None and no stages, turns and nearest themes."""

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
    months: MonthCounts | None
    stages: Sequence[ThemeStage]
    turns: Sequence[ThemeTurn]
    nearest: Sequence[NearbyTheme]
    documents: Sequence[DocumentLine]
    next: str | None


def build_theme_page(
    stores: Stores, collections: CollectionService, selection: Selection, theme: str, after: str
) -> ThemePage:
    """The theme of this id or label. Raises HTTPException 404 where there is none, naming the nearest, and
    400 for an `after` that is none of its pages."""
    at, tables = selection.clustering, collections.tables
    if at is None:
        raise HTTPException(404, f"{selection.name} was not grouped by {selection.conf} yet.")
    one = find_cluster(
        tables, selection.name, theme, selection.conf, at.timestamp, level=selection.level, top=0
    )  # fmt: skip
    if one is None:
        raise HTTPException(404, _format_unknown(collections, selection, theme))
    page_of = _load_members(collections, selection, one.label, after)
    lines = build_document_lines(stores.index, selection, page_of.members)
    following = None if page_of.after is None else encode_cursor(page_of.after)
    before = load_previous_sizes(tables, selection)
    every = (
        load_clusters(tables, selection.name, selection.conf, at.timestamp, top=0)
        if before
        else None
    )
    return ThemePage(
        answer=one.display_name,
        namespace=selection.name.namespace,
        key=selection.name.key,
        conf=selection.conf,
        shown_at=to_datetime(at.timestamp),
        id=one.id,
        label=one.label,
        name=one.name,
        pinned=one.pinned,
        size=one.size,
        distinct=one.distinct,
        mark=mark_changes(every.clusters if every else (), before).get(one.id, ""),
        parent=one.parent,
        parent_name=_find_parent_name(collections, selection, one),
        parent_href=_find_parent(selection, one),
        terms=one.terms[:TERMS_MAX],
        months=None if after else count_months(tables, selection, one.label),
        stages=() if after else load_stages(tables, selection, one.id),
        turns=() if after else load_splits_and_mergers(tables, selection, one.id),
        nearest=() if after else _find_nearest(collections, selection, one.label),
        documents=lines,
        next=following,
    )


def _find_nearest(
    collections: CollectionService, selection: Selection, label: str
) -> list[NearbyTheme]:
    """The themes nearest by the model, which knows the first level only."""
    at = selection.clustering
    if at is None or selection.level:
        return []
    return [
        NearbyTheme(
            one.label,
            one.cosine,
            link_to_theme(selection.name, one.label, **selection.build_params()),
            one.name,
        )
        for one in find_nearest_clusters(
            collections.tables, selection.name, selection.conf, at.timestamp, label
        )
    ]


def _find_parent(selection: Selection, cluster: ClusterView) -> str | None:
    if cluster.parent is None:
        return None
    return link_to_theme(
        selection.name,
        cluster.parent,
        **{**selection.build_params(), "level": cluster.parent_level},
    )


def _link_to_act(selection: Selection) -> str | None:
    """Where a curator sends what is to be done; None of a theme whose id does not stay, or of the past."""
    at = selection.clustering
    can = at is not None and at.is_served and not selection.level
    return link_to_collection(selection.name) if can else None


def _find_parent_name(
    collections: CollectionService, selection: Selection, cluster: ClusterView
) -> str:
    """What a curator called the theme above; those of the first level alone are called."""
    at = selection.clustering
    if cluster.parent is None or cluster.parent_level or at is None:
        return ""
    names = load_label_names(
        collections.tables, selection.name, selection.conf, at.timestamp, [cluster.parent]
    )
    return names.get(cluster.parent, "")


def _load_members(
    collections: CollectionService, selection: Selection, label: str, after: str
) -> MemberPage:
    at = selection.clustering
    with refuse_invalid_cursor():
        found = list_members(
            collections.tables, selection.name, label, selection.conf, at.timestamp if at else None,
            level=selection.level, after=decode_cursor(after), count_max=PAGE_SIZE,
        )  # fmt: skip
    # One that was removed meanwhile has no documents any more.
    return found or MemberPage((), None)


def _format_unknown(collections: CollectionService, selection: Selection, theme: str) -> str:
    at = selection.clustering
    found = load_clusters(
        collections.tables, selection.name, selection.conf, at.timestamp if at else None,
        level=selection.level, top=0,
    )  # fmt: skip
    labels = [said for one in (found.clusters if found else ()) for said in (one.name, one.label)]
    return (
        f"{capitalize(shorten(format_unknown_name('theme', shorten(theme, 200), labels), 3_000))}."
    )


@router.get("/themes/{namespace}/{key}/{theme}", include_in_schema=False)
def theme_html(
    request: Request,
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    theme: str,
    form: Annotated[ThemeForm, Query()],
) -> HTMLResponse:
    """A theme and its documents."""
    there = resolve_selection(collections, namespace, key, form)
    found = build_theme_page(stores, collections, there, unquote_part(theme), form.after)
    here = link_to_theme(there.name, found.id)
    shown = build_bars(found.months) if found.months else []
    return render_page(
        request,
        "theme.html",
        heading=found.answer,
        found=found,
        name=there.name,
        conf=there.conf,
        is_served=there.clustering is not None and there.clustering.is_served,
        collection_href=link_to_collection(there.name, **there.build_params()),
        act_href=_link_to_act(there),
        newest_href=link_to_collection(there.name, conf=there.build_params()["conf"]),
        params=there.build_params(),
        documents_href=f"{here}/documents",
        over_time_href=build_url(
            f"{link_to_collection(there.name)}/over-time", **there.build_params()
        ),
        terms_most=max((weight for _, weight in found.terms), default=0.0),
        stages_most=max((one.size for one in found.stages), default=0),
        bars=shown,
        pictured=any(one.file_href for one in found.documents),
        chart=draw_histogram(shown, "Documents by date"),
        most=max(shown, key=lambda bar: bar.count, default=None),
        first_page_href=build_url(here, **there.build_params()) if form.after else None,
        next_href=build_url(here, **there.build_params(), after=found.next) if found.next else None,
        api_href=f"{API}{build_url(here, **there.build_params(), after=form.after)}",
    )


@add_csv_route(router, "/themes/{namespace}/{key}/{theme}", lambda found: found.documents)
@router.get("/api/themes/{namespace}/{key}/{theme}", summary="A theme and its documents")
def theme_json(
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    theme: str,
    form: Annotated[ThemeForm, Query()],
) -> ThemePage:
    """A theme by its id or label, its documents the nearest first, 20 a page."""
    there = resolve_selection(collections, namespace, key, form)
    return build_theme_page(stores, collections, there, unquote_part(theme), form.after)
