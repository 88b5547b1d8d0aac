"""Texts read in slices come to what they come to in one go, and are not needed afterwards."""

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


def counted(texts: Sequence[str], at_once: int) -> TermCounts:
    reader = TermReader()
    counts = TermCounts(reader.vocabulary)
    for at in range(0, len(texts), at_once):
        some = texts[at : at + at_once]
        counts.add(reader.read(some, ["en"] * len(some)))
    return counts


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_slices_of_any_size_make_the_same_clustering(at_once: int) -> None:
    asked: list[int] = []

    def texts(places: Sequence[int]) -> list[str]:
        asked.extend(places)
        return [TEXTS[place] for place in places]

    whole = build(GroupingInput(TEXTS, ["en"] * len(TEXTS)), FIVE, version=1)
    found = build(CountedDocuments(counted(TEXTS, at_once), texts), FIVE, version=1)
    assert np.array_equal(found.levels[0].members, whole.levels[0].members)
    assert found.levels[0].clusters == whole.levels[0].clusters
    assert found.model.dictionary.terms == whole.model.dictionary.terms
    assert 0 < len(asked) <= DOCUMENTS_MAX * 5


def test_what_is_known_of_a_document_depends_on_nothing_but_its_text() -> None:
    first = TermReader().read(TEXTS[:50], ["en"] * 50)
    later = TermReader()
    later.read(TEXTS[100:], ["en"] * 200)
    again = later.read(TEXTS[:50], ["en"] * 50)
    assert np.array_equal(first.contents, again.contents)
    assert np.array_equal(first.bands, again.bands)
    assert len(np.unique(first.contents)) == len(set(TEXTS[:50]))


def test_slices_of_nothing_are_read_too() -> None:
    reader = TermReader()
    counts = TermCounts(reader.vocabulary)
    for texts in ([], ["", "the of"], []):
        counts.add(reader.read(texts, ["en"] * len(texts)))
    found = build(CountedDocuments(counts, lambda places: []), FIVE, version=1)
    assert found.levels[0].members.tolist() == [-1, -1]


def test_terms_are_in_order_whatever_came_first() -> None:
    terms = counted(TEXTS[::-1], 10).build_collection(1).dictionary.terms
    assert list(terms) == sorted(terms)
    assert terms == counted(TEXTS, 10).build_collection(1).dictionary.terms
