"""One theme: its terms, its course, the themes nearest to it, documents; or those in no theme, and why."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.collections.reading.clusters import (
    Cluster,
    Members,
    cluster,
    clusters,
    members,
    members_apart,
)
from fonds.collections.reading.nearness import nearest
from fonds.model.names import no_such
from fonds.ports import Stores
from fonds.web.access.declared import READS
from fonds.web.charts import histogram
from fonds.web.rendering import OpenStores, cut, instant, link, page, sentence
from fonds.web.rest.service import Service, TheService
from fonds.web.serving.tables import tabled
from fonds.web.themes import apart
from fonds.web.themes.addresses import API, collection_href, theme_href, unpart
from fonds.web.themes.asking import AT, CONF, LEVEL, Asked, asked
from fonds.web.themes.changes import marks, sizes_before
from fonds.web.themes.courses import Months, Stage, Turn, bars, months, stages, turns
from fonds.web.themes.documents import DocumentLine, document_lines

PAGE_SIZE = 20
TERMS_SHOWN = 20
AFTER_MAX_CHARS = 60_000
"""A row has at most 32,767 bytes, of which base64 makes four characters for three bytes."""

router = APIRouter(dependencies=[READS])


class ThemeForm(BaseModel):
    """Which clustering of a collection, and which page of a theme's documents."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    at: int | None = AT
    level: int = LEVEL
    after: str = Field(
        "", max_length=AFTER_MAX_CHARS, description="The page behind another: its `next`"
    )


@dataclass(frozen=True, slots=True)
class Nearby:
    """Another theme, and the cosine of the two middles."""

    label: str
    cosine: float
    href: str


@dataclass(frozen=True, slots=True)
class ThemePage:
    """A theme, or the documents apart for a reason: these have neither terms nor a course, and `id` is None.

    `terms` with their log-likelihood ratios. `distinct` counts the documents that were no near-duplicate of
    another when it was built. `turns` are splits and mergers since the clustering before. The page of
    documents behind this one is had with `after` = `next`, None at the end; pages behind the first have
    `months` None and no stages, turns and nearest themes. `reasons`: of all documents in no theme, named
    `apart`, how many are so for each reason.
    """

    answer: str
    namespace: str
    key: str
    conf: str
    shown_at: dt.datetime | None
    id: str | None
    label: str
    size: int
    distinct: int
    mark: str
    parent: str | None
    parent_href: str | None
    terms: Sequence[tuple[str, float]]
    months: Months | None
    stages: Sequence[Stage]
    turns: Sequence[Turn]
    nearest: Sequence[Nearby]
    reasons: Sequence[apart.ApartLine]
    documents: Sequence[DocumentLine]
    next: str | None


def theme_page(stores: Stores, themes: Service, there: Asked, theme: str, after: str) -> ThemePage:
    """The theme of this id or label. Raises HTTPException 404 where there is none, naming the nearest, and
    400 for an `after` that is none of its pages."""
    at, tables = there.clustering, themes.tables
    if at is None:
        raise HTTPException(404, f"{there.name} was not grouped by {there.conf} yet.")
    one = cluster(
        tables, there.name, theme, there.conf, at.timestamp, level=there.level, top=0
    )  # fmt: skip
    page_of = _members(themes, there, one.label if one else theme, one is not None, after)
    if page_of is None or (one is None and not apart.is_apart(theme)):
        raise HTTPException(404, _unknown(themes, there, theme))
    lines = document_lines(stores.index, there, page_of.members)
    following = None if page_of.after is None else _text(page_of.after)
    if one is None:
        return _apart(themes, there, theme, lines, following)
    before = sizes_before(tables, there)
    every = clusters(tables, there.name, there.conf, at.timestamp, top=0) if before else None
    return ThemePage(
        answer=one.label,
        namespace=there.name.namespace,
        key=there.name.key,
        conf=there.conf,
        shown_at=instant(at.timestamp),
        id=one.id,
        label=one.label,
        size=one.size,
        distinct=one.distinct,
        mark=marks(every.clusters if every else (), before).get(one.id, ""),
        parent=one.parent,
        parent_href=_parent(there, one),
        terms=one.terms[:TERMS_SHOWN],
        months=None if after else months(tables, there, one.label),
        stages=() if after else stages(tables, there, one.id),
        turns=() if after else turns(tables, there, one.id),
        nearest=() if after else _nearest(themes, there, one.label),
        reasons=(),
        documents=lines,
        next=following,
    )


