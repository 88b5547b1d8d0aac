"""One collection: its themes as a list and a map, what changed, other clusterings, how far a rebuild is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.grouping.configuration import build_values
from fonds.grouping.names import CollectionName
from fonds.grouping.views.clusterings import ClusteringView, RebuildProgress, list_progress
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
from fonds.web.access.roles import READS
from fonds.web.html.charts import Period, draw_sparkline, format_share
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
from fonds.web.pages.theme_map import CIRCLES_MAX, MapSpot, theme_map
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

# A theme as a line of the list: its size and share, what became of it, its nearest documents.


TERMS_MAX = 8


@dataclass(frozen=True, slots=True)
class TitledDocument:
    """A document by its title, and the page that says why it is there."""

    title: str
    href: str


@dataclass(frozen=True, slots=True)
class ThemeLine:
    """A theme in the list. `name` is what a curator called it, '' where nobody did, and `pinned` whether one
    put it before the others. `mark` is `new`, `rising` or empty; `turn` is `split` or `merged` where it came
    of a split or a merger since the clustering before, else empty, and `came_of` the themes there;
    `size_before` its size in that clustering, None where it was not there or none is kept. `titles` are of
    its nearest documents. Of its documents looked at, `trend` counts those of each period, `undated` those
    without a date, and `cohesion` is their mean cosine to its middle, None where none was looked at."""

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
    """What became of themes since the clustering before, by their ids."""

    marks: Mapping[str, str]
    sizes: Mapping[str, int]
    turns: Mapping[str, ClusterChange]


def build_theme_line(
    selection: Selection,
    cluster: ClusterView,
    grouped: int,
    since: ThemeChanges,
    course: ThemeTimeline | None,
) -> ThemeLine:
    """The line of a theme; `grouped` counts the documents of all themes."""
    turn = since.turns.get(cluster.id)
    return ThemeLine(
        id=cluster.id,
        label=cluster.label,
        name=cluster.name,
        pinned=cluster.pinned,
        href=link_to_theme(selection.name, cluster.id, **selection.build_params()),
        size=cluster.size,
        share=format_share(cluster.size, grouped),
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


# Names and pins whose theme a rebuild left out: nothing a person decided disappears unsaid.


LISTED_MAX = 20


@dataclass(frozen=True, slots=True)
class LostTheme:
    """A theme that was named or pinned and is there no more: its id, the label it had then, its name, ''
    where it was pinned alone. `change` is `merged`, `split` or `gone`, and `became` the themes it led to, as
    far as the last rebuild tells; '' and none of one that went before."""

    id: str
    label: str
    name: str
    change: str
    became: Sequence[ThemeRefLink]


def find_lost_themes(
    collections: CollectionService,
    selection: Selection,
    now: Sequence[ClusterView],
    changes: Sequence[ClusterChange],
) -> list[LostTheme]:
    """All of them, by name; nothing for a level whose ids do not stay, or of the past."""
    at = selection.clustering
    if selection.level or at is None or not at.is_served:
        return []
    known = {one.id for one in now}
    left = [
        one
        for one in list_curated_themes(collections.tables, selection.name, selection.conf).values()
        if one.id not in known
    ]
    return [
        LostTheme(one.id, one.label, one.name, *_find_successors(selection, one.id, changes))
        for one in sorted(left, key=lambda one: (one.name or one.label, one.id))
    ]


def _find_successors(
    selection: Selection, theme: str, changes: Sequence[ClusterChange]
) -> tuple[str, Sequence[ThemeRefLink]]:
    for one in changes:
        if theme in {side.id for side in one.before}:
            return one.change, link_change(selection, one).after
    return "", ()


# Suggested mergers: pairs of similar themes on a collection's page. Only a person merges them.


MERGED_LISTED_MAX = 5


@dataclass(frozen=True, slots=True)
class MergeLine:
    """Two similar themes, the cosine of their centroids, and the terms that both have."""

    first: ThemeRefLink
    second: ThemeRefLink
    cosine: float
    shared: Sequence[str]


def suggested_mergers(
    themes: CollectionService, there: Selection, level: LevelView | None
) -> tuple[list[MergeLine], int]:
    """Return the five nearest pairs and the number of all pairs.

    Leave out pairs that a curator has given one name, and pairs with a theme that no longer exists.
    """
    if level is None:
        return [], 0
    theme_by_id = {one.id: one for one in level.clusters}
    pairs = themes.similar_pairs.get(themes.tables, level)
    lines: list[MergeLine] = []
    n_left_out = 0
    for pair in pairs.nearest:
        first, second = theme_by_id.get(pair.first), theme_by_id.get(pair.second)
        if first is None or second is None or (first.name and first.name == second.name):
            n_left_out += 1
        elif len(lines) < MERGED_LISTED_MAX:
            sides = _build_link(there, first), _build_link(there, second)
            lines.append(MergeLine(*sides, round(pair.cosine, 2), pair.shared_terms))
    return lines, pairs.total - n_left_out


def _build_link(selection: Selection, theme: ClusterView) -> ThemeRefLink:
    href = link_to_theme(selection.name, theme.id, **selection.build_params())
    return ThemeRefLink(theme.label, theme.size, href, theme.name)


PAGE_SIZE = 20
PAGES_MAX = 1_000
TITLES_MAX = 3

router = APIRouter(dependencies=[READS])


class CollectionForm(BaseModel):
    """Which clustering of a collection, and which page of its themes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    at: int | None = TIMESTAMP_FIELD
    level: int = LEVEL
    page: int = Field(1, ge=1, le=PAGES_MAX, description="Page of 20 themes, from 1")


