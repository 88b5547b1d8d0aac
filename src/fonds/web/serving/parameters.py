"""Query parameters of a URL: which ones a page accepts, and errors for all others."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any, get_origin

import msgspec
from fastapi import Depends, Query, Request
from msgspec.json import schema_components
from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema, create_model

from fonds.grouping.names import CollectionName, validate_conf, validate_id, validate_name
from fonds.model.parameter_errors import (
    ParameterError,
    build_repeated_parameter,
    build_unknown_parameter,
)
from fonds.model.partial_date import entered_day
from fonds.search.request import PARAMETERS, SearchParameter, SearchRequest, parse_request
from fonds.web.serving.problems import RefusedError

TITLE_MAX_CHARS = 300


Day = Annotated[date | None, BeforeValidator(entered_day)]
"""Day in a query parameter, as text YYYY-MM-DD; None if the parameter is empty."""


def shorten(text: str, max_chars: int = TITLE_MAX_CHARS) -> str:
    """Return at most `max_chars` characters of a text, with an ellipsis in place of the rest."""
    return text if len(text) <= max_chars else text[: max_chars - 1].rstrip() + "…"


def take_search(*names: str) -> Any:
    """Return a FastAPI dependency that reads the named parameters of a search from the URL.

    The dependency raises ParameterError for an invalid value, as `parse_request` does. The model
    that it declares only describes the parameters; FastAPI does not check their values.
    """
    selected_parameters = {
        name: parameter for name, parameter in PARAMETERS.items() if name in names
    }
    definitions: dict[str, Any] = {
        parameter.attribute: (_describe_type(parameter), _describe_field(name, parameter))
        for name, parameter in selected_parameters.items()
    }
    model = create_model("SearchParameters", **definitions)

    def build(request: Request, parameters: BaseModel) -> SearchRequest:
        query = request.query_params
        return parse_request(
            {name: query.getlist(name) for name in selected_parameters if name in query}
        )

    build.__annotations__["parameters"] = Annotated[model, Query()]
    return Depends(build)


def _describe_type(parameter: SearchParameter) -> Any:
    (schema,), components = schema_components([parameter.value_type])
    if "$ref" in schema:
        schema = components[schema["$ref"].rsplit("/", 1)[1]]
    schema = {key: value for key, value in schema.items() if key not in ("description", "title")}
    if parameter.is_list:
        schema = {"type": "array", "items": schema, "maxItems": parameter.values_max}
    return Annotated[list[str] if parameter.is_list else str | None, WithJsonSchema(schema)]


def _describe_field(name: str, parameter: SearchParameter) -> Any:
    default = msgspec.to_builtins(parameter.default)
    return Field(default, alias=name, description=parameter.description)


async def reject_unknown_parameters(request: Request) -> None:
    """FastAPI dependency that checks the query parameters of a request.

    Raises RefusedError 400 for a parameter that the route does not accept, and for a repeated
    parameter that may not be repeated.
    """
    dependant = getattr(request.scope.get("route"), "dependant", None)
    if dependant is None:
        return
    accepted_parameters = dict(_iter_parameters(dependant))
    for name in request.query_params:
        if name not in accepted_parameters:
            raise _refuse(build_unknown_parameter(name, accepted_parameters))
        if not accepted_parameters[name] and len(request.query_params.getlist(name)) > 1:
            raise _refuse(build_repeated_parameter(name))


def _refuse(error: ParameterError) -> RefusedError:
    return RefusedError(400, str(error), parameter=error.parameter, nearest=error.nearest)


def _iter_parameters(dependant: Any) -> Iterator[tuple[str, bool]]:
    """Yield the name of each query parameter that a route accepts, and whether it may be
    repeated.
    """
    for dependency in dependant.dependencies:
        yield from _iter_parameters(dependency)
    for param in dependant.query_params:
        kind = param.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            for name, field in kind.model_fields.items():
                yield field.alias or name, get_origin(field.annotation) is list
        else:
            yield param.alias, get_origin(kind) is list


def parse_name(namespace: str, key: str) -> CollectionName:
    """Return the name of a collection with this namespace and key. Raises RefusedError 400 for an
    invalid namespace or key.
    """
    for name, candidate in (
        ("ns", CollectionName(namespace, "-")),
        ("key", CollectionName("-", key)),
    ):
        try:
            validate_name(candidate)
        except ValueError as error:
            raise RefusedError(400, f"{_capitalize(error)}.", parameter=name) from error
    return CollectionName(namespace, key)


def parse_namespace(namespace: str) -> str:
    """Return the namespace in the path of a request. Raises RefusedError 400 for an invalid
    namespace.
    """
    return parse_name(namespace, "-").namespace


def parse_conf(conf: str) -> str:
    """Return the name of the configuration in the path of a request. Raises RefusedError 400 for an
    invalid name.
    """
    try:
        return validate_conf(conf)
    except ValueError as error:
        raise RefusedError(400, f"{_capitalize(error)}.", parameter="conf") from error


def parse_id(document_id: str) -> str:
    """Return the id of the document in the path of a request. Raises RefusedError 400 for an
    invalid id.
    """
    try:
        return validate_id(document_id)
    except ValueError as error:
        raise RefusedError(400, f"{_capitalize(error)}.", parameter="id") from error


def _capitalize(error: ValueError) -> str:
    """Return the message of an error, with its first letter capitalized."""
    message = str(error)
    return f"{message[:1].upper()}{message[1:]}"
