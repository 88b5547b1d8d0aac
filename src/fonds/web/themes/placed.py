"""One document of a collection: which theme it is in, and which of its terms put it there."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.collections.names import ID_CHARACTERS_MAX
from fonds.collections.reading.clusters import Member
from fonds.collections.reading.curated import exclusions_of, ids_there, names_of, names_of_labels
from fonds.collections.reading.documents import Place, Speaking, document, places, why
from fonds.ports import Stores
from fonds.web.access.declared import READS
from fonds.web.parameters import shorten
from fonds.web.rendering import OpenStores, instant, page
from fonds.web.rest.service import TheService
from fonds.web.themes.addresses import API, collection_href, placed_href, reason_href, theme_href
from fonds.web.themes.apart.reasons import WHY_APART
from fonds.web.themes.asking import (
    CONF,
    Asked,
    Served,
    asked,
)
from fonds.web.themes.documents.lines import DocumentLine, document_lines
from fonds.wiring.recurring.collections import CollectionService

TERMS_SHOWN = 15
PLACES_MAX = 50
BEGINNING_CHARS = 600

router = APIRouter(dependencies=[READS])


class PlacedForm(BaseModel):
    """Which document, and by which configuration it was grouped."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1, max_length=ID_CHARACTERS_MAX, description="The document's id")
    conf: str = CONF


@dataclass(frozen=True, slots=True)
class SpokenTerm:
    """A term of the document and its `share`, in parts of 100, of all that speaks for its theme against the
    next one; below 0 where it speaks for the other."""

    term: str
    share: float


@dataclass(frozen=True, slots=True)
class PlaceLine:
    """Where the document is by a configuration: in the theme `label` of a level, or in none for the
    reason `apart`. `name`: what a curator called the theme, '' where nobody did."""

    conf: str
    at: dt.datetime | None
    level: int
    label: str | None
    name: str
    href: str
    score: float
    apart: str | None
    original_href: str | None


@dataclass(frozen=True, slots=True)
class TakenOut:
    """A theme the document does not belong in, by its id, as it was labelled then and is called now; `href`
    None where it is there no more."""

    theme: str
    label: str
    name: str
    href: str | None
    at: dt.datetime | None


@dataclass(frozen=True, slots=True)
class PlacedPage:
    """Why a document is where it is, by the model that placed it.

    `terms` are those that speak for its theme most, against the next one. `reach` is the least score its
    theme asks of documents that come later. `label` None: it is in no theme, `apart` says why. `name` and
    `next_name`: what curators called the themes, '' where nobody did. `excluded`: the themes it was taken
    out of.
    """

    answer: str
    namespace: str
    key: str
    conf: str
    line: DocumentLine
    beginning: str
    label: str | None
    name: str
    theme_id: str | None
    theme_href: str | None
    apart: str | None
    score: float
    reach: float | None
    next_label: str | None
    next_name: str
    next_href: str | None
    terms: Sequence[SpokenTerm]
    excluded: Sequence[TakenOut]
    places: Sequence[PlaceLine]


def placed_page(
    stores: Stores, themes: CollectionService, there: Asked, document_id: str
) -> PlacedPage:
    """The document. Raises HTTPException 404 where the collection has none of this id."""
    found = document(themes.tables, there.name, document_id)
    if found is None:
        said = f"{there.name} has no document of the id “{shorten(document_id, 200)}”."
        raise HTTPException(404, said)
    told = why(
        themes.tables,
        themes.changes.models,
        there.name,
        document_id,
        there.conf,
        terms_max=TERMS_SHOWN,
    )
    place = told.place if told else None
    score = place.score if place else 0.0
    member = Member(found.id, score, found.title, found.url, found.time)
    (line,) = document_lines(stores.index, there, [member])
    label = place.label if place else None
    called = (place.name if place else "") or label
    return PlacedPage(
        answer=f"Why it is in “{called}”" if label else "Why it is in no theme",
        namespace=there.name.namespace,
        key=there.name.key,
        conf=there.conf,
        line=line,
        beginning=shorten(" ".join(found.text[: 4 * BEGINNING_CHARS].split()), BEGINNING_CHARS),
        label=label,
        name=place.name if place else "",
        theme_id=place.cluster_id if place else None,
        theme_href=_theme(there, place.cluster_id if place else None),
        apart=place.apart if place else None,
        score=score,
        reach=told.reach if told else None,
        next_label=told.next_label if told else None,
        next_name=_name(themes, there, told.next_label if told else None),
        next_href=_theme(there, told.next_label if told else None),
        terms=_spoken(told.terms if told else ()),
        excluded=_taken_out(themes, there, document_id),
        places=_places(themes, there, document_id),
    )


