"""Page of a theme: its terms, development, nearest themes and documents."""

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
from fonds.grouping.views.cursors import decode_cursor, encode_cursor
from fonds.grouping.views.lineage import list_recorded_changes
from fonds.grouping.views.similar_clusters import find_nearest_clusters
from fonds.model.suggestions import format_unknown_name
from fonds.ports import Stores
from fonds.web.access.roles import READS
from fonds.web.html.charts import HistogramBar, draw_histogram
from fonds.web.html.paging import AFTER, refuse_invalid_cursor
from fonds.web.html.periods import build_periods
from fonds.web.html.rendering import OpenStores, build_url, capitalize, render_page, to_datetime
from fonds.web.pages.document_lines import DocumentLine, build_document_lines
from fonds.web.pages.theme_changes import (
    ThemeChangeLine,
    link_change,
    load_previous_sizes,
    mark_changes,
)
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

# Development of a theme: its documents by month, and its size in each clustering.


DATED_MAX = 2 * MEMBERS_MAX
"""Maximum number of documents of a theme whose dates are read: those nearest to the theme's
centroid.
"""

STAGES_MAX = 12


@dataclass(frozen=True, slots=True)
class MonthCounts:
    """Number of documents of a theme by month (YYYY-MM).

    `looked_at`: number of documents whose dates were read.
    `undated`: number of those documents without a date.
    """

    months: Sequence[tuple[str, int]]
    undated: int
    looked_at: int


@dataclass(frozen=True, slots=True)
class ThemeStage:
    """Label and size of a theme in one stored clustering. `chosen`: whether the page shows that
    clustering.
    """

    at: dt.datetime | None
    label: str
    size: int
    href: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class ThemeTurn:
    """Split or merger that a theme took part in. `change`: `split` or `merged`; `what`: the themes
    before and after it.
    """

    change: str
    what: ThemeChangeLine


def count_months(tables: Tables, selection: Selection, theme: str) -> MonthCounts:
    """Count the documents of a theme by the month of their date."""
    counts: Counter[str] = Counter()
    undated_count, looked_at = 0, 0
    cursor: bytes | None = None
    clustering = selection.clustering
    while clustering is not None and looked_at < DATED_MAX:
        member_page = list_members(
            tables, selection.name, theme, selection.conf, clustering.timestamp,
            level=selection.level, after=cursor, count_max=MEMBERS_MAX,
        )  # fmt: skip
        for member in member_page.members if member_page else ():
            looked_at += 1
            day = to_datetime(member.time)
            if day is None:
                undated_count += 1
            else:
                counts[f"{day:%Y-%m}"] += 1
        cursor = member_page.after if member_page else None
        if cursor is None:
            break
    return MonthCounts(sorted(counts.items()), undated_count, looked_at)


def build_bars(months: MonthCounts) -> list[HistogramBar]:
    """Convert the numbers of documents by month to bars of a histogram, without links."""
    return [HistogramBar(period.label, period.count, "") for period in build_periods(months.months)]


def load_stages(tables: Tables, selection: Selection, theme_id: str) -> list[ThemeStage]:
    """Return the label and size of a theme in each stored clustering that contains the theme,
    oldest first.

    At most the newest twelve clusterings are read. The list is empty for levels other than the
    first.
    """
    if selection.level:
        return []
    stages = []
    for clustering in selection.clusterings[:STAGES_MAX]:
        cluster = find_cluster(
            tables, selection.name, theme_id, selection.conf, clustering.timestamp, top=0
        )
        if cluster is not None:
            params = {
                **selection.build_params(),
                "at": None if clustering.is_served else clustering.timestamp,
            }
            href = link_to_theme(selection.name, theme_id, **params)
            is_chosen = clustering == selection.clustering
            stages.append(
                ThemeStage(
                    to_datetime(clustering.timestamp), cluster.label, cluster.size, href, is_chosen
                )
            )
    return stages[::-1]


