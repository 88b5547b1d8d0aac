"""Read-only views of clusters, of the documents in them, and of unclustered documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypeVar

from msgspec import Meta

from fonds.grouping.columns import MAIN_FAMILY, Column
from fonds.grouping.names import DEFAULT, CollectionName, build_level_conf, build_unclustered_conf
from fonds.grouping.stored.keys import build_cluster_row, build_clustering_prefix
from fonds.grouping.tables import (
    CLUSTERS,
    DOCUMENTS,
    MEMBERS,
    Cells,
    Tables,
    decode_cell,
    decode_float,
    decode_int,
    decode_text,
)
from fonds.grouping.views.clusterings import find_served_timestamp
from fonds.grouping.views.curation import CuratedTheme, list_curated_themes, load_theme_names
from fonds.grouping.views.cursors import decode_cursor, encode_cursor

T = TypeVar("T")

MEMBERS_MAX = 1000
TOP_MAX = 100
CLUSTERS_MAX = 20_000
_ATTEMPTS = 3
_TITLE = (Column.ID, Column.TITLE, Column.URL, Column.TIME)


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """Document that is in a cluster.

    `id`: id of the document.
    `score`: cosine similarity of the document to the cluster's centroid.
    `title`, `url`: title and URL of the document; '' if it has none.
    `time`: date of the document in seconds since 1970; None if undated.
    """

    id: str
    score: float
    title: str
    url: str
    time: int | None = None


@dataclass(frozen=True, slots=True)
class ClusterView:
    """Cluster of a clustering as the pages and the API show it.

    `id`: id of the cluster; on the first level it persists over rebuilds.
    `label`: label of the cluster, unique on its level.
    `size`: number of documents.
    `distinct`: number of documents that are not near-duplicates of another.
    `terms`: characteristic terms with their log-likelihood ratios, strongest first.
    `parent`: label of the cluster on level `parent_level` that has most of its documents; None on
        the coarsest level.
    `position`: coordinates on the map of clusters, both between -1 and 1; None if none are stored,
        as on all levels but the first.
    `top`: documents with the highest scores.
    `name`: name given by a person, '' if none.
    `pinned`: whether a person pinned the cluster, so that it is listed first.
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
        """Name of the cluster for display: the name that a person gave it, or else the label."""
        return self.name or self.label


@dataclass(frozen=True, slots=True)
class LevelView:
    """Clusters of one level of granularity of a clustering, and the number of unclustered
    documents.
    """

    namespace: Annotated[str, Meta(description="namespace of the collection")]
    key: Annotated[str, Meta(description="key of the collection")]
    conf: Annotated[str, Meta(description="name of the configuration")]
    timestamp: Annotated[int, Meta(description="time of the clustering, in Unix seconds")]
    level: Annotated[
        int,
        Meta(
            description="level of the clustering: 0 for the main level, then one for each of `granularities`"
        ),
    ]
    clusters: Annotated[tuple[ClusterView, ...], Meta(description="clusters, largest first")]
    unclustered: Annotated[
        dict[str, int], Meta(description="number of unclustered documents, by reason")
    ]

    @property
    def name(self) -> CollectionName:
        """Name of the collection: its namespace and key."""
        return CollectionName(self.namespace, self.key)


@dataclass(frozen=True, slots=True)
class ClusterMembers:
    """One page of the documents of a cluster, or of the unclustered documents with one reason."""

    namespace: Annotated[str, Meta(description="namespace of the collection")]
    key: Annotated[str, Meta(description="key of the collection")]
    conf: Annotated[str, Meta(description="name of the configuration")]
    timestamp: Annotated[int, Meta(description="time of the clustering, in Unix seconds")]
    level: Annotated[int, Meta(description="level of granularity; 0 is the coarsest")]
    cluster: Annotated[
        ClusterView | None, Meta(description="the cluster; null for unclustered documents")
    ]
    unclustered_reason: Annotated[
        str | None, Meta(description="why the documents are unclustered; null for a cluster")
    ]
    members: Annotated[
        tuple[ClusterMember, ...],
        Meta(description="documents with their scores, highest first"),
    ]
    after: Annotated[
        str | None, Meta(description="cursor of the next page, for `after`; null on the last page")
    ]


