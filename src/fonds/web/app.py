"""The web application: pages, API, static files and error responses."""

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
from fonds.failures.accounting.tallies import find_newest_input
from fonds.model.access import Role
from fonds.model.errors import FondsError, TransientError
from fonds.model.parameter_errors import ParameterError, build_value_error
from fonds.model.secrets import redact_secrets
from fonds.model.suggestions import UnknownNameError
from fonds.ports import Stores
from fonds.viewer.pdf_pages import PageViews
from fonds.web.access.gate import AccessGate, GateMiddleware, create_gate
from fonds.web.access.roles import (
    OPEN,
    READS,
    LeastRole,
    RoleMiddleware,
    check_permission,
    describe_api,
)
from fonds.web.access.security import SECURITY_HEADERS, SecurityMiddleware
from fonds.web.api import bodies
from fonds.web.api.paths import EncodedPathMiddleware, is_rest_path
from fonds.web.html.rendering import (
    NO_REPLAY,
    OpenStores,
    ReplayOrigin,
    redirect_to_replay,
    render_page,
)
from fonds.web.html.tombstones import refuse_hidden
from fonds.web.pages import search
from fonds.web.routers import ROUTERS
from fonds.web.serving import problems
from fonds.web.serving.concurrency import ReadWriteLimits
from fonds.web.serving.parameters import (
    reject_unknown_parameters,
    shorten,
)
from fonds.web.serving.problems import render_problem
from fonds.web.serving.responses import ResponseMiddleware
from fonds.wiring.collections import CollectionService, create_service

STATIC = Path(__file__).parent / "static"
API_PREFIX = "/api/"
RETRY_AFTER_S = 5
_TITLES = {
    400: "Invalid request",
    401: "Access key required",
    403: "Permission denied",
    404: "Not found",
    410: "Taken down",
    405: "Read-only page",
    503: "Store unavailable",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """An error in a response: what happened and what to do next, in a sentence.

    `parameter`: name of the invalid parameter.
    `nearest`: the known name closest to the unknown name in the request.
    `start`, `end`: position of the error in the query, in characters.
    All are null if unknown.
    """

    error: str
    parameter: str | None = None
    nearest: str | None = None
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """Health of the stores. `documents` is the number of searchable documents."""

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
    gate: AccessGate | None = None,
    home: Path | None = None,
) -> FastAPI:
    """Create the web application over `stores`. Pages and API show only what readers may see.

    `host`: address the server binds to. Only requests for this host and for a loopback address are
        answered.
    `replay`: origin on which captures are replayed.
    `service`: grouping service with the collections; None creates one.
    `views`: renders pages of PDFs as pictures; without it only their text is shown.
    `settings`: None means the default settings.
    `gate`: identifies the sender of a request; None creates a gate.
    `home`: library folder, locked during some changes; None if no other process uses the stores.
    """
    app = FastAPI(
        title=title,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        dependencies=[
            Depends(check_permission),
            Depends(reject_unknown_parameters),
            Depends(refuse_hidden),
        ],
        responses={"4XX": {"model": Problem, "description": "Invalid request"}},
    )
    app.state.stores = stores.for_readers()
    app.state.whole_stores = stores
    app.state.home = home
    app.state.title = title
    app.state.replay = replay
    app.state.settings = settings or Settings()
    app.state.service = service or create_service(stores)
    app.state.views = views
    app.state.gate = gate or create_gate(stores.records, host, app.state.settings)
    app.add_middleware(EncodedPathMiddleware)
    app.add_middleware(ReadWriteLimits, takes=is_rest_path)
    app.add_middleware(ResponseMiddleware)
    app.add_middleware(GateMiddleware, gate=app.state.gate, takes=is_rest_path)
    app.add_middleware(SecurityMiddleware, host=host, takes=_accepts_programs)
    describe(app)
    app.add_exception_handler(RequestValidationError, handle_invalid)
    app.add_exception_handler(ParameterError, handle_parameter)
    app.add_exception_handler(HTTPException, handle_refused)
    app.add_exception_handler(UnknownNameError, handle_unknown)
    app.add_exception_handler(FondsError, handle_trouble)
    app.add_exception_handler(Exception, handle_crash)
    return app


def _accepts_programs(path: str) -> bool:
    """Return whether clients other than browsers may send writing requests to a path.

    All other paths accept only forms that pages of this server send.
    """
    return is_rest_path(path) or path.startswith(API_PREFIX)


