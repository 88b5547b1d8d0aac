"""Partitions of prepared documents: limits of each algorithm, and documents outside its sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import HDBSCAN
from sklearn.exceptions import ConvergenceWarning

from fonds.grouping.algorithms import density, evidence, factors, small_clusters
from fonds.grouping.algorithms.clustering import Options
from fonds.grouping.algorithms.partition import NO_CLUSTER, PreparedDocuments
from fonds.grouping.algorithms.space import ProjectedVectors, VectorSpace


def prepare(
    features: Sequence[int], directions: np.ndarray, times_s: np.ndarray | None = None
) -> PreparedDocuments:
    """Prepare documents with one feature each. `directions` has the vector of each feature."""
    rows = sp.csr_matrix(
        (np.ones(len(features), np.float32), (np.arange(len(features)), features)),
        shape=(len(features), len(directions)),
    )
    space = VectorSpace(directions.astype(np.float32), directions.shape[1], 0)
    return PreparedDocuments(ProjectedVectors(space, rows, None), rows, times_s)


def test_density_fits_a_sample_and_adds_only_similar_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fitted_counts = []

    class RecordingHdbscan(HDBSCAN):
        def fit_predict(self, vectors: np.ndarray, y: None = None) -> np.ndarray:
            fitted_counts.append(len(vectors))
            return super().fit_predict(vectors, y)

    monkeypatch.setattr(density, "HDBSCAN", RecordingHdbscan)
    monkeypatch.setattr(density, "SAMPLE_DOCUMENTS", 20)
    angles = np.concatenate((np.linspace(0, 0.05, 20), np.linspace(1.5, 1.55, 20)))
    angles[1] = 0.8
    directions = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    numbers = density.partition_by_density(prepare(range(40), directions), Options()).levels[0]
    assert fitted_counts == [20]
    assert numbers[1] == NO_CLUSTER
    first, second = numbers[5:15], numbers[25:35]
    assert {len(set(first)), len(set(second))} == {1}
    assert {*first, *second} == {0, 1}


def test_refinement_stops_after_the_last_round(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    rows = sp.csr_matrix(random.random((60, 12), dtype=np.float32))
    numbers = random.integers(0, 3, 60)
    first = evidence.assign_by_evidence(rows, evidence.compute_evidence(rows, numbers, 3))
    second = evidence.assign_by_evidence(rows, evidence.compute_evidence(rows, first, 3))
    assert not np.array_equal(first, second)
    for rounds, expected in ((0, numbers), (1, first), (2, second)):
        monkeypatch.setattr(evidence, "ROUNDS_MAX", rounds)
        refined, weights = evidence.refine_partition(rows, numbers, 3)
        assert np.array_equal(refined, expected)
        assert np.array_equal(weights, evidence.compute_evidence(rows, expected, 3))


def test_a_round_that_empties_a_cluster_is_not_applied() -> None:
    rows = sp.csr_matrix(np.ones((4, 2), np.float32))
    numbers = np.array([0, 1, 0, 1])
    assert np.array_equal(evidence.refine_partition(rows, numbers, 2)[0], numbers)


def test_factors_stop_after_the_last_round(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = sp.csr_matrix(np.random.default_rng(3).random((30, 8), dtype=np.float32))
    space = VectorSpace(np.eye(8, dtype=np.float32), 8, 0)
    documents = PreparedDocuments(ProjectedVectors(space, rows, None), rows)
    monkeypatch.setattr(factors, "FACTOR_ROUNDS_MAX", 1)
    with pytest.warns(ConvergenceWarning, match="number of iterations 1 reached"):
        factors.partition_by_factors(documents, Options(clusters=3))


def test_a_document_without_a_factor_joins_the_nearest_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(factors, "SAMPLE_DOCUMENTS", 3)
    directions = np.array([[1, 0], [0, 1], [0.2, 1]])
    documents = prepare([0, 2, 0, 1, 1], directions)
    numbers = factors.partition_by_factors(documents, Options(clusters=2)).levels[0]
    assert numbers[0] == numbers[2] != numbers[3]
    assert numbers[1] == numbers[3] == numbers[4]


@pytest.mark.parametrize(("open_max", "cluster_count"), [(1, 3), (2, 2)])
def test_the_longest_idle_clusters_are_closed(
    monkeypatch: pytest.MonkeyPatch, open_max: int, cluster_count: int
) -> None:
    monkeypatch.setattr(small_clusters, "OPEN_CLUSTERS_MAX", open_max)
    monkeypatch.setattr(small_clusters, "_DOCUMENT_BATCH", 1)
    documents = prepare([0, 1, 0], np.eye(2), np.array([10.0, 20.0, 30.0]))
    options = Options(half_life_s=1e9, size_min=1)
    numbers = small_clusters.partition_into_small_clusters(documents, options).levels[0]
    assert len(set(numbers)) == cluster_count
