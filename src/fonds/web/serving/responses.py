"""Middleware for every response: HEAD, gzip, weak validators and a concurrency limit.

Source: RFC 9110, sections 9.3 (methods), 12.5.3 (Accept-Encoding) and 8.8.1 (weak validators).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

WORK_MAX = 16
WAITING_MAX = 64
RETRY_AFTER_S = 5
ALLOWED_METHODS = "GET, HEAD"
PACKED_TYPES = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "application/pdf", "application/octet-stream")
PACK_FROM_BYTES = 1_000
PACK_LEVEL = 5
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def takes_gzip(accept_encoding: str) -> bool:
    """True if an Accept-Encoding header accepts gzip. A weight (`q`) of 0 refuses it, also for
    `*`.
    """
    weights = {}
    for item in accept_encoding.split(","):
        name, _, parameters = item.partition(";")
        weight = parameters.partition("=")[2].strip() if "q=" in parameters.lower() else "1"
        try:
            weights[name.strip().lower()] = float(weight)
        except ValueError:
            weights[name.strip().lower()] = 0.0
    return weights.get("gzip", weights.get("x-gzip", weights.get("*", 0.0))) > 0


@dataclass(frozen=True, slots=True)
class ResponseMiddleware:
    """ASGI middleware that answers HEAD requests and compresses responses.

    HEAD is answered as GET without the body. Gzip is used if the client accepts it, unless
    `uses_gzip` is False.
    """

    app: ASGIApp
    uses_gzip: bool = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on as GET with a normalized Accept-Encoding, and change the response to
        fit the original request.
        """
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        is_head = scope["method"] == "HEAD"
        headers = Headers(scope=scope)
        coding = (
            "gzip"
            if self.uses_gzip and takes_gzip(headers.get("accept-encoding", ""))
            else "identity"
        )
        inner_scope = {**scope, "method": "GET"} if is_head else {**scope}
        other_headers = [(name, value) for name, value in headers.raw if name != b"accept-encoding"]
        inner_scope["headers"] = [*other_headers, (b"accept-encoding", coding.encode())]

        async def send_fixed(message: Message) -> None:
            if message["type"] == "http.response.start":
                _fix_headers(message)
            elif is_head:
                message = {**message, "body": b""}
            await send(message)

        compressed_app = GZipMiddleware(
            self.app, PACK_FROM_BYTES, PACK_LEVEL, exclude_content_types=PACKED_TYPES
        )
        await compressed_app(inner_scope, receive, send_fixed)


def _fix_headers(message: Message) -> None:
    """Adapt the headers of a response to compression and HEAD before the response is sent.

    Weaken the ETag of a compressed response, since its bytes differ, and add HEAD to an `Allow`
    header that has only GET.
    """
    headers = MutableHeaders(scope=message)
    etag = headers.get("etag")
    if etag and "content-encoding" in headers and not etag.startswith("W/"):
        headers["etag"] = f"W/{etag}"
    if headers.get("allow") == "GET":
        headers["allow"] = ALLOWED_METHODS


@dataclass(slots=True)
class ConcurrencyLimit:
    """ASGI middleware that limits how many requests are processed at once, and how many wait for
    that.

    All further requests are answered with status 503. A request occupies its slot until its
    response begins, so that slow receivers do not block others.
    `work_max`: maximum number of requests processed at once.
    `waiting_max`: maximum number of waiting requests.
    """

    app: ASGIApp
    work_max: int = WORK_MAX
    waiting_max: int = WAITING_MAX
    _waiting: int = 0
    _slots: asyncio.Semaphore | None = field(default=None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait for a free slot and pass the request on. Answer 503 if too many requests are
        waiting.
        """
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        slots = self._slots = self._slots or asyncio.Semaphore(self.work_max)
        if slots.locked() and self._waiting >= self.waiting_max:
            message = "Too many requests at once. Try again in a few seconds.\n"
            busy = PlainTextResponse(message, 503, {"Retry-After": str(RETRY_AFTER_S)})
            await busy(scope, receive, send)
            return
        self._waiting += 1
        try:
            await slots.acquire()
        finally:
            self._waiting -= 1
        await _run_in_slot(self.app, slots, scope, receive, send)


async def _run_in_slot(
    app: ASGIApp, slots: asyncio.Semaphore, scope: Scope, receive: Receive, send: Send
) -> None:
    held_slots = [slots]

    def release() -> None:
        if held_slots:
            held_slots.pop().release()

    async def send_released(message: Message) -> None:
        release()
        await send(message)

    try:
        await app(scope, receive, send_released)
    finally:
        release()
