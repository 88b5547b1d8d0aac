"""Where captures are replayed, as the pages know it: never on their own origin."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response


@dataclass(frozen=True, slots=True)
class ReplayOrigin:
    """`url` where it was set, else the host that was asked for at `port`; neither: nothing is replayed."""

    url: str = ""
    port: int | None = None

    def of(self, request: Request) -> str | None:
        """The origin for whoever asks; None where nothing is replayed."""
        if self.url:
            return self.url.rstrip("/")
        if self.port is None:
            return None
        host = request.url.hostname or "localhost"
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{self.port}"


NO_REPLAY = ReplayOrigin()
PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


async def onward(request: Request) -> Response:
    """An address below `/web/` of the pages: on to the origin that replays."""
    origin: str | None = request.app.state.replay.of(request)
    if origin is None:
        raise HTTPException(404, "Captures are replayed by `fonds serve`, on a port of their own.")
    raw = request.scope.get("raw_path") or request.url.path.encode()
    path = raw.decode("utf-8", "replace").partition("?")[0]
    query = f"?{request.url.query}" if request.url.query else ""
    target = quote(f"{path}{query}", safe=PRINTABLE, errors="replace")
    # Escapes are the captured address's; what a response makes of its argument would double them.
    answer = RedirectResponse(origin, 307)
    answer.headers["location"] = f"{origin}{target}"
    return answer
