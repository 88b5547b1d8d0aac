"""REST API of the clusters of a collection: clusters of the current clustering and of earlier ones,
and the changes between two clusterings.

Source: Grouperfish v0.2's REST: GET /clusters/<ns>/<ck>[/<label>]. Its responses are those of
`form=plain`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Query, Request
from pydantic import RootModel
from starlette.responses import Response, StreamingResponse

from fonds.grouping.clustering import filter_ready, list_stored_clusterings
from fonds.grouping.columns import MAIN_FAMILY, Column
from fonds.grouping.names import DEFAULT, CollectionName
from fonds.grouping.tables import COLLECTIONS, Tables, decode_int
from fonds.grouping.views import clusters as reading
from fonds.grouping.views.clusters import (
    MEMBERS_MAX,
    ClusterMembers,
    ClusterView,
    LevelView,
    MemberPage,
    list_members,
    list_unclustered_members,
    load_cluster_members,
)
from fonds.grouping.views.lineage import ClusteringChanges, compare_clusterings
from fonds.model.encoding import EXACT_MAX
from fonds.model.errors import TransientError
from fonds.model.extension import extend
from fonds.web.access.roles import READS
from fonds.web.api.paths import Key, Label, Namespace, build_path
from fonds.web.serving.json_requests import TheService, json_response
from fonds.web.serving.parameters import parse_conf, parse_name
from fonds.web.serving.problems import RESPONSES, RefusedError
from fonds.wiring.collections import CollectionService

# Documents of a cluster, or unclustered documents with one reason.


@dataclass(frozen=True, slots=True)
class MemberList:
    """Documents of one cluster, or the unclustered documents with one reason, in one clustering.

    `conf`, `time`, `level`: configuration, time and level of the clustering.
    `label`: label of the cluster; if `is_reason`, the reason why the documents are unclustered.
    """

    tables: Tables
    name: CollectionName
    conf: str
    time: int
    level: int
    label: str
    is_reason: bool = False

    def load_page(self, after: bytes | None, count: int) -> MemberPage | None:
        """Return at most `count` documents of the list after the cursor `after`, or the first
        documents if `after` is None.

        Return None if there is no such cluster or reason. Raises ValueError if `after` is not a
        cursor of this list.
        """
        if self.is_reason:
            return list_unclustered_members(
                self.tables, self.name, self.conf, self.time,
                reason=self.label, after=after, count_max=count,
            )  # fmt: skip
        return list_members(
            self.tables, self.name, self.label, self.conf, self.time,
            level=self.level, after=after, count_max=count,
        )  # fmt: skip

    def iter_ids(self) -> Iterator[bytes]:
        """Stream the ids of all documents of a cluster, or of all unclustered documents with one
        reason, as a JSON array.

        Raises TransientError if the clustering is removed meanwhile. The response then breaks off,
        so that no client takes it for complete.
        """
        cursor, opening = None, b"["
        while True:
            page = self.load_page(cursor, MEMBERS_MAX)
            if page is None:
                raise TransientError(
                    f"the clustering of {self.time} was removed during the request"
                )
            if page.members:
                yield opening + msgspec.json.encode([member.id for member in page.members])[1:-1]
                opening = b","
            cursor = page.after
            if cursor is None:
                yield b"[]" if opening == b"[" else b"]"
                return


# Response types.


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOut(ClusterView):
    """A cluster, with the address that lists its documents.

    `id` stays the same over rebuilds; `label` is unique within the clustering.
    `name`: the name a curator gave the cluster, '' if none.
    `pinned`: whether a curator pinned the cluster, so that it is listed before the others.
    `terms`, `top`: terms with their weights, and documents with their scores, highest first.
    `parent`: label of the cluster of level `parent_level` that contains most of the documents.
    `position`: position of the cluster on the map of themes, both coordinates between -1 and 1.
    """

    href: str


@dataclass(frozen=True, slots=True)
class ClustersOut(LevelView):
    """One level of granularity of a clustering, with its clusters, largest first.

    `timestamp`: when the build of the clustering began, in seconds since 1970.
    `unclustered`: number of unclustered documents by reason.
    """

    clusters: tuple[ClusterOut, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMembersOut(ClusterMembers):
    """A cluster with a page of its documents, highest score first.

    `next`: URL of the next page, with the cursor `after`.
    `cluster` is None for unclustered documents; `unclustered_reason` is then the reason.
    """

    cluster: ClusterOut | None
    next: str | None


def build_cluster(
    name: CollectionName, conf: str, time: int, level: int, cluster: ClusterView
) -> ClusterOut:
    """Build the response for one cluster of a level, with the URL that lists its documents."""
    parts = build_path("clusters", name.namespace, name.key, cluster.label)
    href = f"{parts}?conf={conf}&at={time}" + (f"&level={level}" if level else "")
    return extend(ClusterOut, cluster, href=href)


LEVEL_MAX = 10
router = APIRouter(responses=RESPONSES, tags=["clusters"], dependencies=[READS])

Conf = Annotated[
    str,
    Query(
        description="Name of the configuration",
        max_length=100,
        json_schema_extra={"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"},
    ),
]
At = Annotated[
    int | None,
    Query(
        ge=0,
        le=EXACT_MAX,
        description="Time in seconds since 1970: the latest clustering up to it; default: the newest",
    ),
]
Level = Annotated[
    int,
    Query(
        ge=0,
        le=LEVEL_MAX,
        description="Level of the clustering: 0 for the main level, then one for each of `granularities`",
    ),
]
Form = Annotated[
    Literal["full", "plain"],
    Query(description="plain: only {label: [ids]}, as in Grouperfish v0.2"),
]


class DocumentIdsByLabel(RootModel[dict[str, list[str]]]):
    """Ids of the documents of each cluster by label: the form `plain`."""


class DocumentIds(RootModel[list[str]]):
    """Ids of all documents of a cluster: the form `plain`."""


class ClustersAnswer(RootModel[ClustersOut | ClusteringChanges | DocumentIdsByLabel]):
    """Clusters in the form `full` or `plain`, or the changes since an earlier clustering."""


class ClusterAnswer(RootModel[ClusterMembersOut | DocumentIds]):
    """Documents of a cluster in the form `full` or `plain`."""


@router.get(
    "/clusters/{ns}/{key}",
    response_model=ClustersAnswer,
    summary="Clusters of a collection",
    operation_id="list_clusters",
)
def clusters(
    service: TheService,
    request: Request,
    ns: Namespace,
    key: Key,
    conf: Conf = DEFAULT,
    at: At = None,
    level: Level = 0,
    top: Annotated[int, Query(ge=0, le=100, description="Maximum documents per cluster")] = 3,
    form: Form = "full",
    changes: Annotated[
        int | None,
        Query(
            ge=0,
            le=EXACT_MAX,
            description="Time of an earlier clustering: return the changes since then",
        ),
    ] = None,
) -> Response:
    """List the clusters of the latest complete clustering, also while another is being built.

    `ETag` begins with the time of the build; its second part changes with each document that is
    added or removed.
    """
    name = service.collection(parse_name(ns, key)).name
    time = choose_clustering_time(service, name, conf, at)
    etag = build_etag(service, name, time)
    if is_known(request, etag):
        return Response(status_code=304, headers={"ETag": etag})
    headers = {"ETag": etag}
    if changes is not None:
        return json_response(_build_changes(service, name, conf, changes, time), headers=headers)
    top_count = 0 if form == "plain" else top
    level_view = reading.load_clusters(service.tables, name, conf, time, level=level, top=top_count)
    if level_view is None:
        raise RefusedError(404, f"This clustering has no level {level}.", parameter="level")
    if form == "plain":
        labels = [cluster_view.label for cluster_view in level_view.clusters]
        plain = _iter_plain(service, name, conf, time, level, labels)
        return StreamingResponse(plain, media_type="application/json", headers=headers)
    clusters_out = tuple(
        build_cluster(name, conf, time, level, cluster_view) for cluster_view in level_view.clusters
    )
    response = extend(ClustersOut, level_view, clusters=clusters_out)
    return json_response(response, headers=headers)


@router.get(
    "/clusters/{ns}/{key}/{label}",
    response_model=ClusterAnswer,
    summary="Cluster and its documents",
    operation_id="get_cluster",
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
    count: Annotated[int, Query(ge=1, le=1000, description="Maximum documents")] = 50,
    after: Annotated[
        str,
        Query(
            description="Cursor of the next page: `next` of the previous response",
            max_length=20_000,
        ),
    ] = "",
    form: Form = "full",
    unclustered: Annotated[
        bool,
        Query(
            description="LABEL is a reason for unclustered documents, not the label of a cluster"
        ),
    ] = False,
) -> Response:
    """List the documents of a cluster page by page, highest score first; the plain form lists all
    ids at once.

    If no cluster has this label, it is read as a reason for unclustered documents.
    """
    name = service.collection(parse_name(ns, key)).name
    time = choose_clustering_time(service, name, conf, at)
    etag = build_etag(service, name, time)
    if is_known(request, etag):
        return Response(status_code=304, headers={"ETag": etag})
    try:
        page = load_cluster_members(
            service.tables, name, label, conf, time,
            level=level, is_reason=unclustered, after=after, count_max=count,
        )  # fmt: skip
    except ValueError as error:
        detail = "The parameter “after” is not a cursor of this list. Start at the first page."
        raise RefusedError(400, detail, parameter="after") from error
    if page is None:
        raise RefusedError(404, f"There is no cluster {label[:200]!r}.", parameter="label")
    if form == "plain":
        member_list = MemberList(
            service.tables, name, conf, time, level, label, page.cluster is None
        )
        return StreamingResponse(
            member_list.iter_ids(), media_type="application/json", headers={"ETag": etag}
        )
    response = extend(
        ClusterMembersOut,
        page,
        cluster=build_cluster(name, conf, time, level, page.cluster) if page.cluster else None,
        next=None if page.after is None else _build_next_url(request, page.after),
    )
    headers = {"ETag": etag}
    if response.next is not None:
        headers["Link"] = f'<{response.next}>; rel="next"'
    return json_response(response, headers=headers)


def choose_clustering_time(
    service: CollectionService, name: CollectionName, conf: str, timestamp: int | None
) -> int:
    """Return the time of a collection's current clustering by `conf`, or of the last one built
    until `timestamp`.

    `conf`: name of the configuration.
    `timestamp`: seconds since 1970; None for the current clustering.

    Raises RefusedError 404 if there is no such clustering.
    """
    cells = service.tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY]) or {}
    clusterings = [
        clustering
        for clustering in filter_ready(list_stored_clusterings(service.tables, name), cells)
        if clustering.conf == conf
    ]
    if not clusterings:
        service.configuration(name.namespace, parse_conf(conf))
        detail = f"{name} has not been grouped by {conf} yet. Start a run with POST /run."
        raise RefusedError(404, detail, parameter="conf")
    times = [
        clustering.timestamp
        for clustering in clusterings
        if timestamp is None or clustering.timestamp <= timestamp
    ]
    if not times:
        first = min(clustering.timestamp for clustering in clusterings)
        raise RefusedError(404, f"The oldest stored clustering is from {first}.", parameter="at")
    return max(times)


def build_etag(service: CollectionService, name: CollectionName, time: int) -> str:
    """Return the ETag of a clustering: its time, and the number of the collection's last change."""
    cells = service.tables.get_row(COLLECTIONS, name.row, [Column.SEQUENCE])
    return f'"{time}-{decode_int(cells, Column.SEQUENCE)}"'


