"""Required role of each route, declared at the route as `dependencies=[CURATES]` and checked in one
place.

FastAPI passes the dependencies of a router on to its routes, so a router may declare the role for
all of them. A route's own declaration overrides that of its router. A plain Starlette route is
wrapped in `RoleMiddleware`. The API description states the role of each operation.

Source: RFC 6750, section 3 (Bearer), RFC 9110, sections 11 and 15.5 (401, 403), OpenAPI 3.1,
Security Requirement Object: an empty one in the list makes the key optional.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.routing import iter_route_contexts
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from fonds.model.access import Role
from fonds.web.access.security import is_same_origin
from fonds.web.access.viewers import Requester, get_requester
from fonds.web.serving.problems import RefusedError
from fonds.web.serving.responses import SAFE_METHODS

CHALLENGE = 'Bearer realm="Fonds"'
ACTS_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True)
class LeastRole:
    """FastAPI dependency that declares the least role that a route requires.

    `role`: None if the route is open to everyone, even while reading other pages needs an access
        key.
    """

    role: Role | None

    async def __call__(self) -> None:
        """Do nothing: this object only declares a role, which `check_permission` reads."""


OPEN = Depends(LeastRole(None))
READS = Depends(LeastRole(Role.READER))
CURATES = Depends(LeastRole(Role.CURATOR))
ADMINISTERS = Depends(LeastRole(Role.ADMIN))


@dataclass(frozen=True, slots=True)
class RoleMiddleware:
    """ASGI middleware that checks the sender's role for a plain Starlette route."""

    app: ASGIApp
    least_role: LeastRole

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on if the sender has the role that the route requires. Raises
        RefusedError 401, 403 or 429 if not.
        """
        check(scope, self.least_role)
        await self.app(scope, receive, send)


def find_least_role(route: Any) -> LeastRole | None:
    """Return the declaration of the least role that a route requires, None if it declares none."""
    if isinstance(getattr(route, "app", None), RoleMiddleware):
        least_role: LeastRole = route.app.least_role
        return least_role
    depends = [dependency.dependency for dependency in getattr(route, "dependencies", ())]
    declared_roles = [dependency for dependency in depends if isinstance(dependency, LeastRole)]
    return declared_roles[-1] if declared_roles else None


async def check_permission(request: Request) -> None:
    """Check that the sender of a request has the role that its route requires.

    FastAPI runs this as the first dependency of every route. A route that declares no role requires
    an admin. If the request changes something, an entry in the log of changes is begun. Raises
    RefusedError 401, 403 or 429 if the sender lacks the role.
    """
    least_role = find_least_role(request.scope["route"]) or LeastRole(Role.ADMIN)
    check(request.scope, least_role)
    requester = get_requester(request.scope)
    changes = request.method in ACTS_METHODS and least_role.role not in (None, Role.READER)
    if changes and requester.viewer is not None:
        description = f"{request.method} {request.url.path}"
        acts = request.app.state.gate.action_log
        requester.act = await run_in_threadpool(acts.begin, requester.viewer.name, description)


def check(scope: Scope, least_role: LeastRole) -> None:
    """Check that the sender of a request has the role that its route declares (`least_role`).

    Raises RefusedError: 401 or 403 without the role, 403 for a change that a page of another site
    requests, 429 after too many wrong keys. If a store failed while the sender was identified,
    raises the error of that store.
    """
    if least_role.role is None:
        return
    requester = get_requester(scope)
    if requester.error is not None:
        raise requester.error
    refusal = find_refusal(requester, least_role.role)
    if refusal is None and requester.is_by_session and scope["method"] not in SAFE_METHODS:
        refusal = _refuse_cross_site(Headers(scope=scope))
    if refusal is not None:
        raise refusal


def find_refusal(requester: Requester, role: Role) -> RefusedError | None:
    """Return the error that refuses a sender who lacks `role` or sent a wrong key.

    Return None if the sender has the role.
    """
    if requester.wait_s:
        detail = f"Too many wrong keys from this address. Try again in {requester.wait_s} seconds."
        return RefusedError(429, detail, headers={"Retry-After": str(requester.wait_s)})
    if requester.has_wrong_key:
        detail = "This key is wrong, revoked or expired."
        challenge = f'{CHALLENGE}, error="invalid_token"'
        return RefusedError(401, detail, headers={"WWW-Authenticate": challenge})
    if requester.has_role(role):
        return None
    if requester.is_signed_in and requester.viewer is not None:
        has = f"{requester.viewer.name} is {requester.viewer.role}"
        return RefusedError(403, f"This requires the role {role}; {has}.")
    if not requester.has_keys:
        detail = (
            "No access keys yet: this server is open to other computers, so everyone can only read."
            f" Run `fonds keys create NAME --role {role}`, or serve with --host 127.0.0.1."
        )
        return RefusedError(403, detail)
    detail = (
        f"This requires a key with the role {role}: sign in, or send Authorization: Bearer KEY."
    )
    return RefusedError(401, detail, headers={"WWW-Authenticate": CHALLENGE})


def _refuse_cross_site(headers: Headers) -> RefusedError | None:
    """Return the error that refuses a change which a page of another site requests, None if a page
    of this server requests the change.

    Browsers send the session cookie whatever page made the request, so a change must come from a
    page of this server.
    """
    if is_same_origin(headers):
        return None
    return RefusedError(403, "Rejected: changes must be sent from a page of this server.")


# API description: how a key is sent, and the role each operation requires.


SCHEME = "key"
_EXPLAINED = (
    "A key from `fonds keys create`. Before the first key is created, programs on the same computer need"
    " none. After that, changes require the role curator, and reading requires a key if"
    " `web.reading_needs_key` is on."
)


def describe_api(app: FastAPI, schemas: Mapping[str, Any]) -> dict[str, Any]:
    """Build the OpenAPI description of the application once and cache it.

    Each operation that requires a role states the role under `x-least-role`, and that an access key
    is sent as a bearer token. `schemas`: schemas by name that the operations reference, in addition
    to those of the response types.
    """
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
        scheme = {"type": "http", "scheme": "bearer", "description": _EXPLAINED}
        components = schema.setdefault("components", {})
        components["securitySchemes"] = {SCHEME: scheme}
        components.setdefault("schemas", {}).update(schemas)
        for path, method, role in _iter_roles(app):
            operation = schema["paths"].get(path, {}).get(method)
            if operation is not None:
                operation["x-least-role"] = role
                operation["security"] = [{}, {SCHEME: []}]
        app.openapi_schema = schema
    return app.openapi_schema


def list_routes(app: FastAPI) -> list[BaseRoute]:
    """List all routes of the application, including those of its routers."""
    return [context.original_route for context in iter_route_contexts(app.routes)]


def _iter_roles(app: FastAPI) -> Iterator[tuple[str, str, str]]:
    """Yield the path, the HTTP method in lower case and the least role of each route that requires
    a role.
    """
    for route in list_routes(app):
        least_role = find_least_role(route)
        if least_role is not None and least_role.role is not None:
            for method in getattr(route, "methods", ()):
                yield getattr(route, "path", ""), method.lower(), least_role.role.value
