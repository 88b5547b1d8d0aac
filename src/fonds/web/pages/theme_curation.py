"""Curation of themes: the list of documents excluded from themes, and a curator's actions on a
theme.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import HTMLResponse

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
from fonds.grouping.views.cursors import decode_cursor, encode_cursor
from fonds.grouping.views.documents import DocumentPlacement, list_placements
from fonds.model.access import Role
from fonds.ports import Stores
from fonds.web.access.roles import READS
from fonds.web.actions import (
    Action,
    FormResult,
    FormRoute,
    InvalidParameterError,
    JsonRoute,
    add_actions,
)
from fonds.web.html.paging import AFTER, refuse_invalid_cursor
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
from fonds.web.serving.json_requests import TheService
from fonds.web.serving.parameters import parse_name, shorten
from fonds.web.serving.problems import RefusedError
from fonds.wiring.collections import CollectionService

PAGE_SIZE = 20
HEADING, NO_EXCLUSIONS = "documents removed from themes", "no documents removed from themes"
PATH = "/themes/{namespace}/{key}/excluded"

router = APIRouter(tags=["themes"], dependencies=[READS])


class ExclusionsForm(BaseModel):
    """Query parameters of the list of documents that curators excluded from themes: the
    configuration, and the cursor of the page.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    after: str = AFTER


@dataclass(frozen=True, slots=True)
class ExclusionLine:
    """Exclusion of a document from a theme by a curator.

    `theme`: id of the theme.
    `label`: label of the theme when the document was excluded.
    `name`: current name of the theme.
    `href`: address of the theme's page, None if the theme no longer exists.
    `now`: name or label of the theme that the document is in now, None if it is in none.
    """

    document: DocumentLine
    theme: str
    label: str
    name: str
    href: str | None
    at: dt.datetime | None
    now: str | None


@dataclass(frozen=True, slots=True)
class ExclusionsPage:
    """One page of the documents of a collection that curators excluded from themes: 20 documents in
    order of their ids.

    `next` is the value of `after` for the next page; None on the last page.
    """

    answer: str
    namespace: str
    key: str
    conf: str
    excluded: Sequence[ExclusionLine]
    next: str | None


def build_exclusions_page(
    stores: Stores, collections: CollectionService, selection: Selection, after: str
) -> ExclusionsPage:
    """Build one page of the list of documents that curators excluded from themes. Raises
    HTTPException 400 for an invalid `after`.
    """
    tables, name = collections.tables, selection.name
    with refuse_invalid_cursor():
        exclusions, last = list_exclusions(tables, name, decode_cursor(after), PAGE_SIZE)
    members = add_titles(tables, name, [(id_, 0.0) for id_, _ in exclusions])
    lines = {
        document_line.id: document_line
        for document_line in build_document_lines(stores.index, selection, members)
    }
    clustering = selection.clustering
    names = load_theme_names(tables, name, selection.conf)
    theme_ids = (
        list_theme_ids(tables, name, selection.conf, clustering.timestamp)
        if clustering and exclusions
        else set()
    )
    exclusion_lines = [
        _build_line(
            selection,
            lines[id_],
            theme,
            exclusion,
            names,
            theme in theme_ids,
            _find_placement(collections, selection, id_),
        )
        for id_, by_theme in exclusions
        for (conf, theme), exclusion in sorted(by_theme.items())
        if conf == selection.conf
    ]
    return ExclusionsPage(
        answer=f"{name}: {HEADING if exclusion_lines or last else NO_EXCLUSIONS}",
        namespace=name.namespace,
        key=name.key,
        conf=selection.conf,
        excluded=exclusion_lines,
        next=None if last is None else encode_cursor(last),
    )


def _find_placement(
    collections: CollectionService, selection: Selection, document_id: str
) -> DocumentPlacement | None:
    placements = list_placements(collections.tables, selection.name, document_id)
    return next(
        (
            placement
            for placement in placements
            if placement.conf == selection.conf and placement.level == 0
        ),
        None,
    )


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
    """Show the documents excluded from themes, with buttons that include them again."""
    selection = resolve_selection(collections, namespace, key, ServedConfiguration(form.conf))
    exclusions_page = build_exclusions_page(stores, collections, selection, form.after)
    conf = selection.build_params()["conf"]
    page_url = link_to_exclusions(selection.name, conf=conf)
    return render_page(
        request,
        "excluded.html",
        heading=exclusions_page.answer,
        page=exclusions_page,
        name=selection.name,
        conf=selection.conf,
        collection_href=link_to_collection(selection.name, conf=conf),
        act_href=link_to_collection(selection.name),
        first_page_href=page_url if form.after else None,
        next_href=link_to_exclusions(selection.name, conf=conf, after=exclusions_page.next)
        if exclusions_page.next
        else None,
        api_href=f"{API}{build_url(page_url, after=form.after)}"
        if conf is None
        else f"{API}{page_url}",
    )


@add_csv_route(router, PATH, lambda page: page.excluded)
@router.get(f"/api{PATH}", summary="Documents removed from themes", operation_id="list_exclusions")
def exclusions_json(
    stores: OpenStores,
    collections: TheService,
    namespace: str,
    key: str,
    form: Annotated[ExclusionsForm, Query()],
) -> ExclusionsPage:
    """Return the documents that curators excluded from themes, sorted by id, 20 per page."""
    selection = resolve_selection(collections, namespace, key, ServedConfiguration(form.conf))
    return build_exclusions_page(stores, collections, selection, form.after)


