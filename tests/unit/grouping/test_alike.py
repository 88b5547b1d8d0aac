"""Similar pairs are exactly the pairs of clusters that are near each other and share terms."""

from __future__ import annotations

import numpy as np
import pytest

from fonds.grouping.clustering_model import read_centroids
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.views import similar_clusters
from fonds.grouping.views.clusters import LevelView, load_clusters
from fonds.grouping.views.similar_clusters import (
    COSINE_MIN,
    SHARED_TERMS_MIN,
    SimilarPairs,
    SimilarPairsCache,
    find_similar_pairs,
)
from kept_collections import NEWS, CollectionStore, themed_documents


def _grouped(kept: CollectionStore, count: int) -> LevelView:
    save_configuration(kept.tables, "news", "DEFAULT", build_configuration({"clusters": count}))
    rebuild(kept.changes, NEWS)
    clusters = load_clusters(kept.tables, NEWS)
    assert clusters is not None
    return clusters


def test_pairs_are_exactly_those_that_are_near_and_share_terms(kept: CollectionStore) -> None:
    kept.changes.put(NEWS, themed_documents(300))
    level = _grouped(kept, 15)
    found = find_similar_pairs(kept.tables, level)
    assert len(found.nearest) == found.total > 0
    middles = read_centroids(kept.tables, NEWS, "DEFAULT", level.timestamp)
    assert middles is not None
    by_label = dict(zip(middles.labels, middles.centroids, strict=True))
    expected = {}
    for at, one in enumerate(level.clusters):
        for cluster in level.clusters[at + 1 :]:
            first, second = by_label[one.label], by_label[cluster.label]
            cosine = float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))
            shared = {term for term, _ in one.terms} & {term for term, _ in cluster.terms}
            if cosine >= COSINE_MIN and len(shared) >= SHARED_TERMS_MIN:
                expected[one.id, cluster.id] = shared
    assert {(pair.first, pair.second): set(pair.shared_terms) for pair in found.nearest} == expected
    cosines = [pair.cosine for pair in found.nearest]
    assert cosines == sorted(cosines, reverse=True)


@pytest.mark.parametrize("terms_min", [1, 3, 11])
def test_pairs_share_at_least_the_required_number_of_terms(
    kept: CollectionStore, monkeypatch: pytest.MonkeyPatch, terms_min: int
) -> None:
    kept.changes.put(NEWS, themed_documents(300))
    level = _grouped(kept, 15)
    monkeypatch.setattr(similar_clusters, "SHARED_TERMS_MIN", 1)
    every = find_similar_pairs(kept.tables, level).nearest
    monkeypatch.setattr(similar_clusters, "SHARED_TERMS_MIN", terms_min)
    found = find_similar_pairs(kept.tables, level).nearest
    assert found == tuple(pair for pair in every if len(pair.shared_terms) >= terms_min)


def test_limits_keep_the_nearest_pairs_of_the_largest_clusters(
    kept: CollectionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.changes.put(NEWS, themed_documents(300))
    level = _grouped(kept, 15)
    every = find_similar_pairs(kept.tables, level)
    monkeypatch.setattr(similar_clusters, "_BLOCK_ROWS", 4)
    by_block = find_similar_pairs(kept.tables, level)
    assert {(p.first, p.second) for p in by_block.nearest} == {
        (p.first, p.second) for p in every.nearest
    }
    monkeypatch.setattr(similar_clusters, "PAIRS_MAX", 2)
    assert find_similar_pairs(kept.tables, level) == SimilarPairs(by_block.nearest[:2], every.total)
    monkeypatch.setattr(similar_clusters, "CLUSTERS_MAX", 9)
    largest = {cluster.id for cluster in level.clusters[:9]}
    among_largest = [p for p in every.nearest if {p.first, p.second} <= largest]
    assert 0 < find_similar_pairs(kept.tables, level).total == len(among_largest) < every.total


def test_the_cache_returns_the_pairs_of_each_level_and_forgets_the_oldest(
    kept: CollectionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similar_clusters, "CACHED_MAX", 1)
    kept.changes.put(NEWS, themed_documents(300))
    levels = [_grouped(kept, 15), _grouped(kept, 5)]
    cache = SimilarPairsCache()
    first = cache.get(kept.tables, levels[0])
    assert first == find_similar_pairs(kept.tables, levels[0])
    assert cache.get(kept.tables, levels[0]) is first
    assert cache.get(kept.tables, levels[1]) == find_similar_pairs(kept.tables, levels[1])
    again = cache.get(kept.tables, levels[0])
    assert again == first
    assert again is not first


def test_themes_without_shared_terms_are_no_pair(kept: CollectionStore) -> None:
    kept.changes.put(NEWS, themed_documents(300))
    assert find_similar_pairs(kept.tables, _grouped(kept, 5)) == SimilarPairs((), 0)
