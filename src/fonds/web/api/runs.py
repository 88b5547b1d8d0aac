"""REST API of runs: rebuilds of clusterings that are requested and then done in the background.

The response comes at once and has the address of the run's status.

Source: Grouperfish v0.1's REST: POST /run/<ns>[/<query>], /run/<ns>/<transform>/<query>. GET is an
addition of Fonds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fastapi import APIRouter
from starlette.responses import Response

from fonds.grouping import configuration
from fonds.grouping.names import DEFAULT, CollectionName
from fonds.grouping.rebuild.requests import (
    RebuildRequest,
    find_request,
    list_requested_confs,
    request_rebuild,
)
from fonds.grouping.views.clusterings import CollectionView
from fonds.model.access import Role
from fonds.model.errors import ConfigurationError
from fonds.web.access.roles import READS
from fonds.web.actions import Action, JsonRoute, add_actions
from fonds.web.api.paths import Conf, Namespace, QueryName, build_path
from fonds.web.serving.json_requests import TheService, json_response, refuse_invalid
from fonds.web.serving.parameters import parse_conf, parse_name, parse_namespace
from fonds.web.serving.problems import RESPONSES, RefusedError
from fonds.wiring.collections import CollectionService

RUNS_MAX = 1000
router = APIRouter(responses=RESPONSES, tags=["runs"], dependencies=[READS])


@dataclass(frozen=True, slots=True)
class Run:
    """A requested rebuild.

    `requested_at`: when the rebuild was requested, in seconds since 1970.
    `state`: queued, building, done or failed.
    `stage`: current stage of the build.
    `done`, `total`: number of documents done, of the total; 0 if unknown.
    `rebuilt`: time of the served clustering, in seconds since 1970: of the previous one until the
        rebuild is done, then of its result.
    `error`: why the rebuild failed.
    `results`: address of the served clustering.
    """

    namespace: str
    transform: str
    query: str
    requested_at: int
    state: str
    stage: str
    done: int
    total: int
    rebuilt: int | None
    error: str
    href: str
    results: str


@dataclass(frozen=True, slots=True)
class Runs:
    """The latest run of each pair of collection and configuration. Pairs without a requested run
    are omitted.
    """

    runs: list[Run]


def run_all(service: TheService, ns: Namespace) -> Response:
    """Rebuild each collection by the configurations it is grouped by, or by `DEFAULT`.

    413 for over 1,000.
    """
    requests = [
        (collection.name, conf)
        for collection in _list_collections(service, ns)
        for conf in _list_confs(service, collection)
    ]
    return _render_runs(service, requests, build_path("run", ns))


def run_one(service: TheService, ns: Namespace, name: QueryName) -> Response:
    """Rebuild a collection by the configurations it is grouped by, or by `DEFAULT`."""
    collection = service.collection(parse_name(ns, name))
    requests = [(collection.name, conf) for conf in _list_confs(service, collection)]
    return _render_runs(service, requests, build_path("run", ns, name))


def run_by(service: TheService, ns: Namespace, conf: Conf, name: QueryName) -> Response:
    """Rebuild a collection with its current documents.

    Requests repeated before the run begins are one run.
    """
    service.configuration(parse_namespace(ns), parse_conf(conf))
    collection = service.collection(parse_name(ns, name))
    return _render_runs(service, [(collection.name, conf)], build_path("run", ns, conf, name))


@router.get(
    "/run/{ns}",
    response_model=Runs,
    summary="Runs of a namespace",
    operation_id="list_runs",
)
def list_runs(service: TheService, ns: Namespace) -> Response:
    """List the latest runs of each collection. 413 for over 1,000 collections."""
    names = [collection.name for collection in _list_collections(service, ns)]
    return json_response(Runs([run for name in names for run in _iter_runs(service, name)]))


@router.get(
    "/run/{ns}/{name}",
    response_model=Runs,
    summary="Runs of a collection",
    operation_id="list_collection_runs",
)
def get_runs(service: TheService, ns: Namespace, name: QueryName) -> Response:
    """List the latest run of each configuration."""
    collection = service.collection(parse_name(ns, name))
    return json_response(Runs(list(_iter_runs(service, collection.name))))


@router.get(
    "/run/{ns}/{conf}/{name}",
    response_model=Run,
    summary="One run",
    operation_id="get_run",
)
def run_of(service: TheService, ns: Namespace, conf: Conf, name: QueryName) -> Response:
    """Return the latest run of a collection by a configuration. 404 if none was requested."""
    service.configuration(parse_namespace(ns), parse_conf(conf))
    collection = service.collection(parse_name(ns, name))
    run_request = find_request(service.tables, service.writer.leases, collection.name, conf)
    if run_request is None:
        message = (
            f"No run of {collection.name} by {conf} was requested. "
            f"To request one, POST {build_path('run', ns, conf, name)}."
        )
        raise RefusedError(404, message, parameter="conf")
    return json_response(_run(run_request))


def _render_runs(
    service: CollectionService, requests: list[tuple[CollectionName, str]], where: str
) -> Response:
    writer = service.open_writer()
    for name, conf in requests:
        try:
            with refuse_invalid():
                request_rebuild(writer, name, conf)
        except ConfigurationError as error:
            raise RefusedError(404, f"{error}.", parameter="name") from error
    service.runs.wake()
    leases = service.writer.leases
    statuses = [find_request(service.tables, leases, name, conf) for name, conf in requests]
    answer = Runs([_run(status) for status in statuses if status is not None])
    return json_response(answer, 202, {"Location": where})


def _list_collections(service: CollectionService, namespace: str) -> list[CollectionView]:
    parse_namespace(namespace)
    collections = []
    for collection in service.iter_collections(namespace):
        collections.append(collection)
        if len(collections) > RUNS_MAX:
            raise RefusedError(
                413, f"The namespace has more than {RUNS_MAX:,} collections. Name one."
            )
    return collections


def _list_confs(service: CollectionService, collection: CollectionView) -> list[str]:
    """Return the names of the configurations that group a collection and still exist.

    If there are none, return only the default configuration.
    """
    configurations = configuration.list_configurations(service.tables, collection.name.namespace)
    return [
        clustering.conf for clustering in collection.served if clustering.conf in configurations
    ] or [DEFAULT]


def _iter_runs(service: CollectionService, name: CollectionName) -> Iterator[Run]:
    for conf in list_requested_confs(service.tables, name):
        request = find_request(service.tables, service.writer.leases, name, conf)
        if request is not None:
            yield _run(request)


def _run(request: RebuildRequest) -> Run:
    ns, key = request.name.namespace, request.name.key
    return Run(
        ns,
        request.conf,
        key,
        request.requested_at,
        request.state,
        request.stage,
        request.done,
        request.total,
        request.rebuilt,
        request.error,
        build_path("run", ns, request.conf, key),
        build_path("results", ns, request.conf, key),
    )


add_actions(
    router,
    Action(
        "group all collections of a namespace",
        Role.CURATOR,
        run_all,
        json=JsonRoute(
            "/run/{ns}",
            "Group all collections of a namespace",
            operation_id="run_namespace",
            status=202,
            answer=Runs,
        ),
    ),
    Action(
        "group one collection",
        Role.CURATOR,
        run_one,
        json=JsonRoute(
            "/run/{ns}/{name}",
            "Group one collection",
            operation_id="run_collection",
            status=202,
            answer=Runs,
        ),
    ),
    Action(
        "group one collection by one configuration",
        Role.CURATOR,
        run_by,
        json=JsonRoute(
            "/run/{ns}/{conf}/{name}",
            "Group one collection by one configuration",
            operation_id="run_configuration",
            status=202,
            answer=Runs,
        ),
    ),
)