@dataclass(frozen=True, slots=True)
class MemberPage:
    """Page of the documents of a cluster, highest score first.

    `after`: token to pass as `after` for the next page; None on the last page.
    """

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
    """Return the clusters of one level of a clustering, largest first.

    Return None if the clustering or the level does not exist.

    `timestamp`: time of the clustering; None for the served one.
    `level`: number of the level (granularity); 0 is the first one.
    `top`: number of highest-scoring documents per cluster, at most 100.
    """

    def read(clustering_timestamp: int) -> LevelView | None:
        rows = _load_rows(tables, name, build_level_conf(conf, level), clustering_timestamp)
        unclustered_counts = {
            decode_text(cells, Column.LABEL): decode_int(cells, Column.SIZE)
            for _, cells in _load_rows(
                tables, name, build_unclustered_conf(conf), clustering_timestamp
            )
        }
        if not unclustered_counts or (level and not rows):
            return None
        rows.sort(key=lambda row: (-decode_int(row[1], Column.SIZE), row[0]))
        tops = _load_top_members(tables, name, [row for row, _ in rows], top)
        curation = _load_curation(tables, name, conf, level)
        clusters = tuple(_build_cluster(cells, tops.get(row, ()), curation) for row, cells in rows)
        return LevelView(
            name.namespace,
            name.key,
            conf,
            clustering_timestamp,
            level,
            clusters,
            unclustered_counts,
        )

    return read_consistently(tables, name, conf, timestamp, read)


def add_top_documents(
    tables: Tables, level: LevelView, clusters: Sequence[ClusterView], top: int = 3
) -> list[ClusterView]:
    """Return the given clusters of a level, each with its `top` highest-scoring documents.

    At most 100 documents per cluster.
    """
    name, conf = level.name, build_level_conf(level.conf, level.level)
    rows = [
        build_cluster_row(name.namespace, name.key, conf, level.timestamp, cluster.label)
        for cluster in clusters
    ]
    tops = _load_top_members(tables, name, rows, top)
    return [replace(cluster, top=tops[row]) for row, cluster in zip(rows, clusters, strict=True)]


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
    """Return one cluster by label, id or given name; None if the cluster does not exist.

    `timestamp`: time of the clustering; None for the served one.
    `level`: number of the level (granularity); 0 is the first one.
    `top`: number of highest-scoring documents to include, at most 100.
    """

    def read(clustering_timestamp: int) -> ClusterView | None:
        cluster_row = _find_row(
            tables, name, build_level_conf(conf, level), clustering_timestamp, label
        )
        cells = (
            None if cluster_row is None else tables.get_row(CLUSTERS, cluster_row, [MAIN_FAMILY])
        )
        if cluster_row is None or cells is None:
            return None
        curation = _load_curation(tables, name, conf, level)
        return _build_cluster(
            cells, _load_top_members(tables, name, [cluster_row], top)[cluster_row], curation
        )

    return read_consistently(tables, name, conf, timestamp, read)


def load_cluster_members(
    tables: Tables,
    name: CollectionName,
    label: str,
    conf: str,
    timestamp: int,
    *,
    level: int = 0,
    is_reason: bool = False,
    after: str = "",
    count_max: int = 50,
) -> ClusterMembers | None:
    """Return a page of the documents of a cluster, or of the unclustered documents with one reason.

    `label`: label, id or given name of a cluster; else a reason. `is_reason`: the label is a
        reason, even if a cluster has the same name. `timestamp`: time of the clustering.
        `after`: cursor of the page, '' for the first. `count_max`: number of documents, at most
        1,000.

    Return None if there is neither such a cluster nor such a reason. Raises ValueError for a
    cursor that is invalid or of another list of documents.
    """
    row, cluster = decode_cursor(after), None
    if not is_reason:
        cluster = find_cluster(tables, name, label, conf, timestamp, level=level, top=0)
    if cluster is None:
        page = list_unclustered_members(
            tables, name, conf, timestamp, reason=label, after=row, count_max=count_max
        )
    else:
        page = list_members(
            tables, name, cluster.label, conf, timestamp,
            level=level, after=row, count_max=count_max,
        )  # fmt: skip
    if page is None:
        return None
    return ClusterMembers(
        name.namespace,
        name.key,
        conf,
        timestamp,
        level,
        cluster,
        label if cluster is None else None,
        page.members,
        None if page.after is None else encode_cursor(page.after),
    )


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
    """Return a page of the documents of a cluster; None if the cluster does not exist.

    `label`: label, id or given name of the cluster. `timestamp`: time of the clustering; None for
        the served one. `count_max`: number of documents, at most 1,000.

    Raises ValueError for an `after` token of another cluster.
    """

    def read(clustering_timestamp: int) -> MemberPage | None:
        row = _find_row(tables, name, build_level_conf(conf, level), clustering_timestamp, label)
        if row is None:
            return None
        return _load_page(tables, name, row, after, count_max)

    return read_consistently(tables, name, conf, timestamp, read)


