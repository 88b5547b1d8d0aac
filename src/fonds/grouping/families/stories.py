"""Stories: many and tight. A document joins the nearest story in reach, or leads a new one.

Documents come by time, those of one time by rank. With a half-life, a story that has slept must be nearer. A
second pass puts every document to the story it is nearest to by then, and stories too small are none.

Bound: 20,000 stories are open at once, the one that slept longest is closed first; two passes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fonds.grouping.families.partition import NONE, Partition, Prepared, centroids, without_gaps
from fonds.grouping.options import Options
from fonds.grouping.space.projecting import Vectors
from fonds.grouping.space.weighting import Floats
from fonds.grouping.text.counting import Ints

OPEN_MAX = 20_000
_AT_ONCE = 512


def stories(prepared: Prepared, options: Options) -> Partition:
    """The stories; a document that is alone is in none."""
    times = prepared.times_s
    order = np.arange(len(prepared.vectors)) if times is None else np.argsort(times, kind="stable")
    led = _Open(prepared.vectors.width)
    members = np.full(len(order), NONE, dtype=np.int64)
    for at in range(0, len(order), _AT_ONCE):
        some = order[at : at + _AT_ONCE]
        members[some] = led.join(
            prepared.vectors.of(some), None if times is None else times[some], options
        )
    if options.half_life_s is None:
        members = _settled(prepared.vectors, members, options.threshold)
    sizes = np.bincount(members[members >= 0], minlength=1)
    small = (members >= 0) & (sizes[np.maximum(members, 0)] < options.size_min)
    members[small] = NONE
    return Partition((without_gaps(members),))


class _Open:
    """The stories that may still grow: sums of their vectors, and when each was last met."""

    def __init__(self, directions: int) -> None:
        self._sums = np.zeros((0, directions), np.float32)
        self._numbers = np.zeros(0, np.int64)
        self._met = np.zeros(0, np.float64)
        self._count = 0
        self._clock = 0.0

    def join(self, vectors: Floats, times: NDArray[np.float64] | None, options: Options) -> Ints:
        """The story of each document, which are taken in order."""
        known = len(self._sums)
        near = vectors @ _unit(self._sums).T
        beside = vectors @ vectors.T
        led: list[int] = []
        chosen = np.zeros(len(vectors), dtype=np.int64)
        met: list[float] = self._met.tolist()
        for place in range(len(vectors)):
            now = self._clock + place if times is None else float(times[place])
            scores = np.concatenate((near[place], beside[place, led]))
            if options.half_life_s is not None and len(scores):
                slept = np.maximum(now - np.array(met), 0)
                scores = scores * np.exp2(-slept / options.half_life_s)
            best = int(scores.argmax()) if len(scores) else -1
            if best < 0 or scores[best] < options.threshold:
                best = known + len(led)
                led.append(place)
                met.append(now)
            met[best] = max(met[best], now)
            chosen[place] = best
        return self._grow(vectors, chosen, len(led), met)

    def _grow(self, vectors: Floats, chosen: Ints, led: int, met: list[float]) -> Ints:
        new = np.arange(self._count, self._count + led)
        self._numbers = np.concatenate((self._numbers, new))
        self._sums = np.vstack([self._sums, np.zeros((led, vectors.shape[1]), np.float32)])
        np.add.at(self._sums, chosen, vectors)
        self._met = np.array(met)
        self._count += led
        self._clock += len(vectors)
        numbers = self._numbers[chosen]
        if len(self._numbers) > OPEN_MAX:
            kept = np.sort(np.argsort(-self._met, kind="stable")[:OPEN_MAX])
            self._numbers, self._sums = self._numbers[kept], self._sums[kept]
            self._met = self._met[kept]
        return numbers


def _settled(vectors: Vectors, members: Ints, threshold: float) -> Ints:
    """Every document at the story whose centroid is nearest, where one is in reach."""
    places = centroids(vectors, members, int(members.max()) + 1)
    settled = members.copy()
    for at in range(0, len(vectors), _AT_ONCE):
        some = slice(at, min(at + _AT_ONCE, len(vectors)))
        near = vectors.of(some) @ places.T
        best = near.argmax(axis=1)
        reached = near[np.arange(len(best)), best] >= threshold
        settled[some][reached] = best[reached]
    return settled


def _unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return unit
