"""Paths of the REST API of collections. The parts of a path may contain any character, even
slashes.

Source: RFC 3986, section 2.4: a path is split before its parts are decoded, and they are decoded
once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote, unquote, unquote_to_bytes

from fastapi import Path
from pydantic import AfterValidator
from starlette.types import ASGIApp, Receive, Scope, Send

from fonds.grouping.names import CONFIGURATION_NAME, ID_MAX_CHARS, PART_MAX_CHARS
from fonds.web.serving.problems import render_problem

_DOCUMENTS_HEAD = "docs"
"""First part of the paths of documents (`/docs/…`). Alone, `/docs` is the page that describes the
API.
"""
PATH_HEADS = frozenset(
    {
        "clusters",
        "collections",
        "configurations",
        _DOCUMENTS_HEAD,
        "documents",
        "queries",
        "results",
        "run",
    }
)
"""First parts of the paths of the REST API."""

Part = Annotated[str, AfterValidator(unquote)]
_PART_SCHEMA: dict[str, Any] = {"minLength": 1, "maxLength": PART_MAX_CHARS}
_ID_SCHEMA = {"minLength": 1, "maxLength": ID_MAX_CHARS}
_CONFIGURATION_SCHEMA = {"pattern": f"^{CONFIGURATION_NAME.pattern}$"}

Namespace = Annotated[
    Part, Path(description="Namespace of the collection", json_schema_extra=_PART_SCHEMA)
]
Key = Annotated[
    Part, Path(description="Key of the collection in its namespace", json_schema_extra=_PART_SCHEMA)
]
Id = Annotated[
    Part, Path(description="Id of the document in the application", json_schema_extra=_ID_SCHEMA)
]
Label = Annotated[
    Part, Path(description="Label or id of the cluster, or a reason for unclustered documents")
]
Conf = Annotated[
    Part, Path(description="Name of the configuration", json_schema_extra=_CONFIGURATION_SCHEMA)
]
QueryName = Annotated[
    Part,
    Path(
        description="Name of the query: the key of its collection", json_schema_extra=_PART_SCHEMA
    ),
]


def is_rest_path(path: str) -> bool:
    """Return whether a path belongs to the REST API of collections, not to the pages."""
    head, _, remaining_path = path.lstrip("/").partition("/")
    return head in PATH_HEADS and not (head == _DOCUMENTS_HEAD and not remaining_path)


@dataclass(frozen=True, slots=True)
class EncodedPathMiddleware:
    """ASGI middleware that percent-encodes each part of the path of a REST request, so that a slash
    in a name does not separate parts.

    The type `Part` of path parameters decodes the part again.
    """

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Percent-encode the parts of a REST request's path and pass the request on. Answer 400 for
        a path that is not UTF-8. Other requests are passed on unchanged.
        """
        if scope["type"] != "http" or not is_rest_path(scope["path"]):
            await self.app(scope, receive, send)
            return
        raw_path = scope.get("raw_path") or quote(scope["path"]).encode()
        try:
            parts = [unquote_to_bytes(part).decode("utf-8") for part in raw_path.split(b"/")]
        except UnicodeDecodeError:
            await render_problem(400, "The path is not valid UTF-8.")(scope, receive, send)
            return
        path = "/".join(quote(part, safe="") for part in parts)
        await self.app({**scope, "path": path}, receive, send)


def build_path(*parts: str) -> str:
    """Build a URL path from `parts`, and percent-encode each of them."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)
