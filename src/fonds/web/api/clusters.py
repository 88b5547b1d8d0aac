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

from fonds.grouping.clustering import filter_ready, list_stored_clusterings
from fonds.grouping.names import DEFAULT, CollectionName
from fonds.grouping.tables import COLLECTIONS, Tables, decode_int
from fonds.grouping.views import clusters as reading
from fonds.grouping.views.clusters import (
    MEMBERS_MAX,
    ClusterMember,
    ClusterView,
    MemberPage,
    list_members,
    unclustered_members,
)
from fonds.model.encoding import EXACT_MAX
from fonds.model.errors import TransientError
from fonds.web.access.roles import READS
from fonds.web.api.paths import Key, Label, Namespace, build_path
from fonds.web.serving.json_requests import TheService, json_response
from fonds.web.serving.parameters import parse_conf, parse_name
from fonds.web.serving.problems import RESPONSES, RefusedError
from fonds.wiring.collections import CollectionService

# The documents of a cluster, or of those in none for a reason: a page of them, or all ids streamed.


@dataclass(frozen=True, slots=True)
class MemberList:
    """Documents of a clustering: of the cluster `label` of a level, or of those in none for that reason."""

    tables: Tables
    name: CollectionName
    conf: str
    time: int
    level: int
    label: str
    is_reason: bool = False

    def load_page(self, after: bytes | None, count: int) -> MemberPage | None:
        """A page of them; None where there is no such cluster or reason. Raises ValueError for an `after`
        that is none of its places."""
        if self.is_reason:
            return unclustered_members(
                self.tables, self.name, self.conf, self.time,
                reason=self.label, after=after, count_max=count,
            )  # fmt: skip
        return list_members(
            self.tables, self.name, self.label, self.conf, self.time,
            level=self.level, after=after, count_max=count,
        )  # fmt: skip

    def iter_ids(self) -> Iterator[bytes]:
        """All ids as a JSON array. Raises TransientError, which cuts the answer short, where the clustering
        is removed meanwhile: nobody takes a part for the whole."""
        after, begun = None, b"["
        while True:
            page = self.load_page(after, MEMBERS_MAX)
            if page is None:
                raise TransientError(f"the clustering of {self.time} was removed while it was read")
            if page.members:
                yield begun + msgspec.json.encode([one.id for one in page.members])[1:-1]
                begun = b","
            after = page.after
            if after is None:
                yield b"[]" if begun == b"[" else b"]"
                return


