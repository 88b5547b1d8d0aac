"""Read-only view of lineage: how clusters changed between two clusterings of a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from fonds.grouping.columns import Column
from fonds.grouping.names import DEFAULT, CollectionName
from fonds.grouping.stored.keys import build_clustering_prefix, parse_cluster_row
from fonds.grouping.tables import (
    ASSIGNMENTS,
    CLUSTERINGS,
    CLUSTERS,
    Tables,
    decode_cell,
    decode_int,
    decode_text,
)
from fonds.grouping.views.clusterings import find_served_timestamp
from fonds.grouping.views.curation import load_theme_names


@dataclass(frozen=True, slots=True)
class ChangeSide:
    """Cluster before or after a change. `name`: name that a person gave it, '' if none."""

    id: str
    label: str
    size: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """Change of clusters between two clusterings.

    - `change`: kept, grown, split, merged, new or gone.
    - `before`, `after`: the clusters of the earlier and of the later clustering that are involved.
    """

    change: str
    before: tuple[ChangeSide, ...]
    after: tuple[ChangeSide, ...]


@dataclass(frozen=True, slots=True)
class ClusteringChanges:
    """Changes of all clusters between two clusterings of a configuration."""

    namespace: Annotated[str, Meta(description="namespace of the collection")]
    key: Annotated[str, Meta(description="key of the collection")]
    conf: Annotated[str, Meta(description="name of the configuration")]
    before: Annotated[int, Meta(description="time of the earlier clustering, in Unix seconds")]
    after: Annotated[int, Meta(description="time of the later clustering, in Unix seconds")]
    changes: Annotated[
        tuple[ClusterChange, ...],
        Meta(description="changes of clusters: kept, grown, split, merged, new or gone"),
    ]
    stayed: Annotated[
        float, Meta(description="share of the documents in both that kept the id of their cluster")
    ]


def compare_clusterings(
    tables: Tables,
    name: CollectionName,
    conf: str = DEFAULT,
    *,
    previous_timestamp: int,
    new_timestamp: int | None = None,
) -> ClusteringChanges | None:
    """Compare the first-level clusters of two clusterings of a configuration.

    `previous_timestamp`: time of the earlier clustering. `new_timestamp`: time of the later one;
        None for the served one.

    Return None if either clustering does not exist. Reads the assignment of every document, so the
    duration is linear in their number.
    """
    # Imported here, because the other functions of this module need no numeric libraries.
    import numpy as np

    from fonds.grouping.algorithms.lineage import find_events

    served_timestamp = find_served_timestamp(tables, name, conf)
    later_timestamp = new_timestamp if new_timestamp is not None else served_timestamp
    if (
        served_timestamp is None
        or later_timestamp is None
        or max(previous_timestamp, later_timestamp) > served_timestamp
    ):
        return None
    old_sides, new_sides = (
        _load_sides(tables, name, conf, previous_timestamp),
        _load_sides(tables, name, conf, later_timestamp),
    )
    if not (old_sides and new_sides):
        return None
    memberships = [
        _load_memberships(tables, name, conf, timestamp)
        for timestamp in (previous_timestamp, later_timestamp)
    ]
    document_ids = sorted(memberships[0].keys() | memberships[1].keys())
    old_labels, new_labels = list(old_sides), list(new_sides)
    members = [
        np.array([numbers.get(labels.get(id_, ""), -1) for id_ in document_ids], dtype=np.int64)
        for labels, numbers in zip(
            memberships, (_number_labels(old_labels), _number_labels(new_labels)), strict=True
        )
    ]
    ids = [
        [old_sides[label].id for label in old_labels],
        [new_sides[label].id for label in new_labels],
    ]
    events = find_events(members[0], ids[0], members[1], ids[1])
    by_id = [{side.id: side for side in sides.values()} for sides in (old_sides, new_sides)]
    changes = tuple(
        ClusterChange(
            event.change,
            tuple(by_id[0][id_] for id_ in event.before),
            tuple(by_id[1][id_] for id_ in event.after),
        )
        for event in events
    )
    common_ids = memberships[0].keys() & memberships[1].keys()
    stayed_count = sum(
        old_sides[memberships[0][id_]].id == new_sides[memberships[1][id_]].id for id_ in common_ids
    )
    return ClusteringChanges(
        name.namespace,
        name.key,
        conf,
        previous_timestamp,
        later_timestamp,
        changes,
        stayed_count / len(common_ids) if common_ids else 1.0,
    )


def list_recorded_changes(
    tables: Tables, name: CollectionName, conf: str, timestamp: int, previous_timestamp: int
) -> tuple[ClusterChange, ...]:
    """Return the changes of clusters that the rebuild of `timestamp` recorded.

    The rebuild compared its clustering with that of `previous_timestamp`. The changes cover the
    documents at the time of the rebuild. Only the clusters are read, so this is fast. Clusters that
    are no longer stored are left out.
    """
    events = _load_events(tables, name, conf, timestamp)
    if not events:
        return ()
    old_sides, new_sides = (
        {side.id: side for side in _load_sides(tables, name, conf, side_timestamp).values()}
        for side_timestamp in (previous_timestamp, timestamp)
    )
    return tuple(
        ClusterChange(
            change,
            tuple(old_sides[id_] for id_ in olds if id_ in old_sides),
            tuple(new_sides[id_] for id_ in news if id_ in new_sides),
        )
        for change, olds, news in events
    )


def _load_events(
    tables: Tables, name: CollectionName, conf: str, timestamp: int
) -> list[tuple[str, list[str], list[str]]]:
    row = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    cells = tables.get_row(CLUSTERINGS, row, [Column.EVENTS]) or {}
    events: list[tuple[str, list[str], list[str]]] = decode_cell(
        cells.get(Column.EVENTS, b"[]"), Column.EVENTS, list[tuple[str, list[str], list[str]]]
    )
    return events


def _load_sides(
    tables: Tables, name: CollectionName, conf: str, timestamp: int
) -> dict[str, ChangeSide]:
    prefix = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    names = load_theme_names(tables, name, conf)
    return {
        parse_cluster_row(row)[4]: ChangeSide(
            id_ := decode_text(cells, Column.ID),
            decode_text(cells, Column.LABEL),
            decode_int(cells, Column.SIZE),
            names.get(id_, ""),
        )
        for row, cells in tables.iter_rows(CLUSTERS, prefix, [Column.ID, Column.LABEL, Column.SIZE])
    }


def _load_memberships(
    tables: Tables, name: CollectionName, conf: str, timestamp: int
) -> Mapping[str, str]:
    """Return the label of each document's first-level cluster in a clustering, by document id."""
    prefix = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    return {
        parse_cluster_row(row)[4]: decode_text(cells, Column.LABEL)
        for row, cells in tables.iter_rows(ASSIGNMENTS, prefix, [Column.LABEL])
    }


def _number_labels(labels: list[str]) -> dict[str, int]:
    return {label: place for place, label in enumerate(labels)}
