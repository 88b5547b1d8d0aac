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


def rebuild_with_clusters(store: CollectionStore, count: int) -> LevelView:
    save_configuration(store.tables, "news", "DEFAULT", build_configuration({"clusters": count}))
    rebuild(store.writer, NEWS)
    clusters = load_clusters(store.tables, NEWS)
    assert clusters is not None
    return clusters


def test_pairs_are_exactly_those_that_are_near_and_share_terms(store: CollectionStore) -> None:
    store.writer.put(NEWS, themed_documents(300))
    level = rebuild_with_clusters(store, 15)
    pairs = find_similar_pairs(store.tables, level)
    assert len(pairs.nearest) == pairs.total > 0
    centroids = read_centroids(store.tables, NEWS, "DEFAULT", level.timestamp)
    assert centroids is not None
    by_label = dict(zip(centroids.labels, centroids.centroids, strict=True))
    expected = {}
    for number, first_cluster in enumerate(level.clusters):
        for cluster in level.clusters[number + 1 :]:
            first, second = by_label[first_cluster.label], by_label[cluster.label]
            cosine = float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))
            shared = {term for term, _ in first_cluster.terms} & {term for term, _ in cluster.terms}
            if cosine >= COSINE_MIN and len(shared) >= SHARED_TERMS_MIN:
                expected[first_cluster.id, cluster.id] = shared
    assert {(pair.first, pair.second): set(pair.shared_terms) for pair in pairs.nearest} == expected
    cosines = [pair.cosine for pair in pairs.nearest]
    assert cosines == sorted(cosines, reverse=True)


@pytest.mark.parametrize("terms_min", [1, 3, 11])
def test_pairs_share_at_least_the_required_number_of_terms(
    store: CollectionStore, monkeypatch: pytest.MonkeyPatch, terms_min: int
) -> None:
    store.writer.put(NEWS, themed_documents(300))
    level = rebuild_with_clusters(store, 15)
    monkeypatch.setattr(similar_clusters, "SHARED_TERMS_MIN", 1)
    all_pairs = find_similar_pairs(store.tables, level).nearest
    monkeypatch.setattr(similar_clusters, "SHARED_TERMS_MIN", terms_min)
    pairs = find_similar_pairs(store.tables, level).nearest
    assert pairs == tuple(pair for pair in all_pairs if len(pair.shared_terms) >= terms_min)


def test_limits_keep_the_nearest_pairs_of_the_largest_clusters(
    store: CollectionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.writer.put(NEWS, themed_documents(300))
    level = rebuild_with_clusters(store, 15)
    all_pairs = find_similar_pairs(store.tables, level)
    monkeypatch.setattr(similar_clusters, "_BLOCK_ROWS", 4)
    by_block = find_similar_pairs(store.tables, level)
    assert {(p.first, p.second) for p in by_block.nearest} == {
        (p.first, p.second) for p in all_pairs.nearest
    }
    monkeypatch.setattr(similar_clusters, "PAIRS_MAX", 2)
    assert find_similar_pairs(store.tables, level) == SimilarPairs(
        by_block.nearest[:2], all_pairs.total
    )
    monkeypatch.setattr(similar_clusters, "CLUSTERS_MAX", 9)
    largest = {cluster.id for cluster in level.clusters[:9]}
    among_largest = [p for p in all_pairs.nearest if {p.first, p.second} <= largest]
    assert 0 < find_similar_pairs(store.tables, level).total == len(among_largest) < all_pairs.total


def test_the_cache_returns_the_pairs_of_each_level_and_drops_the_oldest(
    store: CollectionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similar_clusters, "CACHED_MAX", 1)
    store.writer.put(NEWS, themed_documents(300))
    levels = [rebuild_with_clusters(store, 15), rebuild_with_clusters(store, 5)]
    cache = SimilarPairsCache()
    first = cache.get(store.tables, levels[0])
    assert first == find_similar_pairs(store.tables, levels[0])
    assert cache.get(store.tables, levels[0]) is first
    assert cache.get(store.tables, levels[1]) == find_similar_pairs(store.tables, levels[1])
    recomputed = cache.get(store.tables, levels[0])
    assert recomputed == first
    assert recomputed is not first


def test_clusters_without_shared_terms_are_not_similar(store: CollectionStore) -> None:
    store.writer.put(NEWS, themed_documents(300))
    assert find_similar_pairs(store.tables, rebuild_with_clusters(store, 5)) == SimilarPairs((), 0)
