"""What changed from one clustering to another: which clusters stayed, grew, split, merged, came and went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from fonds.collections.names import DEFAULT, Name
from fonds.collections.reading.clusterings import served_timestamp
from fonds.collections.reading.curated import names_of
from fonds.collections.tables import ASSIGNMENTS, CLUSTERINGS, CLUSTERS, Tables, number, text
from fonds.formats.grouping.keys import clustering_prefix, parts_of_cluster


@dataclass(frozen=True, slots=True)
class Side:
    """A cluster on one side of a change; `name`: what a person called it, '' where nobody did."""

    id: str
    label: str
    size: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What became of clusters: `change` is kept, grown, split, merged, new or gone."""

    change: str
    before: tuple[Side, ...]
    after: tuple[Side, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """All changes between two clusterings of a configuration, and the share of the documents known to both
    that kept their cluster's id."""

    conf: str
    before: int
    after: int
    changes: tuple[Change, ...]
    stayed: float


def changes_between(
    tables: Tables, name: Name, conf: str = DEFAULT, *, before: int, after: int | None = None
) -> Changes | None:
    """What changed from the clustering of the time `before` to that of `after`, or to the one that is
    served; None where either is not there (any more). Reads where every document was: linear in them."""
    # Who only reads clusters does without the arithmetic.
    import numpy as np

    from fonds.grouping.lineage import events_between

    served = served_timestamp(tables, name, conf)
    later = after if after is not None else served
    if served is None or later is None or max(before, later) > served:
        return None
    old, new = _sides(tables, name, conf, before), _sides(tables, name, conf, later)
    if not (old and new):
        return None
    placed = [_members(tables, name, conf, at) for at in (before, later)]
    every = sorted(placed[0].keys() | placed[1].keys())
    olds, news = list(old), list(new)
    members = [
        np.array([place.get(labels.get(id_, ""), -1) for id_ in every], dtype=np.int64)
        for labels, place in zip(placed, (_places(olds), _places(news)), strict=True)
    ]
    ids = [[old[label].id for label in olds], [new[label].id for label in news]]
    events = events_between(members[0], ids[0], members[1], ids[1])
    by_id = [{side.id: side for side in sides.values()} for sides in (old, new)]
    told = tuple(
        Change(
            event.change,
            tuple(by_id[0][id_] for id_ in event.before),
            tuple(by_id[1][id_] for id_ in event.after),
        )
        for event in events
    )
    both = placed[0].keys() & placed[1].keys()
    stayed = sum(old[placed[0][id_]].id == new[placed[1][id_]].id for id_ in both)
    return Changes(conf, before, later, told, stayed / len(both) if both else 1.0)


def changes_told(
    tables: Tables, name: Name, conf: str, timestamp: int, before: int
) -> tuple[Change, ...]:
    """What changed from the clustering of the time `before`, as the rebuild that followed it noted: of the
    documents there were then, at the cost of the clusters alone. What is kept no more is left out."""
    events = _noted(tables, name, conf, timestamp)
    if not events:
        return ()
    old, new = (
        {side.id: side for side in _sides(tables, name, conf, at).values()}
        for at in (before, timestamp)
    )
    return tuple(
        Change(
            change,
            tuple(old[id_] for id_ in olds if id_ in old),
            tuple(new[id_] for id_ in news if id_ in new),
        )
        for change, olds, news in events
    )


def _noted(
    tables: Tables, name: Name, conf: str, timestamp: int
) -> list[tuple[str, list[str], list[str]]]:
    row = clustering_prefix(name.namespace, name.key, conf, timestamp)
    noted = text(tables.row(CLUSTERINGS, row, ["main:events"]), "main:events", "[]")
    return msgspec.json.decode(noted, type=list[tuple[str, list[str], list[str]]])


def _sides(tables: Tables, name: Name, conf: str, timestamp: int) -> dict[str, Side]:
    prefix = clustering_prefix(name.namespace, name.key, conf, timestamp)
    names = names_of(tables, name, conf)
    return {
        parts_of_cluster(row)[4]: Side(
            id_ := text(cells, "main:id"),
            text(cells, "main:label"),
            number(cells, "main:size"),
            names.get(id_, ""),
        )
        for row, cells in tables.scan(CLUSTERS, prefix, ["main:id", "main:label", "main:size"])
    }


def _members(tables: Tables, name: Name, conf: str, timestamp: int) -> Mapping[str, str]:
    """The label of each document's cluster, by its id."""
    prefix = clustering_prefix(name.namespace, name.key, conf, timestamp)
    return {
        parts_of_cluster(row)[4]: text(cells, "main:label")
        for row, cells in tables.scan(ASSIGNMENTS, prefix, ["main:label"])
    }


def _places(labels: list[str]) -> dict[str, int]:
    return {label: place for place, label in enumerate(labels)}
