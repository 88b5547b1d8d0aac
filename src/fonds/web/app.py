"""The application: pages, API, static files and what is said when something goes wrong."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from fonds import __version__
from fonds.config import Settings
from fonds.library.accounting import newest_input
from fonds.library.reading.page_views import PageViews
from fonds.model.access import Role
from fonds.model.errors import FondsError, TransientError
from fonds.model.names import UnknownNameError
from fonds.model.secrets import without_secrets
from fonds.ports import Stores
from fonds.web.access import admin, signing_in
from fonds.web.access.declared import OPEN, READS, Least, Needs, permitted
from fonds.web.access.described import described
from fonds.web.access.gate import Gate, Passing, make_gate
from fonds.web.access.hiding import embargoes, embargoing, takedowns, taking_down
from fonds.web.access.security import SECURITY_HEADERS, Guard
from fonds.web.pages import cdx, downloads, file, pipeline, show
from fonds.web.pages.failures import deciding, listing, noting
from fonds.web.pages.following import acting, links, programs, source, sources
from fonds.web.pages.listed import files, ledger, records
from fonds.web.pages.overview import whole
from fonds.web.pages.reading.routers import ROUTERS as READING_ROUTERS
from fonds.web.pages.searching import as_of, completing, exporting, feed, search, verifying
from fonds.web.parameters import fault, only_known, refusal, shorten
from fonds.web.problems import problem
from fonds.web.rendering import OpenStores, page
from fonds.web.replay.origin import NO_REPLAY, ReplayOrigin, onward
from fonds.web.rest.paths import Parts, is_rest
from fonds.web.rest.router import ROUTERS as SERVICE
from fonds.web.serving.answers import Answers
from fonds.web.serving.lanes import Lanes
from fonds.web.serving.tombstones import not_hidden
from fonds.web.themes import ROUTERS as THEMES_ROUTERS
from fonds.web.themes.curating import programs as curating
from fonds.wiring.recurring.collections import CollectionService, make_service

STATIC = Path(__file__).parent / "static"
RETRY_AFTER_S = 5
ROUTERS = (
    whole.router,
    search.router,
    completing.router,
    exporting.router,
    feed.router,
    verifying.router,
    as_of.router,
    records.router,
    ledger.router,
    files.router,
    listing.router,
    noting.router,
    deciding.router,
    pipeline.router,
    downloads.router,
    *READING_ROUTERS,
    file.router,
    show.router,
    cdx.router,
    sources.router,
    source.router,
    links.router,
    acting.router,
    programs.router,
    *THEMES_ROUTERS,
    signing_in.router,
    admin.router,
    embargoes.router,
    embargoing.router,
    takedowns.router,
    taking_down.router,
)
_TITLES = {
    400: "This cannot be answered",
    401: "This needs a key",
    403: "This is not open to you",
    404: "Nothing is here",
    410: "This was taken down",
    405: "This page is only for reading",
    503: "A store does not answer",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """What happened and what to do next, in a sentence; the parameter at fault, the name probably meant, and
    from where to where in a query the fault stands, in characters, where these are known."""

    error: str
    parameter: str | None = None
    nearest: str | None = None
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """The stores answer; `documents` can be searched."""

    status: str
    documents: int


def create_app(
    stores: Stores,
    *,
    title: str = "Fonds",
    host: str = "127.0.0.1",
    replay: ReplayOrigin = NO_REPLAY,
    service: CollectionService | None = None,
    views: PageViews | None = None,
    settings: Settings | None = None,
    gate: Gate | None = None,
    home: Path | None = None,
) -> FastAPI:
    """The pages and the service of grouping over `stores`, as readers are shown them. `host` is what the
    server binds: it answers to that and to the loopback. `replay` is where captures are replayed. `service`:
    None, one of its own; `settings`: None, those of a new home. `views` draws pages of PDFs; without it their
    text alone is shown. `gate` knows who asks; None: one of its own. `home` is the folder of the
    stores; None: nobody else works on it.
    """
    app = FastAPI(
        title=title,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        dependencies=[Depends(permitted), Depends(only_known), Depends(not_hidden)],
        responses={"4XX": {"model": Problem, "description": "What is wrong, in a sentence"}},
    )
    app.state.stores = stores.for_readers()
    app.state.whole_stores = stores
    app.state.home = home
    app.state.title = title
    app.state.replay = replay
    app.state.settings = settings or Settings()
    app.state.service = service or make_service(stores)
    app.state.views = views
    app.state.gate = gate or make_gate(stores.records, host, app.state.settings)
    app.add_middleware(Parts)
    app.add_middleware(Lanes, takes=is_rest)
    app.add_middleware(Answers)
    app.add_middleware(Passing, gate=app.state.gate, takes=is_rest)
    app.add_middleware(Guard, host=host, takes=_programs_send)
    describe(app)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(UnknownNameError, unknown)
    app.add_exception_handler(FondsError, troubled)
    app.add_exception_handler(Exception, broken)
    return app


def _programs_send(path: str) -> bool:
    """Whether programs may send something there, as browsers may from our own pages alone."""
    heads = (programs.PATH, curating.HEAD)
    return is_rest(path) or path in (verifying.API, noting.API) or path.startswith(heads)


def describe(app: FastAPI) -> None:
    """Add all routes, and what the description says of keys."""
    app.openapi = partial(described, app)  # type: ignore[method-assign]
    for router in (*ROUTERS, *SERVICE):
        app.include_router(router)
    app.add_api_route("/healthz", healthz, summary="Whether the stores answer", dependencies=[OPEN])
    app.add_api_route("/openapi.json", schema, include_in_schema=False, dependencies=[READS])
    app.add_api_route("/docs", docs, include_in_schema=False, dependencies=[READS])
    app.add_api_route("/robots.txt", robots, include_in_schema=False, dependencies=[OPEN])
    needs = Middleware(Needs, least=Least(Role.READER))
    app.router.routes.append(Route("/web/{rest:path}", onward, middleware=[needs]))
    static = Needs(StaticFiles(directory=STATIC), Least(None))
    app.mount("/static", static, name="static")


def healthz(stores: OpenStores) -> Health:
    """200 when records and index answer; 503 when one does not."""
    newest_input(stores.records)
    return Health("ok", stores.index.count())


def schema(request: Request) -> JSONResponse:
    """The API as OpenAPI describes it."""
    return JSONResponse(request.app.openapi())


def robots() -> PlainTextResponse:
    """Nothing here is for crawlers: it is other people's pages, and each page of ours is counted anew."""
    return PlainTextResponse("User-agent: *\nDisallow: /\n")


