"""Identity over rebuilds: which cluster goes on as which, and what split, merged, began and ended.

Clusters are matched one to one so that as many documents as possible stay (the assignment problem, H. W.
Kuhn, 1955). A match counts where the two share half of the documents of either that both clusterings knew.
Only the documents known to both are looked at, so that growth alone changes no identity.
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
"""So large a share of a cluster is a part it split into."""
GROWN_MIN = 1.2


class LineageChange(StrEnum):
    """What became of a cluster between two clusterings."""

    KEPT = "kept"
    GROWN = "grown"
    SPLIT = "split"
    MERGED = "merged"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class LineageEvent:
    """`change` of the clusters `before` into the clusters `after`, by id; either may be none."""

    change: LineageChange
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lineage:
    """`ids`: the id of each cluster of the new clustering; `events`: what changed, new clusters' ids
    included."""

    ids: tuple[str, ...]
    events: tuple[LineageEvent, ...]


def create_ids(clusters: int, version: int) -> tuple[str, ...]:
    """Ids of clusters that go on from none; no two versions of a collection share one."""
    return tuple(f"{version:x}-{number}" for number in range(clusters))


def carry_ids(
    previous: Ints, ids_before: Sequence[str], after: Ints, clusters: int, version: int
) -> Lineage:
    """Identities of the clusters in `after`, out of those in `previous`.

    Both hold a cluster for each document, -1 for none or for one not known then. Raises ValueError where a
    cluster before has no id.
    """
    if len(previous) and int(previous.max()) >= len(ids_before):
        raise ValueError("a cluster before has no id")
    shared = _count_shared(previous, after, len(ids_before), clusters)
    own = create_ids(clusters, version)
    olds, news = linear_sum_assignment(-shared)
    from_old, from_new = shared.sum(axis=1), shared.sum(axis=0)
    ids = list(own)
    for old, new in zip(olds.tolist(), news.tolist(), strict=True):
        least = min(from_old[old], from_new[new])
        if shared[old, new] > 0 and shared[old, new] >= SHARED_MIN * least:
            ids[new] = ids_before[old]
    return Lineage(tuple(ids), find_events(previous, ids_before, after, ids))


def find_events(
    previous: Ints, ids_before: Sequence[str], after: Ints, ids: Sequence[str]
) -> tuple[LineageEvent, ...]:
    """What became of the clusters `previous`, given the ids that were carried on: each cluster of either side
    is told of. Both hold a cluster for each document, as in `carry_ids`."""
    shared = _count_shared(previous, after, len(ids_before), len(ids))
    places = {id_: old for old, id_ in enumerate(ids_before)}
    matched = {new: places[id_] for new, id_ in enumerate(ids) if id_ in places}
    sizes_before = np.bincount(previous[previous >= 0], minlength=len(ids_before))
    sizes = np.bincount(after[after >= 0], minlength=len(ids))
    events = _find_kept_events(matched, ids_before, sizes_before, sizes)
    events += _find_split_and_merge_events(shared, ids_before, ids)
    told_before = {id_ for event in events for id_ in event.before}
    told_after = {id_ for event in events for id_ in event.after}
    events += [LineageEvent(LineageChange.NEW, (), (id_,)) for id_ in ids if id_ not in told_after]
    events += [
        LineageEvent(LineageChange.GONE, (id_,), ()) for id_ in ids_before if id_ not in told_before
    ]
    return tuple(events)


def find_parents(fine: Ints, coarse: Ints) -> Ints:
    """For each cluster of the finer level the coarser one that holds most of it."""
    clusters = int(fine.max(initial=-1)) + 1
    shared = _count_shared(fine, coarse, clusters, int(coarse.max(initial=-1)) + 1)
    return shared.argmax(axis=1).astype(np.int64) if shared.size else np.zeros(0, np.int64)


def _count_shared(previous: Ints, after: Ints, olds: int, news: int) -> NDArray[np.int64]:
    """How many documents each pair of clusters shares: before x after."""
    both = (previous >= 0) & (after >= 0)
    keys = previous[both] * news + after[both]
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
    shared: NDArray[np.int64], ids_before: Sequence[str], ids: Sequence[str]
) -> list[LineageEvent]:
    """Clusters that split into several, and those that came of several."""
    events = []
    for old, row in enumerate(shared):
        into = np.flatnonzero((row > 0) & (row >= PART_MIN * row.sum()))
        if len(into) > 1:
            after = tuple(ids[new] for new in into.tolist())
            events.append(LineageEvent(LineageChange.SPLIT, (ids_before[old],), after))
    whole = shared.sum(axis=1, keepdims=True)
    for new in range(shared.shape[1]):
        from_ = np.flatnonzero((shared[:, new] > 0) & (2 * shared[:, new] >= whole[:, 0]))
        if len(from_) > 1:
            merged = tuple(ids_before[old] for old in from_.tolist())
            events.append(LineageEvent(LineageChange.MERGED, merged, (ids[new],)))
    return events
