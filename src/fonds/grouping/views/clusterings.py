"""Collections and their clusterings as they are: sizes, times, which one is served, how far a rebuild is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from fonds.grouping.clustering import (
    building_column,
    list_served_configurations,
    list_stored_clusterings,
    processed_column,
    served_column,
)
from fonds.grouping.names import DEFAULT, CollectionName, name_rebuild_lease
from fonds.grouping.stored.keys import build_namespace_prefix
from fonds.grouping.tables import (
    CLUSTERINGS,
    COLLECTION_SIZE,
    COLLECTIONS,
    MODIFIED,
    Cells,
    Tables,
    decode_int,
    decode_text,
    is_collection_row,
    iter_collection_rows,
)
from fonds.leases.leases import Leases


@dataclass(frozen=True, slots=True)
class ServedClustering:
    """What a collection has of one configuration: seconds since 1970 its clustering was rebuilt at, and a
    document was last assigned."""

    conf: str
    rebuilt: int
    processed: int


@dataclass(frozen=True, slots=True)
class CollectionView:
    """A collection: how many documents it has, when the last one was put (seconds since 1970, None before
    the first), the search that fills it, '' where it is filled by others, and its configurations."""

    name: CollectionName
    size: int
    modified: int | None
    query: str
    template: str
    served: tuple[ServedClustering, ...]


@dataclass(frozen=True, slots=True)
class ClusteringView:
    """A clustering that is served or was: `documents` it was built of, when that began and ended, how many
    `clusters` its first level has; `later` documents came since, `later_outliers` of them out of reach."""

    conf: str
    timestamp: int
    is_served: bool
    levels: int
    documents: int
    clusters: int
    begun: int
    ended: int
    later: int
    later_outliers: int
    configuration: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RebuildProgress:
    """How far a rebuild is: the stage by name, `done` documents of `total` (0 where that is not known),
    when it began and was last seen to move, and who does it; None for one that died."""

    conf: str
    timestamp: int
    stage: str
    done: int
    total: int
    begun: int
    moved: int
    who: str | None


def iter_collections(
    tables: Tables, namespace: str | None = None, after: CollectionName | None = None
) -> Iterator[CollectionView]:
    """All collections, or those of a namespace, in the order of their names, behind `after`; streamed."""
    prefix = b"" if namespace is None else build_namespace_prefix(namespace)
    behind = None if after is None else after.row
    for name, cells in iter_collection_rows(tables, prefix, after=behind):
        yield _parse_collection(name, cells)


def find_collection(tables: Tables, name: CollectionName) -> CollectionView | None:
    """One collection; None where there is none."""
    cells = tables.get_row(COLLECTIONS, name.row, ["main:"])
    return (
        _parse_collection(name, cells) if cells is not None and is_collection_row(cells) else None
    )


def find_served_timestamp(tables: Tables, name: CollectionName, conf: str = DEFAULT) -> int | None:
    """The time of the clustering that is served; None where none was built yet."""
    cells = tables.get_row(COLLECTIONS, name.row, [served_column(conf)])
    return None if not cells else decode_int(cells, served_column(conf))


def list_clusterings(
    tables: Tables, name: CollectionName, conf: str | None = None
) -> list[ClusteringView]:
    """The clusterings there are of a collection, of one configuration or all, the newest first."""
    cells = tables.get_row(COLLECTIONS, name.row, ["main:"]) or {}
    found = []
    for one in list_stored_clusterings(tables, name):
        serving = decode_int(cells, served_column(one.conf), -1)
        if conf in (None, one.conf) and one.timestamp <= serving:
            row = tables.get_row(CLUSTERINGS, one.row, ["main:"]) or {}
            found.append(_parse_clustering(row, one.timestamp == serving))
    return sorted(found, key=lambda one: (one.conf, -one.timestamp))


def list_progress(tables: Tables, leases: Leases, name: CollectionName) -> list[RebuildProgress]:
    """The rebuilds of a collection that have begun and not ended."""
    cells = tables.get_row(COLLECTIONS, name.row, ["main:"]) or {}
    found = []
    for one in list_stored_clusterings(tables, name):
        if decode_int(cells, building_column(one.conf), -1) != one.timestamp:
            continue
        row = tables.get_row(CLUSTERINGS, one.row, ["main:"])
        found.append(
            RebuildProgress(
                one.conf,
                one.timestamp,
                decode_text(row, "main:stage", "begun"),
                decode_int(row, "main:done"),
                decode_int(row, "main:total"),
                decode_int(row, "main:begun"),
                decode_int(row, "main:moved"),
                leases.get_holder(name_rebuild_lease(name, one.conf)),
            )
        )
    return found


def _parse_collection(name: CollectionName, cells: Cells) -> CollectionView:
    confs = list_served_configurations(cells)
    return CollectionView(
        name,
        decode_int(cells, COLLECTION_SIZE),
        decode_int(cells, MODIFIED, -1) if MODIFIED in cells else None,
        decode_text(cells, "main:query"),
        decode_text(cells, "main:template"),
        tuple(
            ServedClustering(conf, at, decode_int(cells, processed_column(conf)))
            for conf, at in confs.items()
        ),
    )


def _parse_clustering(row: Cells, is_served: bool) -> ClusteringView:
    return ClusteringView(
        decode_text(row, "main:conf"),
        decode_int(row, "main:timestamp"),
        is_served,
        decode_int(row, "main:levels"),
        decode_int(row, "main:documents"),
        decode_int(row, "main:clusters"),
        decode_int(row, "main:begun"),
        decode_int(row, "main:ended"),
        decode_int(row, "main:later"),
        decode_int(row, "main:later_outliers"),
        msgspec.json.decode(decode_text(row, "main:configuration", "{}")),
    )
