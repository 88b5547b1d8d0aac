"""The clusters of a collection: of what is served, of what was before, and what changed between two.

Source: Grouperfish v0.2's REST: GET /clusters/<ns>/<ck>[/<label>], whose answers are the plain form.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from fonds.collections.clusterings import known, ready
from fonds.collections.names import DEFAULT, Name
from fonds.collections.reading import clusters as reading
from fonds.collections.reading.clusters import Cluster, Member
from fonds.collections.tables import COLLECTIONS, number
from fonds.model.errors import TransientError
from fonds.model.numbers import EXACT_MAX
from fonds.web.access.declared import READS
from fonds.web.problems import RESPONSES, RefusedError
from fonds.web.rest.paths import Key, Label, Namespace, href
from fonds.web.rest.service import Service, TheService, told

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


@dataclass(frozen=True, slots=True)
class MemberTold:
    """A document of a cluster, and its cosine to the cluster's middle."""

    id: str
    score: float
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class ClusterTold:
    """A cluster: `id` stays over rebuilds, `label` names it in its clustering; `terms` with their weights and
    the `top` documents with their scores, the highest first; `parent` is the cluster of level
    `parent_level` that holds most of it; `position` is its place on the map, both between -1 and 1."""

    id: str
    label: str
    size: int
    distinct: int
    terms: list[tuple[str, float]]
    parent: str | None
    parent_level: int | None
    position: tuple[float, float] | None
    top: list[MemberTold]
    href: str


@dataclass(frozen=True, slots=True)
class ClustersTold:
    """A level of a clustering: its clusters, the largest first, and how many documents are in none, by the
    reason. `timestamp` is when it was begun to be built, in seconds since 1970."""

    namespace: str
    key: str
    conf: str
    timestamp: int
    level: int
    clusters: list[ClusterTold]
    apart: dict[str, int]


@dataclass(frozen=True, slots=True)
class ClusterMembers:
    """A cluster with a page of its documents, the highest score first; `next` leads to those behind. For
    documents in no cluster `cluster` is None and `apart` the reason."""

    namespace: str
    key: str
    conf: str
    timestamp: int
    cluster: ClusterTold | None
    apart: str | None
    members: list[MemberTold]
    next: str | None


@dataclass(frozen=True, slots=True)
class SideTold:
    """A cluster on one side of a change."""

    id: str
    label: str
    size: int


@dataclass(frozen=True, slots=True)
class ChangeTold:
    """What became of clusters: kept, grown, split, merged, new or gone."""

    change: str
    before: list[SideTold]
    after: list[SideTold]


@dataclass(frozen=True, slots=True)
class ChangesTold:
    """What changed from one clustering to another; `stayed` is the share of documents known to both that
    kept their cluster's id."""

    namespace: str
    key: str
    conf: str
    before: int
    after: int
    stayed: float
    changes: list[ChangeTold]


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
    name = service.collection(ns, key).name
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
    shown = [_cluster(name, conf, time, level, one) for one in found.clusters]
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
) -> Response:
    """Page by page, the highest scores first. In the plain form all ids at once."""
    name = service.collection(ns, key).name
    time = chosen(service, name, conf, at)
    etag = etag_of(service, name, time)
    if is_known(request, etag):
        return Response(status_code=304, headers={"ETag": etag})
    try:
        page = reading.members(
            service.tables, name, label, conf, time,
            level=level, after=_place(after), count_max=count,
        )  # fmt: skip
    except ValueError as error:
        said = "The parameter “after” is no place in this list; begin with the first page."
        raise RefusedError(400, said, parameter="after") from error
    if page is None:
        raise RefusedError(404, f"There is no cluster {label[:200]!r} here.", parameter="label")
    if form == "plain":
        ids = _list(service, name, conf, time, level, label)
        return StreamingResponse(ids, media_type="application/json", headers={"ETag": etag})
    found = reading.cluster(service.tables, name, label, conf, time, level=level, top=0)
    whole = ClusterMembers(
        name.namespace, name.key, conf, time,
        None if found is None else _cluster(name, conf, time, level, found),
        label if found is None else None,
        [_member(one) for one in page.members],
        None if page.after is None else _next(request, page.after),
    )  # fmt: skip
    headers = {"ETag": etag}
    if whole.next is not None:
        headers["Link"] = f'<{whole.next}>; rel="next"'
    return told(whole, headers=headers)


