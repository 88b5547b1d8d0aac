"""Page of a collection: its themes as a list and a map, changes since the previous clustering, a
list of stored clusterings, and running rebuilds.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.grouping.configuration import Configuration, build_values
from fonds.grouping.names import CollectionName
from fonds.grouping.views.clusterings import (
    ClusteringView,
    CollectionView,
    RebuildProgress,
    list_progress,
)
from fonds.grouping.views.clusters import (
    ClusterMember,
    ClusterView,
    LevelView,
    add_top_documents,
    load_clusters,
)
from fonds.grouping.views.curation import has_exclusions, list_curated_themes
from fonds.grouping.views.lineage import ClusterChange
from fonds.model.encoding import pluralize
from fonds.model.extension import extend
from fonds.web.access.roles import READS
from fonds.web.html.charts import draw_sparkline, format_share
from fonds.web.html.periods import Period
from fonds.web.html.rendering import build_pager, build_url, render_page, to_datetime
from fonds.web.pages.collections import ThemeRefLink
from fonds.web.pages.theme_changes import (
    ChangesOfKind,
    find_splits_and_mergers,
    group_by_kind,
    link_change,
    load_changes,
    load_previous_sizes,
    mark_changes,
)
from fonds.web.pages.theme_links import (
    API,
    link_to_assignment,
    link_to_collection,
    link_to_exclusions,
    link_to_theme,
)
from fonds.web.pages.theme_map import CIRCLES_MAX, MapSpot, draw_theme_map
from fonds.web.pages.theme_selection import (
    CONF,
    LEVEL,
    TIMESTAMP_FIELD,
    Selection,
    resolve_selection,
)
from fonds.web.pages.theme_timelines import ThemeTimeline, ThemeTimelines, build_timelines
from fonds.web.pages.unclustered import (
    UnclusteredLine,
    build_unclustered_lines,
    link_to_unclustered,
)
from fonds.web.serving.csv_tables import add_csv_route
from fonds.web.serving.json_requests import TheService
from fonds.wiring.collections import CollectionService

# Themes in the list.


TERMS_MAX = 8


@dataclass(frozen=True, slots=True)
class TitledDocument:
    """Title of a document, and the address of the page that explains why the document is in its
    theme.
    """

    title: str
    href: str


@dataclass(frozen=True, slots=True)
class ThemeLine:
    """One theme in the list of themes.

    `name`: name that a curator gave the theme, '' if none.
    `pinned`: whether a curator pinned the theme to the top of the list.
    `mark`: `new`, `rising` or ''.
    `turn`: `split` or `merged` if the theme came from a split or merger since the previous
        clustering, else ''.
    `came_of`: the themes of the previous clustering that were split or merged into this theme.
    `size_before`: number of documents of the theme in the previous clustering. None if the theme
        was not in the previous clustering, or no previous clustering is stored.
    `titles`: titles of the documents nearest to the centroid of the theme.
    `trend`: number of sampled documents of the theme per period.
    `undated`: number of sampled documents of the theme without a date.
    `cohesion`: mean cosine of the sampled documents to the centroid, None if none was sampled.
    """

    id: str
    label: str
    name: str
    pinned: bool
    href: str
    size: int
    share: str
    mark: str
    turn: str
    came_of: Sequence[ThemeRefLink]
    size_before: int | None
    terms: Sequence[str]
    titles: Sequence[TitledDocument]
    trend: Sequence[int]
    undated: int
    undated_href: str
    cohesion: float | None


@dataclass(frozen=True, slots=True)
class ThemeChanges:
    """Changes of themes since the previous clustering; each mapping is keyed by theme id.

    `marks`: `new` or `rising`; all other themes are missing.
    `sizes`: number of documents of the theme in the previous clustering.
    `turns`: the split or merger from which the theme came; all other themes are missing.
    """

    marks: Mapping[str, str]
    sizes: Mapping[str, int]
    turns: Mapping[str, ClusterChange]


def build_theme_line(
    selection: Selection,
    cluster: ClusterView,
    grouped_count: int,
    since: ThemeChanges,
    course: ThemeTimeline | None,
) -> ThemeLine:
    """Build the line of one theme for the list of themes.

    `grouped_count`: number of documents in all themes.
    `since`: changes of themes since the previous clustering.
    `course`: number of documents of the theme over time, None if unknown.
    """
    turn = since.turns.get(cluster.id)
    return ThemeLine(
        id=cluster.id,
        label=cluster.label,
        name=cluster.name,
        pinned=cluster.pinned,
        href=link_to_theme(selection.name, cluster.id, **selection.build_params()),
        size=cluster.size,
        share=format_share(cluster.size, grouped_count),
        mark=since.marks.get(cluster.id, ""),
        turn=turn.change if turn else "",
        came_of=link_change(selection, turn).before if turn else (),
        size_before=since.sizes.get(cluster.id),
        terms=[term for term, _ in cluster.terms[:TERMS_MAX]],
        titles=[_build_titled(selection, member) for member in cluster.top],
        trend=course.counts if course else (),
        undated=course.undated if course else 0,
        undated_href=_link_to_documents(selection, cluster.id, undated="true"),
        cohesion=course.cohesion if course else None,
    )


def _build_titled(selection: Selection, member: ClusterMember) -> TitledDocument:
    href = link_to_assignment(selection.name, member.id, conf=selection.build_params()["conf"])
    return TitledDocument(" ".join(member.title.split()) or member.url or member.id, href)


def _link_to_documents(selection: Selection, theme_id: str, **params: Any) -> str:
    return build_url(
        f"{link_to_theme(selection.name, theme_id)}/documents", **selection.build_params(), **params
    )


# Names and pins of themes that a rebuild left out, so that no curator's decision disappears
# silently.


LISTED_MAX = 20


@dataclass(frozen=True, slots=True)
class LostTheme:
    """A theme that a curator named or pinned, and that no longer exists.

    `label`: last label of the theme.
    `name`: name of the theme, '' if it was only pinned.
    `change`: what the last rebuild did to the theme: `merged`, `split` or `gone`; '' if the theme
        disappeared in an earlier rebuild.
    `successors`: the themes that continue the theme; empty if `change` is `gone` or ''.
    """

    id: str
    label: str
    name: str
    change: str
    successors: Sequence[ThemeRefLink]


def find_lost_themes(
    collections: CollectionService,
    selection: Selection,
    clusters: Sequence[ClusterView],
    changes: Sequence[ClusterChange],
) -> list[LostTheme]:
    """Return the themes that a curator named or pinned and that no longer exist, sorted by name.

    The list is empty for levels whose themes have no stable ids, and for past clusterings.
    """
    clustering = selection.clustering
    if selection.level or clustering is None or not clustering.is_served:
        return []
    theme_ids = {theme.id for theme in clusters}
    lost_themes = [
        curated_theme
        for curated_theme in list_curated_themes(
            collections.tables, selection.name, selection.conf
        ).values()
        if curated_theme.id not in theme_ids
    ]
    return [
        LostTheme(
            theme.id, theme.label, theme.name, *_find_successors(selection, theme.id, changes)
        )
        for theme in sorted(lost_themes, key=lambda theme: (theme.name or theme.label, theme.id))
    ]


def _find_successors(
    selection: Selection, theme: str, changes: Sequence[ClusterChange]
) -> tuple[str, Sequence[ThemeRefLink]]:
    for change in changes:
        if theme in {side.id for side in change.before}:
            return change.change, link_change(selection, change).after
    return "", ()


# Suggested mergers: pairs of similar themes. Only a curator merges them.


MERGED_LISTED_MAX = 5


@dataclass(frozen=True, slots=True)
class MergeLine:
    """Suggested merger: two similar themes, the cosine of their centroids, and their shared
    terms.
    """

    first: ThemeRefLink
    second: ThemeRefLink
    cosine: float
    shared: Sequence[str]


def build_suggested_mergers(
    collections: CollectionService, selection: Selection, level: LevelView | None
) -> tuple[list[MergeLine], int]:
    """Return the five most similar pairs of themes, and the number of all similar pairs.

    Pairs to which a curator gave the same name are left out, and so are pairs with a theme that no
    longer exists.
    """
    if level is None:
        return [], 0
    theme_by_id = {cluster.id: cluster for cluster in level.clusters}
    pairs = collections.similar_pairs.get(collections.tables, level)
    lines: list[MergeLine] = []
    n_left_out = 0
    for pair in pairs.nearest:
        first, second = theme_by_id.get(pair.first), theme_by_id.get(pair.second)
        if first is None or second is None or (first.name and first.name == second.name):
            n_left_out += 1
        elif len(lines) < MERGED_LISTED_MAX:
            sides = _build_link(selection, first), _build_link(selection, second)
            lines.append(MergeLine(*sides, round(pair.cosine, 2), pair.shared_terms))
    return lines, pairs.total - n_left_out


def _build_link(selection: Selection, theme: ClusterView) -> ThemeRefLink:
    href = link_to_theme(selection.name, theme.id, **selection.build_params())
    return ThemeRefLink(theme.label, theme.size, href, theme.name)


PAGE_SIZE = 20
PAGES_MAX = 1_000
TITLES_MAX = 3

router = APIRouter(tags=["themes"], dependencies=[READS])


class CollectionForm(BaseModel):
    """Query parameters that select a clustering of a collection and a page of its list of
    themes.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    at: int | None = TIMESTAMP_FIELD
    level: int = LEVEL
    page: int = Field(1, ge=1, le=PAGES_MAX, description="Page number, from 1; 20 themes per page")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringLine(ClusteringView):
    """One stored clustering in the list of clusterings. `chosen`: whether the page shows this
    clustering.
    """

    href: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionPage(CollectionView):
    """Content of the page of a collection: the collection, and its themes, 20 per page.

    Pinned themes come first, then the largest.

    `shown_at`: time of the clustering that the page shows, None if the collection has none.
    `themes_total`: number of themes in that clustering.
    `pinned`: number of pinned themes.
    `grouped`: number of documents that are in a theme.
    `unclustered`: number of unclustered documents for each reason.
    `periods`: the periods of time by which the `trend` of each theme counts documents.
    `looked_at`: number of sampled documents. The sample is the first 20,000 documents by id.
    `complete`: False if the collection has more documents than the sample.
    `merges`: the 5 most similar of `merges_total` pairs of similar themes.
    `lost`: 20 of `lost_total` themes that a curator named or pinned and that no longer exist.
    `before_at`: time of the previous clustering, None if none is stored.
    `changes`: changes of themes since the previous clustering.
    """

    answer: str
    conf: str
    level: int
    levels: int
    configuration: Configuration | None
    shown_at: dt.datetime | None
    is_served: bool
    before_at: dt.datetime | None
    grouped: int
    later: int
    themes_total: int
    pinned: int
    page: int
    pages: int
    periods: Sequence[Period]
    looked_at: int
    complete: bool
    themes: Sequence[ThemeLine]
    unclustered: Sequence[UnclusteredLine]
    merges: Sequence[MergeLine]
    merges_total: int
    lost: Sequence[LostTheme]
    lost_total: int
    changes: Sequence[ChangesOfKind]
    clusterings: Sequence[ClusteringLine]
    building: Sequence[RebuildProgress]


