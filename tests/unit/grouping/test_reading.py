"""Texts read in slices give the same clustering as texts read at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from fonds.grouping.algorithms.builder import CountedDocuments, GroupingInput, build
from fonds.grouping.algorithms.clustering import Options
from fonds.grouping.algorithms.corpus import TermCounts, TermReader
from fonds.grouping.algorithms.labels import (
    DOCUMENTS_MAX,
)
from themed_texts import themed_texts

TEXTS, _ = themed_texts(300)
FIVE = Options(clusters=5)


def count_terms(texts: Sequence[str], slice_size: int) -> TermCounts:
    reader = TermReader()
    counts = TermCounts(reader.vocabulary)
    for start in range(0, len(texts), slice_size):
        texts_slice = texts[start : start + slice_size]
        counts.add(reader.read(texts_slice, ["en"] * len(texts_slice)))
    return counts


@pytest.mark.parametrize("slice_size", [1, 7, 1000])
def test_slices_of_any_size_give_the_same_clustering(slice_size: int) -> None:
    requested: list[int] = []

    def load_texts(places: Sequence[int]) -> list[str]:
        requested.extend(places)
        return [TEXTS[number] for number in places]

    expected = build(GroupingInput(TEXTS, ["en"] * len(TEXTS)), FIVE, version=1)
    built = build(CountedDocuments(count_terms(TEXTS, slice_size), load_texts), FIVE, version=1)
    assert np.array_equal(built.levels[0].members, expected.levels[0].members)
    assert built.levels[0].clusters == expected.levels[0].clusters
    assert built.model.dictionary.terms == expected.model.dictionary.terms
    assert 0 < len(requested) <= DOCUMENTS_MAX * 5


def test_hashes_and_bands_depend_only_on_the_text() -> None:
    first = TermReader().read(TEXTS[:50], ["en"] * 50)
    later = TermReader()
    later.read(TEXTS[100:], ["en"] * 200)
    second = later.read(TEXTS[:50], ["en"] * 50)
    assert np.array_equal(first.contents, second.contents)
    assert np.array_equal(first.bands, second.bands)
    assert len(np.unique(first.contents)) == len(set(TEXTS[:50]))


def test_empty_slices_are_accepted() -> None:
    reader = TermReader()
    counts = TermCounts(reader.vocabulary)
    for texts in ([], ["", "the of"], []):
        counts.add(reader.read(texts, ["en"] * len(texts)))
    built = build(CountedDocuments(counts, lambda places: []), FIVE, version=1)
    assert built.levels[0].members.tolist() == [-1, -1]


def test_terms_are_sorted_in_any_order_of_documents() -> None:
    terms = count_terms(TEXTS[::-1], 10).build_collection(1).dictionary.terms
    assert list(terms) == sorted(terms)
    assert terms == count_terms(TEXTS, 10).build_collection(1).dictionary.terms
