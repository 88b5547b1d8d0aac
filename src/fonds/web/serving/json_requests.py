"""Request bodies and JSON responses of the REST API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Depends, Request
from starlette.responses import Response

from fonds.model.encoding import prepare_type
from fonds.model.errors import LimitError
from fonds.model.suggestions import find_nearest_name
from fonds.web.serving.concurrency import JSON, get_media_type
from fonds.web.serving.problems import RefusedError
from fonds.wiring.collections import CollectionService

BODY_MAX_BYTES = 32_768
"""Maximum length in bytes of the JSON body of a request that changes what a page shows, such as a
source.
"""

T = TypeVar("T")
_PLACE = re.compile(r" - at `(\$[^`]*)`$")
_UNKNOWN = re.compile(r"unknown field `(.*?)`(?= - at |$)", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


def decode_body(body: bytes, kind: type[T], line: int | None = None) -> T:
    """Decode the JSON body of a request as a value of type `kind`.

    `line`: number of the line for error messages, None if the body is not one of several lines.
    Raises RefusedError 400 that names the location in the body and, for an unknown field, the
    nearest known name.
    """
    if not body.strip():
        raise RefusedError(400, f"The body is empty. Send {JSON}.", pointer="", line=line)
    try:
        return msgspec.json.decode(body, type=prepare_type(kind))
    except msgspec.ValidationError as error:
        message = str(error)
        place = _PLACE.search(message)
        unknown_match = _UNKNOWN.search(message)
        names = _field_names(kind, place.group(1) if place else "") if unknown_match else ()
        nearest = find_nearest_name(unknown_match.group(1), names) if unknown_match else None
        suggestion = f" Did you mean “{nearest}”?" if nearest else ""
        takes = f" Known: {', '.join(names)}." if unknown_match else ""
        detail = f"{_PLACE.sub('', message)}.{suggestion}{takes}"
        pointer = _build_pointer(place.group(1)) if place else ""
        raise RefusedError(400, detail, pointer=pointer, line=line, nearest=nearest) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RefusedError(
            400, f"The body is not valid JSON: {error}.", pointer="", line=line
        ) from error


def refer_to_schema(name: str) -> dict[str, str]:
    """Return a reference to the schema `name` among the components of the OpenAPI description."""
    return {"$ref": f"#/components/schemas/{name}"}


def takes(schema: dict[str, Any], example: object, *, description: str = "") -> dict[str, Any]:
    """Return the part of an OpenAPI operation that describes its request body as JSON with this
    schema.

    `description`: what the schema does not say about the body; '' for nothing.
    """
    content = {"application/json": {"schema": schema, "example": example}}
    body: dict[str, Any] = {"required": True, "content": content}
    return {"requestBody": body | ({"description": description} if description else {})}


@contextmanager
def refuse_invalid(pointer: str | None = None) -> Iterator[None]:
    """Context manager that turns errors about invalid values into RefusedError.

    The status is 413 for LimitError and 400 for other ValueErrors. `pointer`: JSON pointer to the
    invalid value in the body.
    """
    try:
        yield
    except LimitError as error:
        raise RefusedError(413, _format_sentence(str(error)), pointer=pointer) from error
    except ValueError as error:
        raise RefusedError(400, _format_sentence(str(error)), pointer=pointer) from error


def json_response(
    value: object, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """Return a response with a value as JSON."""
    return Response(msgspec.json.encode(value), status, headers, "application/json")


def escape_pointer(name: str) -> str:
    """Escape the name of an object's member for a JSON pointer. Only the first 100 characters of
    the name are kept.
    """
    return name[:100].replace("~", "~0").replace("/", "~1")


def _build_pointer(place: str) -> str:
    """Convert a location in a body, as the JSON decoder writes it (`$.bulk[3].text`), to a JSON
    pointer.
    """
    return "".join(f"/{name or number}" for name, number in _STEP.findall(place))


def _field_names(kind: Any, place: str) -> tuple[str, ...]:
    """Return the names of the fields that are known at a location (`$.bulk[3]`) in a value of type
    `kind`.

    Return an empty tuple if the value there is not a struct.
    """
    node = msgspec.inspect.type_info(kind)
    for name, _ in _STEP.findall(place):
        if isinstance(node, msgspec.inspect.ListType):
            node = node.item_type
        elif isinstance(node, msgspec.inspect.StructType):
            node = next(field.type for field in node.fields if field.encode_name == name)
    fields = node.fields if isinstance(node, msgspec.inspect.StructType) else ()
    return tuple(field.encode_name for field in fields)


def _format_sentence(message: str) -> str:
    return f"{message[:1].upper()}{message[1:]}."


async def _get_service(request: Request) -> CollectionService:
    service: CollectionService = request.app.state.service
    return service


async def _read_body(request: Request) -> bytes:
    return await request.body()


TheService = Annotated[CollectionService, Depends(_get_service)]
Body = Annotated[bytes, Depends(_read_body)]


async def _json(request: Request) -> bytes:
    """Return the body of a JSON request, b"" if there is none.

    Raises RefusedError 415 for another media type, which includes forms of older browsers that do
    not state their origin, and 413 for a body that is too long.
    """
    kind = get_media_type(request.headers)
    body = await request.body()
    if len(body) > BODY_MAX_BYTES:
        raise RefusedError(413, f"The body is larger than {BODY_MAX_BYTES:,} bytes.")
    if (kind or body) and kind != JSON:
        raise RefusedError(415, f"Set Content-Type to {JSON}.", parameter="Content-Type")
    return body


SentJson = Annotated[bytes, Depends(_json)]
