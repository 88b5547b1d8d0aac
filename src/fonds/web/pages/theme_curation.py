"""The documents curators took out of themes: which, out of what, since when, and where they are now."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import HTMLResponse, RedirectResponse

from fonds.grouping.changes.curation import NAME_MAX_CHARS, exclude, include, pin, rename
from fonds.grouping.changes.writer import DOCUMENT_BATCH
from fonds.grouping.names import DEFAULT, ID_MAX_CHARS, CollectionName, validate_conf
from fonds.grouping.views.clusters import add_titles
from fonds.grouping.views.curation import (
    Exclusion,
    list_exclusions,
    list_theme_ids,
    load_theme_names,
)
from fonds.grouping.views.documents import DocumentPlacement, list_placements
from fonds.model.errors import ConfigurationError
from fonds.ports import Stores
from fonds.web.access.roles import CURATES, READS
from fonds.web.access.viewers import describe_act
from fonds.web.html.actions import FormFields
from fonds.web.html.paging import AFTER, decode_cursor, encode_cursor, refuse_invalid_cursor
from fonds.web.html.rendering import OpenStores, build_url, capitalize, render_page, to_datetime
from fonds.web.pages.document_lines import DocumentLine, build_document_lines
from fonds.web.pages.theme_links import (
    API,
    link_to_assignment,
    link_to_collection,
    link_to_exclusions,
    link_to_theme,
    unquote_part,
)
from fonds.web.pages.theme_selection import CONF, Selection, ServedConfiguration, resolve_selection
from fonds.web.serving.csv_tables import add_csv_route
from fonds.web.serving.json_requests import SentJson, TheService, decode_body, takes
from fonds.web.serving.parameters import parse_name, shorten
from fonds.web.serving.problems import RefusedError
from fonds.wiring.collections import CollectionService

PAGE_SIZE = 20
HEADINGS, NONE = "documents taken out of themes", "no document is taken out of a theme"
PATH = "/themes/{namespace}/{key}/excluded"

router = APIRouter(dependencies=[READS])


class ExclusionsForm(BaseModel):
    """By which configuration, and which page of the documents."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    after: str = AFTER


@dataclass(frozen=True, slots=True)
class ExclusionLine:
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
class ExclusionsPage:
    """Exclusions in the order of the documents' ids, those of 20 documents a page; the page behind this one
    is had with `after` = `next`, None at the end."""

    answer: str
    namespace: str
    key: str
    conf: str
    excluded: Sequence[ExclusionLine]
    next: str | None


def build_exclusions_page(
    stores: Stores, collections: CollectionService, selection: Selection, after: str
) -> ExclusionsPage:
    """The exclusions asked for. Raises HTTPException 400 for an `after` that is none of its pages."""
    tables, name = collections.tables, selection.name
    with refuse_invalid_cursor():
        found, last = list_exclusions(tables, name, decode_cursor(after), PAGE_SIZE)
    members = add_titles(tables, name, [(id_, 0.0) for id_, _ in found])
    lines = {one.id: one for one in build_document_lines(stores.index, selection, members)}
    at = selection.clustering
    names = load_theme_names(tables, name, selection.conf)
    known = list_theme_ids(tables, name, selection.conf, at.timestamp) if at and found else set()
    excluded = [
        _build_line(
            selection,
            lines[id_],
            theme,
            said,
            names,
            theme in known,
            _find_placement(collections, selection, id_),
        )
        for id_, told in found
        for (conf, theme), said in sorted(told.items())
        if conf == selection.conf
    ]
    return ExclusionsPage(
        answer=f"{name}: {HEADINGS if excluded or last else NONE}",
        namespace=name.namespace,
        key=name.key,
        conf=selection.conf,
        excluded=excluded,
        next=None if last is None else encode_cursor(last),
    )


def _find_placement(
    collections: CollectionService, selection: Selection, document_id: str
) -> DocumentPlacement | None:
    found = list_placements(collections.tables, selection.name, document_id)
    return next((one for one in found if one.conf == selection.conf and one.level == 0), None)


