"""What role a route needs, declared where the route is: `dependencies=[CURATES]`; asked in one place.

FastAPI hands down to its routes what a router depends on, so a router may declare it for all of its routes;
a route's own declaration goes before its router's. A plain route of Starlette is wrapped in `Needs`.
Source: RFC 6750, section 3 (Bearer), RFC 9110, sections 11 and 15.5 (401, 403).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from fonds.model.access import Role
from fonds.web.access.security import same_origin
from fonds.web.access.viewers import Asker, asker_of
from fonds.web.problems import RefusedError
from fonds.web.serving.answers import SAFE_METHODS

CHALLENGE = 'Bearer realm="Fonds"'
ACTS_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True)
class Least:
    """The least role; None: open to everybody, also where reading needs a key."""

    role: Role | None

    async def __call__(self) -> None:
        """A declaration, which does nothing by itself: `permitted` reads it."""


OPEN = Depends(Least(None))
READS = Depends(Least(Role.READER))
CURATES = Depends(Least(Role.CURATOR))
ADMINISTERS = Depends(Least(Role.ADMIN))


@dataclass(frozen=True, slots=True)
class Needs:
    """ASGI middleware around a plain route: what it needs."""

    app: ASGIApp
    least: Least

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises RefusedError as `check`."""
        check(scope, self.least)
        await self.app(scope, receive, send)


def least_of(route: Any) -> Least | None:
    """What a route declares; None where it declares nothing."""
    if isinstance(getattr(route, "app", None), Needs):
        found: Least = route.app.least
        return found
    depends = [one.dependency for one in getattr(route, "dependencies", ())]
    declared = [one for one in depends if isinstance(one, Least)]
    return declared[-1] if declared else None


async def permitted(request: Request) -> None:
    """The first thing each route depends on. A route that declares nothing is an admin's.

    Raises RefusedError as `check`; notes what is about to be changed.
    """
    least = least_of(request.scope["route"]) or Least(Role.ADMIN)
    check(request.scope, least)
    asker = asker_of(request.scope)
    changes = request.method in ACTS_METHODS and least.role not in (None, Role.READER)
    if changes and asker.viewer is not None:
        what = f"{request.method} {request.url.path}"
        acts = request.app.state.gate.acts
        asker.act = await run_in_threadpool(acts.begin, asker.viewer.name, what)


def check(scope: Scope, least: Least) -> None:
    """Raises RefusedError 401, 403 or 429 where who asks may not do what is declared so, and the error of
    the store that could not say."""
    if least.role is None:
        return
    asker = asker_of(scope)
    if asker.trouble is not None:
        raise asker.trouble
    refusal = refusal_of(asker, least.role)
    if refusal is None and asker.by_session and scope["method"] not in SAFE_METHODS:
        refusal = _not_from_here(Headers(scope=scope))
    if refusal is not None:
        raise refusal


def refusal_of(asker: Asker, least: Role) -> RefusedError | None:
    """Why they may not; None where they may."""
    if asker.wait_s:
        told = f"Too many wrong keys came from this address; try again in {asker.wait_s} seconds."
        return RefusedError(429, told, headers={"Retry-After": str(asker.wait_s)})
    if asker.is_wrong:
        told = "This is no key, or one that was revoked or has ended."
        challenge = f'{CHALLENGE}, error="invalid_token"'
        return RefusedError(401, told, headers={"WWW-Authenticate": challenge})
    if asker.may(least):
        return None
    if asker.is_signed_in and asker.viewer is not None:
        has = f"{asker.viewer.name} has the role {asker.viewer.role}"
        return RefusedError(403, f"This needs the role {least}; {has}.")
    if not asker.are_keys_made:
        told = (
            "This server is reached from other machines and nobody made a key, so whoever reaches it"
            f" may only read. `fonds keys create NAME --role {least}` makes one; or serve with --host"
            " 127.0.0.1."
        )
        return RefusedError(403, told)
    told = f"This needs a key of the role {least}: sign in, or send Authorization: Bearer KEY."
    return RefusedError(401, told, headers={"WWW-Authenticate": CHALLENGE})


def _not_from_here(headers: Headers) -> RefusedError | None:
    """A browser sends a cookie along whoever made it ask; so what changes has to come from our own page."""
    if same_origin(headers):
        return None
    return RefusedError(403, "Refused: only this page's own forms may change anything here.")
