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

from fonds.grouping.text.counting import Ints

SHARED_MIN = 0.5
PART_MIN = 0.2
"""So large a share of a cluster is a part it split into."""
GROWN_MIN = 1.2


class Change(StrEnum):
    """What became of a cluster between two clusterings."""

    KEPT = "kept"
    GROWN = "grown"
    SPLIT = "split"
    MERGED = "merged"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Event:
    """`change` of the clusters `before` into the clusters `after`, by id; either may be none."""

    change: Change
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lineage:
    """`ids`: the id of each cluster of the new clustering; `events`: what changed, new clusters' ids
    included."""

    ids: tuple[str, ...]
    events: tuple[Event, ...]


def fresh_ids(clusters: int, version: int) -> tuple[str, ...]:
    """Ids of clusters that go on from none; no two versions of a collection share one."""
    return tuple(f"{version:x}-{number}" for number in range(clusters))


def carried(
    before: Ints, ids_before: Sequence[str], after: Ints, clusters: int, version: int
) -> Lineage:
    """Identities of the clusters in `after`, out of those in `before`.

    Both hold a cluster for each document, -1 for none or for one not known then. Raises ValueError where a
    cluster before has no id.
    """
    if len(before) and int(before.max()) >= len(ids_before):
        raise ValueError("a cluster before has no id")
    shared = _shared(before, after, len(ids_before), clusters)
    own = fresh_ids(clusters, version)
    olds, news = linear_sum_assignment(-shared)
    from_old, from_new = shared.sum(axis=1), shared.sum(axis=0)
    ids = list(own)
    for old, new in zip(olds.tolist(), news.tolist(), strict=True):
        least = min(from_old[old], from_new[new])
        if shared[old, new] > 0 and shared[old, new] >= SHARED_MIN * least:
            ids[new] = ids_before[old]
    return Lineage(tuple(ids), events_between(before, ids_before, after, ids))


def events_between(
    before: Ints, ids_before: Sequence[str], after: Ints, ids: Sequence[str]
) -> tuple[Event, ...]:
    """What became of the clusters `before`, given the ids that were carried on: each cluster of either side
    is told of. Both hold a cluster for each document, as in `carried`."""
    shared = _shared(before, after, len(ids_before), len(ids))
    places = {id_: old for old, id_ in enumerate(ids_before)}
    matched = {new: places[id_] for new, id_ in enumerate(ids) if id_ in places}
    sizes_before = np.bincount(before[before >= 0], minlength=len(ids_before))
    sizes = np.bincount(after[after >= 0], minlength=len(ids))
    events = _kept(matched, ids_before, sizes_before, sizes)
    events += _parted(shared, ids_before, ids)
    told_before = {id_ for event in events for id_ in event.before}
    told_after = {id_ for event in events for id_ in event.after}
    events += [Event(Change.NEW, (), (id_,)) for id_ in ids if id_ not in told_after]
    events += [Event(Change.GONE, (id_,), ()) for id_ in ids_before if id_ not in told_before]
    return tuple(events)


def parents(fine: Ints, coarse: Ints) -> Ints:
    """For each cluster of the finer level the coarser one that holds most of it."""
    clusters = int(fine.max(initial=-1)) + 1
    shared = _shared(fine, coarse, clusters, int(coarse.max(initial=-1)) + 1)
    return shared.argmax(axis=1).astype(np.int64) if shared.size else np.zeros(0, np.int64)


def _shared(before: Ints, after: Ints, olds: int, news: int) -> NDArray[np.int64]:
    """How many documents each pair of clusters shares: before x after."""
    both = (before >= 0) & (after >= 0)
    keys = before[both] * news + after[both]
    return np.bincount(keys, minlength=olds * news).reshape(olds, news).astype(np.int64)


def _kept(
    matched: dict[int, int], ids_before: Sequence[str], sizes_before: Ints, sizes: Ints
) -> list[Event]:
    events = []
    for new, old in sorted(matched.items()):
        is_grown = sizes[new] >= GROWN_MIN * sizes_before[old]
        change = Change.GROWN if is_grown else Change.KEPT
        events.append(Event(change, (ids_before[old],), (ids_before[old],)))
    return events


def _parted(
    shared: NDArray[np.int64], ids_before: Sequence[str], ids: Sequence[str]
) -> list[Event]:
    """Clusters that split into several, and those that came of several."""
    events = []
    for old, row in enumerate(shared):
        into = np.flatnonzero((row > 0) & (row >= PART_MIN * row.sum()))
        if len(into) > 1:
            after = tuple(ids[new] for new in into.tolist())
            events.append(Event(Change.SPLIT, (ids_before[old],), after))
    whole = shared.sum(axis=1, keepdims=True)
    for new in range(shared.shape[1]):
        from_ = np.flatnonzero((shared[:, new] > 0) & (2 * shared[:, new] >= whole[:, 0]))
        if len(from_) > 1:
            merged = tuple(ids_before[old] for old in from_.tolist())
            events.append(Event(Change.MERGED, merged, (ids[new],)))
    return events
