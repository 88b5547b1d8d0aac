"""Identities over rebuilds: kept where most stays, and what changed told as it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.grouping.algorithms.lineage import LineageChange, LineageEvent, carry_ids, find_parents


def members(*sizes: tuple[int, int]) -> np.ndarray:
    """(cluster, how many documents) after each other."""
    return np.concatenate([np.full(count, cluster, np.int64) for cluster, count in sizes])


def test_clusters_that_were_only_renumbered_keep_their_ids() -> None:
    before, after = members((0, 5), (1, 3), (2, 2)), members((2, 5), (0, 3), (1, 2))
    lineage = carry_ids(before, ("a", "b", "c"), after, 3, 9)
    assert lineage.ids == ("b", "c", "a")
    assert {event.change for event in lineage.events} == {LineageChange.KEPT}


def test_a_cluster_that_splits_gives_its_id_to_the_larger_part() -> None:
    lineage = carry_ids(
        members((0, 10), (1, 4)), ("a", "b"), members((0, 6), (1, 4), (2, 4)), 3, 255
    )
    assert lineage.ids == ("a", "ff-1", "b")
    assert LineageEvent(LineageChange.SPLIT, ("a",), ("a", "ff-1")) in lineage.events


def test_of_clusters_that_merge_the_larger_one_goes_on() -> None:
    lineage = carry_ids(members((0, 3), (1, 8)), ("a", "b"), members((0, 11)), 1, 2)
    assert lineage.ids == ("b",)
    assert LineageEvent(LineageChange.MERGED, ("a", "b"), ("b",)) in lineage.events


def test_what_is_new_and_what_is_gone_is_told() -> None:
    before, after = members((0, 4), (1, 2), (-1, 5)), members((0, 4), (-1, 2), (1, 5))
    lineage = carry_ids(before, ("a", "b"), after, 2, 3)
    assert lineage.ids == ("a", "3-1")
    assert LineageEvent(LineageChange.NEW, (), ("3-1",)) in lineage.events
    assert LineageEvent(LineageChange.GONE, ("b",), ()) in lineage.events


def test_growth_by_documents_nobody_knew_changes_no_identity() -> None:
    before, after = members((0, 4), (-1, 40)), members((0, 44))
    lineage = carry_ids(before, ("a",), after, 1, 3)
    assert lineage.events == (LineageEvent(LineageChange.GROWN, ("a",), ("a",)),)


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 4)), max_size=40))
def test_no_id_is_given_twice_and_every_one_is_old_or_new(pairs: list[tuple[int, int]]) -> None:
    before, after = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    lineage = carry_ids(before, ("a", "b", "c", "d"), after, 5, 7)
    assert len(set(lineage.ids)) == 5
    assert all(one in "abcd" or one == f"7-{place}" for place, one in enumerate(lineage.ids))
    known = {"a", "b", "c", "d", *lineage.ids}
    for event in lineage.events:
        assert {*event.before, *event.after} <= known


def test_a_parent_is_where_most_of_a_cluster_lies() -> None:
    assert find_parents(members((0, 3), (1, 2)), np.array([1, 1, 0, 0, 0])).tolist() == [1, 0]
    assert find_parents(np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []


def test_a_cluster_without_an_id_is_refused() -> None:
    with pytest.raises(ValueError, match="has no id"):
        carry_ids(members((1, 2)), ("a",), members((0, 2)), 1, 1)
