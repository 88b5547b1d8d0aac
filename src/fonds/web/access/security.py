"""Guards every answer: known hosts only, no cross-origin changes, and headers that keep scripts out."""

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
# What came out of an archive is somebody else's: were it ever rendered, then without any rights.
ARCHIVED_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
# A page is shown as it was, and that is all: it runs, loads and sends nothing, and is framed nowhere.
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
NEVER = frozenset({"TRACE", "TRACK", "CONNECT"})
_HOST = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[^\s:@/\[\]]+))(?::\d{1,5})?")
_ANY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104 (recognised here, not bound)


def is_host_allowed(header: str | None, bound: str) -> bool:
    """Whether a Host header names the loopback or the host the server is `bound` to.

    A page bound to every address (`0.0.0.0` or `::`) is also reached by any IP address: only names can
    be rebound by somebody else's DNS.
    """
    match = _HOST.fullmatch(header or "")
    if match is None:
        return False
    name = (match["v6"] or match["name"]).lower().rstrip(".")
    own = bound.lower().strip("[]")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    if name == own and own not in _ANY_ADDRESS:
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or own in _ANY_ADDRESS


def is_same_origin(headers: Headers) -> bool:
    """Whether a browser says that the request was made by our own page; without any word, it was not."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    try:
        netloc = urlsplit(headers.get("origin", "")).netloc
    except ValueError:
        return False
    return bool(netloc) and netloc.lower() == headers.get("host", "").lower()


def is_from_browser(headers: Headers) -> bool:
    """Whether a request is made by a browser. Those tell of themselves where a request that writes comes
    from; what older ones leave out of a form's is refused by its media type (`serving/lanes.py`)."""
    return any(name in headers for name in ("origin", "sec-fetch-site", "referer"))


def is_loopback_only(bound: str) -> bool:
    """Whether a server bound to this host is reached from this machine alone."""
    try:
        return ip_address(bound.strip("[]")).is_loopback
    except ValueError:
        return bound.lower().rstrip(".") == "localhost"


def _accepts_nothing(path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class SecurityMiddleware:
    """ASGI middleware around the whole application; `host` is what the server is bound to. `takes` says of a
    path that programs may write there, which are no browsers; who they are is asked behind it."""

    app: ASGIApp
    host: str
    takes: Callable[[str], bool] = _accepts_nothing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 421 or 403 where the request may not pass, else add the headers to what is answered."""
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
                f"This page does not answer to the name {host!r}. Open it as http://localhost:PORT/, "
                "or start it with --host NAME.\n",
                status_code=421,
            )
        if scope["method"] in NEVER:
            return PlainTextResponse("Refused.\n", 405, {"Allow": "GET, HEAD"})
        if scope["method"] in SAFE_METHODS:
            return None
        if self.takes(scope["path"]):
            return self._refuse_write(headers)
        if not is_same_origin(headers):
            return PlainTextResponse(
                "Refused: only this page's own forms may change anything here.\n", status_code=403
            )
        return None

    def _refuse_write(self, headers: Headers) -> Response | None:
        """Why the service takes nothing of this request; None where it does."""
        if is_from_browser(headers) and not is_same_origin(headers):
            return render_problem(403, "Refused: a page from elsewhere may change nothing here.")
        return None