def chosen(service: Service, name: Name, conf: str, at: int | None) -> int:
    """The time of the clustering that is served, or was the last one at a time. Raises RefusedError 404."""
    cells = service.tables.row(COLLECTIONS, name.row, ["main:"]) or {}
    there = [one for one in ready(known(service.tables, name), cells) if one.conf == conf]
    if not there:
        service.configuration(name.namespace, conf)
        said = f"{name} was not grouped by {conf} yet: ask for it with POST /run."
        raise RefusedError(404, said, parameter="conf")
    times = [one.timestamp for one in there if at is None or one.timestamp <= at]
    if not times:
        first = min(one.timestamp for one in there)
        raise RefusedError(404, f"The oldest clustering kept is of {first}.", parameter="at")
    return max(times)


def etag_of(service: Service, name: Name, time: int) -> str:
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


def _changes(service: Service, name: Name, conf: str, before: int, after: int) -> ChangesTold:
    from fonds.collections.reading.lineage import changes_between

    first = chosen(service, name, conf, before)
    found = changes_between(service.tables, name, conf, before=first, after=after)
    if found is None:
        said = f"There are no two clusterings of {before} and {after} to compare."
        raise RefusedError(404, said, parameter="changes")
    shown = [
        ChangeTold(
            one.change,
            [SideTold(side.id, side.label, side.size) for side in one.before],
            [SideTold(side.id, side.label, side.size) for side in one.after],
        )
        for one in found.changes
    ]
    return ChangesTold(name.namespace, name.key, conf, first, after, found.stayed, shown)


def _plain(
    service: Service, name: Name, conf: str, time: int, level: int, labels: list[str]
) -> Iterator[bytes]:
    """`{label: [ids]}`, streamed."""
    for at, label in enumerate(labels):
        yield (b"," if at else b"{") + msgspec.json.encode(label) + b":"
        yield from _list(service, name, conf, time, level, label)
    yield b"}" if labels else b"{}"


def _list(
    service: Service, name: Name, conf: str, time: int, level: int, label: str
) -> Iterator[bytes]:
    """All ids of a cluster as a JSON array. Raises TransientError, which cuts the answer short, where the
    clustering is removed meanwhile: nobody takes a part for the whole."""
    after, begun = None, b"["
    while True:
        page = reading.members(
            service.tables, name, label, conf, time,
            level=level, after=after, count_max=reading.MEMBERS_MAX,
        )  # fmt: skip
        if page is None:
            raise TransientError(f"the clustering of {time} was removed while it was read")
        if page.members:
            yield begun + msgspec.json.encode([one.id for one in page.members])[1:-1]
            begun = b","
        after = page.after
        if after is None:
            yield b"[]" if begun == b"[" else b"]"
            return


def _place(after: str) -> bytes | None:
    """A place in a list as it stands in an address. Raises ValueError."""
    if not after:
        return None
    try:
        return base64.b64decode(after.encode("ascii", "replace"), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("no place in a list") from error


def _next(request: Request, after: bytes) -> str:
    given = request.url.include_query_params(after=base64.urlsafe_b64encode(after).decode())
    return f"{given.path}?{given.query}"


def _cluster(name: Name, conf: str, time: int, level: int, one: Cluster) -> ClusterTold:
    parts = href("clusters", name.namespace, name.key, one.label)
    where = f"{parts}?conf={conf}&at={time}" + (f"&level={level}" if level else "")
    return ClusterTold(
        one.id, one.label, one.size, one.distinct, list(one.terms), one.parent, one.parent_level,
        one.position, [_member(each) for each in one.top], where,
    )  # fmt: skip


def _member(one: Member) -> MemberTold:
    return MemberTold(one.id, one.score, one.title, one.url)
