"""What changed from one clustering to another: which clusters stayed, grew, split, merged, came and went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from fonds.grouping.names import DEFAULT, CollectionName
from fonds.grouping.stored.keys import build_clustering_prefix, parse_cluster_row
from fonds.grouping.tables import (
    ASSIGNMENTS,
    CLUSTERINGS,
    CLUSTERS,
    Tables,
    decode_int,
    decode_text,
)
from fonds.grouping.views.clusterings import find_served_timestamp
from fonds.grouping.views.curation import load_theme_names


@dataclass(frozen=True, slots=True)
class ChangeSide:
    """A cluster on one side of a change; `name`: what a person called it, '' where nobody did."""

    id: str
    label: str
    size: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """What became of clusters: `change` is kept, grown, split, merged, new or gone."""

    change: str
    before: tuple[ChangeSide, ...]
    after: tuple[ChangeSide, ...]


@dataclass(frozen=True, slots=True)
class ClusteringChanges:
    """All changes between two clusterings of a configuration, and the share of the documents known to both
    that kept their cluster's id."""

    conf: str
    before: int
    after: int
    changes: tuple[ClusterChange, ...]
    stayed: float


def compare_clusterings(
    tables: Tables,
    name: CollectionName,
    conf: str = DEFAULT,
    *,
    previous_timestamp: int,
    after: int | None = None,
) -> ClusteringChanges | None:
    """What changed from the clustering of the time `previous_timestamp` to that of `after`, or to the one
    that is served; None where either is not there (any more). Reads where every document was: linear in
    them."""
    # Who only reads clusters does without the arithmetic.
    import numpy as np

    from fonds.grouping.algorithms.lineage import find_events

    served = find_served_timestamp(tables, name, conf)
    later = after if after is not None else served
    if served is None or later is None or max(previous_timestamp, later) > served:
        return None
    old, new = (
        _load_sides(tables, name, conf, previous_timestamp),
        _load_sides(tables, name, conf, later),
    )
    if not (old and new):
        return None
    placed = [_load_memberships(tables, name, conf, at) for at in (previous_timestamp, later)]
    every = sorted(placed[0].keys() | placed[1].keys())
    olds, news = list(old), list(new)
    members = [
        np.array([place.get(labels.get(id_, ""), -1) for id_ in every], dtype=np.int64)
        for labels, place in zip(placed, (_number_labels(olds), _number_labels(news)), strict=True)
    ]
    ids = [[old[label].id for label in olds], [new[label].id for label in news]]
    events = find_events(members[0], ids[0], members[1], ids[1])
    by_id = [{side.id: side for side in sides.values()} for sides in (old, new)]
    told = tuple(
        ClusterChange(
            event.change,
            tuple(by_id[0][id_] for id_ in event.before),
            tuple(by_id[1][id_] for id_ in event.after),
        )
        for event in events
    )
    both = placed[0].keys() & placed[1].keys()
    stayed = sum(old[placed[0][id_]].id == new[placed[1][id_]].id for id_ in both)
    return ClusteringChanges(
        conf, previous_timestamp, later, told, stayed / len(both) if both else 1.0
    )


def list_recorded_changes(
    tables: Tables, name: CollectionName, conf: str, timestamp: int, previous_timestamp: int
) -> tuple[ClusterChange, ...]:
    """What changed from the clustering of the time `previous_timestamp`, as the rebuild that followed it
    noted: of the documents there were then, at the cost of the clusters alone. What is kept no more is
    left out."""
    events = _load_events(tables, name, conf, timestamp)
    if not events:
        return ()
    old, new = (
        {side.id: side for side in _load_sides(tables, name, conf, at).values()}
        for at in (previous_timestamp, timestamp)
    )
    return tuple(
        ClusterChange(
            change,
            tuple(old[id_] for id_ in olds if id_ in old),
            tuple(new[id_] for id_ in news if id_ in new),
        )
        for change, olds, news in events
    )


def _load_events(
    tables: Tables, name: CollectionName, conf: str, timestamp: int
) -> list[tuple[str, list[str], list[str]]]:
    row = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    noted = decode_text(tables.get_row(CLUSTERINGS, row, ["main:events"]), "main:events", "[]")
    return msgspec.json.decode(noted, type=list[tuple[str, list[str], list[str]]])


def _load_sides(
    tables: Tables, name: CollectionName, conf: str, timestamp: int
) -> dict[str, ChangeSide]:
    prefix = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    names = load_theme_names(tables, name, conf)
    return {
        parse_cluster_row(row)[4]: ChangeSide(
            id_ := decode_text(cells, "main:id"),
            decode_text(cells, "main:label"),
            decode_int(cells, "main:size"),
            names.get(id_, ""),
        )
        for row, cells in tables.iter_rows(CLUSTERS, prefix, ["main:id", "main:label", "main:size"])
    }


def _load_memberships(
    tables: Tables, name: CollectionName, conf: str, timestamp: int
) -> Mapping[str, str]:
    """The label of each document's cluster, by its id."""
    prefix = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    return {
        parse_cluster_row(row)[4]: decode_text(cells, "main:label")
        for row, cells in tables.iter_rows(ASSIGNMENTS, prefix, ["main:label"])
    }


def _number_labels(labels: list[str]) -> dict[str, int]:
    return {label: place for place, label in enumerate(labels)}
