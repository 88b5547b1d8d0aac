"""What is told of clusters: their forms in answers."""

from __future__ import annotations

from dataclasses import dataclass

from fonds.collections.names import Name
from fonds.collections.reading.clusters import Cluster, Member
from fonds.web.rest.paths import href


@dataclass(frozen=True, slots=True)
class MemberTold:
    """A document of a cluster, and its cosine to the cluster's middle."""

    id: str
    score: float
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class ClusterTold:
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
    top: list[MemberTold]
    href: str
    name: str
    pinned: bool


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
    """A cluster on one side of a change; `name`: what a curator called it, '' where nobody did."""

    id: str
    label: str
    size: int
    name: str


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


def told_cluster(name: Name, conf: str, time: int, level: int, one: Cluster) -> ClusterTold:
    """A cluster of a level, with the address of its documents."""
    parts = href("clusters", name.namespace, name.key, one.label)
    where = f"{parts}?conf={conf}&at={time}" + (f"&level={level}" if level else "")
    return ClusterTold(
        one.id, one.label, one.size, one.distinct, list(one.terms), one.parent, one.parent_level,
        one.position, [told_member(each) for each in one.top], where, one.name, one.pinned,
    )  # fmt: skip


def told_member(one: Member) -> MemberTold:
    """A document of a cluster."""
    return MemberTold(one.id, one.score, one.title, one.url)
