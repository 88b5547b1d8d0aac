"""Candidates for near-duplicates include every near-duplicate, for any terms."""

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
SET_LISTS = st.lists(TERMS, max_size=CANDIDATES_MAX)


def build_term_sets(term_sets: list[set[int]]) -> TermSets:
    hashes = [np.array(sorted(terms), np.uint64) for terms in term_sets]
    starts = np.cumsum([0, *map(len, term_sets)]).astype(np.int64)
    return TermSets(np.concatenate([np.zeros(0, np.uint64), *hashes]), starts)


def are_similar(first: set[int], second: set[int]) -> bool:
    return len(first & second) >= 0.8 * len(first | second) and bool(first)


def find_pairs(index: InvertedTerms, queries: TermSets) -> set[tuple[int, int]]:
    places, matches = index.find_candidates(queries)
    return set(zip(places.tolist(), matches.tolist(), strict=True))


@given(SET_LISTS, SET_LISTS)
def test_every_near_duplicate_is_a_candidate(
    indexed: list[set[int]], queries: list[set[int]]
) -> None:
    candidates = find_pairs(invert_term_sets(build_term_sets(indexed)), build_term_sets(queries))
    expected = {
        (query, document)
        for query, query_terms in enumerate(queries)
        for document, document_terms in enumerate(indexed)
        if are_similar(query_terms, document_terms)
    }
    assert expected <= candidates


@given(SET_LISTS, SET_LISTS, st.integers(1, 30))
def test_terms_missing_from_an_index_hide_no_candidate_with_enough_other_terms(
    indexed: list[set[int]], queries: list[set[int]], lacking: int
) -> None:
    known_sets = [{term for term in terms if term > lacking} for terms in indexed]
    complete_index = invert_term_sets(build_term_sets(known_sets))
    index = InvertedTerms(
        complete_index.hashes, complete_index.features, complete_index.postings, is_complete=False
    )
    candidates = find_pairs(index, build_term_sets(queries))
    known_terms = {term for terms in known_sets for term in terms}
    for query, query_terms in enumerate(queries):
        for document, document_terms in enumerate(indexed):
            if (
                are_similar(query_terms, document_terms)
                and query_terms & known_terms & document_terms
            ):
                assert (query, document) in candidates


def test_rare_terms_are_looked_up_before_frequent_ones_and_up_to_a_limit() -> None:
    common = list(range(1, 30))
    documents = [{*common, 1000 + number} for number in range(25_000)]
    index = invert_term_sets(build_term_sets(documents))
    rare = find_pairs(index, build_term_sets([{*common, 1000 + 24_999}]))
    assert (0, 24_999) in rare
    assert not find_pairs(index, build_term_sets([{*common, 1}]))


@given(SET_LISTS, SET_LISTS)
def test_joined_term_sets_contain_the_same_documents(
    first: list[set[int]], second: list[set[int]]
) -> None:
    joined = join_term_sets([build_term_sets(first), build_term_sets(second)])
    assert [
        set(joined.get_terms(number).tolist()) for number in range(len(joined))
    ] == first + second


@given(TERMS, TERMS)
def test_resemblance_is_the_shared_share_of_all_terms(first: set[int], second: set[int]) -> None:
    term_sets = build_term_sets([first, second])
    expected = len(first & second) / max(len(first | second), 1)
    assert compare_terms(term_sets.get_terms(0), term_sets.get_terms(1)) == expected