@dataclass(frozen=True, slots=True)
class _CollectionData:
    """Loaded data of one page of a collection.

    `level`: the level of the clustering, None if the collection has no clustering.
    `listed`: all themes in the order of the list: pinned themes first, then the largest.
    `visible`: the themes on the requested page.
    `since`: marks, splits and mergers of themes since the previous clustering, and their sizes in
        it.
    `changes`: all changes of themes since the previous clustering.
    `courses`: the themes on the requested page over time, None without a clustering.
    `is_complete`: False if the collection has more documents than the sample that was counted.
    """

    level: LevelView | None
    listed: Sequence[ClusterView]
    visible: Sequence[ClusterView]
    since: ThemeChanges
    changes: Sequence[ClusterChange]
    courses: ThemeTimelines | None
    is_complete: bool


def _read(
    collections: CollectionService, selection: Selection, form: CollectionForm
) -> _CollectionData:
    clustering, tables = selection.clustering, collections.tables
    level = None
    if clustering is not None:
        level = load_clusters(
            tables,
            selection.name,
            selection.conf,
            clustering.timestamp,
            level=selection.level,
            top=0,
        )
    if clustering is None or level is None:
        return _CollectionData(None, (), (), ThemeChanges({}, {}, {}), (), None, True)
    # The sort is stable: the largest themes stay first among the pinned and the others.
    listed_themes = sorted(level.clusters, key=lambda theme: not theme.pinned)
    page_themes = listed_themes[(form.page - 1) * PAGE_SIZE : form.page * PAGE_SIZE]
    previous_sizes = load_previous_sizes(tables, selection)
    changes = load_changes(tables, selection)
    since = ThemeChanges(
        mark_changes(level.clusters, previous_sizes),
        previous_sizes or {},
        find_splits_and_mergers(changes),
    )
    sample = collections.times.get(
        tables, selection.name, selection.conf, clustering.timestamp, level=selection.level
    )
    visible = add_top_documents(tables, level, page_themes, TITLES_MAX)
    return _CollectionData(
        level,
        listed_themes,
        visible,
        since,
        changes,
        build_timelines(sample, page_themes),
        sample.is_complete,
    )


