"""What curators do with a theme from its page: name it, put it before the others, take documents out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse

from fonds.collections.changing.curating.excluding import exclude, include
from fonds.collections.changing.curating.naming import pin, rename
from fonds.collections.names import DEFAULT, Name, checked_conf
from fonds.model.errors import ConfigurationError
from fonds.web.access.declared import CURATES
from fonds.web.access.forms import Fields
from fonds.web.access.viewers import name_act
from fonds.web.parameters import named, shorten
from fonds.web.problems import RefusedError
from fonds.web.rendering import sentence
from fonds.web.rest.service import TheService
from fonds.web.themes.addresses import (
    collection_href,
    excluded_href,
    placed_href,
    theme_href,
    unpart,
)
from fonds.wiring.recurring.collections import CollectionService

FIELDS = frozenset({"conf", "theme", "name", "id"})
PATH = "/themes/{namespace}/{key}/{act}"

router = APIRouter(include_in_schema=False, dependencies=[CURATES])


class Act(StrEnum):
    """What is done with a theme; the words of `fonds clusters`."""

    RENAME = "rename"
    PIN = "pin"
    UNPIN = "unpin"
    EXCLUDE = "exclude"
    INCLUDE = "include"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for: by which configuration, the theme by id, label or name; the name it is to have, and
    the documents it is about."""

    conf: str
    theme: str
    name: str = ""
    ids: Sequence[str] = ()

    @property
    def told(self) -> str:
        """What it is about, for the note of the act."""
        first, more = next(iter(self.ids), ""), len(self.ids) - 1
        ids = f"{first} and {more:,} more" if more > 0 else first
        return " ".join(f"{self.conf} “{self.theme}” {self.name} {ids}".split())


@dataclass(frozen=True, slots=True)
class ActTold:
    """What is decided of a theme now: its id and label, the name it was given, '' for none, and whether it
    is pinned; of documents, how many were taken out or put back just now."""

    id: str
    label: str
    name: str | None = None
    pinned: bool | None = None
    documents: int | None = None


def act_on(themes: CollectionService, namespace: str, key: str, act: Act, asked: Asked) -> ActTold:
    """Do it; done twice it is as done once. Raises RefusedError 404 for a collection there is not, 400 with a
    sentence for a theme, document or name that is none, 409 where the model is not to be had."""
    name = themes.collection(named(namespace, key)).name
    changes = themes.writing()
    try:
        conf = checked_conf(asked.conf or DEFAULT)
        if act in (Act.EXCLUDE, Act.INCLUDE):
            done = exclude if act is Act.EXCLUDE else include
            out = done(changes, name, conf, asked.theme, asked.ids)
            return ActTold(out.id, out.label, documents=out.documents)
        if act is Act.RENAME:
            one = rename(changes, name, conf, asked.theme, asked.name)
        else:
            one = pin(changes, name, conf, asked.theme, pinned=act is Act.PIN)
    except ValueError as error:
        said = shorten(str(error), 2_000)
        raise RefusedError(400, sentence(said if said.endswith("?") else f"{said}.")) from error
    except ConfigurationError as error:
        raise RefusedError(409, sentence(f"{error}.")) from error
    return ActTold(one.id, one.label, one.name, one.pinned is not None)


@router.post(PATH)
def act_html(
    request: Request,
    themes: TheService,
    namespace: str,
    key: str,
    act: Act,
    said: Annotated[dict[str, str], Depends(Fields(FIELDS))],
) -> RedirectResponse:
    """Do it, and lead to where it is to be seen."""
    ids = (said["id"],) if act in (Act.EXCLUDE, Act.INCLUDE) else ()
    asked = Asked(said["conf"], said["theme"], said["name"], ids)
    name_act(request, asked.told)
    name = Name(unpart(namespace), unpart(key))
    told = act_on(themes, name.namespace, name.key, act, asked)
    conf = said["conf"] if said["conf"] != DEFAULT else None
    return RedirectResponse(_seen_at(themes, name, conf, act, told, said["id"]), 303)


def _seen_at(
    themes: CollectionService, name: Name, conf: str | None, act: Act, told: ActTold, document: str
) -> str:
    if act is Act.INCLUDE:
        return excluded_href(name, conf=conf)
    if act is Act.EXCLUDE:
        return placed_href(name, document, conf=conf)
    if themes.has_theme(name, conf or DEFAULT, told.id):
        return theme_href(name, told.id, conf=conf)
    return collection_href(name, conf=conf)