def _taken_out(themes: CollectionService, there: Asked, document_id: str) -> list[TakenOut]:
    told = exclusions_of(themes.tables, there.name, [document_id]).get(document_id, {})
    if not told:
        return []
    at, names = there.clustering, names_of(themes.tables, there.name, there.conf)
    known = ids_there(themes.tables, there.name, there.conf, at.timestamp) if at else set()
    return [
        TakenOut(
            theme, said.label, names.get(theme, ""),
            _theme(there, theme) if theme in known else None, instant(said.at),
        )
        for (conf, theme), said in sorted(told.items())
        if conf == there.conf
    ]  # fmt: skip


def _name(themes: CollectionService, there: Asked, label: str | None) -> str:
    at = there.clustering
    if label is None or at is None:
        return ""
    names = names_of_labels(themes.tables, there.name, there.conf, at.timestamp, [label])
    return names.get(label, "")


def _spoken(terms: Sequence[Speaking]) -> list[SpokenTerm]:
    whole = sum(one.speaks for one in terms if one.speaks > 0) or 1.0
    return [SpokenTerm(one.term, round(100 * one.speaks / whole, 1)) for one in terms]


def _theme(there: Asked, theme: str | None) -> str | None:
    return theme_href(there.name, theme, conf=there.params()["conf"]) if theme else None


def _places(themes: CollectionService, there: Asked, document_id: str) -> list[PlaceLine]:
    return [
        PlaceLine(
            one.conf,
            instant(one.timestamp),
            one.level,
            one.label,
            one.name,
            _place_href(there, one),
            one.score,
            one.apart,
            placed_href(there.name, one.original, conf=one.conf) if one.original else None,
        )
        for one in places(themes.tables, there.name, document_id)[:PLACES_MAX]
    ]


def _place_href(there: Asked, one: Place) -> str:
    if one.label is None:
        return reason_href(there.name, one.apart or "", conf=one.conf)
    theme = one.cluster_id or one.label
    return theme_href(there.name, theme, conf=one.conf, level=one.level or None)


@router.get("/themes/{namespace}/{key}/document", include_in_schema=False)
def placed_html(
    request: Request,
    stores: OpenStores,
    themes: TheService,
    namespace: str,
    key: str,
    form: Annotated[PlacedForm, Query()],
) -> HTMLResponse:
    """Why a document is where it is."""
    there = asked(themes, namespace, key, Served(form.conf))
    found = placed_page(stores, themes, there, form.id)
    here = placed_href(there.name, form.id, conf=form.conf)
    return page(
        request,
        "placed.html",
        heading=found.answer,
        found=found,
        name=there.name,
        collection_href=collection_href(there.name, conf=there.params()["conf"]),
        why_apart=WHY_APART,
        act_href=collection_href(there.name),
        most=max((one.share for one in found.terms), default=0.0),
        api_href=f"{API}{here}",
    )


@router.get("/api/themes/{namespace}/{key}/document", summary="Why a document is in its theme")
def placed_json(
    stores: OpenStores,
    themes: TheService,
    namespace: str,
    key: str,
    form: Annotated[PlacedForm, Query()],
) -> PlacedPage:
    """A document by its id: its theme, its score, and the terms that speak for it."""
    there = asked(themes, namespace, key, Served(form.conf))
    return placed_page(stores, themes, there, form.id)
