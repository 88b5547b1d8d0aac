"""Lineage of clusters over rebuilds: which ones persist, split, merge, are new or gone.

Clusters of the previous and the new clustering are matched one to one, so that as many documents as
possible stay in their cluster (the assignment problem, H. W. Kuhn, 1955). A match counts if the two
clusters share at least half of the documents of the smaller one. Only documents in both clusterings
are compared, so growth alone changes no identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from fonds.grouping.algorithms.term_counts import Ints

SHARED_MIN = 0.5
PART_MIN = 0.2
"""Minimum share of a previous cluster's documents in each new cluster that it split into."""
GROWN_MIN = 1.2


class LineageChange(StrEnum):
    """Change of a cluster between two clusterings.

    A grown cluster has at least 1.2 times the documents that it had before.
    """

    KEPT = "kept"
    GROWN = "grown"
    SPLIT = "split"
    MERGED = "merged"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class LineageEvent:
    """Change from some previous clusters to some new clusters.

    `before`: ids of the previous clusters; empty if the cluster is new.
    `after`: ids of the new clusters; empty if the cluster is gone.
    """

    change: LineageChange
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lineage:
    """Cluster ids of a new clustering, and the changes of clusters since the previous clustering.

    `ids`: id of each new cluster; a cluster that continues a previous one keeps its id.
    `events`: all changes, including new clusters and those that are gone.
    """

    ids: tuple[str, ...]
    events: tuple[LineageEvent, ...]


def create_ids(clusters: int, version: int) -> tuple[str, ...]:
    """Return ids for new clusters: the version in hexadecimal, a dash, and the cluster number.

    Clusterings of a collection have different versions, so their new ids differ.
    `clusters`: number of ids.
    `version`: version of the clustering, such as its timestamp.
    """
    return tuple(f"{version:x}-{number}" for number in range(clusters))


def carry_ids(
    members_before: Ints,
    ids_before: Sequence[str],
    members_after: Ints,
    clusters: int,
    version: int,
) -> Lineage:
    """Return the ids of new clusters, carried over from the previous clusters that they continue.

    The result includes the changes of all clusters.
    `members_before`, `members_after`: previous and new cluster number of each document; -1 for none
        or for a document that is not in the clustering.
    `ids_before`: id of each previous cluster.
    `clusters`: number of new clusters.
    `version`: number of the new clustering, which is part of new ids.
    Raises ValueError if a previous cluster has no id.
    """
    if len(members_before) and int(members_before.max()) >= len(ids_before):
        raise ValueError("a previous cluster has no id")
    shared_counts = _count_shared(members_before, members_after, len(ids_before), clusters)
    new_ids = create_ids(clusters, version)
    olds, news = linear_sum_assignment(-shared_counts)
    from_old, from_new = shared_counts.sum(axis=1), shared_counts.sum(axis=0)
    ids = list(new_ids)
    for old, new in zip(olds.tolist(), news.tolist(), strict=True):
        smaller_size = min(from_old[old], from_new[new])
        if shared_counts[old, new] > 0 and shared_counts[old, new] >= SHARED_MIN * smaller_size:
            ids[new] = ids_before[old]
    return Lineage(tuple(ids), find_events(members_before, ids_before, members_after, ids))


def find_events(
    members_before: Ints, ids_before: Sequence[str], members_after: Ints, ids: Sequence[str]
) -> tuple[LineageEvent, ...]:
    """Return the changes of clusters between two clusterings, such as kept, split or gone.

    Each cluster, previous or new, is in at least one event.
    `members_before`, `members_after`: previous and new cluster number of each document; -1 for none
        or for a document that is not in the clustering.
    `ids_before`: id of each previous cluster.
    `ids`: id of each new cluster, equal to the id of the previous cluster that it continues.
    """
    shared_counts = _count_shared(members_before, members_after, len(ids_before), len(ids))
    places = {id_: old for old, id_ in enumerate(ids_before)}
    matched_clusters = {new: places[id_] for new, id_ in enumerate(ids) if id_ in places}
    sizes_before = np.bincount(members_before[members_before >= 0], minlength=len(ids_before))
    sizes = np.bincount(members_after[members_after >= 0], minlength=len(ids))
    events = _find_kept_events(matched_clusters, ids_before, sizes_before, sizes)
    events += _find_split_and_merge_events(shared_counts, ids_before, ids)
    ids_in_before = {id_ for event in events for id_ in event.before}
    ids_in_after = {id_ for event in events for id_ in event.after}
    events += [
        LineageEvent(LineageChange.NEW, (), (id_,)) for id_ in ids if id_ not in ids_in_after
    ]
    events += [
        LineageEvent(LineageChange.GONE, (id_,), ())
        for id_ in ids_before
        if id_ not in ids_in_before
    ]
    return tuple(events)


def find_parents(fine: Ints, coarse: Ints) -> Ints:
    """Return for each finer cluster the coarser cluster that has most of its documents.

    `fine`, `coarse`: finer and coarser cluster number of each document, -1 for none.
    """
    clusters = int(fine.max(initial=-1)) + 1
    shared_counts = _count_shared(fine, coarse, clusters, int(coarse.max(initial=-1)) + 1)
    return (
        shared_counts.argmax(axis=1).astype(np.int64)
        if shared_counts.size
        else np.zeros(0, np.int64)
    )


def _count_shared(
    members_before: Ints, members_after: Ints, olds: int, news: int
) -> NDArray[np.int64]:
    """Return the number of documents that each pair of clusters shares: previous x new clusters.

    `members_before`, `members_after`: previous and new cluster number of each document, -1 for
        none.
    `olds`, `news`: number of previous and new clusters.
    """
    in_both = (members_before >= 0) & (members_after >= 0)
    keys = members_before[in_both] * news + members_after[in_both]
    return np.bincount(keys, minlength=olds * news).reshape(olds, news).astype(np.int64)


def _find_kept_events(
    matches: dict[int, int], ids_before: Sequence[str], sizes_before: Ints, sizes: Ints
) -> list[LineageEvent]:
    events = []
    for new, old in sorted(matches.items()):
        is_grown = sizes[new] >= GROWN_MIN * sizes_before[old]
        change = LineageChange.GROWN if is_grown else LineageChange.KEPT
        events.append(LineageEvent(change, (ids_before[old],), (ids_before[old],)))
    return events


def _find_split_and_merge_events(
    shared_counts: NDArray[np.int64], ids_before: Sequence[str], ids: Sequence[str]
) -> list[LineageEvent]:
    """Return an event for each cluster that split into several or was merged from several.

    `shared_counts`: number of shared documents, previous x new clusters.
    `ids_before`, `ids`: ids of the previous and the new clusters.
    """
    events = []
    for old, row in enumerate(shared_counts):
        parts = np.flatnonzero((row > 0) & (row >= PART_MIN * row.sum()))
        if len(parts) > 1:
            part_ids = tuple(ids[new] for new in parts.tolist())
            events.append(LineageEvent(LineageChange.SPLIT, (ids_before[old],), part_ids))
    totals = shared_counts.sum(axis=1, keepdims=True)
    for new in range(shared_counts.shape[1]):
        sources = np.flatnonzero(
            (shared_counts[:, new] > 0) & (2 * shared_counts[:, new] >= totals[:, 0])
        )
        if len(sources) > 1:
            merged_ids = tuple(ids_before[old] for old in sources.tolist())
            events.append(LineageEvent(LineageChange.MERGED, merged_ids, (ids[new],)))
    return events
