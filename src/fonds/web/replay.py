"""The application on the replay port: captures, TimeGates, TimeMaps, and a sentence for everything else.

Source: RFC 7089.
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

# The headers of a capture that is replayed: what may be done with it, and what its server once said.
#
# Source: RFC 9110, section 5 (fields); the names of web archives for the headers of an original.
# Limits: at most `ORIGINAL_MAX` headers of an original, `ORIGINAL_MAX_BYTES` together.


ORIGINAL = "X-Archive-Orig-"
ORIGINAL_MAX, ORIGINAL_MAX_BYTES = 100, 16 * 1024
RENDERED_TYPES = frozenset({"text/html", "application/xhtml+xml", "text/plain"})
"""What a browser may show; all else is a download."""

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
    """All but those that link it to others."""
    declared = capture.http.get("content-type") if capture.http else None
    kind = (
        declared.strip()
        if declared and _TYPE.fullmatch(declared.strip())
        else _get_detected_type(capture)
    )
    headers = {**build_original_headers(capture), **POLICY_HEADERS, "Content-Type": kind}
    if parse_media_type(kind) not in RENDERED_TYPES:
        ending = ".pdf" if parse_media_type(kind) == "application/pdf" else ".bin"
        name = f"{capture.row.sha1hex}{ending}"
        headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return headers


def _get_detected_type(capture: ReplayedCapture) -> str:
    """The type the bytes were found to have."""
    types = (capture.row.mimetype, capture.source.mimetype)
    fitting = (one for one in types if one != REVISIT_MIME and _TYPE.fullmatch(one))
    return next(fitting, "application/octet-stream")


def build_original_headers(capture: ReplayedCapture) -> Mapping[str, str]:
    """What the server said, under names that mean nothing to a browser; of one name all values, joined.
    What is not ASCII is percent-encoded."""
    headers: dict[str, str] = {}
    spelled: dict[str, str] = {}
    left_out = size_bytes = 0
    for name, value in capture.http.headers if capture.http else ():
        plain = name if name.lower().startswith(ORIGINAL.lower()) else f"{ORIGINAL}{name}"
        clean = quote(_CONTROLS.sub(" ", value).strip(), safe=_PRINTABLE, errors="replace")
        known = spelled.setdefault(plain.lower(), plain)
        is_new = known not in headers
        size = size_bytes + len(plain) + len(clean)
        too_many = is_new and len(headers) >= ORIGINAL_MAX
        if too_many or size > ORIGINAL_MAX_BYTES or not _NAME.fullmatch(plain):
            left_out += 1
            continue
        size_bytes = size
        headers[known] = clean if is_new else f"{headers[known]}, {clean}"
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
    """What is replayed over `stores`, as readers are shown them. `host` is what the server binds; `url` is
    how browsers reach it where that is not what they ask for, as behind a proxy; `gate` knows who asks, None:
    one of its own."""
    anybody, readers = (
        Middleware(RoleMiddleware, least_role=LeastRole(role)) for role in (None, Role.READER)
    )
    passed = gate or create_gate(stores.records, host, Settings())
    app = Starlette(
        routes=[
            Route("/robots.txt", _show_robots, middleware=[anybody]),
            Route("/{rest:path}", _handle_replay, middleware=[readers]),
        ],
        middleware=[
            Middleware(SecurityMiddleware, host=host),
            Middleware(GateMiddleware, gate=passed, takes=_is_never_served),
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
    """Everything else, worked on in a thread of its own."""
    return await run_in_threadpool(_route_request, request)


def _route_request(request: Request) -> Response:
    # The path as it came: escapes and double slashes in it are the captured address's.
    raw = request.scope.get("raw_path") or request.url.path.encode()
    path = raw.decode("utf-8", "replace").partition("?")[0]
    query = request.scope.get("query_string", b"").decode("utf-8", "replace")
    asked = parse_replay_path(path.removeprefix(PREFIX), query) if path.startswith(PREFIX) else None
    if asked is None or build_surt(asked.url) == NONE:
        told = f"Captures are at {PREFIX}TIME/URL, lists of them at {PREFIX}timemap/link/URL."
        raise HTTPException(404, told)
    if len(asked.url) > URL_MAX_CHARS:
        raise HTTPException(400, f"An address has {URL_MAX_CHARS} characters at most.")
    origin = MementoOrigin(
        request.app.state.url.rstrip("/") or f"{request.url.scheme}://{request.url.netloc}"
    )
    stores: Stores = request.app.state.stores
    if asked.timemap:
        return _show_timemap(stores.records, origin, asked)
    if asked.timestamp:
        return _show_memento(request, stores, origin, asked)
    return _redirect_to_nearest(request, stores.records, origin, asked)


def _redirect_to_nearest(
    request: Request, records: Records, origin: MementoOrigin, replay_request: ReplayRequest
) -> Response:
    """On to the capture nearest to the time a client would like, without one to the newest."""
    wanted = request.headers.get("accept-datetime")
    if wanted is None:
        row = find_last_before(records, replay_request.url, MAX_DATETIME14)
    else:
        try:
            moment = parse_accept_datetime(wanted)
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
    """The capture of that second, or on to the nearest."""
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
        near = find_nearest(stores.records, replay_request.url, parse_datetime14(digits), digits)
        if near is None:
            raise HTTPException(404, _format_unknown(replay_request.url))
        links = build_link_header(
            origin, replay_request.url, _find_ends(stores.records, replay_request.url)
        )
        return _build_redirect(
            origin.build_memento_url(near, is_raw=replay_request.is_raw), {"Link": links}
        )
    try:
        found = load_capture_body(stores.records, stores.archive, row)
    except PermanentError as error:
        told = f"The capture of {row.datetime} is known, and cannot be read: {redact_secrets(str(error))}."
        raise HTTPException(404, told) from error
    headers = {
        **build_replay_headers(found),
        "Memento-Datetime": format_http_date(row.datetime),
        "Link": build_link_header(
            origin, replay_request.url, _find_neighbours(stores.records, replay_request.url, row)
        ),
    }
    return build_response(request.headers, found.body, "", row.sha1hex, headers)


def _show_timemap(records: Records, origin: MementoOrigin, request: ReplayRequest) -> Response:
    """All captures of an address, some thousand at once."""
    rows = list_seconds_after(records, request.url, request.timestamp, TIMEMAP_MAX)
    ends = dict(_find_ends(records, request.url))
    if not rows:
        told = f"No capture of {shorten(request.url, EXCERPT_CHARS)} is behind {request.timestamp}."
        raise HTTPException(404, told if ends else _format_unknown(request.url))
    is_last = rows[-1].datetime == ends["last"].datetime
    found = TimeMap(request.url, rows, ends["first"], ends["last"], request.timestamp, is_last)
    if request.timemap == "json":
        return JSONResponse(found.build_json(origin), headers=POLICY_HEADERS)
    return Response(found.format_links(origin), media_type=LINK_FORMAT, headers=POLICY_HEADERS)


def _find_ends(records: Records, url: str) -> list[tuple[str, CdxRow]]:
    """The first and the last capture."""
    found = [
        ("first", find_first_from(records, url, "")),
        ("last", find_last_before(records, url, MAX_DATETIME14)),
    ]
    return [(word, row) for word, row in found if row is not None]


def _find_neighbours(records: Records, url: str, row: CdxRow) -> list[tuple[str, CdxRow]]:
    """The first and last capture, those beside this one, and this one."""
    following = f"{int(row.datetime) + 1:014d}"
    beside = [
        ("prev", find_last_before(records, url, row.datetime)),
        ("", row),
        ("next", find_first_from(records, url, following)),
    ]
    return [*_find_ends(records, url), *((word, one) for word, one in beside if one is not None)]


def _build_redirect(location: str, headers: Mapping[str, str]) -> Response:
    return PlainTextResponse("", 302, {"Location": location, **POLICY_HEADERS, **headers})


def _format_unknown(url: str) -> str:
    return f"Nothing here was captured at {shorten(url, EXCERPT_CHARS)}."


def _build_text_response(
    status: int, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    return PlainTextResponse(f"{message}\n", status, {**POLICY_HEADERS, **(headers or {})})


async def _handle_refused(request: Request, error: Any) -> Response:
    return _build_text_response(error.status_code, error.detail, error.headers)


async def _handle_trouble(request: Request, error: Exception) -> Response:
    """A store that does not answer may do so later; anything else needs a person."""
    told = redact_secrets(str(error))
    if isinstance(error, TransientError):
        return _build_text_response(503, told, {"Retry-After": str(RETRY_AFTER_S)})
    return _build_text_response(500, told)


async def _handle_crash(request: Request, error: Exception) -> Response:
    return _build_text_response(
        500, f"A fault in Fonds itself ({type(error).__name__}); its log says more."
    )
