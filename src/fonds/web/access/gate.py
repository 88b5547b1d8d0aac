"""Authentication of requests. The sender of each request is identified once, before the request's
body is read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fonds.access.action_log import ActionLog
from fonds.access.keys import AccessKeys, build_viewer
from fonds.access.sessions import SessionStore
from fonds.access.sign_in_throttle import FailedAttempts
from fonds.config import Settings
from fonds.model.access import Role
from fonds.model.errors import ConfigurationError, FondsError, TransientError
from fonds.model.rows import AccessKeyRow
from fonds.ports import Records
from fonds.web.access.roles import ACTS_METHODS, find_refusal
from fonds.web.access.security import is_loopback_only
from fonds.web.access.viewers import ANONYMOUS_READER, OWNER, REQUESTER_KEY, Requester
from fonds.web.serving.problems import render_problem

SCHEME = "bearer"
SECRET_MAX_CHARS = 200
HOPS_MAX = 20
"""Maximum number of addresses in X-Forwarded-For that are considered, from the last one on."""
COOKIE = "fonds_session"
FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto")
"""Headers set by proxies. A request with one of them comes from another machine, even on a loopback
address.
"""


@dataclass(frozen=True, slots=True)
class AccessGate:
    """Authentication, by access key or session, of the senders of requests to the server that is
    bound to `host`.

    The gate also writes the log of changes that users make, and counts the failed attempts to
    authenticate of each client address. Thread-safe.
    `needs_key_to_read`: whether reading needs an access key.
    `trusted_proxies`: networks of proxies whose header X-Forwarded-For names the client.
    """

    keys: AccessKeys
    sessions: SessionStore
    action_log: ActionLog
    attempts: FailedAttempts
    host: str
    needs_key_to_read: bool
    trusted_proxies: Sequence[IPv4Network | IPv6Network] = ()

    def identify_requester(self, headers: Headers, address: str) -> Requester:
        """Identify the sender of a request by its access key, else by its session cookie.

        An invalid session cookie is ignored.
        """
        bearer_key = get_bearer_key(headers)
        is_here = self.is_local(headers)
        if bearer_key is not None:
            row = (
                None
                if (wait_s := self.attempts.get_wait_s(address))
                else self.authenticate(bearer_key, address)
            )
            if row is None:
                return Requester(None, has_wrong_key=True, wait_s=wait_s, is_local=is_here)
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
        """Return the valid access key with this secret.

        If there is none, record a failed attempt of the client address and return None.
        """
        row = self.keys.authenticate(secret)
        if row is None:
            self.attempts.record_failure(address)
        else:
            self._mark_used(row)
        return row

    @property
    def is_loopback_only(self) -> bool:
        """True if the server is bound to a loopback address, so that only this computer can reach
        it.
        """
        return is_loopback_only(self.host)

    def is_local(self, headers: Headers) -> bool:
        """True if a request comes from this computer.

        That is so if the server is bound to a loopback address and no header says that a proxy
        forwarded the request.
        """
        return self.is_loopback_only and not any(name in headers for name in FORWARDED)

    def get_cookie_name(self, headers: Headers) -> str:
        """Return the name of the session cookie for the sender of a request.

        If the sender is on another computer, the name has the prefix `__Host-`: browsers accept
        such a cookie over TLS only, and for this host only.
        """
        return COOKIE if self.is_local(headers) else f"__Host-{COOKIE}"

    def get_cookie(self, headers: Headers) -> str:
        """Return the value of the session cookie in the headers of a request, '' if there is
        none.
        """
        name, cookie = self.get_cookie_name(headers), ""
        for line in headers.getlist("cookie"):
            cookie = cookie_parser(line).get(name, cookie)
        return cookie[:SECRET_MAX_CHARS]

    def get_client_address(self, scope: Scope) -> str:
        """Return the IP address of the client that sent a request, '' if unknown.

        For a request from a trusted proxy, it is the last address in X-Forwarded-For that is not
        one of a trusted proxy. Addresses before it may be invented by the client.
        """
        client = scope.get("client")
        address = str(client[0]) if client else ""
        forwarded_for = ",".join(Headers(scope=scope).getlist("x-forwarded-for"))
        for previous in reversed(forwarded_for.split(",")[-HOPS_MAX:]):
            if not self._is_trusted_proxy(address) or not is_ip_address(previous.strip()):
                break
            address = previous.strip()
        return address

    def _is_trusted_proxy(self, address: str) -> bool:
        if not self.trusted_proxies or not is_ip_address(address):
            return False
        return any(ip_address(address) in network for network in self.trusted_proxies)

    def _mark_used(self, row: AccessKeyRow) -> None:
        # Keys also work if the home is read-only.
        with suppress(FondsError):
            self.keys.mark_used(row)


def create_gate(records: Records, host: str, settings: Settings) -> AccessGate:
    """Create the gate of the server bound to `host`. Its access keys and sessions are in
    `records`.

    Raises ConfigurationError for a wrong setting.
    """
    web, keys = settings.web, AccessKeys(records, _get_now)
    sessions = SessionStore(records, keys, _get_now, timedelta(seconds=web.session_s))
    return AccessGate(
        keys,
        sessions,
        ActionLog(records, _get_now),
        FailedAttempts(time.monotonic),
        host,
        web.reading_needs_key,
        parse_networks(web.trusted_proxies),
    )


def parse_networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Parse IP addresses and networks, separated by blanks.

    Raises ConfigurationError for another text.
    """
    try:
        return tuple(map(ip_network, text.split()))
    except ValueError as error:
        raise ConfigurationError(f"The setting web.trusted_proxies is wrong: {error}.") from error