def describe(app: FastAPI) -> None:
    """Add all routes to the application, and an OpenAPI description that states how access keys are
    sent.
    """
    schemas = {**problems.SCHEMAS, **bodies.SCHEMAS}
    app.openapi = partial(describe_api, app, schemas)  # type: ignore[method-assign]
    for router in ROUTERS:
        app.include_router(router)
    app.add_api_route(
        "/healthz",
        check_health,
        summary="Check the stores",
        operation_id="check_health",
        tags=["service"],
        dependencies=[OPEN],
    )
    app.add_api_route("/openapi.json", show_schema, include_in_schema=False, dependencies=[READS])
    app.add_api_route("/docs", show_docs, include_in_schema=False, dependencies=[READS])
    app.add_api_route("/robots.txt", show_robots, include_in_schema=False, dependencies=[OPEN])
    needs = Middleware(RoleMiddleware, least_role=LeastRole(Role.READER))
    app.router.routes.append(Route("/web/{rest:path}", redirect_to_replay, middleware=[needs]))
    static = RoleMiddleware(StaticFiles(directory=STATIC), LeastRole(None))
    app.mount("/static", static, name="static")


def check_health(stores: OpenStores) -> Health:
    """200 if records and index answer, 503 if one does not."""
    find_newest_input(stores.records)
    return Health("ok", stores.index.count())


def show_schema(request: Request) -> JSONResponse:
    """Return the OpenAPI description."""
    return JSONResponse(request.app.openapi())


def show_robots() -> PlainTextResponse:
    """Disallow all crawlers: the content belongs to others, and each page is computed on
    request."""
    return PlainTextResponse("User-agent: *\nDisallow: /\n")


def show_docs(request: Request) -> HTMLResponse:
    """Show the API documentation, built from its OpenAPI description."""
    schema = request.app.openapi()
    operations = [
        (method.upper(), path, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    return render_page(request, "docs.html", heading="API", operations=operations)


def _wants_json(request: Request) -> bool:
    path = request.url.path
    return path.startswith(API_PREFIX) or path.endswith((".json", "/healthz", "/cdx"))


def _render_problem(
    request: Request,
    status: int,
    error: str,
    headers: dict[str, str],
    members: dict[str, Any] | None = None,
) -> Response:
    answer: Response
    if is_rest_path(request.url.path):
        answer = render_problem(status, error, members)
    elif _wants_json(request):
        answer = JSONResponse({"error": error, **(members or {})}, status)
    else:
        heading = _TITLES.get(status, "Something went wrong")
        answer = render_page(request, "problem.html", status, heading=heading, error=error)
    answer.headers.update(headers)
    return answer


async def handle_invalid(request: Request, error: Any) -> Response:
    """Answer 400 for a parameter that FastAPI finds invalid, with its name, value and reason."""
    return await handle_parameter(request, build_value_error(error.errors()[0]))


async def handle_parameter(request: Request, fault: Any) -> Response:
    """Answer 400 for a ParameterError, with the name of the parameter and the nearest valid value.

    On the search page, the search form is shown again with all valid parameters.
    """
    if request.url.path == "/search":
        return search.render_refusal(request, str(fault))
    members = {"parameter": fault.parameter} | ({"nearest": fault.nearest} if fault.nearest else {})
    return _render_problem(request, 400, str(fault), {}, members)


async def handle_refused(request: Request, error: Any) -> Response:
    """Answer with the status and message of an error that refused a request.

    An unknown path is answered with 404.
    """
    message = error.detail
    if message == "Not Found":
        message = f"There is no page at {shorten(request.url.path, 200)}."
    members = getattr(error, "at", None)
    return _render_problem(request, error.status_code, message, dict(error.headers or {}), members)


async def handle_unknown(request: Request, error: Any) -> Response:
    """Answer 404 for an unknown collection or configuration, with the nearest known name if any."""
    members = {"parameter": error.field} | ({"nearest": error.nearest} if error.nearest else {})
    message = str(error)
    return _render_problem(request, 404, f"{message[:1].upper()}{message[1:]}.", {}, members)


async def handle_trouble(request: Request, error: Any) -> Response:
    """Answer an error of Fonds: 503 if it is of a store that may answer later, otherwise 500."""
    if isinstance(error, TransientError):
        headers = {"Retry-After": str(RETRY_AFTER_S)}
        return _render_problem(request, 503, redact_secrets(str(error)), headers)
    return _render_problem(request, 500, redact_secrets(str(error)), {})


async def handle_crash(request: Request, error: Exception) -> Response:
    """Answer 500 for a bug in Fonds; the log has the traceback.

    This response bypasses the middleware, so it sets the security headers itself.
    """
    message = (
        f"Internal error in Fonds ({type(error).__name__}). See the log, and please report it."
    )
    return _render_problem(request, 500, message, SECURITY_HEADERS)
