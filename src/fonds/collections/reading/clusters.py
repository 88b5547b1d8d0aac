"""The clusters of a clustering: labels, sizes, terms, top documents, members page by page, who is apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import msgspec

from fonds.collections.names import DEFAULT, Name, apart_conf, level_conf
from fonds.collections.reading.clusterings import served_timestamp
from fonds.collections.reading.curated import Curated, curated, names_of
from fonds.collections.tables import (
    CLUSTERS,
    DOCUMENTS,
    MEMBERS,
    SIZE,
    Cells,
    Tables,
    number,
    real,
    text,
)
from fonds.formats.grouping.keys import cluster_row, clustering_prefix

T = TypeVar("T")

MEMBERS_MAX = 1000
TOP_MAX = 100
CLUSTERS_MAX = 20_000
_TRIES = 3
_TITLE = ("main:id", "main:title", "main:url", "main:time")


@dataclass(frozen=True, slots=True)
class Member:
    """A document of a cluster: its cosine to the cluster's middle, its title and address where it has any,
    and the time it is dated, in seconds since 1970, None where it has no date."""

    id: str
    score: float
    title: str
    url: str
    time: int | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster as it is served.

    `id` stays over rebuilds, `label` names it within its clustering. `size` counts documents, `distinct`
    those that are no near-duplicate of another. `terms` with their log-likelihood
    ratios, the strongest first. `parent`: the label of the cluster of level `parent_level` that holds most
    of it, None at the coarsest. `position`: where it lies on the map, both between -1 and 1, None where it
    is on none. `top`: its documents with the highest scores. `name`: what a person called it, '' where
    nobody did; `pinned`: whether it is to stand before the others.
    """

    id: str
    label: str
    size: int
    distinct: int
    terms: tuple[tuple[str, float], ...]
    parent: str | None
    parent_level: int | None
    position: tuple[float, float] | None
    top: tuple[Member, ...]
    name: str = ""
    pinned: bool = False

    @property
    def called(self) -> str:
        """What people call it: the name it was given, or else its label."""
        return self.name or self.label


@dataclass(frozen=True, slots=True)
class Clusters:
    """A level of a clustering: its clusters, the largest first; how many documents are apart, by reason."""

    name: Name
    conf: str
    timestamp: int
    level: int
    clusters: tuple[Cluster, ...]
    apart: dict[str, int]


@dataclass(frozen=True, slots=True)
class Members:
    """A page of a cluster's documents, the highest score first; `after` is given to get the next page, None
    behind the last."""

    members: tuple[Member, ...]
    after: bytes | None


def clusters(
    tables: Tables,
    name: Name,
    conf: str = DEFAULT,
    timestamp: int | None = None,
    *,
    level: int = 0,
    top: int = 3,
) -> Clusters | None:
    """A level of the clustering that is served, or of that of `timestamp`; None where there is none.

    `top`: how many documents of each cluster, at most 100.
    """

    def read(at: int) -> Clusters | None:
        rows = _rows(tables, name, level_conf(conf, level), at)
        apart = {
            text(cells, "main:label"): number(cells, SIZE)
            for _, cells in _rows(tables, name, apart_conf(conf), at)
        }
        if not apart or (level and not rows):
            return None
        rows.sort(key=lambda row: (-number(row[1], SIZE), row[0]))
        tops = _tops(tables, name, [row for row, _ in rows], top)
        told = _curated(tables, name, conf, level)
        found = tuple(_cluster(cells, tops.get(row, ()), told) for row, cells in rows)
        return Clusters(name, conf, at, level, found, apart)

    return at_a_time(tables, name, conf, timestamp, read)


def with_top(
    tables: Tables, level: Clusters, some: Sequence[Cluster], top: int = 3
) -> list[Cluster]:
    """Some clusters of a level, with the documents of the highest scores of each, at most 100."""
    name, conf = level.name, level_conf(level.conf, level.level)
    rows = [cluster_row(name.namespace, name.key, conf, level.timestamp, one.label) for one in some]
    tops = _tops(tables, name, rows, top)
    return [replace(one, top=tops[row]) for row, one in zip(rows, some, strict=True)]


def cluster(
    tables: Tables,
    name: Name,
    label: str,
    conf: str = DEFAULT,
    timestamp: int | None = None,
    *,
    level: int = 0,
    top: int = 10,
) -> Cluster | None:
    """One cluster by its label, its id, or the name it was given; None where there is none."""

    def read(at: int) -> Cluster | None:
        wanted = _row_of(tables, name, level_conf(conf, level), at, label)
        cells = None if wanted is None else tables.row(CLUSTERS, wanted, ["main:"])
        if wanted is None or cells is None:
            return None
        told = _curated(tables, name, conf, level)
        return _cluster(cells, _tops(tables, name, [wanted], top)[wanted], told)

    return at_a_time(tables, name, conf, timestamp, read)


def members(
    tables: Tables,
    name: Name,
    label: str,
    conf: str = DEFAULT,
    timestamp: int | None = None,
    *,
    level: int = 0,
    after: bytes | None = None,
    count_max: int = 50,
) -> Members | None:
    """The documents of a cluster by its label, id or name, page by page; None where there is no such one. At
    most 1,000 a page. Raises ValueError for an `after` that is of another cluster."""

    def read(at: int) -> Members | None:
        row = _row_of(tables, name, level_conf(conf, level), at, label)
        if row is None:
            return None
        return _page(tables, name, row, after, count_max)

    return at_a_time(tables, name, conf, timestamp, read)