def is_ip_address(text: str) -> bool:
    """Return whether a text is an IP address."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def get_bearer_key(headers: Headers) -> str | None:
    """Return the access key in the `Authorization: Bearer` header of a request.

    Return None if there is no such header or it has another scheme. Other schemes are for proxies.
    """
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    return credentials.strip()[:SECRET_MAX_CHARS] if scheme.lower() == SCHEME else None


@dataclass(frozen=True, slots=True)
class GateMiddleware:
    """ASGI middleware that identifies the sender of every request, by access key or session.

    If a writing request goes to a path that accepts a body, and the sender is no curator, the
    middleware refuses the request and does not read its body.
    `takes`: function that returns whether the route of a path accepts a request body.
    """

    app: ASGIApp
    gate: AccessGate
    takes: Callable[[str], bool]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Identify the sender of the request and pass the request on to the application.

        Answer 401, 403, 429, 500 or 503 instead if the request has a body that the sender may not
        send.
        """
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        requester = await run_in_threadpool(
            self._identify_requester, headers, self.gate.get_client_address(scope)
        )
        if scope["method"] in ACTS_METHODS and self.takes(scope["path"]):
            refusal = find_refusal(requester, Role.CURATOR)
            if requester.error is not None:
                status = 503 if isinstance(requester.error, TransientError) else 500
                await render_problem(status, str(requester.error))(scope, receive, send)
                return
            if refusal is not None:
                answer = render_problem(
                    refusal.status_code, refusal.detail, None, dict(refusal.headers or {})
                )
                await answer(scope, receive, send)
                return

        async def send_with_act(message: Message) -> None:
            if message["type"] == "http.response.start":
                if requester.act is not None:
                    # The change is done even if its audit record cannot be closed; the record then
                    # has no end.
                    with suppress(FondsError):
                        await run_in_threadpool(
                            self.gate.action_log.end, requester.act, message["status"]
                        )
                if requester.is_signed_in or self.gate.needs_key_to_read:
                    _forbid_caching(message)
            await send(message)

        await self.app({**scope, REQUESTER_KEY: requester}, receive, send_with_act)

    def _identify_requester(self, headers: Headers, address: str) -> Requester:
        try:
            return self.gate.identify_requester(headers, address)
        except FondsError as error:
            return Requester(None, error=error)


def _forbid_caching(message: Message) -> None:
    """Prevent shared caches from storing a response: its content depends on the user's role."""
    MutableHeaders(scope=message).setdefault("Cache-Control", "private, no-cache")


def _get_now() -> datetime:
    return datetime.now(UTC)