def _build_line(
    selection: Selection,
    document: DocumentLine,
    theme: str,
    exclusion: Exclusion,
    names: dict[str, str],
    exists: bool,
    now: DocumentPlacement | None,
) -> ExclusionLine:
    return ExclusionLine(
        document=document,
        theme=theme,
        label=exclusion.label,
        name=names.get(theme, ""),
        href=link_to_theme(selection.name, theme, conf=selection.build_params()["conf"])
        if exists
        else None,
        at=to_datetime(exclusion.at),
        now=(now.name or now.label) if now else None,
    )


@router.get(PATH, include_in_schema=False)
def exclusions_html(
    request: Request,
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    form: Annotated[ExclusionsForm, Query()],
) -> HTMLResponse:
    """The documents taken out of themes, each with a way back."""
    there = resolve_selection(collections, namespace, key, ServedConfiguration(form.conf))
    found = build_exclusions_page(stores, collections, there, form.after)
    conf = there.build_params()["conf"]
    here = link_to_exclusions(there.name, conf=conf)
    return render_page(
        request,
        "excluded.html",
        heading=found.answer,
        found=found,
        name=there.name,
        conf=there.conf,
        collection_href=link_to_collection(there.name, conf=conf),
        act_href=link_to_collection(there.name),
        first_page_href=here if form.after else None,
        next_href=link_to_exclusions(there.name, conf=conf, after=found.next)
        if found.next
        else None,
        api_href=f"{API}{build_url(here, after=form.after)}" if conf is None else f"{API}{here}",
    )


@add_csv_route(router, PATH, lambda found: found.excluded)
@router.get(f"/api{PATH}", summary="Documents taken out of themes")
def exclusions_json(
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    form: Annotated[ExclusionsForm, Query()],
) -> ExclusionsPage:
    """The documents curators said do not belong in a theme, in the order of their ids, 20 a page."""
    there = resolve_selection(collections, namespace, key, ServedConfiguration(form.conf))
    return build_exclusions_page(stores, collections, there, form.after)


# What curators do with a theme from its page: name it, put it before the others, take documents out.


FIELDS = frozenset({"conf", "theme", "name", "id"})
ACTION_PATH = "/themes/{namespace}/{key}/{act}"

action_router = APIRouter(include_in_schema=False, dependencies=[CURATES])


class ThemeAct(StrEnum):
    """What is done with a theme; the words of `fonds clusters`."""

    RENAME = "rename"
    PIN = "pin"
    UNPIN = "unpin"
    EXCLUDE = "exclude"
    INCLUDE = "include"


@dataclass(frozen=True, slots=True)
class ThemeActRequest:
    """What is asked for: by which configuration, the theme by id, label or name; the name it is to have, and
    the documents it is about."""

    conf: str
    theme: str
    name: str = ""
    ids: Sequence[str] = ()

    @property
    def description(self) -> str:
        """What it is about, for the note of the act."""
        first, more = next(iter(self.ids), ""), len(self.ids) - 1
        ids = f"{first} and {more:,} more" if more > 0 else first
        return " ".join(f"{self.conf} “{self.theme}” {self.name} {ids}".split())


@dataclass(frozen=True, slots=True)
class ActResult:
    """What is decided of a theme now: its id and label, the name it was given, '' for none, and whether it
    is pinned; of documents, how many were taken out or put back just now."""

    id: str
    label: str
    name: str | None = None
    pinned: bool | None = None
    documents: int | None = None


def perform_act(
    collections: CollectionService,
    namespace: str,
    key: str,
    act: ThemeAct,
    request: ThemeActRequest,
) -> ActResult:
    """Do it; done twice it is as done once. Raises RefusedError 404 for a collection there is not, 400 with a
    sentence for a theme, document or name that is none, 409 where the model is not to be had."""
    name = collections.collection(parse_name(namespace, key)).name
    changes = collections.writing()
    try:
        conf = validate_conf(request.conf or DEFAULT)
        if act in (ThemeAct.EXCLUDE, ThemeAct.INCLUDE):
            done = exclude if act is ThemeAct.EXCLUDE else include
            out = done(changes, name, conf, request.theme, request.ids)
            return ActResult(out.id, out.label, documents=out.documents)
        if act is ThemeAct.RENAME:
            one = rename(changes, name, conf, request.theme, request.name)
        else:
            one = pin(changes, name, conf, request.theme, pinned=act is ThemeAct.PIN)
    except ValueError as error:
        said = shorten(str(error), 2_000)
        raise RefusedError(400, capitalize(said if said.endswith("?") else f"{said}.")) from error
    except ConfigurationError as error:
        raise RefusedError(409, capitalize(f"{error}.")) from error
    return ActResult(one.id, one.label, one.name, one.pinned is not None)