def parse_cursor(after: str) -> bytes | None:
    """A place in a list as it stands in an address. Raises ValueError."""
    if not after:
        return None
    try:
        return base64.b64decode(after.encode("ascii", "replace"), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("no place in a list") from error


# What is told of clusters: their forms in answers.


@dataclass(frozen=True, slots=True)
class MemberOut:
    """A document of a cluster, and its cosine to the cluster's middle."""

    id: str
    score: float
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class ClusterOut:
    """A cluster: `id` stays over rebuilds, `label` names it in its clustering; `name` is what a curator
    called it, '' where nobody did, and `pinned` whether one put it before the others; `terms` with their
    weights and the `top` documents with their scores, the highest first; `parent` is the cluster of level
    `parent_level` that holds most of it; `position` is its place on the map, both between -1 and 1."""

    id: str
    label: str
    size: int
    distinct: int
    terms: list[tuple[str, float]]
    parent: str | None
    parent_level: int | None
    position: tuple[float, float] | None
    top: list[MemberOut]
    href: str
    name: str
    pinned: bool


@dataclass(frozen=True, slots=True)
class ClustersOut:
    """A level of a clustering: its clusters, the largest first, and how many documents are in none, by the
    reason. `timestamp` is when it was begun to be built, in seconds since 1970."""

    namespace: str
    key: str
    conf: str
    timestamp: int
    level: int
    clusters: list[ClusterOut]
    apart: dict[str, int]


@dataclass(frozen=True, slots=True)
class ClusterMembers:
    """A cluster with a page of its documents, the highest score first; `next` leads to those behind. For
    documents in no cluster `cluster` is None and `apart` the reason."""

    namespace: str
    key: str
    conf: str
    timestamp: int
    cluster: ClusterOut | None
    apart: str | None
    members: list[MemberOut]
    next: str | None


@dataclass(frozen=True, slots=True)
class ChangeSideOut:
    """A cluster on one side of a change; `name`: what a curator called it, '' where nobody did."""

    id: str
    label: str
    size: int
    name: str


@dataclass(frozen=True, slots=True)
class ChangeOut:
    """What became of clusters: kept, grown, split, merged, new or gone."""

    change: str
    before: list[ChangeSideOut]
    after: list[ChangeSideOut]


@dataclass(frozen=True, slots=True)
class ChangesOut:
    """What changed from one clustering to another; `stayed` is the share of documents known to both that
    kept their cluster's id."""

    namespace: str
    key: str
    conf: str
    before: int
    after: int
    stayed: float
    changes: list[ChangeOut]


def build_cluster(
    name: CollectionName, conf: str, time: int, level: int, cluster: ClusterView
) -> ClusterOut:
    """A cluster of a level, with the address of its documents."""
    parts = build_path("clusters", name.namespace, name.key, cluster.label)
    where = f"{parts}?conf={conf}&at={time}" + (f"&level={level}" if level else "")
    return ClusterOut(
        cluster.id,
        cluster.label,
        cluster.size,
        cluster.distinct,
        list(cluster.terms),
        cluster.parent,
        cluster.parent_level,
        cluster.position,
        [build_member(each) for each in cluster.top],
        where,
        cluster.name,
        cluster.pinned,
    )


def build_member(member: ClusterMember) -> MemberOut:
    """A document of a cluster."""
    return MemberOut(member.id, member.score, member.title, member.url)


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
    response_model=ClustersOut | ChangesOut | Plain,
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
    name = service.collection(parse_name(ns, key)).name
    time = choose_clustering_time(service, name, conf, at)
    etag = build_etag(service, name, time)
    if is_known(request, etag):
        return Response(status_code=304, headers={"ETag": etag})
    headers = {"ETag": etag}
    if changes is not None:
        return json_response(_build_changes(service, name, conf, changes, time), headers=headers)
    wanted = 0 if form == "plain" else top
    found = reading.load_clusters(service.tables, name, conf, time, level=level, top=wanted)
    if found is None:
        raise RefusedError(404, f"This clustering has no level {level}.", parameter="level")
    if form == "plain":
        labels = [one.label for one in found.clusters]
        plain = _iter_plain(service, name, conf, time, level, labels)
        return StreamingResponse(plain, media_type="application/json", headers=headers)
    shown = [build_cluster(name, conf, time, level, one) for one in found.clusters]
    whole = ClustersOut(name.namespace, name.key, conf, time, level, shown, found.apart)
    return json_response(whole, headers=headers)


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
    name = service.collection(parse_name(ns, key)).name
    time = choose_clustering_time(service, name, conf, at)
    etag = build_etag(service, name, time)
    if is_known(request, etag):
        return Response(status_code=304, headers={"ETag": etag})
    found = None
    if not apart:
        found = reading.find_cluster(service.tables, name, label, conf, time, level=level, top=0)
    listed = MemberList(service.tables, name, conf, time, level, label, found is None)
    try:
        page = listed.load_page(parse_cursor(after), count)
    except ValueError as error:
        said = "The parameter “after” is no place in this list; begin with the first page."
        raise RefusedError(400, said, parameter="after") from error
    if page is None:
        raise RefusedError(404, f"There is no cluster {label[:200]!r} here.", parameter="label")
    if form == "plain":
        return StreamingResponse(
            listed.iter_ids(), media_type="application/json", headers={"ETag": etag}
        )
    whole = ClusterMembers(
        name.namespace, name.key, conf, time,
        None if found is None else build_cluster(name, conf, time, level, found),
        label if found is None else None,
        [build_member(one) for one in page.members],
        None if page.after is None else _build_next_url(request, page.after),
    )  # fmt: skip
    headers = {"ETag": etag}
    if whole.next is not None:
        headers["Link"] = f'<{whole.next}>; rel="next"'
    return json_response(whole, headers=headers)


def choose_clustering_time(
    service: CollectionService, name: CollectionName, conf: str, timestamp: int | None
) -> int:
    """The time of the clustering that is served, or was the last one at a time. Raises RefusedError 404."""
    cells = service.tables.get_row(COLLECTIONS, name.row, ["main:"]) or {}
    there = [
        one
        for one in filter_ready(list_stored_clusterings(service.tables, name), cells)
        if one.conf == conf
    ]
    if not there:
        service.configuration(name.namespace, parse_conf(conf))
        said = f"{name} was not grouped by {conf} yet: ask for it with POST /run."
        raise RefusedError(404, said, parameter="conf")
    times = [one.timestamp for one in there if timestamp is None or one.timestamp <= timestamp]
    if not times:
        first = min(one.timestamp for one in there)
        raise RefusedError(404, f"The oldest clustering kept is of {first}.", parameter="at")
    return max(times)


def build_etag(service: CollectionService, name: CollectionName, time: int) -> str:
    """The validator of what is told of a clustering now: its time, and the number of the last change."""
    cells = service.tables.get_row(COLLECTIONS, name.row, ["main:sequence"])
    return f'"{time}-{decode_int(cells, "main:sequence")}"'


def is_known(request: Request, etag: str) -> bool:
    """Whether the asker has what this validator stands for (RFC 9110, 13.1.2: compared weakly)."""
    given = [
        one.strip().removeprefix("W/")
        for one in request.headers.get("if-none-match", "").split(",")
    ]
    return etag in given or given == ["*"]


def _build_changes(
    service: CollectionService, name: CollectionName, conf: str, previous_timestamp: int, after: int
) -> ChangesOut:
    from fonds.grouping.views.lineage import compare_clusterings

    first = choose_clustering_time(service, name, conf, previous_timestamp)
    found = compare_clusterings(service.tables, name, conf, previous_timestamp=first, after=after)
    if found is None:
        said = f"There are no two clusterings of {previous_timestamp} and {after} to compare."
        raise RefusedError(404, said, parameter="changes")
    shown = [
        ChangeOut(
            one.change,
            [ChangeSideOut(side.id, side.label, side.size, side.name) for side in one.before],
            [ChangeSideOut(side.id, side.label, side.size, side.name) for side in one.after],
        )
        for one in found.changes
    ]
    return ChangesOut(name.namespace, name.key, conf, first, after, found.stayed, shown)


def _iter_plain(
    service: CollectionService,
    name: CollectionName,
    conf: str,
    time: int,
    level: int,
    labels: list[str],
) -> Iterator[bytes]:
    """`{label: [ids]}`, streamed."""
    for at, label in enumerate(labels):
        yield (b"," if at else b"{") + msgspec.json.encode(label) + b":"
        yield from MemberList(service.tables, name, conf, time, level, label).iter_ids()
    yield b"}" if labels else b"{}"


def _build_next_url(request: Request, after: bytes) -> str:
    given = request.url.include_query_params(after=base64.urlsafe_b64encode(after).decode())
    return f"{given.path}?{given.query}"
