"""The rows of a new clustering: its clusters, and every document's place. Nobody sees them as yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from fonds.collections.building.maps import positions
from fonds.collections.building.reading_in import ReadIn
from fonds.collections.changing.moving import cluster_key, join_cells
from fonds.collections.changing.placement import REASONS, Placement
from fonds.collections.clusterings import Known
from fonds.collections.names import apart_conf, level_conf
from fonds.collections.tables import (
    CLUSTERS,
    SIZE,
    Tables,
    real,
    score_text,
    text,
    to_json,
    utf8,
)
from fonds.formats.grouping.keys import clustering_prefix
from fonds.grouping.clustering import Apart, Cluster, Clustering, Level
from fonds.grouping.families.partition import NONE
from fonds.grouping.text.duplicates import EMPTY

DOCUMENTS_AT_ONCE = 1000
_REASONS = {Apart.EMPTY: "empty", Apart.OUTLIER: "outlier"}


def labels_of(level: Level) -> list[str]:
    """The label of each cluster, its id where it has none; none twice."""
    taken: set[str] = set()
    labels = []
    for cluster in level.clusters:
        label = plain = cluster.label.strip() or cluster.id
        further = 2
        while label in taken:
            label, further = f"{plain} ({further})", further + 1
        taken.add(label)
        labels.append(label)
    return labels


Placed = tuple[str, Placement]
"""A document by its id, and where it is on one level, or apart."""


def put_rows(
    tables: Tables,
    one: Known,
    read: ReadIn,
    made: Clustering,
    labels: Sequence[Sequence[str]],
    before: Known | None,
) -> Iterator[Placed]:
    """Write the clusters of all levels, and those apart; where documents are, to be put by `put_places`."""
    where = _positions_before(tables, before)
    for number, level in enumerate(made.levels):
        _put_clusters(tables, one, number, made, level, labels, where)
    apart = _apart(read, made)
    _put_apart(tables, one, apart)
    return _all_placements(one, read, made, labels, apart)


def put_places(
    tables: Tables, one: Known, placed: Iterator[Placed], progress: Callable[[int], None]
) -> None:
    """Write where documents are; `progress` is told how many places were written."""
    written = 0
    for batch in batches(placed):
        put_batch(tables, one, batch)
        written += len(batch)
        progress(written)


def _put_clusters(
    tables: Tables,
    one: Known,
    number: int,
    made: Clustering,
    level: Level,
    labels: Sequence[Sequence[str]],
    where: Mapping[str, tuple[float, float]],
) -> None:
    conf = level_conf(one.conf, number)
    ids = [cluster.id for cluster in level.clusters]
    first = number == 0 and len(made.model.centroids) == len(ids)
    flat = positions(made.model.centroids, ids, where) if first else None
    over = _coarser(made.levels, level)
    rows = []
    for at, cluster in enumerate(level.clusters):
        cells = _cluster_cells(one, number, cluster, labels[number][at])
        if over is not None and cluster.parent is not None:
            cells["main:parent"] = utf8(labels[over][cluster.parent])
            cells["main:parent_level"] = utf8(over)
        if flat is not None:
            cells["main:x"], cells["main:y"] = (f"{value:.4f}".encode() for value in flat[at])
        rows.append((cluster_key(one.name, conf, one.timestamp, labels[number][at]), cells))
    tables.put(CLUSTERS, rows)


def _cluster_cells(one: Known, level: int, cluster: Cluster, label: str) -> dict[str, bytes]:
    return {
        **_head(one, label, cluster.size),
        "main:level": utf8(level),
        "main:id": utf8(cluster.id),
        "main:distinct": utf8(cluster.distinct),
        "main:terms": to_json([[term, round(score, 2)] for term, score in cluster.terms]),
    }


def _head(one: Known, label: str, size: int) -> dict[str, bytes]:
    return {
        "main:namespace": utf8(one.name.namespace),
        "main:collection_key": utf8(one.name.key),
        "main:conf": utf8(one.conf),
        "main:timestamp": utf8(one.timestamp),
        "main:label": utf8(label),
        SIZE: utf8(size),
    }


def _put_apart(tables: Tables, one: Known, apart: Mapping[str, str]) -> None:
    counted = list(apart.values())
    rows = [
        (
            cluster_key(one.name, apart_conf(one.conf), one.timestamp, reason),
            _head(one, reason, counted.count(reason)),
        )
        for reason in REASONS
    ]
    tables.put(CLUSTERS, rows)


def _apart(read: ReadIn, made: Clustering) -> dict[str, str]:
    """Why each document is apart that is, by id."""
    found = dict(read.apart)
    for at, member in enumerate(made.levels[0].members.tolist()):
        if member == NONE:
            is_empty = made.originals[at] == EMPTY
            found[read.ids[at]] = _REASONS[Apart.EMPTY if is_empty else Apart.OUTLIER]
    return found


def _all_placements(
    one: Known,
    read: ReadIn,
    made: Clustering,
    labels: Sequence[Sequence[str]],
    apart: Mapping[str, str],
) -> Iterator[Placed]:
    originals = made.originals.tolist()
    for number, level in enumerate(made.levels):
        conf = level_conf(one.conf, number)
        scores = level.scores.tolist()
        for at, member in enumerate(level.members.tolist()):
            if member != NONE:
                original = "" if originals[at] == at else read.ids[originals[at]]
                score = score_text(scores[at])
                yield read.ids[at], Placement(conf, labels[number][member], score, original)
    for id_, reason in apart.items():
        yield id_, Placement(apart_conf(one.conf), reason, score_text(0.0))


def put_batch(tables: Tables, one: Known, batch: Sequence[Placed]) -> None:
    """Write where some documents are."""
    puts: dict[str, dict[bytes, dict[str, bytes]]] = {}
    for id_, placement in batch:
        for table, row, cells in join_cells(one, id_, placement):
            puts.setdefault(table, {}).setdefault(row, {}).update(cells)
    for table, rows in puts.items():
        tables.put(table, list(rows.items()))


def _positions_before(tables: Tables, before: Known | None) -> dict[str, tuple[float, float]]:
    if before is None:
        return {}
    prefix = clustering_prefix(
        before.name.namespace, before.name.key, before.conf, before.timestamp
    )
    return {
        text(cells, "main:id"): (real(cells, "main:x"), real(cells, "main:y"))
        for _, cells in tables.scan(CLUSTERS, prefix, ["main:id", "main:x", "main:y"])
        if "main:x" in cells
    }


def _coarser(levels: Sequence[Level], level: Level) -> int | None:
    """The number of the next coarser level."""
    counts = {len(one.clusters): at for at, one in reversed(list(enumerate(levels)))}
    above = max((count for count in counts if count < len(level.clusters)), default=None)
    return None if above is None else counts[above]


def batches(placed: Iterator[Placed]) -> Iterator[list[Placed]]:
    """So many places as are written at once."""
    while batch := list(islice(placed, DOCUMENTS_AT_ONCE)):
        yield batch