@dataclass(frozen=True, slots=True)
class ClusteringLine:
    """A clustering, for choosing; `chosen` is the one that is shown."""

    conf: str
    at: dt.datetime | None
    href: str
    documents: int
    themes: int
    is_served: bool
    chosen: bool


@dataclass(frozen=True, slots=True)
class CollectionPage:
    """A collection by its themes, 20 a page, those pinned before the others, the largest first; `shown_at`
    None where none was built yet.

    `themes_total` counts all themes of the clustering shown, `pinned` those that stand before the others,
    `grouped` the documents in one, `apart` those in none. The `trend` of a theme counts by `periods`, of the
    `looked_at` documents; `complete` is False where there are more than were looked at, the first 20,000 by
    id. `merges` are the 5 nearest of `merges_total` pairs of similar themes. `lost` are themes that were
    named or pinned and are there no more, 20 of `lost_total`. `changes` are those since `before_at`, None
    where no clustering before it is kept.
    """

    answer: str
    namespace: str
    key: str
    documents: int
    modified: dt.datetime | None
    query: str
    conf: str
    level: int
    levels: int
    configuration: Mapping[str, Any]
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
    apart: Sequence[UnclusteredLine]
    merges: Sequence[MergeLine]
    merges_total: int
    lost: Sequence[LostTheme]
    lost_total: int
    changes: Sequence[ChangesOfKind]
    clusterings: Sequence[ClusteringLine]
    building: Sequence[RebuildProgress]


@dataclass(frozen=True, slots=True)
class _CollectionData:
    """A level as it was read, the themes listed, those of the page asked for, and what became of them."""

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
    at, tables = selection.clustering, collections.tables
    level = None
    if at is not None:
        level = load_clusters(
            tables, selection.name, selection.conf, at.timestamp, level=selection.level, top=0
        )
    if at is None or level is None:
        return _CollectionData(None, (), (), ThemeChanges({}, {}, {}), (), None, True)
    # The largest come first, and of those of one kind they stay in that order.
    listed = sorted(level.clusters, key=lambda one: not one.pinned)
    some = listed[(form.page - 1) * PAGE_SIZE : form.page * PAGE_SIZE]
    before = load_previous_sizes(tables, selection)
    told = load_changes(tables, selection)
    since = ThemeChanges(
        mark_changes(level.clusters, before), before or {}, find_splits_and_mergers(told)
    )
    looked = collections.times.get(
        tables, selection.name, selection.conf, at.timestamp, level=selection.level
    )
    shown = add_top_documents(tables, level, some, TITLES_MAX)
    return _CollectionData(
        level, listed, shown, since, told, build_timelines(looked, some), looked.is_complete
    )


