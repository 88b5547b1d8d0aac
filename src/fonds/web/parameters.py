"""The parameters of a URL: which ones a page takes, and what is told of any other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Annotated, Any, get_origin

from fastapi import Request
from pydantic import BaseModel, BeforeValidator

from fonds.model.names import nearest
from fonds.model.partial_date import entered_day
from fonds.web.problems import RefusedError
from fonds.web.rendering import cut

SHOWN_CHARS = 100
_CHOICES = re.compile(r"'([^']*)'")
_CLOSED = frozenset({"literal_error", "enum"})


Day = Annotated[date | None, BeforeValidator(entered_day)]
"""A day as a parameter."""


async def only_known(request: Request) -> None:
    """Raises RefusedError 400 for a parameter the page does not take, and for one that is given twice and
    may not be.
    """
    dependant = getattr(request.scope.get("route"), "dependant", None)
    if dependant is None:
        return
    known = dict(_known(dependant.query_params))
    for name in request.query_params:
        if name not in known:
            near = nearest(name, known)
            said = _no_parameter(name, list(known), near)
            raise RefusedError(400, said, parameter=cut(name, SHOWN_CHARS), nearest=near)
        if not known[name] and len(request.query_params.getlist(name)) > 1:
            said = f"The parameter “{name}” is given more than once."
            raise RefusedError(400, said, parameter=name)


def _known(params: Sequence[Any]) -> Iterator[tuple[str, bool]]:
    """Each parameter's name in the URL, and whether it may be repeated."""
    for param in params:
        kind = param.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            for name, field in kind.model_fields.items():
                yield field.alias or name, get_origin(field.annotation) is list
        else:
            yield param.alias, get_origin(kind) is list


def _no_parameter(name: str, known: Sequence[str], near: str | None) -> str:
    meant = f" Did you mean “{near}”?" if near else ""
    takes = f" It takes {', '.join(known)}." if known else " It takes none."
    return f"There is no parameter “{cut(name, SHOWN_CHARS)}” here.{meant}{takes}"


def fault(error: dict[str, Any]) -> dict[str, str]:
    """The parameter whose value cannot be and, out of a closed list, the `nearest`."""
    name = str(error["loc"][-1] if len(error["loc"]) < 3 else error["loc"][1])
    found = {"parameter": cut(name, SHOWN_CHARS)}
    near = None
    if error["type"] in _CLOSED:
        choices = _CHOICES.findall(str(error.get("ctx", {}).get("expected", "")))
        near = nearest(str(error.get("input")), choices)
    return found | ({"nearest": near} if near else {})


def refusal(error: dict[str, Any]) -> str:
    """What is told of a value a parameter cannot have, naming both and, out of a closed list, the nearest."""
    at = fault(error)
    name, near = at["parameter"], at.get("nearest")
    given = str(error.get("input"))
    said = error["msg"].removeprefix("Value error, ")
    said = f"{said[:1].lower()}{said[1:]}"
    meant = f" Did you mean “{near}”?" if near else ""
    return f"The parameter “{name}” is “{cut(given, SHOWN_CHARS)}”: {said}.{meant}"