def list_unclustered_members(
    tables: Tables,
    name: CollectionName,
    conf: str = DEFAULT,
    timestamp: int | None = None,
    *,
    reason: str = "",
    after: bytes | None = None,
    count_max: int = 50,
) -> MemberPage | None:
    """Return a page of the unclustered documents of a clustering.

    `reason`: why they are unclustered, such as `outlier`; '' gives all, ordered by reason.
    `timestamp`: time of the clustering; None for the served one. `count_max`: number of documents,
        at most 1,000.

    Return None if the clustering or reason does not exist. Raises ValueError for an `after` token
    of another list of documents.
    """

    def read(clustering_timestamp: int) -> MemberPage | None:
        prefix = build_clustering_prefix(
            name.namespace, name.key, build_unclustered_conf(conf), clustering_timestamp
        )
        if reason:
            prefix = build_cluster_row(
                name.namespace, name.key, build_unclustered_conf(conf), clustering_timestamp, reason
            )
            if tables.get_row(CLUSTERS, prefix, [Column.LABEL]) is None:
                return None
        return _load_page(tables, name, prefix, after, count_max)

    return read_consistently(tables, name, conf, timestamp, read)


def _load_page(
    tables: Tables, name: CollectionName, prefix: bytes, after: bytes | None, count_max: int
) -> MemberPage:
    if after is not None and not after.startswith(prefix):
        raise ValueError(
            "this page token belongs to another cluster or clustering. Start with the first page"
        )
    page_size = max(1, min(count_max, MEMBERS_MAX))
    page = tables.get_page(MEMBERS, prefix, after=after, count_max=page_size + 1)
    last_row = page[page_size - 1][0] if len(page) > page_size else None
    return MemberPage(
        _build_members(tables, name, [cells for _, cells in page[:page_size]]), last_row
    )


def read_consistently(
    tables: Tables,
    name: CollectionName,
    conf: str,
    timestamp: int | None,
    load: Callable[[int], T | None],
) -> T | None:
    """Load data of a clustering, and retry if a rebuild replaces the served clustering meanwhile.

    `timestamp`: time of the clustering; None for the served one.
    `load`: function that is called with the timestamp of the clustering and returns None if it
        finds nothing. If it finds nothing and the served clustering was replaced meanwhile, it is
        called again, up to three times in all.

    Return the result of `load`. Return None without a served clustering, or for a `timestamp` later
    than that of the served one.
    """
    if timestamp is not None:
        served_timestamp = find_served_timestamp(tables, name, conf)
        return None if served_timestamp is None or timestamp > served_timestamp else load(timestamp)
    for _ in range(_ATTEMPTS):
        served_timestamp = find_served_timestamp(tables, name, conf)
        if served_timestamp is None:
            return None
        result = load(served_timestamp)
        if result is not None or find_served_timestamp(tables, name, conf) == served_timestamp:
            return result
    return None


def _load_rows(
    tables: Tables, name: CollectionName, conf: str, timestamp: int
) -> list[tuple[bytes, dict[str, bytes]]]:
    prefix = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    cluster_rows = []
    for row, cells in tables.iter_rows(CLUSTERS, prefix, [MAIN_FAMILY]):
        cluster_rows.append((row, cells))
        if len(cluster_rows) >= CLUSTERS_MAX:
            break
    return cluster_rows