def _apart(
    themes: Service, there: Asked, reason: str, lines: list[DocumentLine], following: str | None
) -> ThemePage:
    at = there.clustering
    every = clusters(
        themes.tables, there.name, there.conf, at.timestamp if at else None, top=0
    )  # fmt: skip
    counts = every.apart if every else {}
    size = apart.size_of(reason, counts)
    return ThemePage(
        answer=apart.answer(reason, size),
        namespace=there.name.namespace,
        key=there.name.key,
        conf=there.conf,
        shown_at=instant(at.timestamp) if at else None,
        id=None,
        label=reason,
        size=size,
        distinct=size,
        mark="",
        parent=None,
        parent_href=None,
        terms=(),
        months=None,
        stages=(),
        turns=(),
        nearest=(),
        reasons=apart.apart_lines(there, counts) if reason == apart.EVERY else (),
        documents=lines,
        next=following,
    )


def _nearest(themes: Service, there: Asked, label: str) -> list[Nearby]:
    """The themes nearest by the model, which knows the first level only."""
    at = there.clustering
    if at is None or there.level:
        return []
    return [
        Nearby(one.label, one.cosine, theme_href(there.name, one.label, **there.params()))
        for one in nearest(themes.tables, there.name, there.conf, at.timestamp, label)
    ]


def _parent(there: Asked, one: Cluster) -> str | None:
    if one.parent is None:
        return None
    return theme_href(there.name, one.parent, **{**there.params(), "level": one.parent_level})


def _members(
    themes: Service, there: Asked, label: str, is_theme: bool, after: str
) -> Members | None:
    at = there.clustering
    try:
        if label == apart.EVERY and not is_theme:
            return members_apart(
                themes.tables, there.name, there.conf, at.timestamp if at else None,
                after=_row(after), count_max=PAGE_SIZE,
            )  # fmt: skip
        return members(
            themes.tables, there.name, label, there.conf, at.timestamp if at else None,
            level=there.level, after=_row(after), count_max=PAGE_SIZE,
        )  # fmt: skip
    except ValueError as error:
        said = "it is no place in this list; begin at its first page"
        raise HTTPException(400, f"The parameter “after”: {said}.") from error


def _text(row: bytes) -> str:
    """The row a page ends with, for links and the API; nobody is meant to read or make it."""
    return base64.urlsafe_b64encode(row).decode().rstrip("=")


def _row(after: str) -> bytes | None:
    if not after:
        return None
    try:
        return base64.b64decode(after + "=" * (-len(after) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("no base64") from error


def _unknown(themes: Service, there: Asked, theme: str) -> str:
    at = there.clustering
    found = clusters(
        themes.tables, there.name, there.conf, at.timestamp if at else None,
        level=there.level, top=0,
    )  # fmt: skip
    labels = [one.label for one in (found.clusters if found else ())]
    return f"{sentence(cut(no_such('theme', cut(theme, 200), labels), 3_000))}."


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
    """A theme, or the documents that are in none for a reason."""
    there = asked(themes, namespace, key, form)
    found = theme_page(stores, themes, there, unpart(theme), form.after)
    here = theme_href(there.name, found.id or found.label)
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
        newest_href=collection_href(there.name, conf=there.params()["conf"]),
        over_time_href=link(f"{collection_href(there.name)}/over-time", **there.params()),
        explanation=apart.EXPLAINED.get(found.label, ""),
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
    """A theme by its id or label, its documents the nearest first, 20 a page; or the documents in no theme by
    their reason: `outlier`, `short`, `language` or `empty`, or all of these: `apart`."""
    there = asked(themes, namespace, key, form)
    return theme_page(stores, themes, there, unpart(theme), form.after)
