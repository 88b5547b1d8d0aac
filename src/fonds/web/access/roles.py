"""What role a route needs, declared where the route is: `dependencies=[CURATES]`; asked in one place.

FastAPI hands down to its routes what a router depends on, so a router may declare it for all of its routes;
a route's own declaration goes before its router's. A plain route of Starlette is wrapped in `RoleMiddleware`.
Source: RFC 6750, section 3 (Bearer), RFC 9110, sections 11 and 15.5 (401, 403).
"""

from __future__ import annotations

from collections.abc import Iterator
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
    """The least role; None: open to everybody, also where reading needs a key."""

    role: Role | None

    async def __call__(self) -> None:
        """A declaration, which does nothing by itself: `check_permission` reads it."""


OPEN = Depends(LeastRole(None))
READS = Depends(LeastRole(Role.READER))
CURATES = Depends(LeastRole(Role.CURATOR))
ADMINISTERS = Depends(LeastRole(Role.ADMIN))


@dataclass(frozen=True, slots=True)
class RoleMiddleware:
    """ASGI middleware around a plain route: what it needs."""

    app: ASGIApp
    least_role: LeastRole

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises RefusedError as `check`."""
        check(scope, self.least_role)
        await self.app(scope, receive, send)


def find_least_role(route: Any) -> LeastRole | None:
    """What a route declares; None where it declares nothing."""
    if isinstance(getattr(route, "app", None), RoleMiddleware):
        found: LeastRole = route.app.least_role
        return found
    depends = [one.dependency for one in getattr(route, "dependencies", ())]
    declared = [one for one in depends if isinstance(one, LeastRole)]
    return declared[-1] if declared else None


async def check_permission(request: Request) -> None:
    """The first thing each route depends on. A route that declares nothing is an admin's.

    Raises RefusedError as `check`; notes what is about to be changed.
    """
    least = find_least_role(request.scope["route"]) or LeastRole(Role.ADMIN)
    check(request.scope, least)
    asker = get_requester(request.scope)
    changes = request.method in ACTS_METHODS and least.role not in (None, Role.READER)
    if changes and asker.viewer is not None:
        what = f"{request.method} {request.url.path}"
        acts = request.app.state.gate.acts
        asker.act = await run_in_threadpool(acts.begin, asker.viewer.name, what)


def check(scope: Scope, least_role: LeastRole) -> None:
    """Raises RefusedError 401, 403 or 429 where who asks may not do what is declared so, and the error of
    the store that could not say."""
    if least_role.role is None:
        return
    asker = get_requester(scope)
    if asker.trouble is not None:
        raise asker.trouble
    refusal = find_refusal(asker, least_role.role)
    if refusal is None and asker.is_by_session and scope["method"] not in SAFE_METHODS:
        refusal = _refuse_cross_site(Headers(scope=scope))
    if refusal is not None:
        raise refusal


def find_refusal(requester: Requester, role: Role) -> RefusedError | None:
    """Why they may not; None where they may."""
    if requester.wait_s:
        told = (
            f"Too many wrong keys came from this address; try again in {requester.wait_s} seconds."
        )
        return RefusedError(429, told, headers={"Retry-After": str(requester.wait_s)})
    if requester.is_wrong:
        told = "This is no key, or one that was revoked or has ended."
        challenge = f'{CHALLENGE}, error="invalid_token"'
        return RefusedError(401, told, headers={"WWW-Authenticate": challenge})
    if requester.has_role(role):
        return None
    if requester.is_signed_in and requester.viewer is not None:
        has = f"{requester.viewer.name} has the role {requester.viewer.role}"
        return RefusedError(403, f"This needs the role {role}; {has}.")
    if not requester.has_keys:
        told = (
            "This server is reached from other machines and nobody made a key, so whoever reaches it"
            f" may only read. `fonds keys create NAME --role {role}` makes one; or serve with --host"
            " 127.0.0.1."
        )
        return RefusedError(403, told)
    told = f"This needs a key of the role {role}: sign in, or send Authorization: Bearer KEY."
    return RefusedError(401, told, headers={"WWW-Authenticate": CHALLENGE})


def _refuse_cross_site(headers: Headers) -> RefusedError | None:
    """A browser sends a cookie along whoever made it ask; so what changes has to come from our own page."""
    if is_same_origin(headers):
        return None
    return RefusedError(403, "Refused: only this page's own forms may change anything here.")


# What the description of the API says of keys: how one is shown, and what role each operation needs.
#
# Source: OpenAPI 3.1, Security Requirement Object: an empty one among several says that it may be left out.


SCHEME = "key"
_EXPLAINED = (
    "A key of `fonds keys create`. Without any key made, programs of the same machine need none; where some"
    " are made, reading needs one if `web.reading_needs_key` says so, and acts need a curator's."
)


def describe_api(app: FastAPI) -> dict[str, Any]:
    """The description, made once: each operation has its least role under `x-least-role`, and shows a key
    where it needs one."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, routes=app.routes)
        scheme = {"type": "http", "scheme": "bearer", "description": _EXPLAINED}
        made.setdefault("components", {})["securitySchemes"] = {SCHEME: scheme}
        for path, method, role in _iter_roles(app):
            operation = made["paths"].get(path, {}).get(method)
            if operation is not None:
                operation["x-least-role"] = role
                operation["security"] = [{}, {SCHEME: []}]
        app.openapi_schema = made
    return app.openapi_schema


def list_routes(app: FastAPI) -> list[BaseRoute]:
    """All routes of the application, those of its routers too."""
    return [one.original_route for one in iter_route_contexts(app.routes)]


def _iter_roles(app: FastAPI) -> Iterator[tuple[str, str, str]]:
    """Path, method and least role of each route that needs one."""
    for route in list_routes(app):
        least = find_least_role(route)
        if least is not None and least.role is not None:
            for method in getattr(route, "methods", ()):
                yield getattr(route, "path", ""), method.lower(), least.role.value
