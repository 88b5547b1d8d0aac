"""The documents curators took out of themes: which, out of what, since when, and where they are now."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import HTMLResponse

from fonds.collections.reading.clusters import titled
from fonds.collections.reading.curated import (
    Exclusion,
    exclusions_page,
    ids_there,
    names_of,
)
from fonds.collections.reading.documents import Place, places
from fonds.ports import Stores
from fonds.web.access.declared import READS
from fonds.web.rendering import OpenStores, instant, link, page
from fonds.web.rest.service import TheService
from fonds.web.serving.tables import tabled
from fonds.web.themes.addresses import API, collection_href, excluded_href, theme_href
from fonds.web.themes.asking import CONF, Asked, Served, asked
from fonds.web.themes.documents.lines import DocumentLine, document_lines
from fonds.web.themes.documents.paging import AFTER, pages, to_row, to_text
from fonds.wiring.recurring.collections import CollectionService

PAGE_SIZE = 20
SOME, NONE = "documents taken out of themes", "no document is taken out of a theme"
PATH = "/themes/{namespace}/{key}/excluded"

router = APIRouter(dependencies=[READS])


class ExcludedForm(BaseModel):
    """By which configuration, and which page of the documents."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    after: str = AFTER


@dataclass(frozen=True, slots=True)
class ExcludedLine:
    """A document and a theme it does not belong in: `theme` by its id, `label` as it was labelled then,
    `name` what a curator calls it now; `href` None where the theme is there no more. `now` is the label of
    the theme the document is in, None for none."""

    document: DocumentLine
    theme: str
    label: str
    name: str
    href: str | None
    at: dt.datetime | None
    now: str | None


@dataclass(frozen=True, slots=True)
class ExcludedPage:
    """Exclusions in the order of the documents' ids, those of 20 documents a page; the page behind this one
    is had with `after` = `next`, None at the end."""

    answer: str
    namespace: str
    key: str
    conf: str
    excluded: Sequence[ExcludedLine]
    next: str | None


def excluded_page(
    stores: Stores, themes: CollectionService, there: Asked, after: str
) -> ExcludedPage:
    """The exclusions asked for. Raises HTTPException 400 for an `after` that is none of its pages."""
    tables, name = themes.tables, there.name
    with pages():
        found, last = exclusions_page(tables, name, to_row(after), PAGE_SIZE)
    members = titled(tables, name, [(id_, 0.0) for id_, _ in found])
    lines = {one.id: one for one in document_lines(stores.index, there, members)}
    at = there.clustering
    names = names_of(tables, name, there.conf)
    known = ids_there(tables, name, there.conf, at.timestamp) if at and found else set()
    excluded = [
        _line(there, lines[id_], theme, said, names, theme in known, _now(themes, there, id_))
        for id_, told in found
        for (conf, theme), said in sorted(told.items())
        if conf == there.conf
    ]
    return ExcludedPage(
        answer=f"{name}: {SOME if excluded or last else NONE}",
        namespace=name.namespace,
        key=name.key,
        conf=there.conf,
        excluded=excluded,
        next=None if last is None else to_text(last),
    )


def _now(themes: CollectionService, there: Asked, document_id: str) -> Place | None:
    found = places(themes.tables, there.name, document_id)
    return next((one for one in found if one.conf == there.conf and one.level == 0), None)


def _line(
    there: Asked,
    document: DocumentLine,
    theme: str,
    said: Exclusion,
    names: dict[str, str],
    is_there: bool,
    now: Place | None,
) -> ExcludedLine:
    return ExcludedLine(
        document=document,
        theme=theme,
        label=said.label,
        name=names.get(theme, ""),
        href=theme_href(there.name, theme, conf=there.params()["conf"]) if is_there else None,
        at=instant(said.at),
        now=(now.name or now.label) if now else None,
    )


@router.get(PATH, include_in_schema=False)
def excluded_html(
    request: Request,
    stores: OpenStores,
    themes: TheService,
    namespace: str,
    key: str,
    form: Annotated[ExcludedForm, Query()],
) -> HTMLResponse:
    """The documents taken out of themes, each with a way back."""
    there = asked(themes, namespace, key, Served(form.conf))
    found = excluded_page(stores, themes, there, form.after)
    conf = there.params()["conf"]
    here = excluded_href(there.name, conf=conf)
    return page(
        request,
        "excluded.html",
        heading=found.answer,
        found=found,
        name=there.name,
        conf=there.conf,
        collection_href=collection_href(there.name, conf=conf),
        act_href=collection_href(there.name),
        first_page_href=here if form.after else None,
        next_href=excluded_href(there.name, conf=conf, after=found.next) if found.next else None,
        api_href=f"{API}{link(here, after=form.after)}" if conf is None else f"{API}{here}",
    )


@tabled(router, PATH, lambda found: found.excluded)
@router.get(f"/api{PATH}", summary="Documents taken out of themes")
def excluded_json(
    stores: OpenStores,
    themes: TheService,
    namespace: str,
    key: str,
    form: Annotated[ExcludedForm, Query()],
) -> ExcludedPage:
    """The documents curators said do not belong in a theme, in the order of their ids, 20 a page."""
    there = asked(themes, namespace, key, Served(form.conf))
    return excluded_page(stores, themes, there, form.after)
