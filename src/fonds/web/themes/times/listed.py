"""Documents of a theme that are dated within some days, or that have no date."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.collections.names import apart_conf, level_conf
from fonds.collections.reading.clusterings import Clustering
from fonds.collections.reading.clusters import Cluster, cluster
from fonds.collections.reading.times import UNDATED, Looked, placed_members
from fonds.model.numbers import how_many
from fonds.ports import Stores
from fonds.web.access.declared import READS
from fonds.web.parameters import Day, shorten
from fonds.web.rendering import OpenStores, link, page, pager
from fonds.web.rest.service import TheService
from fonds.web.themes.addresses import API, collection_href, reason_href, theme_href, unpart
from fonds.web.themes.apart.reasons import WHY_APART
from fonds.web.themes.asking import AT, CONF, LEVEL, Asked, asked
from fonds.web.themes.documents.lines import DocumentLine, document_lines
from fonds.web.themes.times.courses import date_of
from fonds.wiring.recurring.collections import CollectionService

PAGE_SIZE = 20
PAGES_MAX = 1_000
OF_THEME = "/themes/{namespace}/{key}/{theme}/documents"
OF_REASON = "/themes/{namespace}/{key}/apart/{reason}/documents"

router = APIRouter(dependencies=[READS])


class ListedForm(BaseModel):
    """Which documents of a theme, of which clustering."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    at: int | None = AT
    level: int = LEVEL
    from_: Day = Field(None, alias="from", description="First day, YYYY-MM-DD; empty for any")
    to: Day = Field(None, description="Last day, YYYY-MM-DD; empty for any")
    undated: bool = Field(False, description="Only documents without a date")
    page: int = Field(1, ge=1, le=PAGES_MAX, description="Page of 20 documents, from 1")


@dataclass(frozen=True, slots=True)
class Which:
    """A theme by its id or label, or a reason to be in none."""

    word: str
    is_reason: bool = False

    def href(self, there: Asked, **params: Any) -> str:
        """The page of all its documents."""
        return (reason_href if self.is_reason else theme_href)(there.name, self.word, **params)


@dataclass(frozen=True, slots=True)
class ListedPage:
    """Documents of a theme, or of those apart for a reason, 20 a page in the order of their ids; `total`
    counts all that are asked for. `name`: what a curator called the theme, '' where nobody did. `complete` is
    False where the collection has more than were looked at, the first 20,000 by id."""

    answer: str
    namespace: str
    key: str
    conf: str
    theme: str
    name: str
    total: int
    complete: bool
    page: int
    pages: int
    documents: Sequence[DocumentLine]