def _find_row(
    tables: Tables, name: CollectionName, conf: str, timestamp: int, label: str
) -> bytes | None:
    """Return the row key of a cluster whose label, else id, else given name is `label`.

    None if there is no such cluster.
    """
    row = build_cluster_row(name.namespace, name.key, conf, timestamp, label)
    if tables.get_row(CLUSTERS, row, [Column.LABEL]) is not None:
        return row
    prefix = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    named_ids = {
        id_
        for id_, theme_name in load_theme_names(tables, name, conf).items()
        if theme_name == label
    }
    rows = [
        (row, decode_text(cells, Column.ID))
        for row, cells in tables.iter_rows(CLUSTERS, prefix, [Column.ID])
    ]
    matches = [row for row, id_ in rows if id_ == label] or [
        row for row, id_ in rows if id_ in named_ids
    ]
    return matches[0] if matches else None


def _load_curation(
    tables: Tables, name: CollectionName, conf: str, level: int
) -> Mapping[str, CuratedTheme]:
    """Return the names and pins that people gave the clusters of a level, by cluster id.

    Only first-level ids persist over rebuilds, so other levels have none.
    """
    return {} if level else list_curated_themes(tables, name, conf)


def _build_cluster(
    cells: Cells, top: Sequence[ClusterMember], curated_themes: Mapping[str, CuratedTheme]
) -> ClusterView:
    terms = decode_cell(cells.get(Column.TERMS, b"[]"), Column.TERMS, list[tuple[str, float]])
    has_parent = Column.PARENT in cells
    id_ = decode_text(cells, Column.ID)
    curation = curated_themes.get(id_)
    return ClusterView(
        id_,
        decode_text(cells, Column.LABEL),
        decode_int(cells, Column.SIZE),
        decode_int(cells, Column.DISTINCT),
        tuple(terms),
        decode_text(cells, Column.PARENT) if has_parent else None,
        decode_int(cells, Column.PARENT_LEVEL) if has_parent else None,
        (decode_float(cells, Column.X), decode_float(cells, Column.Y))
        if Column.X in cells
        else None,
        tuple(top),
        curation.name if curation else "",
        curation is not None and curation.pinned is not None,
    )


def _load_top_members(
    tables: Tables, name: CollectionName, rows: Sequence[bytes], top: int
) -> dict[bytes, tuple[ClusterMember, ...]]:
    """Return the highest-scoring documents of each cluster, by the cluster's row key.

    The titles of all documents are read in one request.
    """
    count = min(top, TOP_MAX)
    pages = {
        row: tables.get_page(MEMBERS, row, count_max=count) if count > 0 else [] for row in rows
    }
    ranked_cells = [cells for page in pages.values() for _, cells in page]
    members = iter(_build_members(tables, name, ranked_cells))
    return {row: tuple(next(members) for _ in page) for row, page in pages.items()}


def _build_members(
    tables: Tables, name: CollectionName, documents: Sequence[Cells]
) -> tuple[ClusterMember, ...]:
    scored_ids = [
        (decode_text(cells, Column.ID), decode_float(cells, Column.SCORE)) for cells in documents
    ]
    return add_titles(tables, name, scored_ids)


def add_titles(
    tables: Tables, name: CollectionName, scores: Sequence[tuple[str, float]]
) -> tuple[ClusterMember, ...]:
    """Return the documents of (id, score) pairs with titles, URLs and dates, in the same order."""
    keys = [name.build_document_row(id_) for id_, _ in scores]
    rows = tables.get_rows(DOCUMENTS, keys, _TITLE)
    return tuple(
        _build_member(rows.get(key, {}), id_, score)
        for key, (id_, score) in zip(keys, scores, strict=True)
    )


def _build_member(document: Cells, id_: str, score: float) -> ClusterMember:
    time = decode_int(document, Column.TIME, -1)
    return ClusterMember(
        id_,
        score,
        decode_text(document, Column.TITLE),
        decode_text(document, Column.URL),
        None if time < 0 else time,
    )
