"""Web application on the replay port: captures, TimeGates and TimeMaps; an error message for all
other addresses.

Source: RFC 7089, RFC 9110, section 5 (fields); web archives' names for the headers of an original.
Limits: at most 100 headers of an original response, together 16 KiB.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from fonds.archive.replay.bodies import ReplayedCapture, load_capture_body
from fonds.archive.replay.captures import (
    MAX_DATETIME14,
    find_at_second,
    find_first_from,
    find_last_before,
    find_nearest,
    list_seconds_after,
    pad_lower14,
)
from fonds.archive.replay.memento import (
    LINK_FORMAT,
    MementoOrigin,
    ReplayRequest,
    TimeMap,
    build_link_header,
    format_http_date,
    parse_accept_datetime,
    parse_replay_path,
)
from fonds.archive.warc.http_head import parse_media_type
from fonds.config import Settings
from fonds.model.access import Role
from fonds.model.capture import REVISIT_MIME, format_datetime14, parse_datetime14
from fonds.model.errors import FondsError, PermanentError, TransientError
from fonds.model.rows import CdxRow
from fonds.model.secrets import redact_secrets
from fonds.ports import Records, Stores
from fonds.urls.surt import NONE, build_surt
from fonds.web.access.gate import AccessGate, GateMiddleware, create_gate
from fonds.web.access.roles import LeastRole, RoleMiddleware
from fonds.web.access.security import REPLAY_POLICY, SecurityMiddleware
from fonds.web.serving.downloads import build_response
from fonds.web.serving.parameters import shorten
from fonds.web.serving.responses import ConcurrencyLimit, ResponseMiddleware

# Headers of a replayed capture: its policy, and the original server's headers.


ORIGINAL = "X-Archive-Orig-"
ORIGINAL_MAX, ORIGINAL_MAX_BYTES = 100, 16 * 1024
RENDERED_TYPES = frozenset({"text/html", "application/xhtml+xml", "text/plain"})
"""Media types of captures that a browser may render; captures of other types are sent as
downloads.
"""

POLICY_HEADERS = {
    "Content-Security-Policy": REPLAY_POLICY,
    "Cache-Control": "private, no-cache",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")
_PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))
_PARAMETER = r"""\s*;\s*[\w.+-]{1,40}="?[\w.+:-]{1,60}"?"""
_TYPE = re.compile(rf"[\w.+-]{{1,100}}/[\w.+-]{{1,100}}(?:{_PARAMETER}){{0,5}}", re.ASCII)


def build_replay_headers(capture: ReplayedCapture) -> dict[str, str]:
    """Build the HTTP headers of the response that replays a capture, except the links to other
    captures.
    """
    declared_type = capture.http.get("content-type") if capture.http else None
    kind = (
        declared_type.strip()
        if declared_type and _TYPE.fullmatch(declared_type.strip())
        else _get_detected_type(capture)
    )
    headers = {**build_original_headers(capture), **POLICY_HEADERS, "Content-Type": kind}
    if parse_media_type(kind) not in RENDERED_TYPES:
        ending = ".pdf" if parse_media_type(kind) == "application/pdf" else ".bin"
        name = f"{capture.row.sha1hex}{ending}"
        headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return headers


def _get_detected_type(capture: ReplayedCapture) -> str:
    """Return the media type that was detected from the bytes of a capture, or else
    `application/octet-stream`.
    """
    types = (capture.row.mimetype, capture.source.mimetype)
    fitting = (
        mimetype for mimetype in types if mimetype != REVISIT_MIME and _TYPE.fullmatch(mimetype)
    )
    return next(fitting, "application/octet-stream")


def build_original_headers(capture: ReplayedCapture) -> Mapping[str, str]:
    """Return the headers that the original server sent with a capture, under names that browsers
    ignore.

    Values with the same name are joined. Characters outside ASCII are percent-encoded.
    """
    headers: dict[str, str] = {}
    spellings: dict[str, str] = {}
    left_out = size_bytes = 0
    for name, value in capture.http.headers if capture.http else ():
        plain = name if name.lower().startswith(ORIGINAL.lower()) else f"{ORIGINAL}{name}"
        clean = quote(_CONTROLS.sub(" ", value).strip(), safe=_PRINTABLE, errors="replace")
        first_spelling = spellings.setdefault(plain.lower(), plain)
        is_new = first_spelling not in headers
        size = size_bytes + len(plain) + len(clean)
        too_many = is_new and len(headers) >= ORIGINAL_MAX
        if too_many or size > ORIGINAL_MAX_BYTES or not _NAME.fullmatch(plain):
            left_out += 1
            continue
        size_bytes = size
        headers[first_spelling] = clean if is_new else f"{headers[first_spelling]}, {clean}"
    if left_out:
        headers["X-Archive-Headers-Left-Out"] = str(left_out)
    return headers


PREFIX = "/web/"
TIMEMAP_MAX = 5_000
URL_MAX_CHARS = 8_192
RETRY_AFTER_S = 5
EXCERPT_CHARS = 200


def create_replay(
    stores: Stores, *, host: str = "127.0.0.1", url: str = "", gate: AccessGate | None = None
) -> Starlette:
    """Create the web application on the replay port over `stores`. It shows only what readers may
    see.

    `host`: the host the server is bound to.
    `url`: the address that browsers use for the application, if it is not the requested one, for
        example behind a proxy; '' if it is.
    `gate`: identifies the sender of a request; None creates a gate.
    """
    anybody, readers = (
        Middleware(RoleMiddleware, least_role=LeastRole(role)) for role in (None, Role.READER)
    )
    chosen_gate = gate or create_gate(stores.records, host, Settings())
    app = Starlette(
        routes=[
            Route("/robots.txt", _show_robots, middleware=[anybody]),
            Route("/{rest:path}", _handle_replay, middleware=[readers]),
        ],
        middleware=[
            Middleware(SecurityMiddleware, host=host),
            Middleware(GateMiddleware, gate=chosen_gate, takes=_is_never_served),
            Middleware(ResponseMiddleware, uses_gzip=False),
            Middleware(ConcurrencyLimit),
        ],
        exception_handlers={
            HTTPException: _handle_refused,
            FondsError: _handle_trouble,
            Exception: _handle_crash,
        },
    )
    app.state.stores = stores.for_readers()
    app.state.url = url
    return app


def _is_never_served(path: str) -> bool:
    return False


def _show_robots(request: Request) -> Response:
    return PlainTextResponse("User-agent: *\nDisallow: /\n")


async def _handle_replay(request: Request) -> Response:
    """Answer a request for a capture, TimeGate or TimeMap in a worker thread."""
    return await run_in_threadpool(_route_request, request)


def _route_request(request: Request) -> Response:
    # Use the raw path: escapes and double slashes in it belong to the captured address.
    raw = request.scope.get("raw_path") or request.url.path.encode()
    path = raw.decode("utf-8", "replace").partition("?")[0]
    query = request.scope.get("query_string", b"").decode("utf-8", "replace")
    replay_request = (
        parse_replay_path(path.removeprefix(PREFIX), query) if path.startswith(PREFIX) else None
    )
    if replay_request is None or build_surt(replay_request.url) == NONE:
        detail = f"Open a capture at {PREFIX}TIME/URL, or a list of captures at {PREFIX}timemap/link/URL."
        raise HTTPException(404, detail)
    if len(replay_request.url) > URL_MAX_CHARS:
        raise HTTPException(400, f"The URL is longer than {URL_MAX_CHARS} characters.")
    origin = MementoOrigin(
        request.app.state.url.rstrip("/") or f"{request.url.scheme}://{request.url.netloc}"
    )
    stores: Stores = request.app.state.stores
    if replay_request.timemap:
        return _show_timemap(stores.records, origin, replay_request)
    if replay_request.timestamp:
        return _show_memento(request, stores, origin, replay_request)
    return _redirect_to_nearest(request, stores.records, origin, replay_request)


def _redirect_to_nearest(
    request: Request, records: Records, origin: MementoOrigin, replay_request: ReplayRequest
) -> Response:
    """Answer a TimeGate request: redirect to the capture of the URL nearest to the requested time.

    Without a requested time (`Accept-Datetime`), redirect to the newest capture.
    """
    accept_datetime = request.headers.get("accept-datetime")
    if accept_datetime is None:
        row = find_last_before(records, replay_request.url, MAX_DATETIME14)
    else:
        try:
            moment = parse_accept_datetime(accept_datetime)
        except ValueError as error:
            raise HTTPException(400, f"{error}.") from error
        row = find_nearest(records, replay_request.url, moment, format_datetime14(moment))
    if row is None:
        raise HTTPException(404, _format_unknown(replay_request.url))
    links = build_link_header(
        origin, replay_request.url, _find_ends(records, replay_request.url), has_timegate=False
    )
    return _build_redirect(
        origin.build_memento_url(row), {"Vary": "accept-datetime", "Link": links}
    )


def _show_memento(
    request: Request, stores: Stores, origin: MementoOrigin, replay_request: ReplayRequest
) -> Response:
    """Replay the capture of a URL at the requested second; without one, redirect to the capture
    nearest in time.
    """
    try:
        digits = pad_lower14(replay_request.timestamp)
    except ValueError as error:
        raise HTTPException(400, f"“{replay_request.timestamp}”: {error}.") from error
    row = (
        find_at_second(stores.records, replay_request.url, digits)
        if digits == replay_request.timestamp
        else None
    )
    if row is None:
        nearest = find_nearest(stores.records, replay_request.url, parse_datetime14(digits), digits)
        if nearest is None:
            raise HTTPException(404, _format_unknown(replay_request.url))
        links = build_link_header(
            origin, replay_request.url, _find_ends(stores.records, replay_request.url)
        )
        return _build_redirect(
            origin.build_memento_url(nearest, is_raw=replay_request.is_raw), {"Link": links}
        )
    try:
        capture = load_capture_body(stores.records, stores.archive, row)
    except PermanentError as error:
        detail = f"The capture of {row.datetime} cannot be read: {redact_secrets(str(error))}."
        raise HTTPException(404, detail) from error
    headers = {
        **build_replay_headers(capture),
        "Memento-Datetime": format_http_date(row.datetime),
        "Link": build_link_header(
            origin, replay_request.url, _find_neighbours(stores.records, replay_request.url, row)
        ),
    }
    return build_response(request.headers, capture.body, "", row.sha1hex, headers)


def _show_timemap(records: Records, origin: MementoOrigin, request: ReplayRequest) -> Response:
    """Return a TimeMap: at most 5,000 captures of a URL after the requested time."""
    rows = list_seconds_after(records, request.url, request.timestamp, TIMEMAP_MAX)
    ends = dict(_find_ends(records, request.url))
    if not rows:
        detail = f"There is no capture of {shorten(request.url, EXCERPT_CHARS)} after {request.timestamp}."
        raise HTTPException(404, detail if ends else _format_unknown(request.url))
    is_last = rows[-1].datetime == ends["last"].datetime
    timemap = TimeMap(request.url, rows, ends["first"], ends["last"], request.timestamp, is_last)
    if request.timemap == "json":
        return JSONResponse(timemap.build_json(origin), headers=POLICY_HEADERS)
    return Response(timemap.format_links(origin), media_type=LINK_FORMAT, headers=POLICY_HEADERS)


def _find_ends(records: Records, url: str) -> list[tuple[str, CdxRow]]:
    """Return the first and the last capture of a URL, each with its link relation (`rel`): `first`
    or `last`.

    Return an empty list if the URL has no capture.
    """
    ends = [
        ("first", find_first_from(records, url, "")),
        ("last", find_last_before(records, url, MAX_DATETIME14)),
    ]
    return [(word, row) for word, row in ends if row is not None]


def _find_neighbours(records: Records, url: str, row: CdxRow) -> list[tuple[str, CdxRow]]:
    """Return the captures to which the headers of a replayed capture link, each with a link
    relation (`rel`), such as `prev`.

    These are the first and the last capture of the URL, the ones before and after the replayed one,
    and the replayed one itself (named '').
    """
    following = f"{int(row.datetime) + 1:014d}"
    neighbours = [
        ("prev", find_last_before(records, url, row.datetime)),
        ("", row),
        ("next", find_first_from(records, url, following)),
    ]
    return [
        *_find_ends(records, url),
        *((word, neighbour) for word, neighbour in neighbours if neighbour is not None),
    ]


def _build_redirect(location: str, headers: Mapping[str, str]) -> Response:
    return PlainTextResponse("", 302, {"Location": location, **POLICY_HEADERS, **headers})


def _format_unknown(url: str) -> str:
    return f"There are no captures of {shorten(url, EXCERPT_CHARS)}."


def _build_text_response(
    status: int, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    return PlainTextResponse(f"{message}\n", status, {**POLICY_HEADERS, **(headers or {})})


async def _handle_refused(request: Request, error: Any) -> Response:
    return _build_text_response(error.status_code, error.detail, error.headers)


async def _handle_trouble(request: Request, error: Exception) -> Response:
    """Answer an error: 503 if it is of a store that may respond later, otherwise 500."""
    message = redact_secrets(str(error))
    if isinstance(error, TransientError):
        return _build_text_response(503, message, {"Retry-After": str(RETRY_AFTER_S)})
    return _build_text_response(500, message)


async def _handle_crash(request: Request, error: Exception) -> Response:
    return _build_text_response(
        500, f"Internal error in Fonds ({type(error).__name__}). See the log."
    )
