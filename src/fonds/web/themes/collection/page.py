"""One collection: its themes as a list and a map, what changed, other clusterings, how far a rebuild is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.collections.names import Name
from fonds.collections.reading.clusterings import Clustering, Progress, progress
from fonds.collections.reading.clusters import Cluster, Clusters, clusters, with_top
from fonds.collections.reading.curated import there_are_exclusions
from fonds.collections.reading.lineage import Change
from fonds.model.numbers import how_many
from fonds.web.access.declared import READS
from fonds.web.charts import share, sparks
from fonds.web.pages.periods import Period
from fonds.web.rendering import instant, link, page, pager
from fonds.web.rest.service import TheService
from fonds.web.serving.tables import tabled
from fonds.web.themes.addresses import API, collection_href, excluded_href, theme_href
from fonds.web.themes.apart.reasons import ApartLine, apart_href, apart_lines
from fonds.web.themes.asking import AT, CONF, LEVEL, Asked, asked
from fonds.web.themes.changes import ChangesOfKind, by_kind, marks, sizes_before, told_of, turns_of
from fonds.web.themes.collection.drawing import CIRCLES_MAX, Spot, theme_map
from fonds.web.themes.collection.lines import Since, ThemeLine, theme_line
from fonds.web.themes.collection.lost import LISTED_MAX, Lost, lost_themes
from fonds.web.themes.collection.merging import MergeLine, suggested_mergers
from fonds.web.themes.times.courses import Courses, courses
from fonds.wiring.recurring.collections import CollectionService

PAGE_SIZE = 20
PAGES_MAX = 1_000
TITLES_SHOWN = 3

router = APIRouter(dependencies=[READS])


class CollectionForm(BaseModel):
    """Which clustering of a collection, and which page of its themes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    at: int | None = AT
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
    apart: Sequence[ApartLine]
    merges: Sequence[MergeLine]
    merges_total: int
    lost: Sequence[Lost]
    lost_total: int
    changes: Sequence[ChangesOfKind]
    clusterings: Sequence[ClusteringLine]
    building: Sequence[Progress]


@dataclass(frozen=True, slots=True)
class _Read:
    """A level as it was read, the themes listed, those of the page asked for, and what became of them."""

    level: Clusters | None
    listed: Sequence[Cluster]
    shown: Sequence[Cluster]
    since: Since
    told: Sequence[Change]
    courses: Courses | None
    complete: bool


def _read(themes: CollectionService, there: Asked, form: CollectionForm) -> _Read:
    at, tables = there.clustering, themes.tables
    level = None
    if at is not None:
        level = clusters(tables, there.name, there.conf, at.timestamp, level=there.level, top=0)
    if at is None or level is None:
        return _Read(None, (), (), Since({}, {}, {}), (), None, True)
    # The largest come first, and of those of one kind they stay in that order.
    listed = sorted(level.clusters, key=lambda one: not one.pinned)
    some = listed[(form.page - 1) * PAGE_SIZE : form.page * PAGE_SIZE]
    before = sizes_before(tables, there)
    told = told_of(tables, there)
    since = Since(marks(level.clusters, before), before or {}, turns_of(told))
    looked = themes.times.of(tables, there.name, there.conf, at.timestamp, level=there.level)
    shown = with_top(tables, level, some, TITLES_SHOWN)
    return _Read(level, listed, shown, since, told, courses(looked, some), looked.complete)


