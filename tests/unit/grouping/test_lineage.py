"""Cluster ids over rebuilds: the cluster with most documents keeps the id, and changes are reported."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.grouping.algorithms.lineage import LineageChange, LineageEvent, carry_ids, find_parents


def build_members(*sizes: tuple[int, int]) -> np.ndarray:
    """Return the clusters of documents from pairs of cluster and document count."""
    return np.concatenate([np.full(count, cluster, np.int64) for cluster, count in sizes])


def test_renumbered_clusters_keep_their_ids() -> None:
    before, after = build_members((0, 5), (1, 3), (2, 2)), build_members((2, 5), (0, 3), (1, 2))
    lineage = carry_ids(before, ("a", "b", "c"), after, 3, 9)
    assert lineage.ids == ("b", "c", "a")
    assert {event.change for event in lineage.events} == {LineageChange.KEPT}


def test_a_cluster_that_splits_gives_its_id_to_the_larger_part() -> None:
    lineage = carry_ids(
        build_members((0, 10), (1, 4)), ("a", "b"), build_members((0, 6), (1, 4), (2, 4)), 3, 255
    )
    assert lineage.ids == ("a", "ff-1", "b")
    assert LineageEvent(LineageChange.SPLIT, ("a",), ("a", "ff-1")) in lineage.events


def test_merged_clusters_keep_the_id_of_the_larger_one() -> None:
    lineage = carry_ids(build_members((0, 3), (1, 8)), ("a", "b"), build_members((0, 11)), 1, 2)
    assert lineage.ids == ("b",)
    assert LineageEvent(LineageChange.MERGED, ("a", "b"), ("b",)) in lineage.events


def test_new_and_gone_clusters_are_reported() -> None:
    before, after = build_members((0, 4), (1, 2), (-1, 5)), build_members((0, 4), (-1, 2), (1, 5))
    lineage = carry_ids(before, ("a", "b"), after, 2, 3)
    assert lineage.ids == ("a", "3-1")
    assert LineageEvent(LineageChange.NEW, (), ("3-1",)) in lineage.events
    assert LineageEvent(LineageChange.GONE, ("b",), ()) in lineage.events


def test_growth_by_new_documents_keeps_the_id() -> None:
    before, after = build_members((0, 4), (-1, 40)), build_members((0, 44))
    lineage = carry_ids(before, ("a",), after, 1, 3)
    assert lineage.events == (LineageEvent(LineageChange.GROWN, ("a",), ("a",)),)


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 4)), max_size=40))
def test_ids_are_unique_and_either_old_or_new(pairs: list[tuple[int, int]]) -> None:
    before, after = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    lineage = carry_ids(before, ("a", "b", "c", "d"), after, 5, 7)
    assert len(set(lineage.ids)) == 5
    assert all(id_ in "abcd" or id_ == f"7-{number}" for number, id_ in enumerate(lineage.ids))
    known_ids = {"a", "b", "c", "d", *lineage.ids}
    for event in lineage.events:
        assert {*event.before, *event.after} <= known_ids


def test_a_parent_contains_most_of_its_cluster() -> None:
    assert find_parents(build_members((0, 3), (1, 2)), np.array([1, 1, 0, 0, 0])).tolist() == [1, 0]
    assert find_parents(np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []


def test_a_cluster_without_an_id_is_refused() -> None:
    with pytest.raises(ValueError, match="has no id"):
        carry_ids(build_members((1, 2)), ("a",), build_members((0, 2)), 1, 1)
