"""The clusters of a collection: of what is served, of what was before, and what changed between two.

Source: Grouperfish v0.2's REST: GET /clusters/<ns>/<ck>[/<label>], whose answers are the plain form.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from fonds.collections.clusterings import known, ready
from fonds.collections.names import DEFAULT, Name
from fonds.collections.reading import clusters as reading
from fonds.collections.tables import COLLECTIONS, number
from fonds.model.numbers import EXACT_MAX
from fonds.web.access.declared import READS
from fonds.web.parameters import conf_named, named
from fonds.web.problems import RESPONSES, RefusedError
from fonds.web.rest.clusters.members import Listed, place_of
from fonds.web.rest.clusters.told import (
    ChangesTold,
    ChangeTold,
    ClusterMembers,
    ClustersTold,
    SideTold,
    told_cluster,
    told_member,
)
from fonds.web.rest.paths import Key, Label, Namespace
from fonds.web.rest.service import TheService, told
from fonds.wiring.recurring.collections import CollectionService

LEVEL_MAX = 10
router = APIRouter(responses=RESPONSES, tags=["clusters"], dependencies=[READS])

Conf = Annotated[
    str,
    Query(
        description="By which configuration",
        max_length=100,
        json_schema_extra={"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"},
    ),
]
At = Annotated[
    int | None,
    Query(ge=0, le=EXACT_MAX, description="The clustering that was the last one at this time"),
]
Level = Annotated[int, Query(ge=0, le=LEVEL_MAX, description="0 is the coarsest asked for")]
Form = Annotated[
    Literal["full", "plain"], Query(description="plain: {label: [ids]}, as in Grouperfish v0.2")
]


Plain = dict[str, list[str]]


@router.get(
    "/clusters/{ns}/{key}",
    response_model=ClustersTold | ChangesTold | Plain,
    summary="The clusters of a collection",
)
def clusters(
    service: TheService,
    request: Request,
    ns: Namespace,
    key: Key,
    conf: Conf = DEFAULT,
    at: At = None,
    level: Level = 0,
    top: Annotated[int, Query(ge=0, le=100, description="Documents told of each")] = 3,
    form: Form = "full",
    changes: Annotated[
        int | None,
        Query(ge=0, le=EXACT_MAX, description="What changed since the clustering of this time"),
    ] = None,
) -> Response:
    """Of the last clustering that is complete, at once, whatever is being built. `ETag` begins with the time
    of the build; what follows changes with each document that comes or goes.
    """
    name = service.collection(named(ns, key)).name
    time = chosen(service, name, conf, at)
    etag = etag_of(service, name, time)
    if is_known(request, etag):
        return Response(status_code=304, headers={"ETag": etag})
    headers = {"ETag": etag}
    if changes is not None:
        return told(_changes(service, name, conf, changes, time), headers=headers)
    wanted = 0 if form == "plain" else top
    found = reading.clusters(service.tables, name, conf, time, level=level, top=wanted)
    if found is None:
        raise RefusedError(404, f"This clustering has no level {level}.", parameter="level")
    if form == "plain":
        labels = [one.label for one in found.clusters]
        plain = _plain(service, name, conf, time, level, labels)
        return StreamingResponse(plain, media_type="application/json", headers=headers)
    shown = [told_cluster(name, conf, time, level, one) for one in found.clusters]
    whole = ClustersTold(name.namespace, name.key, conf, time, level, shown, found.apart)
    return told(whole, headers=headers)


@router.get(
    "/clusters/{ns}/{key}/{label}",
    response_model=ClusterMembers | list[str],
    summary="One cluster and its documents",
)
def cluster(
    service: TheService,
    request: Request,
    ns: Namespace,
    key: Key,
    label: Label,
    conf: Conf = DEFAULT,
    at: At = None,
    level: Level = 0,
    count: Annotated[int, Query(ge=1, le=1000, description="Documents at most")] = 50,
    after: Annotated[str, Query(description="Begin behind this place", max_length=20_000)] = "",
    form: Form = "full",
    apart: Annotated[
        bool, Query(description="LABEL is why documents are in none, whatever clusters are called")
    ] = False,
) -> Response:
    """Page by page, the highest scores first. In the plain form all ids at once. A label that is no cluster's
    may be a reason."""
    name = service.collection(named(ns, key)).name
    time = chosen(service, name, conf, at)
    etag = etag_of(service, name, time)
    if is_known(request, etag):
        return Response(status_code=304, headers={"ETag": etag})
    found = None
    if not apart:
        found = reading.cluster(service.tables, name, label, conf, time, level=level, top=0)
    listed = Listed(service.tables, name, conf, time, level, label, found is None)
    try:
        page = listed.page(place_of(after), count)
    except ValueError as error:
        said = "The parameter “after” is no place in this list; begin with the first page."
        raise RefusedError(400, said, parameter="after") from error
    if page is None:
        raise RefusedError(404, f"There is no cluster {label[:200]!r} here.", parameter="label")
    if form == "plain":
        return StreamingResponse(
            listed.ids(), media_type="application/json", headers={"ETag": etag}
        )
    whole = ClusterMembers(
        name.namespace, name.key, conf, time,
        None if found is None else told_cluster(name, conf, time, level, found),
        label if found is None else None,
        [told_member(one) for one in page.members],
        None if page.after is None else _next(request, page.after),
    )  # fmt: skip
    headers = {"ETag": etag}
    if whole.next is not None:
        headers["Link"] = f'<{whole.next}>; rel="next"'
    return told(whole, headers=headers)


def chosen(service: CollectionService, name: Name, conf: str, at: int | None) -> int:
    """The time of the clustering that is served, or was the last one at a time. Raises RefusedError 404."""
    cells = service.tables.row(COLLECTIONS, name.row, ["main:"]) or {}
    there = [one for one in ready(known(service.tables, name), cells) if one.conf == conf]
    if not there:
        service.configuration(name.namespace, conf_named(conf))
        said = f"{name} was not grouped by {conf} yet: ask for it with POST /run."
        raise RefusedError(404, said, parameter="conf")
    times = [one.timestamp for one in there if at is None or one.timestamp <= at]
    if not times:
        first = min(one.timestamp for one in there)
        raise RefusedError(404, f"The oldest clustering kept is of {first}.", parameter="at")
    return max(times)


def etag_of(service: CollectionService, name: Name, time: int) -> str:
    """The validator of what is told of a clustering now: its time, and the number of the last change."""
    cells = service.tables.row(COLLECTIONS, name.row, ["main:sequence"])
    return f'"{time}-{number(cells, "main:sequence")}"'


def is_known(request: Request, etag: str) -> bool:
    """Whether the asker has what this validator stands for (RFC 9110, 13.1.2: compared weakly)."""
    given = [
        one.strip().removeprefix("W/")
        for one in request.headers.get("if-none-match", "").split(",")
    ]
    return etag in given or given == ["*"]


def _changes(
    service: CollectionService, name: Name, conf: str, before: int, after: int
) -> ChangesTold:
    from fonds.collections.reading.lineage import changes_between

    first = chosen(service, name, conf, before)
    found = changes_between(service.tables, name, conf, before=first, after=after)
    if found is None:
        said = f"There are no two clusterings of {before} and {after} to compare."
        raise RefusedError(404, said, parameter="changes")
    shown = [
        ChangeTold(
            one.change,
            [SideTold(side.id, side.label, side.size, side.name) for side in one.before],
            [SideTold(side.id, side.label, side.size, side.name) for side in one.after],
        )
        for one in found.changes
    ]
    return ChangesTold(name.namespace, name.key, conf, first, after, found.stayed, shown)


def _plain(
    service: CollectionService, name: Name, conf: str, time: int, level: int, labels: list[str]
) -> Iterator[bytes]:
    """`{label: [ids]}`, streamed."""
    for at, label in enumerate(labels):
        yield (b"," if at else b"{") + msgspec.json.encode(label) + b":"
        yield from Listed(service.tables, name, conf, time, level, label).ids()
    yield b"}" if labels else b"{}"


def _next(request: Request, after: bytes) -> str:
    given = request.url.include_query_params(after=base64.urlsafe_b64encode(after).decode())
    return f"{given.path}?{given.query}"
