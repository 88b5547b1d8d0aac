"""What programs do with a theme: the acts of its page, answered with what is decided of it then."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Request

from fonds.collections.changing.curating.naming import NAME_CHARACTERS_MAX
from fonds.collections.changing.writing import DOCUMENTS_AT_ONCE
from fonds.collections.names import DEFAULT, ID_CHARACTERS_MAX
from fonds.web.access.declared import CURATES
from fonds.web.access.viewers import name_act
from fonds.web.problems import RefusedError
from fonds.web.rest.service import SentJson, TheService, decoded, takes
from fonds.web.themes.addresses import unpart
from fonds.web.themes.curating.acting import PATH, Act, ActTold, Asked, act_on

HEAD = "/api/themes/"
_Word = Annotated[str, msgspec.Meta(min_length=1, max_length=ID_CHARACTERS_MAX)]
_Name = Annotated[str, msgspec.Meta(max_length=NAME_CHARACTERS_MAX)]
_Ids = Annotated[list[_Word], msgspec.Meta(min_length=1, max_length=DOCUMENTS_AT_ONCE)]


class SentAct(msgspec.Struct, forbid_unknown_fields=True):
    """Which theme, by its id, label or name, of which configuration; `name` goes with rename, empty to take
    the name back, `ids` of documents with exclude and include."""

    theme: _Word
    conf: str = DEFAULT
    name: _Name | msgspec.UnsetType = msgspec.UNSET
    ids: _Ids | msgspec.UnsetType = msgspec.UNSET


_TAKES = takes(
    msgspec.json.schema(SentAct)["$defs"]["SentAct"],
    {"theme": "river, dam, rain", "name": "Floods"},
)
_WITH = {Act.RENAME: ("name",), Act.EXCLUDE: ("ids",), Act.INCLUDE: ("ids",)}

router = APIRouter(dependencies=[CURATES])


@router.post(
    f"/api{PATH}", summary="Name or pin a theme, take documents out of it", openapi_extra=_TAKES
)
def act_json(
    request: Request, themes: TheService, namespace: str, key: str, act: Act, sent: SentJson
) -> ActTold:
    """As `fonds clusters rename`, `pin`, `unpin`, `exclude` and `include`; done twice it is as done once. A
    theme is of the first granularity: those of others have no ids that stay."""
    said = decoded(sent, SentAct)
    for field in ("name", "ids"):
        is_there, goes = getattr(said, field) is not msgspec.UNSET, field in _WITH.get(act, ())
        if is_there is not goes:
            told = f"“{field}” goes with {act}." if goes else f"“{field}” does not go with {act}."
            raise RefusedError(400, told, pointer=f"/{field}")
    name = "" if said.name is msgspec.UNSET else said.name
    ids = [] if said.ids is msgspec.UNSET else said.ids
    asked = Asked(said.conf, said.theme, name, ids)
    name_act(request, asked.told)
    return act_on(themes, unpart(namespace), unpart(key), act, asked)