@action_router.post(ACTION_PATH)
def act_html(
    request: Request,
    collections: TheService,
    namespace: str,
    key: str,
    act: ThemeAct,
    text: Annotated[dict[str, str], Depends(FormFields(FIELDS))],
) -> RedirectResponse:
    """Do it, and lead to where it is to be seen."""
    ids = (text["id"],) if act in (ThemeAct.EXCLUDE, ThemeAct.INCLUDE) else ()
    asked = ThemeActRequest(text["conf"], text["theme"], text["name"], ids)
    describe_act(request, asked.description)
    name = CollectionName(unquote_part(namespace), unquote_part(key))
    told = perform_act(collections, name.namespace, name.key, act, asked)
    conf = text["conf"] if text["conf"] != DEFAULT else None
    return RedirectResponse(_choose_redirect(collections, name, conf, act, told, text["id"]), 303)


def _choose_redirect(
    collections: CollectionService,
    name: CollectionName,
    conf: str | None,
    act: ThemeAct,
    result: ActResult,
    document: str,
) -> str:
    if act is ThemeAct.INCLUDE:
        return link_to_exclusions(name, conf=conf)
    if act is ThemeAct.EXCLUDE:
        return link_to_assignment(name, document, conf=conf)
    if collections.has_theme(name, conf or DEFAULT, result.id):
        return link_to_theme(name, result.id, conf=conf)
    return link_to_collection(name, conf=conf)


# What programs do with a theme: the acts of its page, answered with what is decided of it then.


HEAD = "/api/themes/"
_Word = Annotated[str, msgspec.Meta(min_length=1, max_length=ID_MAX_CHARS)]
_Name = Annotated[str, msgspec.Meta(max_length=NAME_MAX_CHARS)]
_Ids = Annotated[list[_Word], msgspec.Meta(min_length=1, max_length=DOCUMENT_BATCH)]


class ThemeActIn(msgspec.Struct, forbid_unknown_fields=True):
    """Which theme, by its id, label or name, of which configuration; `name` goes with rename, empty to take
    the name back, `ids` of documents with exclude and include."""

    theme: _Word
    conf: str = DEFAULT
    name: _Name | msgspec.UnsetType = msgspec.UNSET
    ids: _Ids | msgspec.UnsetType = msgspec.UNSET


_TAKES = takes(
    msgspec.json.schema(ThemeActIn)["$defs"]["ThemeActIn"],
    {"theme": "river, dam, rain", "name": "Floods"},
)
_FIELDS_BY_ACT = {
    ThemeAct.RENAME: ("name",),
    ThemeAct.EXCLUDE: ("ids",),
    ThemeAct.INCLUDE: ("ids",),
}

api_router = APIRouter(dependencies=[CURATES])


@api_router.post(
    f"/api{ACTION_PATH}",
    summary="Name or pin a theme, take documents out of it",
    openapi_extra=_TAKES,
)
def act_json(
    request: Request,
    collections: TheService,
    namespace: str,
    key: str,
    act: ThemeAct,
    sent: SentJson,
) -> ActResult:
    """As `fonds clusters rename`, `pin`, `unpin`, `exclude` and `include`; done twice it is as done once. A
    theme is of the first granularity: those of others have no ids that stay."""
    said = decode_body(sent, ThemeActIn)
    for field in ("name", "ids"):
        is_there, goes = (
            getattr(said, field) is not msgspec.UNSET,
            field in _FIELDS_BY_ACT.get(act, ()),
        )
        if is_there is not goes:
            told = f"“{field}” goes with {act}." if goes else f"“{field}” does not go with {act}."
            raise RefusedError(400, told, pointer=f"/{field}")
    name = "" if said.name is msgspec.UNSET else said.name
    ids = [] if said.ids is msgspec.UNSET else said.ids
    asked = ThemeActRequest(said.conf, said.theme, name, ids)
    describe_act(request, asked.description)
    return perform_act(collections, unquote_part(namespace), unquote_part(key), act, asked)