def is_known(request: Request, etag: str) -> bool:
    """True if the client already has the version with this ETag, according to its `If-None-Match`
    header (RFC 9110, 13.1.2: weak comparison).
    """
    etags = [
        tag.strip().removeprefix("W/")
        for tag in request.headers.get("if-none-match", "").split(",")
    ]
    return etag in etags or etags == ["*"]


def _build_changes(
    service: CollectionService,
    name: CollectionName,
    conf: str,
    previous_timestamp: int,
    current_timestamp: int,
) -> ClusteringChanges:
    first = choose_clustering_time(service, name, conf, previous_timestamp)
    comparison = compare_clusterings(
        service.tables, name, conf, previous_timestamp=first, new_timestamp=current_timestamp
    )
    if comparison is None:
        detail = (
            f"There are no clusterings of {previous_timestamp} and {current_timestamp} to compare."
        )
        raise RefusedError(404, detail, parameter="changes")
    return comparison


def _iter_plain(
    service: CollectionService,
    name: CollectionName,
    conf: str,
    time: int,
    level: int,
    labels: list[str],
) -> Iterator[bytes]:
    """Stream clusters as a JSON object: the label of each cluster with the list of the cluster's
    document ids.
    """
    for index, label in enumerate(labels):
        yield (b"," if index else b"{") + msgspec.json.encode(label) + b":"
        yield from MemberList(service.tables, name, conf, time, level, label).iter_ids()
    yield b"}" if labels else b"{}"


def _build_next_url(request: Request, after: str) -> str:
    next_url = request.url.include_query_params(after=after)
    return f"{next_url.path}?{next_url.query}"
