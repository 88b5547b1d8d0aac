"""The application on the replay port: captures, TimeGates, TimeMaps, and a sentence for everything else.

Source: RFC 7089.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from fonds.config import Settings
from fonds.formats.surt import NONE, surt
from fonds.model.access import Role
from fonds.model.capture import from_datetime14, to_datetime14
from fonds.model.errors import FondsError, PermanentError, TransientError
from fonds.model.rows import CdxRow
from fonds.model.secrets import without_secrets
from fonds.ports import Records, Stores
from fonds.replay.bodies import replayed
from fonds.replay.captures import (
    LAST_TIME,
    at_second,
    first_from,
    last_before,
    lower14,
    nearest,
    seconds_behind,
)
from fonds.replay.memento import (
    LINK_FORMAT,
    Asked,
    Origin,
    TimeMap,
    accepted,
    asked_of,
    http_date,
    link_header,
)
from fonds.web.access.declared import Least, Needs
from fonds.web.access.gate import Gate, Passing, make_gate
from fonds.web.access.security import Guard
from fonds.web.parameters import shorten
from fonds.web.replay.headers import POLICY_HEADERS, replay_headers
from fonds.web.serving.answers import Answers, AtOnce
from fonds.web.serving.ranges import answer

PREFIX = "/web/"
TIMEMAP_MAX = 5_000
URL_MAX_CHARS = 8_192
RETRY_AFTER_S = 5
SHOWN_CHARS = 200


def create_replay(
    stores: Stores, *, host: str = "127.0.0.1", url: str = "", gate: Gate | None = None
) -> Starlette:
    """What is replayed over `stores`, as readers are shown them. `host` is what the server binds; `url` is
    how browsers reach it where that is not what they ask for, as behind a proxy; `gate` knows who asks, None:
    one of its own."""
    anybody, readers = (Middleware(Needs, least=Least(role)) for role in (None, Role.READER))
    passed = gate or make_gate(stores.records, host, Settings())
    app = Starlette(
        routes=[
            Route("/robots.txt", _robots, middleware=[anybody]),
            Route("/{rest:path}", _replay, middleware=[readers]),
        ],
        middleware=[
            Middleware(Guard, host=host),
            Middleware(Passing, gate=passed, takes=_nowhere),
            Middleware(Answers, packs=False),
            Middleware(AtOnce),
        ],
        exception_handlers={
            HTTPException: _refused,
            FondsError: _troubled,
            Exception: _broken,
        },
    )
    app.state.stores = stores.for_readers()
    app.state.url = url
    return app


def _nowhere(path: str) -> bool:
    return False


def _robots(request: Request) -> Response:
    return PlainTextResponse("User-agent: *\nDisallow: /\n")


async def _replay(request: Request) -> Response:
    """Everything else, worked on in a thread of its own."""
    return await run_in_threadpool(_answer, request)


def _answer(request: Request) -> Response:
    # The path as it came: escapes and double slashes in it are the captured address's.
    raw = request.scope.get("raw_path") or request.url.path.encode()
    path = raw.decode("utf-8", "replace").partition("?")[0]
    query = request.scope.get("query_string", b"").decode("utf-8", "replace")
    asked = asked_of(path.removeprefix(PREFIX), query) if path.startswith(PREFIX) else None
    if asked is None or surt(asked.url) == NONE:
        told = f"Captures are at {PREFIX}TIME/URL, lists of them at {PREFIX}timemap/link/URL."
        raise HTTPException(404, told)
    if len(asked.url) > URL_MAX_CHARS:
        raise HTTPException(400, f"An address has {URL_MAX_CHARS} characters at most.")
    origin = Origin(
        request.app.state.url.rstrip("/") or f"{request.url.scheme}://{request.url.netloc}"
    )
    stores: Stores = request.app.state.stores
    if asked.timemap:
        return _timemap(stores.records, origin, asked)
    if asked.timestamp:
        return _memento(request, stores, origin, asked)
    return _timegate(request, stores.records, origin, asked)


def _timegate(request: Request, records: Records, origin: Origin, asked: Asked) -> Response:
    """On to the capture nearest to the time a client would like, without one to the newest."""
    wanted = request.headers.get("accept-datetime")
    if wanted is None:
        row = last_before(records, asked.url, LAST_TIME)
    else:
        try:
            moment = accepted(wanted)
        except ValueError as error:
            raise HTTPException(400, f"{error}.") from error
        row = nearest(records, asked.url, moment, to_datetime14(moment))
    if row is None:
        raise HTTPException(404, _unknown(asked.url))
    links = link_header(origin, asked.url, _ends(records, asked.url), has_timegate=False)
    return _redirect(origin.memento(row), {"Vary": "accept-datetime", "Link": links})


def _memento(request: Request, stores: Stores, origin: Origin, asked: Asked) -> Response:
    """The capture of that second, or on to the nearest."""
    try:
        digits = lower14(asked.timestamp)
    except ValueError as error:
        raise HTTPException(400, f"“{asked.timestamp}”: {error}.") from error
    row = at_second(stores.records, asked.url, digits) if digits == asked.timestamp else None
    if row is None:
        near = nearest(stores.records, asked.url, from_datetime14(digits), digits)
        if near is None:
            raise HTTPException(404, _unknown(asked.url))
        links = link_header(origin, asked.url, _ends(stores.records, asked.url))
        return _redirect(origin.memento(near, is_raw=asked.is_raw), {"Link": links})
    try:
        found = replayed(stores.records, stores.archive, row)
    except PermanentError as error:
        told = f"The capture of {row.datetime} is known, and cannot be read: {without_secrets(str(error))}."
        raise HTTPException(404, told) from error
    headers = {
        **replay_headers(found),
        "Memento-Datetime": http_date(row.datetime),
        "Link": link_header(origin, asked.url, _around(stores.records, asked.url, row)),
    }
    return answer(request.headers, found.body, "", row.sha1hex, headers)


def _timemap(records: Records, origin: Origin, asked: Asked) -> Response:
    """All captures of an address, some thousand at once."""
    rows = seconds_behind(records, asked.url, asked.timestamp, TIMEMAP_MAX)
    ends = dict(_ends(records, asked.url))
    if not rows:
        told = f"No capture of {shorten(asked.url, SHOWN_CHARS)} is behind {asked.timestamp}."
        raise HTTPException(404, told if ends else _unknown(asked.url))
    is_last = rows[-1].datetime == ends["last"].datetime
    found = TimeMap(asked.url, rows, ends["first"], ends["last"], asked.timestamp, is_last)
    if asked.timemap == "json":
        return JSONResponse(found.as_json(origin), headers=POLICY_HEADERS)
    return Response(found.as_links(origin), media_type=LINK_FORMAT, headers=POLICY_HEADERS)


def _ends(records: Records, url: str) -> list[tuple[str, CdxRow]]:
    """The first and the last capture."""
    found = [
        ("first", first_from(records, url, "")),
        ("last", last_before(records, url, LAST_TIME)),
    ]
    return [(word, row) for word, row in found if row is not None]


def _around(records: Records, url: str, row: CdxRow) -> list[tuple[str, CdxRow]]:
    """The first and last capture, those beside this one, and this one."""
    following = f"{int(row.datetime) + 1:014d}"
    beside = [
        ("prev", last_before(records, url, row.datetime)),
        ("", row),
        ("next", first_from(records, url, following)),
    ]
    return [*_ends(records, url), *((word, one) for word, one in beside if one is not None)]


def _redirect(location: str, headers: Mapping[str, str]) -> Response:
    return PlainTextResponse("", 302, {"Location": location, **POLICY_HEADERS, **headers})


def _unknown(url: str) -> str:
    return f"Nothing here was captured at {shorten(url, SHOWN_CHARS)}."


def _told(status: int, told: str, headers: Mapping[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{told}\n", status, {**POLICY_HEADERS, **(headers or {})})


async def _refused(request: Request, error: Any) -> Response:
    return _told(error.status_code, error.detail, error.headers)


async def _troubled(request: Request, error: Exception) -> Response:
    """A store that does not answer may do so later; anything else needs a person."""
    told = without_secrets(str(error))
    if isinstance(error, TransientError):
        return _told(503, told, {"Retry-After": str(RETRY_AFTER_S)})
    return _told(500, told)


async def _broken(request: Request, error: Exception) -> Response:
    return _told(500, f"A fault in Fonds itself ({type(error).__name__}); its log says more.")
