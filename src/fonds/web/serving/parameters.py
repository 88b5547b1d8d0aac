"""The parameters of a URL: which ones a page takes, and what is told of any other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Annotated, Any, get_origin

from fastapi import Request
from pydantic import BaseModel, BeforeValidator

from fonds.grouping.names import CollectionName, validate_conf, validate_id, validate_name
from fonds.model.partial_date import entered_day
from fonds.model.suggestions import find_nearest_name
from fonds.web.serving.problems import RefusedError

TITLE_MAX_CHARS = 300
EXCERPT_CHARS = 100
_CHOICES = re.compile(r"'([^']*)'")
_CLOSED = frozenset({"literal_error", "enum"})


Day = Annotated[date | None, BeforeValidator(entered_day)]
"""A day as a parameter."""


def shorten(text: str, chars_max: int = TITLE_MAX_CHARS) -> str:
    """Return at most `chars_max` characters of a text, with an ellipsis in place of the rest."""
    return text if len(text) <= chars_max else text[: chars_max - 1].rstrip() + "…"


async def reject_unknown_parameters(request: Request) -> None:
    """Raises RefusedError 400 for a parameter the page does not take, and for one that is given twice and
    may not be.
    """
    dependant = getattr(request.scope.get("route"), "dependant", None)
    if dependant is None:
        return
    known = dict(_iter_parameters(dependant.query_params))
    for name in request.query_params:
        if name not in known:
            near = find_nearest_name(name, known)
            said = _format_unknown_parameter(name, list(known), near)
            raise RefusedError(400, said, parameter=shorten(name, EXCERPT_CHARS), nearest=near)
        if not known[name] and len(request.query_params.getlist(name)) > 1:
            said = f"The parameter “{name}” is given more than once."
            raise RefusedError(400, said, parameter=name)


def _iter_parameters(params: Sequence[Any]) -> Iterator[tuple[str, bool]]:
    """Each parameter's name in the URL, and whether it may be repeated."""
    for param in params:
        kind = param.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            for name, field in kind.model_fields.items():
                yield field.alias or name, get_origin(field.annotation) is list
        else:
            yield param.alias, get_origin(kind) is list


def _format_unknown_parameter(name: str, known_names: Sequence[str], near: str | None) -> str:
    meant = f" Did you mean “{near}”?" if near else ""
    takes = f" It takes {', '.join(known_names)}." if known_names else " It takes none."
    return f"There is no parameter “{shorten(name, EXCERPT_CHARS)}” here.{meant}{takes}"


def describe_fault(error: dict[str, Any]) -> dict[str, str]:
    """The parameter whose value cannot be and, out of a closed list, the `find_nearest_name`."""
    name = str(error["loc"][-1] if len(error["loc"]) < 3 else error["loc"][1])
    found = {"parameter": shorten(name, EXCERPT_CHARS)}
    near = None
    if error["type"] in _CLOSED:
        choices = _CHOICES.findall(str(error.get("ctx", {}).get("expected", "")))
        near = find_nearest_name(str(error.get("input")), choices)
    return found | ({"nearest": near} if near else {})


def format_refusal(error: dict[str, Any]) -> str:
    """What is told of a value a parameter cannot have, naming both and, out of a closed list, the nearest."""
    at = describe_fault(error)
    name, near = at["parameter"], at.get("nearest")
    given = str(error.get("input"))
    said = error["msg"].removeprefix("Value error, ")
    said = f"{said[:1].lower()}{said[1:]}"
    meant = f" Did you mean “{near}”?" if near else ""
    return f"The parameter “{name}” is “{shorten(given, EXCERPT_CHARS)}”: {said}.{meant}"


def parse_name(namespace: str, key: str) -> CollectionName:
    """The collection. Raises RefusedError 400 for what can be no name."""
    for name, one in (("ns", CollectionName(namespace, "-")), ("key", CollectionName("-", key))):
        try:
            validate_name(one)
        except ValueError as error:
            raise RefusedError(400, f"{_capitalize(error)}.", parameter=name) from error
    return CollectionName(namespace, key)


def namespace_named(namespace: str) -> str:
    """Return the namespace of a path. Raises RefusedError 400 for an impossible one."""
    return parse_name(namespace, "-").namespace


def parse_conf(conf: str) -> str:
    """Return the name of a configuration in a path. Raises RefusedError 400 for an impossible one."""
    try:
        return validate_conf(conf)
    except ValueError as error:
        raise RefusedError(400, f"{_capitalize(error)}.", parameter="conf") from error


def parse_id(document_id: str) -> str:
    """The id of a document. Raises RefusedError 400 for what can be none."""
    try:
        return validate_id(document_id)
    except ValueError as error:
        raise RefusedError(400, f"{_capitalize(error)}.", parameter="id") from error


def _capitalize(error: ValueError) -> str:
    """What an error says, as a sentence begins."""
    said = str(error)
    return f"{said[:1].upper()}{said[1:]}"
