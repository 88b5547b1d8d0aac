"""Error responses for programs: a message, the part of the request at fault, and the nearest known
name.

Source: RFC 9457 (problem details), RFC 6901 (JSON pointers).
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

import msgspec
from fastapi import HTTPException
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"
_SCHEMA: dict[str, Any] = {
    "title": "ProblemDetails",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "const": "about:blank"},
        "title": {"type": "string", "description": "name of the status"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "the problem in a sentence"},
        "parameter": {"type": "string", "description": "the invalid parameter of the address"},
        "pointer": {
            "type": "string",
            "description": "the invalid part of the body, as a JSON Pointer",
        },
        "line": {"type": "integer", "description": "the invalid line of the body, from 1"},
        "nearest": {"type": "string", "description": "the closest valid name"},
    },
}
SCHEMAS: Mapping[str, dict[str, Any]] = MappingProxyType({"ProblemDetails": _SCHEMA})
"""Schemas of error responses that the OpenAPI description lists among its components."""
_CONTENT = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "Invalid request", "content": _CONTENT},
    "5XX": {"description": "Server error", "content": _CONTENT},
}


class RefusedError(HTTPException):
    """Error that refuses a request with an HTTP status and a message.

    `parameter`: name of the invalid query parameter.
    `pointer`, `line`: JSON pointer to the invalid value in the body, and its line, from 1.
    `nearest`: the valid name closest to an unknown name in the request.
    `start`, `end`: position of the error in the text of the parameter, in characters.
    All are None if unknown.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        parameter: str | None = None,
        pointer: str | None = None,
        line: int | None = None,
        nearest: str | None = None,
        start: int | None = None,
        end: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, headers)
        extension_members = {
            "parameter": parameter,
            "pointer": pointer,
            "line": line,
            "nearest": nearest,
            "start": start,
            "end": end,
        }
        self.at = {name: value for name, value in extension_members.items() if value is not None}


def render_problem(
    status: int,
    detail: str,
    members: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """Return the error response for programs as JSON.

    `members`: further members of the JSON object, such as `parameter` or `nearest`.
    `headers`: further headers of the response.
    """
    title = HTTPStatus(status).phrase
    problem = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
        **(members or {}),
    }
    return Response(msgspec.json.encode(problem), status, headers, MEDIA_TYPE)
