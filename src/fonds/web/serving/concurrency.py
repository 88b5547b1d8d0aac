"""Separate concurrency limits for reading and writing requests, with buffered request bodies.

The body of a writing request is received completely, within a limit per body and a limit for all
bodies, before the request takes a slot. Slow clients therefore do not block others, and writing to
collections does not block pages.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fonds.web.serving.problems import render_problem
from fonds.web.serving.responses import RETRY_AFTER_S, SAFE_METHODS, ConcurrencyLimit

BODY_MAX_BYTES = 32 * 1024 * 1024
ALL_BODIES_MAX_BYTES = 256 * 1024 * 1024
CONCURRENT_WRITES_MAX = 8
WRITES_WAITING_MAX = 256
JSON = "application/json"
LINES = frozenset({"application/x-ndjson", "application/jsonl", "application/ndjson"})


def get_media_type(headers: Headers) -> str:
    """Return the media type of a request's body without parameters such as the charset, '' if the
    request states none.
    """
    return headers.get("content-type", "").partition(";")[0].strip().lower()


class ReadWriteLimits:
    """ASGI middleware with one concurrency limit for writing requests and one for all other
    requests.

    The whole body of a writing request is received before the request counts towards the limit.
    `takes`: function that returns whether a path of the server accepts request bodies.
    `body_max_bytes`: maximum length of one body.
    `all_max_bytes`: maximum length of all bodies in memory together.
    """

    def __init__(
        self,
        app: ASGIApp,
        takes: Callable[[str], bool],
        body_max_bytes: int = BODY_MAX_BYTES,
        all_max_bytes: int = ALL_BODIES_MAX_BYTES,
    ) -> None:
        self._takes = takes
        self._body_max_bytes = body_max_bytes
        self._all_max_bytes = all_max_bytes
        self._reading = ConcurrencyLimit(app)
        self._writing = ConcurrencyLimit(app, CONCURRENT_WRITES_MAX, WRITES_WAITING_MAX)
        self._buffered_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Receive the body of a writing request, then pass the request on.

        Answer 400, 413, 415 or 503 instead if the body is not accepted.
        """
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS:
            await self._reading(scope, receive, send)
            return
        refusal = self._find_refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        chunks: list[bytes] = []
        try:
            answer = await self._receive_body(receive, chunks)
            if answer is None:
                await self._writing(scope, _replay_body(b"".join(chunks), receive), send)
            else:
                await answer(scope, receive, send)
        finally:
            self._buffered_bytes -= sum(map(len, chunks))

    def _find_refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        length = headers.get("content-length", "0")
        kind = get_media_type(headers)
        if not self._takes(scope["path"]):
            return None
        if kind and kind != JSON and kind not in LINES:
            text = (
                f"Set Content-Type to {JSON}, or to application/x-ndjson for one document per line."
            )
            return render_problem(415, text, {"parameter": "Content-Type"})
        if not kind and (length != "0" or "transfer-encoding" in headers):
            text = f"Set Content-Type to {JSON} or application/x-ndjson."
            return render_problem(415, text, {"parameter": "Content-Type"})
        return (
            self._build_too_long()
            if length.isdigit() and int(length) > self._body_max_bytes
            else None
        )

    async def _receive_body(self, receive: Receive, chunks: list[bytes]) -> Response | None:
        """Read the body of a request into `chunks`.

        Return the error response if the body is not accepted, None if it was read.
        """
        count = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return render_problem(400, "The body ended early.")
            part = message.get("body", b"")
            count += len(part)
            if count > self._body_max_bytes:
                return self._build_too_long()
            if self._buffered_bytes + len(part) > self._all_max_bytes:
                busy = {"Retry-After": str(RETRY_AFTER_S)}
                return render_problem(503, "Too many uploads at once. Try again.", None, busy)
            self._buffered_bytes += len(part)
            chunks.append(part)
            if not message.get("more_body", False):
                return None

    def _build_too_long(self) -> Response:
        return render_problem(
            413, f"The body is larger than {self._body_max_bytes:,} bytes. Send less at once."
        )


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return an ASGI receive function that yields the buffered body, then the messages of
    `receive`.
    """
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_body() -> Message:
        return messages.pop() if messages else await receive()

    return receive_body
