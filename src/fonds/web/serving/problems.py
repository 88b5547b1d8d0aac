"""Error responses for programs: a message, the part of the request at fault, and the nearest known
name.

Source: RFC 9457 (problem details), RFC 6901 (JSON pointers).
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec
from fastapi import HTTPException
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"
SCHEMA: dict[str, Any] = {
    "title": "Problem",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "const": "about:blank"},
        "title": {"type": "string", "description": "what the status is called"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "what is wrong, in a sentence"},
        "parameter": {"type": "string", "description": "the part of the address at fault"},
        "pointer": {"type": "string", "description": "the place of the body at fault"},
        "line": {"type": "integer", "description": "the line of the body at fault, from 1"},
        "nearest": {"type": "string", "description": "the name that was probably meant"},
    },
}
_CONTENT = {MEDIA_TYPE: {"schema": SCHEMA}}
RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "What is wrong with the request", "content": _CONTENT},
    "5XX": {"description": "What does not answer, or is at fault here", "content": _CONTENT},
}


class RefusedError(HTTPException):
    """Request that is refused.

    `parameter`: the part of the address at fault.
    `pointer`, `line`: the location in the body.
    `nearest`: the name that was probably meant.
    `start`, `end`: location of the error in the parameter's text, in characters.
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
        named = {
            "parameter": parameter,
            "pointer": pointer,
            "line": line,
            "nearest": nearest,
            "start": start,
            "end": end,
        }
        self.at = {name: value for name, value in named.items() if value is not None}


def render_problem(
    status: int,
    detail: str,
    members: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """Return the error response for programs. `members` are further members of `SCHEMA`."""
    title = HTTPStatus(status).phrase
    problem = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
        **(members or {}),
    }
    return Response(msgspec.json.encode(problem), status, headers, MEDIA_TYPE)