def collection_page(
    themes: CollectionService, there: Asked, form: CollectionForm, read: _Read | None = None
) -> CollectionPage:
    """What is asked for; a page behind the last has no themes."""
    read = read or _read(themes, there, form)
    at, one = there.clustering, there.collection
    every = read.level.clusters if read.level else ()
    grouped = sum(each.size for each in every)
    apart = read.level.apart if read.level else {}
    mergers, mergers_total = suggested_mergers(themes, there, read.level)
    return CollectionPage(
        answer=_answer(there, len(every), grouped, sum(apart.values())),
        namespace=one.name.namespace,
        key=one.name.key,
        documents=one.size,
        modified=instant(one.modified),
        query=one.query,
        conf=there.conf,
        level=there.level,
        levels=at.levels if at else 0,
        configuration=at.configuration if at else {},
        shown_at=instant(at.timestamp) if at else None,
        is_served=at is not None and at.is_served,
        before_at=instant(there.before.timestamp) if there.before else None,
        grouped=grouped,
        later=at.later if at else 0,
        themes_total=len(every),
        pinned=sum(one.pinned for one in read.listed),
        page=form.page,
        pages=max(1, -(-len(read.listed) // PAGE_SIZE)),
        periods=read.courses.periods if read.courses else (),
        looked_at=read.courses.looked_at if read.courses else 0,
        complete=read.complete,
        themes=_lines(there, grouped, read),
        apart=apart_lines(there, apart),
        merges=mergers,
        merges_total=mergers_total,
        lost=(lost := lost_themes(themes, there, every, read.told))[:LISTED_MAX],
        lost_total=len(lost),
        changes=by_kind(there, read.told),
        clusterings=_clusterings(there),
        building=progress(themes.tables, themes.changes.claims, one.name),
    )


def _lines(there: Asked, grouped: int, read: _Read) -> list[ThemeLine]:
    known = {one.theme.id: one for one in (read.courses.courses if read.courses else ())}
    return [theme_line(there, one, grouped, read.since, known.get(one.id)) for one in read.shown]


def _answer(there: Asked, count: int, grouped: int, apart: int) -> str:
    name, size = there.name, there.collection.size
    if there.clustering is None:
        state = f"{how_many(size, 'document')}, not grouped yet" if size else "empty so far"
        return f"{name}: {state}"
    if not grouped:
        return f"{name}: no themes in {how_many(grouped + apart, 'document')}"
    return f"{_within(name, count, grouped, apart)}{_in_none(grouped, apart)}"


def _within(name: Name, count: int, grouped: int, apart: int) -> str:
    within, themes = share(grouped, grouped + apart), how_many(count, "theme")
    return f"{name}: {within} of {how_many(grouped + apart, 'document')} in {themes}"


def _in_none(grouped: int, apart: int) -> str:
    return f", {share(apart, grouped + apart)} in none" if apart else ""


def _clusterings(there: Asked) -> list[ClusteringLine]:
    def line(one: Clustering) -> ClusteringLine:
        at = None if one.is_served else one.timestamp
        return ClusteringLine(
            one.conf,
            instant(one.timestamp),
            collection_href(there.name, **{**there.params(), "at": at, "level": None}),
            one.documents + one.later,
            one.clusters,
            one.is_served,
            one == there.clustering,
        )

    return [line(one) for one in there.clusterings]


@router.get("/themes/{namespace}/{key}", include_in_schema=False)
def collection_html(
    request: Request,
    themes: TheService,
    namespace: str,
    key: str,
    form: Annotated[CollectionForm, Query()],
) -> HTMLResponse:
    """A collection's themes: the list first, then the map, then what changed."""
    there = asked(themes, namespace, key, form)
    read = _read(themes, there, form)
    found = collection_page(themes, there, form, read)
    here = collection_href(there.name)
    words = there.params()
    spots = _spots(there, read)
    none = _in_none(found.grouped, sum(one.count for one in found.apart)) if found.grouped else ""
    return page(
        request,
        "collection.html",
        heading=found.answer,
        within=found.answer.removesuffix(none),
        in_none=none.removeprefix(", "),
        apart_href=apart_href(there),
        found=found,
        name=there.name,
        confs=[
            (one, collection_href(there.name, conf=one), one == there.conf) for one in there.confs
        ],
        levels=[
            (one, collection_href(there.name, **{**there.params(), "level": one or None}))
            for one in range(found.levels)
        ],
        theme_map=theme_map(spots, f"The themes of {there.name} by size and nearness"),
        spots=len(spots),
        circles_max=CIRCLES_MAX,
        sparks=sparks,
        largest=max((one.size for one in found.themes), default=0),
        act_href=collection_href(there.name),
        excluded_href=excluded_href(there.name, conf=there.params()["conf"])
        if there_are_exclusions(themes.tables, there.name)
        else None,
        over_time_href=link(f"{collection_href(there.name)}/over-time", **there.params()),
        newest_href=collection_href(there.name, conf=there.params()["conf"]),
        pager=pager(here, words, found.themes_total, form.page, PAGE_SIZE, PAGES_MAX),
        api_href=f"{API}{collection_href(there.name, **words, page=form.page)}",
    )


def _spots(there: Asked, read: _Read) -> list[Spot]:
    every = read.level.clusters if read.level else ()
    return [
        Spot(
            one.called, one.size, one.position, theme_href(there.name, one.id, **there.params())
        )
        for one in every
        if one.position is not None
    ]  # fmt: skip


@tabled(router, "/themes/{namespace}/{key}", lambda found: found.themes)
@router.get("/api/themes/{namespace}/{key}", summary="The themes of a collection")
def collection_json(
    themes: TheService, namespace: str, key: str, form: Annotated[CollectionForm, Query()]
) -> CollectionPage:
    """The themes of a collection, 20 a page, those pinned before the others, the largest first, and what
    changed since the clustering before.

    In a key, `~2F` stands for a slash, `~25` for a percent sign and `~7E` for a tilde.
    """
    return collection_page(themes, asked(themes, namespace, key, form), form)
