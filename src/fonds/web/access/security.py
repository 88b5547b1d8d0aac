"""Security of every request and response: known hosts only, no cross-origin changes, and headers
that block scripts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fonds.web.serving.problems import render_problem
from fonds.web.serving.responses import SAFE_METHODS

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
# Archived content is untrusted: if it is ever rendered, it gets no rights.
ARCHIVED_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
# A replayed page is only displayed: it may not run scripts, load or send anything, or be framed.
REPLAY_POLICY = (
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; "
    "media-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
DISALLOWED_METHODS = frozenset({"TRACE", "TRACK", "CONNECT"})
_HOST = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[^\s:@/\[\]]+))(?::\d{1,5})?")
_ANY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104 (recognised here, not bound)


def is_host_allowed(header: str | None, bound_host: str) -> bool:
    """True if the Host header of a request names a loopback address or the host that the server is
    bound to.

    A server bound to every address (`0.0.0.0` or `::`) also accepts any IP address: only names can
    be rebound by a foreign DNS.
    """
    match = _HOST.fullmatch(header or "")
    if match is None:
        return False
    name = (match["v6"] or match["name"]).lower().rstrip(".")
    server_host = bound_host.lower().strip("[]")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    if name == server_host and server_host not in _ANY_ADDRESS:
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or server_host in _ANY_ADDRESS


def is_same_origin(headers: Headers) -> bool:
    """True if the headers that browsers send state that a page of this server made the request.

    The header `Sec-Fetch-Site` counts, or `Origin` if it is missing. False if both are missing.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    try:
        netloc = urlsplit(headers.get("origin", "")).netloc
    except ValueError:
        return False
    return bool(netloc) and netloc.lower() == headers.get("host", "").lower()


def is_from_browser(headers: Headers) -> bool:
    """True if a browser made the request: an `Origin`, `Sec-Fetch-Site` or `Referer` header is
    present.

    Browsers state the origin of a writing request. Older browsers may omit the origin; their forms
    are refused by media type (`ReadWriteLimits` in `serving/concurrency.py`).
    """
    return any(name in headers for name in ("origin", "sec-fetch-site", "referer"))


def is_loopback_only(bound_host: str) -> bool:
    """True if a server bound to this host is reachable from this machine only."""
    try:
        return ip_address(bound_host.strip("[]")).is_loopback
    except ValueError:
        return bound_host.lower().rstrip(".") == "localhost"


def _accepts_nothing(path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class SecurityMiddleware:
    """ASGI middleware around the whole application that checks the requested host, refuses writes
    from pages of other origins, and adds security headers.

    `host`: address that the server is bound to.
    `takes`: function that returns whether clients other than browsers may send writing requests to
        a path. Other middleware authenticates those clients.
    """

    app: ASGIApp
    host: str
    takes: Callable[[str], bool] = _accepts_nothing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 403, 405 or 421 if the request is refused; otherwise add the security headers to
        the response.
        """
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._find_refusal(scope) or self.app
        await answer(scope, receive, send_guarded)

    def _find_refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host")
        if not is_host_allowed(host, self.host):
            return PlainTextResponse(
                f"Unknown host name {host!r}. Open http://localhost:PORT/, "
                "or start the server with --host NAME.\n",
                status_code=421,
            )
        if scope["method"] in DISALLOWED_METHODS:
            return PlainTextResponse("Refused.\n", 405, {"Allow": "GET, HEAD"})
        if scope["method"] in SAFE_METHODS:
            return None
        if self.takes(scope["path"]):
            return self._refuse_write(headers)
        if not is_same_origin(headers):
            return PlainTextResponse(
                "Rejected: changes must be sent from a page of this server.\n", status_code=403
            )
        return None

    def _refuse_write(self, headers: Headers) -> Response | None:
        """Return the response that refuses a writing request from a browser page of another origin.
        Return None if the request is allowed.
        """
        if is_from_browser(headers) and not is_same_origin(headers):
            return render_problem(403, "Rejected: changes must be sent from a page of this server.")
        return None
