"""The clusters of a clustering: labels, sizes, terms, top documents, members page by page, who is apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import msgspec

from fonds.grouping.names import DEFAULT, CollectionName, build_level_conf, build_unclustered_conf
from fonds.grouping.stored.keys import build_cluster_row, build_clustering_prefix
from fonds.grouping.tables import (
    CLUSTERS,
    DOCUMENTS,
    MEMBERS,
    SIZE,
    Cells,
    Tables,
    decode_float,
    decode_int,
    decode_text,
)
from fonds.grouping.views.clusterings import find_served_timestamp
from fonds.grouping.views.curation import CuratedTheme, list_curated_themes, load_theme_names

T = TypeVar("T")

MEMBERS_MAX = 1000
TOP_MAX = 100
CLUSTERS_MAX = 20_000
_TRIES = 3
_TITLE = ("main:id", "main:title", "main:url", "main:time")


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """A document of a cluster: its cosine to the cluster's middle, its title and address where it has any,
    and the time it is dated, in seconds since 1970, None where it has no date."""

    id: str
    score: float
    title: str
    url: str
    time: int | None = None


@dataclass(frozen=True, slots=True)
class ClusterView:
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
    top: tuple[ClusterMember, ...]
    name: str = ""
    pinned: bool = False

    @property
    def display_name(self) -> str:
        """What people call it: the name it was given, or else its label."""
        return self.name or self.label


@dataclass(frozen=True, slots=True)
class LevelView:
    """A level of a clustering: its clusters, the largest first; how many documents are apart, by reason."""

    name: CollectionName
    conf: str
    timestamp: int
    level: int
    clusters: tuple[ClusterView, ...]
    apart: dict[str, int]


@dataclass(frozen=True, slots=True)
class MemberPage:
    """A page of a cluster's documents, the highest score first; `after` is given to get the next page, None
    behind the last."""

    members: tuple[ClusterMember, ...]
    after: bytes | None


def load_clusters(
    tables: Tables,
    name: CollectionName,
    conf: str = DEFAULT,
    timestamp: int | None = None,
    *,
    level: int = 0,
    top: int = 3,
) -> LevelView | None:
    """A level of the clustering that is served, or of that of `timestamp`; None where there is none.

    `top`: how many documents of each cluster, at most 100.
    """

    def read(at: int) -> LevelView | None:
        rows = _load_rows(tables, name, build_level_conf(conf, level), at)
        apart = {
            decode_text(cells, "main:label"): decode_int(cells, SIZE)
            for _, cells in _load_rows(tables, name, build_unclustered_conf(conf), at)
        }
        if not apart or (level and not rows):
            return None
        rows.sort(key=lambda row: (-decode_int(row[1], SIZE), row[0]))
        tops = _load_top_members(tables, name, [row for row, _ in rows], top)
        told = _load_curation(tables, name, conf, level)
        found = tuple(_build_cluster(cells, tops.get(row, ()), told) for row, cells in rows)
        return LevelView(name, conf, at, level, found, apart)

    return read_consistently(tables, name, conf, timestamp, read)


def add_top_documents(
    tables: Tables, level: LevelView, clusters: Sequence[ClusterView], top: int = 3
) -> list[ClusterView]:
    """Some clusters of a level, with the documents of the highest scores of each, at most 100."""
    name, conf = level.name, build_level_conf(level.conf, level.level)
    rows = [
        build_cluster_row(name.namespace, name.key, conf, level.timestamp, one.label)
        for one in clusters
    ]
    tops = _load_top_members(tables, name, rows, top)
    return [replace(one, top=tops[row]) for row, one in zip(rows, clusters, strict=True)]


def find_cluster(
    tables: Tables,
    name: CollectionName,
    label: str,
    conf: str = DEFAULT,
    timestamp: int | None = None,
    *,
    level: int = 0,
    top: int = 10,
) -> ClusterView | None:
    """One cluster by its label, its id, or the name it was given; None where there is none."""

    def read(at: int) -> ClusterView | None:
        wanted = _find_row(tables, name, build_level_conf(conf, level), at, label)
        cells = None if wanted is None else tables.get_row(CLUSTERS, wanted, ["main:"])
        if wanted is None or cells is None:
            return None
        told = _load_curation(tables, name, conf, level)
        return _build_cluster(cells, _load_top_members(tables, name, [wanted], top)[wanted], told)

    return read_consistently(tables, name, conf, timestamp, read)


def list_members(
    tables: Tables,
    name: CollectionName,
    label: str,
    conf: str = DEFAULT,
    timestamp: int | None = None,
    *,
    level: int = 0,
    after: bytes | None = None,
    count_max: int = 50,
) -> MemberPage | None:
    """The documents of a cluster by its label, id or name, page by page; None where there is no such one. At
    most 1,000 a page. Raises ValueError for an `after` that is of another cluster."""

    def read(at: int) -> MemberPage | None:
        row = _find_row(tables, name, build_level_conf(conf, level), at, label)
        if row is None:
            return None
        return _load_page(tables, name, row, after, count_max)

    return read_consistently(tables, name, conf, timestamp, read)


def unclustered_members(
    tables: Tables,
    name: CollectionName,
    conf: str = DEFAULT,
    timestamp: int | None = None,
    *,
    reason: str = "",
    after: bytes | None = None,
    count_max: int = 50,
) -> MemberPage | None:
    """The documents in no cluster for a reason (`outlier`), or for whatever reason, those of one together, as
    `list_members` gives those of a cluster; None where there is no such clustering or reason."""

    def read(at: int) -> MemberPage | None:
        prefix = build_clustering_prefix(name.namespace, name.key, build_unclustered_conf(conf), at)
        if reason:
            prefix = build_cluster_row(
                name.namespace, name.key, build_unclustered_conf(conf), at, reason
            )
            if tables.get_row(CLUSTERS, prefix, ["main:label"]) is None:
                return None
        return _load_page(tables, name, prefix, after, count_max)

    return read_consistently(tables, name, conf, timestamp, read)


def _load_page(
    tables: Tables, name: CollectionName, prefix: bytes, after: bytes | None, count_max: int
) -> MemberPage:
    if after is not None and not after.startswith(prefix):
        raise ValueError("this page is of another cluster or clustering; begin with the first")
    count = max(1, min(count_max, MEMBERS_MAX))
    page = tables.get_page(MEMBERS, prefix, after=after, count_max=count + 1)
    last = page[count - 1][0] if len(page) > count else None
    return MemberPage(_build_members(tables, name, [cells for _, cells in page[:count]]), last)


def read_consistently(
    tables: Tables,
    name: CollectionName,
    conf: str,
    timestamp: int | None,
    load: Callable[[int], T | None],
) -> T | None:
    """What `load` gives of the clustering of a time, or of the one that is served; read again when another
    was served meanwhile."""
    if timestamp is not None:
        served = find_served_timestamp(tables, name, conf)
        return None if served is None or timestamp > served else load(timestamp)
    for _ in range(_TRIES):
        served = find_served_timestamp(tables, name, conf)
        if served is None:
            return None
        found = load(served)
        if found is not None or find_served_timestamp(tables, name, conf) == served:
            return found
    return None


def _load_rows(
    tables: Tables, name: CollectionName, conf: str, timestamp: int
) -> list[tuple[bytes, dict[str, bytes]]]:
    prefix = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    found = []
    for row, cells in tables.iter_rows(CLUSTERS, prefix, ["main:"]):
        found.append((row, cells))
        if len(found) >= CLUSTERS_MAX:
            break
    return found


def _find_row(
    tables: Tables, name: CollectionName, conf: str, timestamp: int, label: str
) -> bytes | None:
    """The row of a cluster by its label, or else by its id, or else by the name it was given."""
    row = build_cluster_row(name.namespace, name.key, conf, timestamp, label)
    if tables.get_row(CLUSTERS, row, ["main:label"]) is not None:
        return row
    prefix = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    called = {id_ for id_, said in load_theme_names(tables, name, conf).items() if said == label}
    rows = [
        (row, decode_text(cells, "main:id"))
        for row, cells in tables.iter_rows(CLUSTERS, prefix, ["main:id"])
    ]
    found = [row for row, id_ in rows if id_ == label] or [
        row for row, id_ in rows if id_ in called
    ]
    return found[0] if found else None


def _load_curation(
    tables: Tables, name: CollectionName, conf: str, level: int
) -> Mapping[str, CuratedTheme]:
    """What people decided about the clusters of a level, by their ids: of the first alone they stay."""
    return {} if level else list_curated_themes(tables, name, conf)


def _build_cluster(
    cells: Cells, top: Sequence[ClusterMember], curated_themes: Mapping[str, CuratedTheme]
) -> ClusterView:
    terms = msgspec.json.decode(
        decode_text(cells, "main:terms", "[]"), type=list[tuple[str, float]]
    )
    has_parent = "main:parent" in cells
    id_ = decode_text(cells, "main:id")
    decided = curated_themes.get(id_)
    return ClusterView(
        id_,
        decode_text(cells, "main:label"),
        decode_int(cells, SIZE),
        decode_int(cells, "main:distinct"),
        tuple(terms),
        decode_text(cells, "main:parent") if has_parent else None,
        decode_int(cells, "main:parent_level") if has_parent else None,
        (decode_float(cells, "main:x"), decode_float(cells, "main:y"))
        if "main:x" in cells
        else None,
        tuple(top),
        decided.name if decided else "",
        decided is not None and decided.pinned is not None,
    )


def _load_top_members(
    tables: Tables, name: CollectionName, rows: Sequence[bytes], top: int
) -> dict[bytes, tuple[ClusterMember, ...]]:
    """The first members of each cluster's row; their titles are read at once."""
    count = min(top, TOP_MAX)
    pages = {
        row: tables.get_page(MEMBERS, row, count_max=count) if count > 0 else [] for row in rows
    }
    ranked = [cells for page in pages.values() for _, cells in page]
    told = iter(_build_members(tables, name, ranked))
    return {row: tuple(next(told) for _ in page) for row, page in pages.items()}


def _build_members(
    tables: Tables, name: CollectionName, documents: Sequence[Cells]
) -> tuple[ClusterMember, ...]:
    scored = [
        (decode_text(cells, "main:id"), decode_float(cells, "main:score")) for cells in documents
    ]
    return add_titles(tables, name, scored)


def add_titles(
    tables: Tables, name: CollectionName, scores: Sequence[tuple[str, float]]
) -> tuple[ClusterMember, ...]:
    """Documents by (id, score) with what their rows say of them, in the same order."""
    keys = [name.build_document_row(id_) for id_, _ in scores]
    rows = tables.get_rows(DOCUMENTS, keys, _TITLE)
    return tuple(
        _build_member(rows.get(key, {}), id_, score)
        for key, (id_, score) in zip(keys, scores, strict=True)
    )


def _build_member(document: Cells, id_: str, score: float) -> ClusterMember:
    time = decode_int(document, "main:time", -1)
    return ClusterMember(
        id_,
        score,
        decode_text(document, "main:title"),
        decode_text(document, "main:url"),
        None if time < 0 else time,
    )