class ThemeAct(StrEnum):
    """Action of a curator on a theme, named as in the command `fonds clusters`."""

    RENAME = "rename"
    PIN = "pin"
    UNPIN = "unpin"
    EXCLUDE = "exclude"
    INCLUDE = "include"


_PARAMETER_BY_ACT = {
    ThemeAct.RENAME: "name",
    ThemeAct.EXCLUDE: "ids",
    ThemeAct.INCLUDE: "ids",
}
_Word = Annotated[str, msgspec.Meta(min_length=1, max_length=ID_MAX_CHARS)]
_Name = Annotated[str, msgspec.Meta(max_length=NAME_MAX_CHARS)]
_Ids = Annotated[list[_Word], msgspec.Meta(min_length=1, max_length=DOCUMENT_BATCH)]


class ThemeActIn(msgspec.Struct, forbid_unknown_fields=True):
    """Form for an action on a theme: the theme by its id, label or name, and the configuration that
    grouped it.

    The action `rename` takes a `name`; an empty one removes the name. `exclude` and `include` take
    `ids` of documents.
    """

    theme: _Word
    conf: str = DEFAULT
    name: _Name | msgspec.UnsetType = msgspec.UNSET
    ids: _Ids | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class ActResult:
    """Result of a curator's action on a theme.

    `name`: name that a curator gave the theme, '' if none.
    `documents`: number of documents that the action excluded or included.
    """

    id: str
    label: str
    name: str | None = None
    pinned: bool | None = None
    documents: int | None = None


def curate(
    collections: TheService, namespace: str, key: str, act: ThemeAct, sent: ThemeActIn
) -> ActResult:
    """Curate a theme, as `fonds clusters rename`, `pin`, `unpin`, `exclude` and `include` do.

    Repeating an action changes nothing. The theme must be of the first granularity, because only
    those have stable ids.
    """
    _check_parameters(act, sent)
    name = collections.collection(parse_name(unquote_part(namespace), unquote_part(key))).name
    writer = collections.open_writer()
    try:
        conf = validate_conf(sent.conf or DEFAULT)
        if sent.ids is not msgspec.UNSET:
            change_documents = exclude if act is ThemeAct.EXCLUDE else include
            change = change_documents(writer, name, conf, sent.theme, sent.ids)
            return ActResult(change.id, change.label, documents=change.documents)
        if sent.name is not msgspec.UNSET:
            theme = rename(writer, name, conf, sent.theme, sent.name)
        else:
            theme = pin(writer, name, conf, sent.theme, is_pinned=act is ThemeAct.PIN)
    except ValueError as error:
        message = shorten(str(error), 2_000)
        raise RefusedError(
            400, capitalize(message if message.endswith("?") else f"{message}.")
        ) from error
    return ActResult(theme.id, theme.label, theme.name, theme.pinned is not None)


def _check_parameters(act: ThemeAct, parameters: ThemeActIn) -> None:
    """Check that an action has the parameter that belongs to it, and no parameter of another
    action.

    Raises InvalidParameterError if not.
    """
    for parameter in ("name", "ids"):
        is_given = getattr(parameters, parameter) is not msgspec.UNSET
        is_taken = _PARAMETER_BY_ACT.get(act) == parameter
        if is_given is not is_taken:
            verb = "is required for" if is_taken else "is not allowed for"
            raise InvalidParameterError(f"“{parameter}” {verb} {act}.", parameter)


def _describe(parameters: ThemeActIn) -> str:
    """Return the text that the log of changes shows for an action on a theme: configuration, theme,
    name and documents.
    """
    ids = [] if parameters.ids is msgspec.UNSET else parameters.ids
    name = "" if parameters.name is msgspec.UNSET else parameters.name
    first, remaining_count = next(iter(ids), ""), len(ids) - 1
    documents = f"{first} and {remaining_count:,} more" if remaining_count > 0 else first
    return " ".join(f"{parameters.conf} “{parameters.theme}” {name} {documents}".split())


def _choose_address(result: FormResult[ThemeActIn, ActResult]) -> str:
    """Return the address of the page that the browser opens after an action on a theme: a page that
    shows the result.
    """
    path, parameters = result.request.path_params, result.parameters
    name = CollectionName(unquote_part(path["namespace"]), unquote_part(path["key"]))
    conf = parameters.conf if parameters.conf not in ("", DEFAULT) else None
    act = ThemeAct(path["act"])
    if act is ThemeAct.INCLUDE:
        return link_to_exclusions(name, conf=conf)
    if act is ThemeAct.EXCLUDE and parameters.ids is not msgspec.UNSET:
        return link_to_assignment(name, parameters.ids[0], conf=conf)
    collections: CollectionService = result.request.app.state.service
    if collections.has_theme(name, conf or DEFAULT, result.answer.id):
        return link_to_theme(name, result.answer.id, conf=conf)
    return link_to_collection(name, conf=conf)


action_router = APIRouter(tags=["themes"])
add_actions(
    action_router,
    Action(
        "curate a theme",
        Role.CURATOR,
        curate,
        ThemeActIn,
        FormRoute("/themes/{namespace}/{key}/{act}", _choose_address),
        JsonRoute(
            "/api/themes/{namespace}/{key}/{act}",
            "Name or pin a theme, or exclude documents from it",
            operation_id="curate_theme",
            example={"theme": "river, dam, rain", "name": "Floods"},
        ),
        _describe,
    ),
)