def load_splits_and_mergers(tables: Tables, selection: Selection, theme_id: str) -> list[ThemeTurn]:
    """Return the splits and mergers since the previous clustering in which a theme took part."""
    clustering, previous_clustering = selection.clustering, selection.previous
    if clustering is None or previous_clustering is None:
        return []
    changes = list_recorded_changes(
        tables, selection.name, selection.conf, clustering.timestamp, previous_clustering.timestamp
    )
    return [
        ThemeTurn(change.change, link_change(selection, change))
        for change in changes
        if change.change in ("split", "merged")
        and theme_id in {side.id for side in (*change.before, *change.after)}
    ]


PAGE_SIZE = 20
TERMS_MAX = 20

router = APIRouter(tags=["themes"], dependencies=[READS])


class ThemeForm(BaseModel):
    """Query parameters that select a clustering of a collection and a page of the documents of a
    theme.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    at: int | None = TIMESTAMP_FIELD
    level: int = LEVEL
    after: str = AFTER


@dataclass(frozen=True, slots=True)
class NearbyTheme:
    """A similar theme, and the cosine of its centroid to that of the theme on the page. `name`: the
    name a curator gave the similar theme, '' if none.
    """

    label: str
    cosine: float
    href: str
    name: str


@dataclass(frozen=True, slots=True)
class ThemePage:
    """Content of the page of a theme.

    `name`: name that a curator gave the theme, '' if none.
    `pinned`: whether a curator pinned the theme to the top of the list.
    `size`: number of documents in the theme.
    `distinct`: number of documents that were not near-duplicates of another document when the
        clustering was built.
    `terms`: terms of the theme with their log-likelihood ratios.
    `months`: documents by month; None on pages after the first.
    `stages`: the theme in each stored clustering; empty on pages after the first.
    `turns`: splits and mergers since the previous clustering; empty on pages after the first.
    `nearest`: the most similar themes; empty on pages after the first.
    `next`: value of the parameter `after` for the next page of documents, None on the last page.
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
    months: MonthCounts | None
    stages: Sequence[ThemeStage]
    turns: Sequence[ThemeTurn]
    nearest: Sequence[NearbyTheme]
    documents: Sequence[DocumentLine]
    next: str | None


def build_theme_page(
    stores: Stores, collections: CollectionService, selection: Selection, theme: str, after: str
) -> ThemePage:
    """Build the page of the theme with this id or label.

    Raises HTTPException 404 that names the nearest theme for an unknown one, and 400 for an invalid
    `after`.
    """
    clustering, tables = selection.clustering, collections.tables
    if clustering is None:
        raise HTTPException(404, f"{selection.name} has not been grouped by {selection.conf} yet.")
    cluster = find_cluster(
        tables, selection.name, theme, selection.conf, clustering.timestamp, level=selection.level, top=0
    )  # fmt: skip
    if cluster is None:
        raise HTTPException(404, _format_unknown(collections, selection, theme))
    member_page = _load_members(collections, selection, cluster.label, after)
    lines = build_document_lines(stores.index, selection, member_page.members)
    following = None if member_page.after is None else encode_cursor(member_page.after)
    previous_sizes = load_previous_sizes(tables, selection)
    level_view = (
        load_clusters(tables, selection.name, selection.conf, clustering.timestamp, top=0)
        if previous_sizes
        else None
    )
    return ThemePage(
        answer=cluster.display_name,
        namespace=selection.name.namespace,
        key=selection.name.key,
        conf=selection.conf,
        shown_at=to_datetime(clustering.timestamp),
        id=cluster.id,
        label=cluster.label,
        name=cluster.name,
        pinned=cluster.pinned,
        size=cluster.size,
        distinct=cluster.distinct,
        mark=mark_changes(level_view.clusters if level_view else (), previous_sizes).get(
            cluster.id, ""
        ),
        parent=cluster.parent,
        parent_name=_find_parent_name(collections, selection, cluster),
        parent_href=_find_parent(selection, cluster),
        terms=cluster.terms[:TERMS_MAX],
        months=None if after else count_months(tables, selection, cluster.label),
        stages=() if after else load_stages(tables, selection, cluster.id),
        turns=() if after else load_splits_and_mergers(tables, selection, cluster.id),
        nearest=() if after else _find_nearest(collections, selection, cluster.label),
        documents=lines,
        next=following,
    )


