"""The documents in no theme, for one reason or for any, at addresses no theme can have."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import HTMLResponse

from fonds.collections.reading.clusters import Members, clusters, members_apart
from fonds.model.names import no_such
from fonds.ports import Stores
from fonds.web.access.declared import READS
from fonds.web.parameters import shorten
from fonds.web.rendering import OpenStores, instant, link, page, sentence
from fonds.web.rest.service import TheService
from fonds.web.serving.tables import tabled
from fonds.web.themes.addresses import API, collection_href, reason_href, unpart
from fonds.web.themes.apart.reasons import (
    EXPLAINED,
    WHY_APART,
    ApartLine,
    answer,
    apart_href,
    apart_lines,
)
from fonds.web.themes.asking import AT, CONF, Asked, asked
from fonds.web.themes.documents.lines import DocumentLine, document_lines
from fonds.web.themes.documents.paging import AFTER, pages, to_row, to_text
from fonds.wiring.recurring.collections import CollectionService

PAGE_SIZE = 20
PATH = "/themes/{namespace}/{key}/apart"

router = APIRouter(dependencies=[READS])


class ApartForm(BaseModel):
    """Which clustering of a collection, and which page of the documents."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    at: int | None = AT
    after: str = AFTER

    @property
    def level(self) -> int:
        """Who is in no theme of the first level is in none of the others."""
        return 0


@dataclass(frozen=True, slots=True)
class ApartPage:
    """Documents in no theme, 20 a page: for the `reason`, or for whatever reason where that is None, those of
    one reason together. `size` counts all of them, `reasons` those of each reason. The page behind this
    one is had with `after` = `next`, None at the end."""

    answer: str
    namespace: str
    key: str
    conf: str
    shown_at: dt.datetime | None
    reason: str | None
    size: int
    reasons: Sequence[ApartLine]
    documents: Sequence[DocumentLine]
    next: str | None


def apart_page(
    stores: Stores, themes: CollectionService, there: Asked, reason: str, after: str
) -> ApartPage:
    """The documents apart for a reason, or for any where it is ''. Raises HTTPException 404 for a reason
    there is not, 400 for an `after` that is none of its pages."""
    at = there.clustering
    if at is None:
        raise HTTPException(404, f"{there.name} was not grouped by {there.conf} yet.")
    if reason and reason not in WHY_APART:
        told = no_such("reason to be in no theme", shorten(reason, 200), WHY_APART)
        raise HTTPException(404, f"{sentence(told)}.")
    level = clusters(themes.tables, there.name, there.conf, at.timestamp, top=0)
    counts = level.apart if level else {}
    with pages():
        found = members_apart(
            themes.tables, there.name, there.conf, at.timestamp,
            reason=reason, after=to_row(after), count_max=PAGE_SIZE,
        )  # fmt: skip
    shown = found or Members((), None)
    size = counts.get(reason, 0) if reason else sum(counts.values())
    return ApartPage(
        answer=answer(reason, size),
        namespace=there.name.namespace,
        key=there.name.key,
        conf=there.conf,
        shown_at=instant(at.timestamp),
        reason=reason or None,
        size=size,
        reasons=apart_lines(there, counts),
        documents=document_lines(stores.index, there, shown.members),
        next=None if shown.after is None else to_text(shown.after),
    )


def _html(request: Request, there: Asked, found: ApartPage, after: str) -> HTMLResponse:
    here, words = reason_href(there.name, found.reason or ""), there.params()
    return page(
        request,
        "apart.html",
        heading=found.answer,
        found=found,
        name=there.name,
        conf=there.conf,
        is_served=there.clustering is not None and there.clustering.is_served,
        collection_href=collection_href(there.name, **words),
        newest_href=collection_href(there.name, conf=words["conf"]),
        every_href=apart_href(there),
        explanation=EXPLAINED.get(found.reason or "", ""),
        pictured=any(one.file_href for one in found.documents),
        first_page_href=link(here, **words) if after else None,
        next_href=link(here, **words, after=found.next) if found.next else None,
        api_href=f"{API}{link(here, **words, after=after)}",
    )


@router.get(PATH, include_in_schema=False)
def every_html(
    request: Request,
    stores: OpenStores,
    themes: TheService,
    namespace: str,
    key: str,
    form: Annotated[ApartForm, Query()],
) -> HTMLResponse:
    """The documents in no theme, and how many for each reason."""
    there = asked(themes, namespace, key, form)
    return _html(request, there, apart_page(stores, themes, there, "", form.after), form.after)


@router.get(f"{PATH}/{{reason}}", include_in_schema=False)
def apart_html(
    request: Request,
    stores: OpenStores,
    themes: TheService,
    namespace: str,
    key: str,
    reason: str,
    form: Annotated[ApartForm, Query()],
) -> HTMLResponse:
    """The documents that are in no theme for a reason."""
    there = asked(themes, namespace, key, form)
    found = apart_page(stores, themes, there, unpart(reason), form.after)
    return _html(request, there, found, form.after)


@tabled(router, PATH, lambda found: found.documents)
@router.get(f"/api{PATH}", summary="The documents in no theme")
def every_json(
    stores: OpenStores,
    themes: TheService,
    namespace: str,
    key: str,
    form: Annotated[ApartForm, Query()],
) -> ApartPage:
    """The documents in no theme, 20 a page, those of one reason together, and how many for each reason."""
    there = asked(themes, namespace, key, form)
    return apart_page(stores, themes, there, "", form.after)


@tabled(router, f"{PATH}/{{reason}}", lambda found: found.documents)
@router.get(f"/api{PATH}/{{reason}}", summary="The documents in no theme for a reason")
def apart_json(
    stores: OpenStores,
    themes: TheService,
    namespace: str,
    key: str,
    reason: str,
    form: Annotated[ApartForm, Query()],
) -> ApartPage:
    """The documents in no theme for a reason, 20 a page: `outlier`, `short`, `language`, `field`, `vector`
    or `empty`."""
    there = asked(themes, namespace, key, form)
    return apart_page(stores, themes, there, unpart(reason), form.after)
