"""Candidates for near-duplicates: none is left out, whatever the terms are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fonds.grouping.algorithms.duplicates import (
    CANDIDATES_MAX,
    InvertedTerms,
    TermSets,
    compare_terms,
    invert_term_sets,
    join_term_sets,
)

TERMS = st.sets(st.integers(1, 30), max_size=25)
FEW = st.lists(TERMS, max_size=CANDIDATES_MAX)


def sets(some: list[set[int]]) -> TermSets:
    hashes = [np.array(sorted(one), np.uint64) for one in some]
    starts = np.cumsum([0, *map(len, some)]).astype(np.int64)
    return TermSets(np.concatenate([np.zeros(0, np.uint64), *hashes]), starts)


def alike(some: set[int], others: set[int]) -> bool:
    return len(some & others) >= 0.8 * len(some | others) and bool(some)


def pairs(index: InvertedTerms, asked: TermSets) -> set[tuple[int, int]]:
    places, found = index.find_candidates(asked)
    return set(zip(places.tolist(), found.tolist(), strict=True))


@given(FEW, FEW)
def test_whatever_is_alike_is_a_candidate(there: list[set[int]], asked: list[set[int]]) -> None:
    found = pairs(invert_term_sets(sets(there)), sets(asked))
    wanted = {
        (at, other)
        for at, some in enumerate(asked)
        for other, others in enumerate(there)
        if alike(some, others)
    }
    assert wanted <= found


@given(FEW, FEW, st.integers(1, 30))
def test_terms_an_index_lacks_hide_nothing_that_shares_enough_others(
    there: list[set[int]], asked: list[set[int]], lacking: int
) -> None:
    known = [{term for term in one if term > lacking} for one in there]
    whole = invert_term_sets(sets(known))
    index = InvertedTerms(whole.hashes, whole.features, whole.postings, is_complete=False)
    found = pairs(index, sets(asked))
    held = {term for one in known for term in one}
    for at, some in enumerate(asked):
        for other, others in enumerate(there):
            if alike(some, others) and some & held & others:
                assert (at, other) in found


def test_a_term_in_many_documents_is_looked_up_behind_the_rare_ones_and_up_to_a_bound() -> None:
    common = list(range(1, 30))
    many = [{*common, 1000 + at} for at in range(25_000)]
    index = invert_term_sets(sets(many))
    rare = pairs(index, sets([{*common, 1000 + 24_999}]))
    assert (0, 24_999) in rare
    assert not pairs(index, sets([{*common, 1}]))


@given(FEW, FEW)
def test_sets_joined_are_the_same_documents(some: list[set[int]], more: list[set[int]]) -> None:
    both = join_term_sets([sets(some), sets(more)])
    assert [set(both.get_terms(at).tolist()) for at in range(len(both))] == some + more


@given(TERMS, TERMS)
def test_resemblance_is_the_shared_part_of_both(some: set[int], others: set[int]) -> None:
    both = sets([some, others])
    wanted = len(some & others) / max(len(some | others), 1)
    assert compare_terms(both.get_terms(0), both.get_terms(1)) == wanted
