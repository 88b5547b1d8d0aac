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

from fonds.access.acts import ActLog
from fonds.access.keys import AccessKeys, build_viewer
from fonds.access.sessions import SessionStore
from fonds.access.sign_in_throttle import FailedAttempts
from fonds.config import Settings
from fonds.model.access import Role
from fonds.model.errors import FondsError, TransientError
from fonds.model.rows import AccessKeyRow
from fonds.ports import Records
from fonds.web.access.roles import ACTS_METHODS, find_refusal
from fonds.web.access.security import is_loopback_only
from fonds.web.access.viewers import ANONYMOUS_READER, ASKER, OWNER, Requester
from fonds.web.serving.problems import render_problem

SCHEME = "bearer"
SECRET_MAX_CHARS = 200
COOKIE = "fonds_session"
FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto")
"""Headers of a proxy: what has one comes from another machine, whatever the server is bound to."""


@dataclass(frozen=True, slots=True)
class AccessGate:
    """Keys, sessions, acts and wrong keys of what is served at `host`. Safe for several threads."""

    keys: AccessKeys
    sessions: SessionStore
    acts: ActLog
    attempts: FailedAttempts
    host: str
    needs_key_to_read: bool

    def identify_requester(self, headers: Headers, address: str) -> Requester:
        """Who asks. A key goes before a session; a session that is none is as nothing shown."""
        shown = get_bearer_key(headers)
        is_here = self.is_local(headers)
        if shown is not None:
            row = (
                None
                if (wait_s := self.attempts.get_wait_s(address))
                else self.authenticate(shown, address)
            )
            if row is None:
                return Requester(None, is_wrong=True, wait_s=wait_s, is_local=is_here)
            return Requester(build_viewer(row), has_keys=True, is_local=is_here)
        cookie = self.get_cookie(headers)
        row = self.sessions.authenticate(cookie) if cookie else None
        if row is not None:
            self._mark_used(row)
            return Requester(build_viewer(row), is_by_session=True, has_keys=True, is_local=is_here)
        if is_here and not self.keys.has_any():
            return Requester(OWNER, is_local=True)
        viewer = None if self.needs_key_to_read else ANONYMOUS_READER
        return Requester(viewer, has_keys=self.keys.has_any(), is_local=is_here)

    def authenticate(self, secret: str, address: str) -> AccessKeyRow | None:
        """The key of a secret; a wrong one is counted."""
        row = self.keys.authenticate(secret)
        if row is None:
            self.attempts.record_failure(address)
        else:
            self._mark_used(row)
        return row

    @property
    def is_loopback_only(self) -> bool:
        """Whether it is served to this machine alone."""
        return is_loopback_only(self.host)

    def is_local(self, headers: Headers) -> bool:
        """Whether a request comes from this machine, as far as can be told."""
        return self.is_loopback_only and not any(name in headers for name in FORWARDED)

    def get_cookie_name(self, headers: Headers) -> str:
        """Beyond this machine one that a browser takes over TLS alone, for this very host."""
        return COOKIE if self.is_local(headers) else f"__Host-{COOKIE}"

    def get_cookie(self, headers: Headers) -> str:
        """The session's cookie; empty where there is none."""
        name, found = self.get_cookie_name(headers), ""
        for line in headers.getlist("cookie"):
            found = cookie_parser(line).get(name, found)
        return found[:SECRET_MAX_CHARS]

    def _mark_used(self, row: AccessKeyRow) -> None:
        # A home where nothing can be written is read with keys all the same.
        with suppress(FondsError):
            self.keys.mark_used(row)


def create_gate(records: Records, host: str, settings: Settings) -> AccessGate:
    """The gate of what is served at `host` over these records."""
    web, keys = settings.web, AccessKeys(records, _get_now)
    sessions = SessionStore(records, keys, _get_now, timedelta(seconds=web.session_s))
    attempts = FailedAttempts(time.monotonic)
    return AccessGate(
        keys, sessions, ActLog(records, _get_now), attempts, host, web.reading_needs_key
    )


def get_bearer_key(headers: Headers) -> str | None:
    """The key a program sends; None for none. Other schemes than Bearer are a proxy's."""
    scheme, _, rest = headers.get("authorization", "").partition(" ")
    return rest.strip()[:SECRET_MAX_CHARS] if scheme.lower() == SCHEME else None


def get_client_address(scope: Scope) -> str:
    """Where a request comes from."""
    client = scope.get("client")
    return str(client[0]) if client else ""


@dataclass(frozen=True, slots=True)
class GateMiddleware:
    """ASGI middleware: every request through the gate. `takes` says of a path that bodies go there which
    only a curator may send: of nobody else one is read."""

    app: ASGIApp
    gate: AccessGate
    takes: Callable[[str], bool]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401, 403, 429 or 503 for a body of somebody who may send none."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        asker = await run_in_threadpool(
            self._identify_requester, headers, get_client_address(scope)
        )
        if scope["method"] in ACTS_METHODS and self.takes(scope["path"]):
            refusal = find_refusal(asker, Role.CURATOR)
            if asker.trouble is not None:
                status = 503 if isinstance(asker.trouble, TransientError) else 500
                await render_problem(status, str(asker.trouble))(scope, receive, send)
                return
            if refusal is not None:
                answer = render_problem(
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
                if asker.is_signed_in or self.gate.needs_key_to_read:
                    _forbid_caching(message)
            await send(message)

        await self.app({**scope, ASKER: asker}, receive, send_noted)

    def _identify_requester(self, headers: Headers, address: str) -> Requester:
        try:
            return self.gate.identify_requester(headers, address)
        except FondsError as error:
            return Requester(None, trouble=error)


def _forbid_caching(message: Message) -> None:
    """What is told to one is kept for no other by a cache on the way."""
    MutableHeaders(scope=message).setdefault("Cache-Control", "private, no-cache")


def _get_now() -> datetime:
    return datetime.now(UTC)
