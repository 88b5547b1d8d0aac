"""Who reads and who writes wait in lanes of their own; bodies are read before anybody is kept waiting.

A body is received whole, within a bound for each and one for all, before the request takes a place among
those that are worked on: who sends slowly keeps nobody waiting, and a busy collection no page.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fonds.web.problems import problem
from fonds.web.serving.answers import RETRY_AFTER_S, SAFE_METHODS, AtOnce

BODY_BYTES_MAX = 32 * 1024 * 1024
ALL_BODIES_BYTES_MAX = 256 * 1024 * 1024
WRITES_AT_ONCE = 8
WRITES_WAITING_MAX = 256
JSON = "application/json"
LINES = frozenset({"application/x-ndjson", "application/jsonl", "application/ndjson"})


def media_type(headers: Headers) -> str:
    """The media type of a body without its parameters, '' where none is said."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


class Lanes:
    """ASGI middleware: requests that write, where `takes` says of their path that it may be written, in one
    lane with their bodies in hand; all others in another."""

    def __init__(
        self,
        app: ASGIApp,
        takes: Callable[[str], bool],
        body_bytes_max: int = BODY_BYTES_MAX,
        all_bytes_max: int = ALL_BODIES_BYTES_MAX,
    ) -> None:
        self._takes = takes
        self._body_bytes_max = body_bytes_max
        self._all_bytes_max = all_bytes_max
        self._reading = AtOnce(app)
        self._writing = AtOnce(app, WRITES_AT_ONCE, WRITES_WAITING_MAX)
        self._held_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 413, 415 or 503 for a body that is not taken."""
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS:
            await self._reading(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        held: list[bytes] = []
        try:
            answer = await self._receive(receive, held)
            if answer is None:
                await self._writing(scope, _again(b"".join(held), receive), send)
            else:
                await answer(scope, receive, send)
        finally:
            self._held_bytes -= sum(map(len, held))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        length = headers.get("content-length", "0")
        kind = media_type(headers)
        if not self._takes(scope["path"]):
            return None
        if kind and kind != JSON and kind not in LINES:
            said = f"A body is {JSON}, or application/x-ndjson for a document a line; say so in Content-Type."
            return problem(415, said, {"parameter": "Content-Type"})
        if not kind and (length != "0" or "transfer-encoding" in headers):
            said = f"Say in Content-Type what the body is: {JSON} or application/x-ndjson."
            return problem(415, said, {"parameter": "Content-Type"})
        return self._too_long() if length.isdigit() and int(length) > self._body_bytes_max else None

    async def _receive(self, receive: Receive, held: list[bytes]) -> Response | None:
        """Read the body into `held`; what is answered where it is not taken."""
        count = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return problem(400, "The body ended early.")
            part = message.get("body", b"")
            count += len(part)
            if count > self._body_bytes_max:
                return self._too_long()
            if self._held_bytes + len(part) > self._all_bytes_max:
                busy = {"Retry-After": str(RETRY_AFTER_S)}
                return problem(503, "Too much is being sent at once; try again.", None, busy)
            self._held_bytes += len(part)
            held.append(part)
            if not message.get("more_body", False):
                return None

    def _too_long(self) -> Response:
        return problem(
            413, f"A body has at most {self._body_bytes_max:,} bytes; send less at once."
        )


def _again(body: bytes, receive: Receive) -> Receive:
    """What gives the body at once, and then what else there is to receive."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def given() -> Message:
        return messages.pop() if messages else await receive()

    return given
