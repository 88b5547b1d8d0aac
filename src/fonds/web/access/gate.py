"""The gate every request passes: who asks is found out once, before anything of a body is read."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fonds.access.acts import Acts
from fonds.access.attempts import Attempts
from fonds.access.keys import Keys, viewer_by
from fonds.access.sessions import Sessions
from fonds.config import Settings
from fonds.model.access import Role
from fonds.model.errors import FondsError, TransientError
from fonds.model.rows import AccessKeyRow
from fonds.ports import Records
from fonds.web.access.declared import ACTS_METHODS, refusal_of
from fonds.web.access.security import only_here
from fonds.web.access.viewers import ANYBODY, ASKER, OWNER, Asker
from fonds.web.problems import problem

SCHEME = "bearer"
SHOWN_CHARACTERS_MAX = 200
COOKIE = "fonds_session"
FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto")
"""Headers of a proxy: what has one comes from another machine, whatever the server is bound to."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Keys, sessions, acts and wrong keys of what is served at `host`. Safe for several threads."""

    keys: Keys
    sessions: Sessions
    acts: Acts
    attempts: Attempts
    host: str
    reading_needs_key: bool

    def asker(self, headers: Headers, address: str) -> Asker:
        """Who asks. A key goes before a session; a session that is none is as nothing shown."""
        shown = key_in(headers)
        is_here = self.is_here(headers)
        if shown is not None:
            row = None if (wait_s := self.attempts.wait_s(address)) else self.shown(shown, address)
            if row is None:
                return Asker(None, is_wrong=True, wait_s=wait_s, is_here=is_here)
            return Asker(viewer_by(row), are_keys_made=True, is_here=is_here)
        cookie = self.cookie_in(headers)
        row = self.sessions.shown(cookie) if cookie else None
        if row is not None:
            self._used(row)
            return Asker(viewer_by(row), by_session=True, are_keys_made=True, is_here=is_here)
        if is_here and not self.keys.are_made():
            return Asker(OWNER, is_here=True)
        viewer = None if self.reading_needs_key else ANYBODY
        return Asker(viewer, are_keys_made=self.keys.are_made(), is_here=is_here)

    def shown(self, secret: str, address: str) -> AccessKeyRow | None:
        """The key of a secret; a wrong one is counted."""
        row = self.keys.shown(secret)
        if row is None:
            self.attempts.was_wrong(address)
        else:
            self._used(row)
        return row

    @property
    def is_only_here(self) -> bool:
        """Whether it is served to this machine alone."""
        return only_here(self.host)

    def is_here(self, headers: Headers) -> bool:
        """Whether a request comes from this machine, as far as can be told."""
        return self.is_only_here and not any(name in headers for name in FORWARDED)

    def cookie_name(self, headers: Headers) -> str:
        """Beyond this machine one that a browser takes over TLS alone, for this very host."""
        return COOKIE if self.is_here(headers) else f"__Host-{COOKIE}"

    def cookie_in(self, headers: Headers) -> str:
        """The session's cookie; empty where there is none."""
        name, found = self.cookie_name(headers), ""
        for line in headers.getlist("cookie"):
            found = cookie_parser(line).get(name, found)
        return found[:SHOWN_CHARACTERS_MAX]

    def _used(self, row: AccessKeyRow) -> None:
        # A home where nothing can be written is read with keys all the same.
        with suppress(FondsError):
            self.keys.used(row)


def make_gate(records: Records, host: str, settings: Settings) -> Gate:
    """The gate of what is served at `host` over these records."""
    web, keys = settings.web, Keys(records, _now)
    sessions = Sessions(records, keys, _now, timedelta(seconds=web.session_s))
    attempts = Attempts(time.monotonic)
    return Gate(keys, sessions, Acts(records, _now), attempts, host, web.reading_needs_key)


def key_in(headers: Headers) -> str | None:
    """The key a program sends; None for none. Other schemes than Bearer are a proxy's."""
    scheme, _, rest = headers.get("authorization", "").partition(" ")
    return rest.strip()[:SHOWN_CHARACTERS_MAX] if scheme.lower() == SCHEME else None


def address_of(scope: Scope) -> str:
    """Where a request comes from."""
    client = scope.get("client")
    return str(client[0]) if client else ""


@dataclass(frozen=True, slots=True)
class Passing:
    """ASGI middleware: every request through the gate. `takes` says of a path that bodies go there which
    only a curator may send: of nobody else one is read."""

    app: ASGIApp
    gate: Gate
    takes: Callable[[str], bool]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401, 403, 429 or 503 for a body of somebody who may send none."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        asker = await run_in_threadpool(self._asker, headers, address_of(scope))
        if scope["method"] in ACTS_METHODS and self.takes(scope["path"]):
            refusal = refusal_of(asker, Role.CURATOR)
            if asker.trouble is not None:
                status = 503 if isinstance(asker.trouble, TransientError) else 500
                await problem(status, str(asker.trouble))(scope, receive, send)
                return
            if refusal is not None:
                answer = problem(
                    refusal.status_code, refusal.detail, None, dict(refusal.headers or {})
                )
                await answer(scope, receive, send)
                return

        async def send_noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                if asker.act is not None:
                    # What is done is done, and is told so; its note says then that it did not end.
                    with suppress(FondsError):
                        await run_in_threadpool(self.gate.acts.end, asker.act, message["status"])
                if asker.is_signed_in or self.gate.reading_needs_key:
                    _keep_private(message)
            await send(message)

        await self.app({**scope, ASKER: asker}, receive, send_noted)

    def _asker(self, headers: Headers, address: str) -> Asker:
        try:
            return self.gate.asker(headers, address)
        except FondsError as error:
            return Asker(None, trouble=error)


def _keep_private(message: Message) -> None:
    """What is told to one is kept for no other by a cache on the way."""
    MutableHeaders(scope=message).setdefault("Cache-Control", "private, no-cache")


def _now() -> datetime:
    return datetime.now(UTC)
