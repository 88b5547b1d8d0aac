"""Runs: a rebuild is asked for, answered at once with where its state is read, and done in the background.

Source: Grouperfish v0.1's REST: POST /run/<ns>[/<query>], /run/<ns>/<transform>/<query>; GET is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fastapi import APIRouter
from starlette.responses import Response

from fonds.collections import configurations
from fonds.collections.names import DEFAULT, Name
from fonds.collections.reading.clusterings import Collection
from fonds.collections.requests import Requested, confs_requested, request, requested
from fonds.model.errors import ConfigurationError
from fonds.web.access.declared import CURATES, READS
from fonds.web.parameters import conf_named, named, namespace_named
from fonds.web.problems import RESPONSES, RefusedError
from fonds.web.rest.paths import Conf, Namespace, QueryName, href
from fonds.web.rest.service import TheService, judged, told
from fonds.wiring.recurring.collections import CollectionService

RUNS_MAX = 1000
router = APIRouter(responses=RESPONSES, tags=["runs"], dependencies=[READS])


@dataclass(frozen=True, slots=True)
class Run:
    """A rebuild that was asked for at `wanted`: queued, building, done or failed. While it is built: its
    `stage`, and `done` of `total` documents, 0 where that is not known. `rebuilt` is the clustering that is
    served meanwhile, or came of it; `error` is why it failed. `results` are what came of it."""

    namespace: str
    transform: str
    query: str
    wanted: int
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
    """The last run of each collection by each configuration; those never asked for have none."""

    runs: list[Run]


@router.post(
    "/run/{ns}",
    status_code=202,
    response_model=Runs,
    summary="Group all of a namespace",
    dependencies=[CURATES],
)
def run_all(service: TheService, ns: Namespace) -> Response:
    """Each collection by the configurations it is grouped by, or by `DEFAULT`. 413 for over 1,000."""
    wanted = [
        (one.name, conf) for one in _collections(service, ns) for conf in _confs(service, one)
    ]
    return _asked(service, wanted, href("run", ns))


@router.post(
    "/run/{ns}/{name}",
    status_code=202,
    response_model=Runs,
    summary="Group one collection",
    dependencies=[CURATES],
)
def run_one(service: TheService, ns: Namespace, name: QueryName) -> Response:
    """By the configurations it is grouped by, or by `DEFAULT`."""
    found = service.collection(named(ns, name))
    wanted = [(found.name, conf) for conf in _confs(service, found)]
    return _asked(service, wanted, href("run", ns, name))


@router.post(
    "/run/{ns}/{conf}/{name}",
    status_code=202,
    response_model=Runs,
    summary="Group one collection by one configuration",
    dependencies=[CURATES],
)
def run_by(service: TheService, ns: Namespace, conf: Conf, name: QueryName) -> Response:
    """What it has at this moment will be in the clustering. Asked again before it began, it is one run."""
    service.configuration(namespace_named(ns), conf_named(conf))
    found = service.collection(named(ns, name))
    return _asked(service, [(found.name, conf)], href("run", ns, conf, name))


@router.get("/run/{ns}", response_model=Runs, summary="The runs of a namespace")
def all_runs(service: TheService, ns: Namespace) -> Response:
    """Of each collection that was asked for. 413 for over 1,000 collections."""
    names = [one.name for one in _collections(service, ns)]
    return told(Runs([run for name in names for run in _runs(service, name)]))


@router.get("/run/{ns}/{name}", response_model=Runs, summary="The runs of a collection")
def runs_of(service: TheService, ns: Namespace, name: QueryName) -> Response:
    """By each configuration that was asked for."""
    found = service.collection(named(ns, name))
    return told(Runs(list(_runs(service, found.name))))


@router.get("/run/{ns}/{conf}/{name}", response_model=Run, summary="One run")
def run_of(service: TheService, ns: Namespace, conf: Conf, name: QueryName) -> Response:
    """404 where it was never asked for."""
    service.configuration(namespace_named(ns), conf_named(conf))
    found = service.collection(named(ns, name))
    told_of = requested(service.tables, service.changes.claims, found.name, conf)
    if told_of is None:
        said = f"Nobody asked for {found.name} by {conf}: POST {href('run', ns, conf, name)}."
        raise RefusedError(404, said, parameter="conf")
    return told(_run(told_of))


def _asked(service: CollectionService, wanted: list[tuple[Name, str]], where: str) -> Response:
    changes = service.writing()
    for name, conf in wanted:
        try:
            with judged():
                request(changes, name, conf)
        except ConfigurationError as error:
            raise RefusedError(404, f"{error}.", parameter="name") from error
    service.runs.look()
    claims = service.changes.claims
    found = [requested(service.tables, claims, name, conf) for name, conf in wanted]
    answer = Runs([_run(one) for one in found if one is not None])
    return told(answer, 202, {"Location": where})


def _collections(service: CollectionService, namespace: str) -> list[Collection]:
    namespace_named(namespace)
    found = []
    for one in service.every(namespace):
        found.append(one)
        if len(found) > RUNS_MAX:
            raise RefusedError(413, f"There are over {RUNS_MAX:,} collections; name one.")
    return found


def _confs(service: CollectionService, found: Collection) -> list[str]:
    """The configurations a collection is grouped by; one that was forgotten meanwhile is left out."""
    known = configurations.every(service.tables, found.name.namespace)
    return [one.conf for one in found.served if one.conf in known] or [DEFAULT]


def _runs(service: CollectionService, name: Name) -> Iterator[Run]:
    for conf in confs_requested(service.tables, name):
        found = requested(service.tables, service.changes.claims, name, conf)
        if found is not None:
            yield _run(found)


def _run(one: Requested) -> Run:
    ns, key = one.name.namespace, one.name.key
    return Run(
        ns, one.conf, key, one.wanted, one.state, one.stage, one.done, one.total, one.rebuilt,
        one.error, href("run", ns, one.conf, key), href("results", ns, one.conf, key),
    )  # fmt: skip