def docs(request: Request) -> HTMLResponse:
    """The API in words, from its own schema."""
    schema = request.app.openapi()
    operations = [
        (method.upper(), path, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    return page(request, "docs.html", heading="The API", operations=operations)


def _wants_json(request: Request) -> bool:
    path = request.url.path
    return path.startswith("/api/") or path.endswith((".json", "/healthz", "/cdx"))


def _problem(
    request: Request,
    status: int,
    error: str,
    headers: dict[str, str],
    at: dict[str, Any] | None = None,
) -> Response:
    answer: Response
    if is_rest(request.url.path):
        answer = problem(status, error, at)
    elif _wants_json(request):
        answer = JSONResponse({"error": error, **(at or {})}, status)
    else:
        heading = _TITLES.get(status, "Something went wrong")
        answer = page(request, "problem.html", status, heading=heading, error=error)
    answer.headers.update(headers)
    return answer


async def invalid(request: Request, error: Any) -> Response:
    """A parameter that cannot be: 400, naming it, what is wrong and what it was."""
    first = error.errors()[0]
    if request.url.path == "/search":
        return search.search_refused(request, refusal(first))
    return _problem(request, 400, refusal(first), {}, fault(first))


async def refused(request: Request, error: Any) -> Response:
    """What a page refused, or a path nobody serves."""
    said = error.detail
    if said == "Not Found":
        said = f"No page has the address {shorten(request.url.path, 200)}."
    at = getattr(error, "at", None)
    return _problem(request, error.status_code, said, dict(error.headers or {}), at)


async def unknown(request: Request, error: Any) -> Response:
    """Answer 404 for a name that no collection or configuration has, with the nearest known one."""
    at = {"parameter": error.field} | ({"nearest": error.nearest} if error.nearest else {})
    said = str(error)
    return _problem(request, 404, f"{said[:1].upper()}{said[1:]}.", {}, at)


async def troubled(request: Request, error: Any) -> Response:
    """A store that does not answer may do so later; anything else needs a person."""
    if isinstance(error, TransientError):
        headers = {"Retry-After": str(RETRY_AFTER_S)}
        return _problem(request, 503, without_secrets(str(error)), headers)
    return _problem(request, 500, without_secrets(str(error)), {})


async def broken(request: Request, error: Exception) -> Response:
    """A fault of ours: the log has it whole. This answer passes no middleware, so it brings the headers."""
    said = f"A fault in Fonds itself ({type(error).__name__}); its log says more. Please report it."
    return _problem(request, 500, said, SECURITY_HEADERS)