def build_collection_page(
    collections: CollectionService,
    selection: Selection,
    form: CollectionForm,
    read: _CollectionData | None = None,
) -> CollectionPage:
    """Build the requested page of a collection. Past the last page of themes, its list of themes is
    empty.
    """
    read = read or _read(collections, selection, form)
    clustering, view = selection.clustering, selection.collection
    clusters = read.level.clusters if read.level else ()
    grouped_count = sum(cluster.size for cluster in clusters)
    unclustered_counts = read.level.unclustered if read.level else {}
    mergers, mergers_total = build_suggested_mergers(collections, selection, read.level)
    return extend(
        CollectionPage,
        view,
        answer=_build_heading(
            selection, len(clusters), grouped_count, sum(unclustered_counts.values())
        ),
        conf=selection.conf,
        level=selection.level,
        levels=clustering.levels if clustering else 0,
        configuration=clustering.configuration if clustering else None,
        shown_at=to_datetime(clustering.timestamp) if clustering else None,
        is_served=clustering is not None and clustering.is_served,
        before_at=to_datetime(selection.previous.timestamp) if selection.previous else None,
        grouped=grouped_count,
        later=clustering.later if clustering else 0,
        themes_total=len(clusters),
        pinned=sum(view.pinned for view in read.listed),
        page=form.page,
        pages=max(1, -(-len(read.listed) // PAGE_SIZE)),
        periods=read.courses.periods if read.courses else (),
        looked_at=read.courses.sampled_count if read.courses else 0,
        complete=read.is_complete,
        themes=_build_lines(selection, grouped_count, read),
        unclustered=build_unclustered_lines(selection, unclustered_counts),
        merges=mergers,
        merges_total=mergers_total,
        lost=(lost_themes := find_lost_themes(collections, selection, clusters, read.changes))[
            :LISTED_MAX
        ],
        lost_total=len(lost_themes),
        changes=group_by_kind(selection, read.changes),
        clusterings=_build_clustering_lines(selection),
        building=list_progress(collections.tables, collections.writer.leases, view.name),
    )


def _build_lines(
    selection: Selection, grouped_count: int, read: _CollectionData
) -> list[ThemeLine]:
    timelines = {
        cluster.theme.id: cluster for cluster in (read.courses.courses if read.courses else ())
    }
    return [
        build_theme_line(selection, cluster, grouped_count, read.since, timelines.get(cluster.id))
        for cluster in read.visible
    ]


def _build_heading(
    selection: Selection, count: int, grouped_count: int, unclustered_count: int
) -> str:
    name, size = selection.name, selection.collection.size
    if selection.clustering is None:
        state = f"{pluralize(size, 'document')}, not grouped yet" if size else "empty"
        return f"{name}: {state}"
    if not grouped_count:
        return f"{name}: no themes in {pluralize(grouped_count + unclustered_count, 'document')}"
    heading = _format_part_heading(name, count, grouped_count, unclustered_count)
    return heading + _format_unclustered(grouped_count, unclustered_count)


def _format_part_heading(
    name: CollectionName, count: int, grouped_count: int, unclustered_count: int
) -> str:
    clustered_share, themes = (
        format_share(grouped_count, grouped_count + unclustered_count),
        pluralize(count, "theme"),
    )
    documents = pluralize(grouped_count + unclustered_count, "document")
    return f"{name}: {themes}, {clustered_share} of {documents}"


def _format_unclustered(grouped_count: int, unclustered_count: int) -> str:
    return (
        f", {format_share(unclustered_count, grouped_count + unclustered_count)} without a theme"
        if unclustered_count
        else ""
    )


def _build_clustering_lines(selection: Selection) -> list[ClusteringLine]:
    def build_line(clustering_view: ClusteringView) -> ClusteringLine:
        timestamp = None if clustering_view.is_served else clustering_view.timestamp
        return extend(
            ClusteringLine,
            clustering_view,
            href=link_to_collection(
                selection.name, **{**selection.build_params(), "at": timestamp, "level": None}
            ),
            chosen=clustering_view == selection.clustering,
        )

    return [build_line(clustering) for clustering in selection.clusterings]


@router.get("/themes/{namespace}/{key}", include_in_schema=False)
def collection_html(
    request: Request,
    collections: TheService,
    namespace: str,
    key: str,
    form: Annotated[CollectionForm, Query()],
) -> HTMLResponse:
    """Show the themes of a collection: list, map, changes."""
    selection = resolve_selection(collections, namespace, key, form)
    read = _read(collections, selection, form)
    page = build_collection_page(collections, selection, form, read)
    page_url = link_to_collection(selection.name)
    params = selection.build_params()
    spots = _build_spots(selection, read)
    unclustered_text = (
        _format_unclustered(page.grouped, sum(item.count for item in page.unclustered))
        if page.grouped
        else ""
    )
    return render_page(
        request,
        "collection.html",
        heading=page.answer,
        within=page.answer.removesuffix(unclustered_text),
        in_none=unclustered_text.removeprefix(", "),
        apart_href=link_to_unclustered(selection),
        page=page,
        name=selection.name,
        confs=[
            (item, link_to_collection(selection.name, conf=item), item == selection.conf)
            for item in selection.confs
        ],
        levels=[
            (
                item,
                link_to_collection(
                    selection.name, **{**selection.build_params(), "level": item or None}
                ),
            )
            for item in range(page.levels)
        ],
        configuration=build_values(page.configuration) if page.configuration else {},
        theme_map=draw_theme_map(spots, f"Themes of {selection.name} by size and similarity"),
        spots=len(spots),
        circles_max=CIRCLES_MAX,
        sparks=draw_sparkline,
        largest=max((item.size for item in page.themes), default=0),
        act_href=link_to_collection(selection.name),
        excluded_href=link_to_exclusions(selection.name, conf=selection.build_params()["conf"])
        if has_exclusions(collections.tables, selection.name)
        else None,
        over_time_href=build_url(
            f"{link_to_collection(selection.name)}/over-time", **selection.build_params()
        ),
        newest_href=link_to_collection(selection.name, conf=selection.build_params()["conf"]),
        pager=build_pager(page_url, params, page.themes_total, form.page, PAGE_SIZE, PAGES_MAX),
        api_href=f"{API}{link_to_collection(selection.name, **params, page=form.page)}",
    )


def _build_spots(selection: Selection, read: _CollectionData) -> list[MapSpot]:
    clusters = read.level.clusters if read.level else ()
    return [
        MapSpot(
            cluster.display_name,
            cluster.size,
            cluster.position,
            link_to_theme(selection.name, cluster.id, **selection.build_params()),
        )
        for cluster in clusters
        if cluster.position is not None
    ]


@add_csv_route(router, "/themes/{namespace}/{key}", lambda page: page.themes)
@router.get(
    "/api/themes/{namespace}/{key}", summary="Themes of a collection", operation_id="list_themes"
)
def collection_json(
    collections: TheService, namespace: str, key: str, form: Annotated[CollectionForm, Query()]
) -> CollectionPage:
    """List the themes of a collection, 20 per page, pinned themes first, then the largest, and the
    changes since the previous clustering.

    In a key, `~2F` is a slash, `~25` a percent sign and `~7E` a tilde.
    """
    return build_collection_page(
        collections, resolve_selection(collections, namespace, key, form), form
    )