def members_apart(
    tables: Tables,
    name: Name,
    conf: str = DEFAULT,
    timestamp: int | None = None,
    *,
    reason: str = "",
    after: bytes | None = None,
    count_max: int = 50,
) -> Members | None:
    """The documents in no cluster for a reason (`outlier`), or for whatever reason, those of one together, as
    `members` gives those of a cluster; None where there is no such clustering or reason."""

    def read(at: int) -> Members | None:
        prefix = clustering_prefix(name.namespace, name.key, apart_conf(conf), at)
        if reason:
            prefix = cluster_row(name.namespace, name.key, apart_conf(conf), at, reason)
            if tables.row(CLUSTERS, prefix, ["main:label"]) is None:
                return None
        return _page(tables, name, prefix, after, count_max)

    return at_a_time(tables, name, conf, timestamp, read)


def _page(
    tables: Tables, name: Name, prefix: bytes, after: bytes | None, count_max: int
) -> Members:
    if after is not None and not after.startswith(prefix):
        raise ValueError("this page is of another cluster or clustering; begin with the first")
    count = max(1, min(count_max, MEMBERS_MAX))
    page = tables.page(MEMBERS, prefix, after=after, count_max=count + 1)
    last = page[count - 1][0] if len(page) > count else None
    return Members(_members(tables, name, [cells for _, cells in page[:count]]), last)


def at_a_time(
    tables: Tables,
    name: Name,
    conf: str,
    timestamp: int | None,
    read: Callable[[int], T | None],
) -> T | None:
    """What `read` gives of the clustering of a time, or of the one that is served; read again when another
    was served meanwhile."""
    if timestamp is not None:
        served = served_timestamp(tables, name, conf)
        return None if served is None or timestamp > served else read(timestamp)
    for _ in range(_TRIES):
        served = served_timestamp(tables, name, conf)
        if served is None:
            return None
        found = read(served)
        if found is not None or served_timestamp(tables, name, conf) == served:
            return found
    return None


def _rows(
    tables: Tables, name: Name, conf: str, timestamp: int
) -> list[tuple[bytes, dict[str, bytes]]]:
    prefix = clustering_prefix(name.namespace, name.key, conf, timestamp)
    found = []
    for row, cells in tables.scan(CLUSTERS, prefix, ["main:"]):
        found.append((row, cells))
        if len(found) >= CLUSTERS_MAX:
            break
    return found


def _row_of(tables: Tables, name: Name, conf: str, timestamp: int, label: str) -> bytes | None:
    """The row of a cluster by its label, or else by its id, or else by the name it was given."""
    row = cluster_row(name.namespace, name.key, conf, timestamp, label)
    if tables.row(CLUSTERS, row, ["main:label"]) is not None:
        return row
    prefix = clustering_prefix(name.namespace, name.key, conf, timestamp)
    called = {id_ for id_, said in names_of(tables, name, conf).items() if said == label}
    rows = [
        (row, text(cells, "main:id")) for row, cells in tables.scan(CLUSTERS, prefix, ["main:id"])
    ]
    found = [row for row, id_ in rows if id_ == label] or [
        row for row, id_ in rows if id_ in called
    ]
    return found[0] if found else None


def _curated(tables: Tables, name: Name, conf: str, level: int) -> Mapping[str, Curated]:
    """What people decided about the clusters of a level, by their ids: of the first alone they stay."""
    return {} if level else curated(tables, name, conf)


def _cluster(cells: Cells, top: Sequence[Member], told: Mapping[str, Curated]) -> Cluster:
    terms = msgspec.json.decode(text(cells, "main:terms", "[]"), type=list[tuple[str, float]])
    has_parent = "main:parent" in cells
    id_ = text(cells, "main:id")
    decided = told.get(id_)
    return Cluster(
        id_,
        text(cells, "main:label"),
        number(cells, SIZE),
        number(cells, "main:distinct"),
        tuple(terms),
        text(cells, "main:parent") if has_parent else None,
        number(cells, "main:parent_level") if has_parent else None,
        (real(cells, "main:x"), real(cells, "main:y")) if "main:x" in cells else None,
        tuple(top),
        decided.name if decided else "",
        decided is not None and decided.pinned is not None,
    )


def _tops(
    tables: Tables, name: Name, rows: Sequence[bytes], top: int
) -> dict[bytes, tuple[Member, ...]]:
    """The first members of each cluster's row; their titles are read at once."""
    count = min(top, TOP_MAX)
    pages = {row: tables.page(MEMBERS, row, count_max=count) if count > 0 else [] for row in rows}
    ranked = [cells for page in pages.values() for _, cells in page]
    told = iter(_members(tables, name, ranked))
    return {row: tuple(next(told) for _ in page) for row, page in pages.items()}


def _members(tables: Tables, name: Name, ranked: Sequence[Cells]) -> tuple[Member, ...]:
    scored = [(text(cells, "main:id"), real(cells, "main:score")) for cells in ranked]
    return titled(tables, name, scored)


def titled(tables: Tables, name: Name, scored: Sequence[tuple[str, float]]) -> tuple[Member, ...]:
    """Documents by (id, score) with what their rows say of them, in the same order."""
    keys = [name.document(id_) for id_, _ in scored]
    rows = tables.rows(DOCUMENTS, keys, _TITLE)
    return tuple(
        _member(rows.get(key, {}), id_, score)
        for key, (id_, score) in zip(keys, scored, strict=True)
    )


def _member(document: Cells, id_: str, score: float) -> Member:
    time = number(document, "main:time", -1)
    return Member(
        id_,
        score,
        text(document, "main:title"),
        text(document, "main:url"),
        None if time < 0 else time,
    )
