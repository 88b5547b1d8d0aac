"""Themes that may be one are pairs that lie near each other and share terms, and no others."""

from __future__ import annotations

import numpy as np

from fonds.collections.building.models import read_middles
from fonds.collections.building.rebuilding import rebuild
from fonds.collections.configurations import configuration, put
from fonds.collections.reading.alike import COSINE_MIN, Alike, Pairs
from fonds.collections.reading.clusters import Clusters, clusters
from kept_collections import NEWS, Kept, themed


def _grouped(kept: Kept, count: int) -> Clusters:
    put(kept.tables, "news", "DEFAULT", configuration({"clusters": count}))
    rebuild(kept.changes, NEWS)
    found = clusters(kept.tables, NEWS)
    assert found is not None
    return found


def test_pairs_are_exactly_those_that_are_near_and_share_a_term(kept: Kept) -> None:
    kept.changes.put(NEWS, themed(300))
    level = _grouped(kept, 15)
    found = Alike().of(kept.tables, level)
    pairs = found.nearest
    assert len(pairs) == found.total > 0
    middles = read_middles(kept.tables, NEWS, "DEFAULT", level.timestamp)
    assert middles is not None
    by_label = dict(zip(middles.labels, middles.middles, strict=True))
    expected = {}
    for at, one in enumerate(level.clusters):
        for other in level.clusters[at + 1 :]:
            first, second = by_label[one.label], by_label[other.label]
            cosine = float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))
            shared = {term for term, _ in one.terms} & {term for term, _ in other.terms}
            if cosine >= COSINE_MIN and shared:
                expected[one.id, other.id] = shared
    assert {(one.first, one.second): set(one.shared) for one in pairs} == expected
    cosines = [one.cosine for one in pairs]
    assert cosines == sorted(cosines, reverse=True)


def test_themes_that_have_nothing_in_common_are_never_suggested(kept: Kept) -> None:
    kept.changes.put(NEWS, themed(300))
    assert Alike().of(kept.tables, _grouped(kept, 5)) == Pairs((), 0)
