"""What the description of the API says of keys: how one is shown, and what role each operation needs.

Source: OpenAPI 3.1, Security Requirement Object: an empty one among several says that it may be left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute

from fonds.web.access.declared import least_of

SCHEME = "key"
_EXPLAINED = (
    "A key of `fonds keys create`. Without any key made, programs of the same machine need none; where some"
    " are made, reading needs one if `web.reading_needs_key` says so, and acts need a curator's."
)


def described(app: FastAPI) -> dict[str, Any]:
    """The description, made once: each operation has its least role under `x-least-role`, and shows a key
    where it needs one."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, routes=app.routes)
        scheme = {"type": "http", "scheme": "bearer", "description": _EXPLAINED}
        made.setdefault("components", {})["securitySchemes"] = {SCHEME: scheme}
        for path, method, role in _roles(app):
            operation = made["paths"].get(path, {}).get(method)
            if operation is not None:
                operation["x-least-role"] = role
                operation["security"] = [{}, {SCHEME: []}]
        app.openapi_schema = made
    return app.openapi_schema


def every_route(app: FastAPI) -> list[BaseRoute]:
    """All routes of the application, those of its routers too."""
    return [one.original_route for one in iter_route_contexts(app.routes)]


def _roles(app: FastAPI) -> Iterator[tuple[str, str, str]]:
    """Path, method and least role of each route that needs one."""
    for route in every_route(app):
        least = least_of(route)
        if least is not None and least.role is not None:
            for method in getattr(route, "methods", ()):
                yield getattr(route, "path", ""), method.lower(), least.role.value