def build_collection_page(
    collections: CollectionService,
    selection: Selection,
    form: CollectionForm,
    read: _CollectionData | None = None,
) -> CollectionPage:
    """What is asked for; a page behind the last has no themes."""
    read = read or _read(collections, selection, form)
    at, one = selection.clustering, selection.collection
    every = read.level.clusters if read.level else ()
    grouped = sum(each.size for each in every)
    apart = read.level.apart if read.level else {}
    mergers, mergers_total = suggested_mergers(collections, selection, read.level)
    return CollectionPage(
        answer=_build_heading(selection, len(every), grouped, sum(apart.values())),
        namespace=one.name.namespace,
        key=one.name.key,
        documents=one.size,
        modified=to_datetime(one.modified),
        query=one.query,
        conf=selection.conf,
        level=selection.level,
        levels=at.levels if at else 0,
        configuration=build_values(at.configuration) if at else {},
        shown_at=to_datetime(at.timestamp) if at else None,
        is_served=at is not None and at.is_served,
        before_at=to_datetime(selection.previous.timestamp) if selection.previous else None,
        grouped=grouped,
        later=at.later if at else 0,
        themes_total=len(every),
        pinned=sum(one.pinned for one in read.listed),
        page=form.page,
        pages=max(1, -(-len(read.listed) // PAGE_SIZE)),
        periods=read.courses.periods if read.courses else (),
        looked_at=read.courses.sampled_count if read.courses else 0,
        complete=read.is_complete,
        themes=_build_lines(selection, grouped, read),
        apart=build_unclustered_lines(selection, apart),
        merges=mergers,
        merges_total=mergers_total,
        lost=(lost := find_lost_themes(collections, selection, every, read.changes))[:LISTED_MAX],
        lost_total=len(lost),
        changes=group_by_kind(selection, read.changes),
        clusterings=_build_clustering_lines(selection),
        building=list_progress(collections.tables, collections.changes.leases, one.name),
    )


def _build_lines(selection: Selection, grouped: int, read: _CollectionData) -> list[ThemeLine]:
    known = {one.theme.id: one for one in (read.courses.courses if read.courses else ())}
    return [
        build_theme_line(selection, one, grouped, read.since, known.get(one.id))
        for one in read.visible
    ]


def _build_heading(selection: Selection, count: int, grouped: int, unclustered_count: int) -> str:
    name, size = selection.name, selection.collection.size
    if selection.clustering is None:
        state = f"{pluralize(size, 'document')}, not grouped yet" if size else "empty so far"
        return f"{name}: {state}"
    if not grouped:
        return f"{name}: no themes in {pluralize(grouped + unclustered_count, 'document')}"
    heading = _format_part_heading(name, count, grouped, unclustered_count)
    return heading + _format_unclustered(grouped, unclustered_count)


def _format_part_heading(
    name: CollectionName, count: int, grouped: int, unclustered_count: int
) -> str:
    within, themes = format_share(grouped, grouped + unclustered_count), pluralize(count, "theme")
    return f"{name}: {within} of {pluralize(grouped + unclustered_count, 'document')} in {themes}"


def _format_unclustered(grouped: int, unclustered_count: int) -> str:
    return (
        f", {format_share(unclustered_count, grouped + unclustered_count)} in none"
        if unclustered_count
        else ""
    )


def _build_clustering_lines(selection: Selection) -> list[ClusteringLine]:
    def line(one: ClusteringView) -> ClusteringLine:
        at = None if one.is_served else one.timestamp
        return ClusteringLine(
            one.conf,
            to_datetime(one.timestamp),
            link_to_collection(
                selection.name, **{**selection.build_params(), "at": at, "level": None}
            ),
            one.documents + one.later,
            one.clusters,
            one.is_served,
            one == selection.clustering,
        )

    return [line(one) for one in selection.clusterings]


@router.get("/themes/{namespace}/{key}", include_in_schema=False)
def collection_html(
    request: Request,
    collections: TheService,
    namespace: str,
    key: str,
    form: Annotated[CollectionForm, Query()],
) -> HTMLResponse:
    """A collection's themes: the list first, then the map, then what changed."""
    there = resolve_selection(collections, namespace, key, form)
    read = _read(collections, there, form)
    found = build_collection_page(collections, there, form, read)
    here = link_to_collection(there.name)
    words = there.build_params()
    spots = _build_spots(there, read)
    none = (
        _format_unclustered(found.grouped, sum(one.count for one in found.apart))
        if found.grouped
        else ""
    )
    return render_page(
        request,
        "collection.html",
        heading=found.answer,
        within=found.answer.removesuffix(none),
        in_none=none.removeprefix(", "),
        apart_href=link_to_unclustered(there),
        found=found,
        name=there.name,
        confs=[
            (one, link_to_collection(there.name, conf=one), one == there.conf)
            for one in there.confs
        ],
        levels=[
            (one, link_to_collection(there.name, **{**there.build_params(), "level": one or None}))
            for one in range(found.levels)
        ],
        theme_map=theme_map(spots, f"The themes of {there.name} by size and nearness"),
        spots=len(spots),
        circles_max=CIRCLES_MAX,
        sparks=draw_sparkline,
        largest=max((one.size for one in found.themes), default=0),
        act_href=link_to_collection(there.name),
        excluded_href=link_to_exclusions(there.name, conf=there.build_params()["conf"])
        if has_exclusions(collections.tables, there.name)
        else None,
        over_time_href=build_url(
            f"{link_to_collection(there.name)}/over-time", **there.build_params()
        ),
        newest_href=link_to_collection(there.name, conf=there.build_params()["conf"]),
        pager=build_pager(here, words, found.themes_total, form.page, PAGE_SIZE, PAGES_MAX),
        api_href=f"{API}{link_to_collection(there.name, **words, page=form.page)}",
    )


def _build_spots(selection: Selection, read: _CollectionData) -> list[MapSpot]:
    every = read.level.clusters if read.level else ()
    return [
        MapSpot(
            one.display_name,
            one.size,
            one.position,
            link_to_theme(selection.name, one.id, **selection.build_params()),
        )
        for one in every
        if one.position is not None
    ]


@add_csv_route(router, "/themes/{namespace}/{key}", lambda found: found.themes)
@router.get("/api/themes/{namespace}/{key}", summary="The themes of a collection")
def collection_json(
    collections: TheService, namespace: str, key: str, form: Annotated[CollectionForm, Query()]
) -> CollectionPage:
    """The themes of a collection, 20 a page, those pinned before the others, the largest first, and what
    changed since the clustering before.

    In a key, `~2F` stands for a slash, `~25` for a percent sign and `~7E` for a tilde.
    """
    return build_collection_page(
        collections, resolve_selection(collections, namespace, key, form), form
    )