def _find_nearest(
    collections: CollectionService, selection: Selection, label: str
) -> list[NearbyTheme]:
    """Return the themes most similar to a theme. The list is empty for levels other than the
    first.
    """
    clustering = selection.clustering
    if clustering is None or selection.level:
        return []
    return [
        NearbyTheme(
            neighbour.label,
            neighbour.cosine,
            link_to_theme(selection.name, neighbour.label, **selection.build_params()),
            neighbour.name,
        )
        for neighbour in find_nearest_clusters(
            collections.tables, selection.name, selection.conf, clustering.timestamp, label
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
    """Return the URL to which the page of a theme sends a curator's actions on the theme.

    Return None for past clusterings and for levels whose themes have no stable ids.
    """
    clustering = selection.clustering
    is_editable = clustering is not None and clustering.is_served and not selection.level
    return link_to_collection(selection.name) if is_editable else None


def _find_parent_name(
    collections: CollectionService, selection: Selection, cluster: ClusterView
) -> str:
    """Return the name that a curator gave the parent theme, '' if none.

    Only themes of the first level have names.
    """
    clustering = selection.clustering
    if cluster.parent is None or cluster.parent_level or clustering is None:
        return ""
    names = load_label_names(
        collections.tables, selection.name, selection.conf, clustering.timestamp, [cluster.parent]
    )
    return names.get(cluster.parent, "")


def _load_members(
    collections: CollectionService, selection: Selection, label: str, after: str
) -> MemberPage:
    clustering = selection.clustering
    with refuse_invalid_cursor():
        member_page = list_members(
            collections.tables, selection.name, label, selection.conf,
            clustering.timestamp if clustering else None,
            level=selection.level, after=decode_cursor(after), count_max=PAGE_SIZE,
        )  # fmt: skip
    # A theme that was removed meanwhile has no documents.
    return member_page or MemberPage((), None)


def _format_unknown(collections: CollectionService, selection: Selection, theme: str) -> str:
    clustering = selection.clustering
    level_view = load_clusters(
        collections.tables, selection.name, selection.conf, clustering.timestamp if clustering else None,
        level=selection.level, top=0,
    )  # fmt: skip
    labels = [
        label
        for cluster in (level_view.clusters if level_view else ())
        for label in (cluster.name, cluster.label)
    ]
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
    """Show a theme and its documents."""
    selection = resolve_selection(collections, namespace, key, form)
    page = build_theme_page(stores, collections, selection, unquote_part(theme), form.after)
    page_url = link_to_theme(selection.name, page.id)
    bars = build_bars(page.months) if page.months else []
    return render_page(
        request,
        "theme.html",
        heading=page.answer,
        page=page,
        name=selection.name,
        conf=selection.conf,
        is_served=selection.clustering is not None and selection.clustering.is_served,
        collection_href=link_to_collection(selection.name, **selection.build_params()),
        act_href=_link_to_act(selection),
        newest_href=link_to_collection(selection.name, conf=selection.build_params()["conf"]),
        params=selection.build_params(),
        documents_href=f"{page_url}/documents",
        over_time_href=build_url(
            f"{link_to_collection(selection.name)}/over-time", **selection.build_params()
        ),
        terms_most=max((weight for _, weight in page.terms), default=0.0),
        stages_most=max((item.size for item in page.stages), default=0),
        bars=bars,
        pictured=any(item.file_href for item in page.documents),
        chart=draw_histogram(bars, "Documents by date"),
        most=max(bars, key=lambda bar: bar.count, default=None),
        first_page_href=build_url(page_url, **selection.build_params()) if form.after else None,
        next_href=build_url(page_url, **selection.build_params(), after=page.next)
        if page.next
        else None,
        api_href=f"{API}{build_url(page_url, **selection.build_params(), after=form.after)}",
    )


@add_csv_route(router, "/themes/{namespace}/{key}/{theme}", lambda page: page.documents)
@router.get(
    "/api/themes/{namespace}/{key}/{theme}",
    summary="Theme and its documents",
    operation_id="get_theme",
)
def theme_json(
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    theme: str,
    form: Annotated[ThemeForm, Query()],
) -> ThemePage:
    """Return a theme by its id or label, with its documents, nearest first, 20 per page."""
    selection = resolve_selection(collections, namespace, key, form)
    return build_theme_page(stores, collections, selection, unquote_part(theme), form.after)