def listed_page(
    stores: Stores, themes: CollectionService, there: Asked, which: Which, form: ListedForm
) -> ListedPage:
    """Return a page of the documents. Raises HTTPException 404 for an unknown theme or reason."""
    at = there.clustering
    if at is None:
        raise HTTPException(404, f"{there.name} was not grouped by {there.conf} yet.")
    one = _theme(themes, there, at, which)
    looked = themes.times.of(themes.tables, there.name, there.conf, at.timestamp, level=there.level)
    label = one.label if one else which.word
    found = _chosen(looked, label, one is not None, form)
    some = found[(form.page - 1) * PAGE_SIZE : form.page * PAGE_SIZE]
    conf = level_conf(there.conf, there.level) if one else apart_conf(there.conf)
    members = placed_members(
        themes.tables, there.name, conf, at.timestamp, [looked.id_of(number) for number in some]
    )
    return ListedPage(
        answer=_answer(len(found), one.called if one else WHY_APART[label], form),
        namespace=there.name.namespace,
        key=there.name.key,
        conf=there.conf,
        theme=label,
        name=one.name if one else "",
        total=len(found),
        complete=looked.complete,
        page=form.page,
        pages=max(1, -(-len(found) // PAGE_SIZE)),
        documents=document_lines(stores.index, there, members),
    )


def _theme(themes: CollectionService, there: Asked, at: Clustering, which: Which) -> Cluster | None:
    """The theme; None for a reason. Raises HTTPException 404 where there is neither."""
    found, shown = None, shorten(which.word, 200)
    if not which.is_reason:
        found = cluster(
            themes.tables, there.name, which.word, there.conf, at.timestamp,
            level=there.level, top=0,
        )  # fmt: skip
        if found is None:
            raise HTTPException(404, f"{there.name} has no theme “{shown}”.")
    elif which.word not in WHY_APART:
        raise HTTPException(404, f"“{shown}” is no reason to be in no theme.")
    return found


def _chosen(looked: Looked, label: str, is_theme: bool, form: ListedForm) -> list[int]:
    """Return the numbers of the documents that match the form."""
    labels = looked.labels
    space = range(looked.clusters) if is_theme else range(looked.clusters, len(labels))
    wanted = next((at for at in space if labels[at] == label), None)
    if wanted is None:
        return []
    return [
        at
        for at, place in enumerate(looked.places)
        if place == wanted and _is_dated(looked.days[at], form)
    ]


def _is_dated(day: int, form: ListedForm) -> bool:
    if form.undated or day == UNDATED:
        return day == UNDATED and (form.undated or not (form.from_ or form.to))
    date = date_of(day)
    return not ((form.from_ and date < form.from_) or (form.to and date > form.to))


def _answer(count: int, what: str, form: ListedForm) -> str:
    said = f"{how_many(count, 'document')} of “{shorten(what, 120)}”"
    if form.undated:
        said += " without a date"
    elif form.from_ or form.to:
        said += _days(form.from_, form.to)
    return said


def _days(first: dt.date | None, last: dt.date | None) -> str:
    if first and last:
        return f" of {first}" if first == last else f" from {first} to {last}"
    return f" since {first}" if first else f" up to {last}"


def _html(
    request: Request,
    stores: Stores,
    themes: CollectionService,
    there: Asked,
    which: Which,
    form: ListedForm,
) -> HTMLResponse:
    found = listed_page(stores, themes, there, which, form)
    here = f"{which.href(there)}/documents"
    words = form.model_dump(by_alias=True, exclude_defaults=True, exclude={"page"}, mode="json")
    return page(
        request,
        "theme_documents.html",
        heading=found.answer,
        found=found,
        name=there.name,
        conf=there.conf,
        is_theme=not which.is_reason,
        theme_href=which.href(there, **there.params()),
        collection_href=collection_href(there.name, **there.params()),
        pictured=any(one.thumbnail_href for one in found.documents),
        pager=pager(here, words, found.total, form.page, PAGE_SIZE, PAGES_MAX),
        api_href=f"{API}{link(here, **words, page=form.page)}",
    )


@router.get(OF_REASON, include_in_schema=False)
def apart_html(
    request: Request,
    stores: OpenStores,
    themes: TheService,
    namespace: str,
    key: str,
    reason: str,
    form: Annotated[ListedForm, Query()],
) -> HTMLResponse:
    """The documents asked for, of those in no theme for a reason."""
    there = asked(themes, namespace, key, form)
    return _html(request, stores, themes, there, Which(unpart(reason), True), form)


@router.get(f"/api{OF_REASON}", summary="Documents in no theme, by day")
def apart_json(
    stores: OpenStores,
    themes: TheService,
    namespace: str,
    key: str,
    reason: str,
    form: Annotated[ListedForm, Query()],
) -> ListedPage:
    """Documents in no theme for a reason, by the days they are dated, 20 a page in the order of their ids."""
    there = asked(themes, namespace, key, form)
    return listed_page(stores, themes, there, Which(unpart(reason), True), form)


@router.get(OF_THEME, include_in_schema=False)
def listed_html(
    request: Request,
    stores: OpenStores,
    themes: TheService,
    namespace: str,
    key: str,
    theme: str,
    form: Annotated[ListedForm, Query()],
) -> HTMLResponse:
    """The documents asked for, of a theme."""
    there = asked(themes, namespace, key, form)
    return _html(request, stores, themes, there, Which(unpart(theme)), form)


@router.get(f"/api{OF_THEME}", summary="Documents of a theme, by day")
def listed_json(
    stores: OpenStores,
    themes: TheService,
    namespace: str,
    key: str,
    theme: str,
    form: Annotated[ListedForm, Query()],
) -> ListedPage:
    """Documents of a theme by the days they are dated, 20 a page in the order of their ids."""
    there = asked(themes, namespace, key, form)
    return listed_page(stores, themes, there, Which(unpart(theme)), form)
