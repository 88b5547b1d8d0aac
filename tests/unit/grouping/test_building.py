"""Whole groupings of texts made by code: themes found in any order, identities kept, later texts assigned."""

from __future__ import annotations

import random

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from fonds.grouping.algorithms.assignment import assign, build_vector
from fonds.grouping.algorithms.builder import GroupingInput, PreviousClustering, build
from fonds.grouping.algorithms.clustering import (
    Algorithm,
    Clustering,
    Options,
    UnclusteredReason,
)
from fonds.grouping.algorithms.lineage import LineageChange
from fonds.grouping.algorithms.stop_words import load_stop_words
from themed_texts import THEMES, themed_texts

TEXTS, TRUTH = themed_texts(300)
FIVE = Options(clusters=5)


@pytest.fixture(scope="module")
def made() -> Clustering:
    return build(GroupingInput(TEXTS), FIVE, version=10)


def test_the_themes_are_found_and_named_by_their_own_words(made: Clustering) -> None:
    assert normalized_mutual_info_score(TRUTH, made.levels[0].members) > 0.95
    own = {frozenset(words.split()) for words in THEMES.values()}
    for cluster in made.levels[0].clusters:
        terms = {term.lower() for term, _ in cluster.terms}
        assert any(len(terms & words) >= 8 for words in own)


def test_no_label_is_a_function_word_and_none_is_given_twice(made: Clustering) -> None:
    labels = [cluster.label for cluster in made.levels[0].clusters]
    assert len(set(labels)) == len(labels)
    shown = {word.lower() for label in labels for word in label.replace(",", "").split()}
    shown |= {term.lower() for one in made.levels[0].clusters for term, _ in one.terms}
    assert shown & load_stop_words("en") == set()


def test_sizes_scores_and_representatives_are_those_of_the_documents(made: Clustering) -> None:
    level = made.levels[0]
    for number, cluster in enumerate(level.clusters):
        inside = np.flatnonzero(level.members == number)
        assert cluster.size == len(inside)
        best = level.scores[list(cluster.representatives)]
        assert set(cluster.representatives) <= set(inside.tolist())
        assert list(best) == sorted(best, reverse=True)
        assert best[0] == level.scores[inside].max()
    assert level.scores.max() <= 1.0001


def test_the_order_of_documents_changes_nothing(made: Clustering) -> None:
    order = list(range(len(TEXTS)))
    random.Random(5).shuffle(order)
    shuffled = build(GroupingInput([TEXTS[place] for place in order]), FIVE, version=10)
    assert np.array_equal(shuffled.levels[0].members, made.levels[0].members[order])
    assert [cluster.label for cluster in shuffled.levels[0].clusters] == [
        cluster.label for cluster in made.levels[0].clusters
    ]


@pytest.mark.parametrize("times", [2, 3])
def test_the_same_documents_over_again_change_nothing_but_sizes(
    made: Clustering, times: int
) -> None:
    again = build(GroupingInput(TEXTS * times), FIVE, version=10)
    assert np.array_equal(again.levels[0].members, np.tile(made.levels[0].members, times))
    for once, often in zip(made.levels[0].clusters, again.levels[0].clusters, strict=True):
        assert (often.label, often.distinct) == (once.label, once.distinct)
        assert often.size == times * once.size


def test_one_document_copied_a_hundred_times_counts_once(made: Clustering) -> None:
    copied = build(GroupingInput(TEXTS + [TEXTS[0]] * 100), FIVE, version=10)
    assert np.array_equal(copied.levels[0].members[: len(TEXTS)], made.levels[0].members)
    assert len(set(copied.originals[len(TEXTS) :].tolist())) == 1


def test_a_document_changed_in_one_word_is_a_near_duplicate() -> None:
    words = TEXTS[0].split()
    altered = " ".join([*words[:-1], "harbour"])
    found = build(GroupingInput([*TEXTS, altered]), FIVE, version=1).originals
    assert found[-1] == found[0]
    assert len(set(found.tolist())) > 0.95 * len(TEXTS)


def test_finer_and_coarser_levels_come_of_one_pass() -> None:
    levels = build(
        GroupingInput(TEXTS), Options(clusters=5, granularities=(2, 12)), version=3
    ).levels
    assert [len(level.clusters) for level in levels] == [5, 2, 12]
    coarse, fine = levels[1], levels[2]
    assert all(one.parent is None for one in coarse.clusters)
    assert {one.parent for one in levels[0].clusters} == {0, 1}
    for number, cluster in enumerate(fine.clusters):
        above = levels[0].members[fine.members == number]
        assert cluster.parent == np.bincount(above).argmax()
    ids = [one.id for level in levels for one in level.clusters]
    assert len(set(ids)) == len(ids)


def test_the_number_of_topics_is_found_where_there_are_topics() -> None:
    assert len(build(GroupingInput(TEXTS), Options(), version=1).levels[0].clusters) == 5


def test_documents_without_terms_stand_apart_with_the_reason() -> None:
    found = build(GroupingInput([*TEXTS, "", "the of and", "\ud800 \x00"]), FIVE, version=1)
    assert found.unclustered == {UnclusteredReason.EMPTY: 3, UnclusteredReason.OUTLIER: 0}
    assert found.levels[0].members[-3:].tolist() == [-1, -1, -1]


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("texts", [[], [""], ["ship"], ["ship", "ship"], ["ship", "oven"]])
def test_the_smallest_collections_are_grouped_too(algorithm: Algorithm, texts: list[str]) -> None:
    found = build(GroupingInput(texts), Options(algorithm=algorithm), version=1)
    assert len(found.levels[0].members) == len(texts)
    assert sum(found.unclustered.values()) == int((found.levels[0].members < 0).sum())
    assert assign(found.model, ["ship"]).members.shape == (1,)


@pytest.mark.parametrize("algorithm", [Algorithm.FACTORS, Algorithm.DENSITY, Algorithm.STORIES])
def test_every_family_finds_themes_that_lie_well_apart(algorithm: Algorithm) -> None:
    options = Options(algorithm=algorithm, clusters=5, threshold=0.3)
    members = build(GroupingInput(TEXTS), options, version=1).levels[0].members
    inside = members >= 0
    assert inside.mean() > 0.7
    assert adjusted_rand_score(np.array(TRUTH)[inside], members[inside]) > 0.7


def test_later_documents_go_where_they_belong_and_strange_ones_apart(made: Clustering) -> None:
    texts, truth = themed_texts(200, seed=99)
    assigned = assign(made.model, [*texts, "", "zebra umbrella", "season people"])
    inside = assigned.members[:200] >= 0
    assert inside.mean() > 0.85
    theme_of = {
        number: np.bincount(np.array(TRUTH)[made.levels[0].members == number]).argmax()
        for number in range(5)
    }
    right = [
        theme_of[one] == two for one, two in zip(assigned.members, truth, strict=False) if one >= 0
    ]
    assert np.mean(right) > 0.98
    assert assigned.members[200:].tolist() == [-1, -1, -1]
    assert assigned.unclustered[UnclusteredReason.EMPTY] == 2


def test_a_document_is_assigned_alone_as_among_others(made: Clustering) -> None:
    texts, _ = themed_texts(20, seed=4)
    together = assign(made.model, texts)
    for place, text in enumerate(texts):
        alone = assign(made.model, [text])
        assert alone.members[0] == together.members[place]
        assert alone.scores[0] == pytest.approx(together.scores[place], abs=1e-5)


def test_rows_become_the_vectors_that_are_stored(made: Clustering) -> None:
    frequencies = build_vector(made.frequencies, 0, 10)
    weights = build_vector(made.build_weights(np.array([0])), 0, 10)
    assert frequencies.features.tolist() == weights.features.tolist()
    assert np.linalg.norm(weights.values) == pytest.approx(1, abs=1e-5)
    terms = [made.model.dictionary.terms[feature] for feature in frequencies.features]
    assert set(terms) <= {word.strip(".") for word in TEXTS[0].lower().split()}
    assert made.model.dictionary.version == 10


def test_a_rebuild_after_a_tenth_more_keeps_identities(made: Clustering) -> None:
    more, truth = themed_texts(30, seed=8)
    ids = tuple(cluster.id for cluster in made.levels[0].clusters)
    members = np.concatenate([made.levels[0].members, np.full(30, -1)])
    rebuilt = build(
        GroupingInput(TEXTS + more), FIVE, version=11, previous=PreviousClustering(members, ids)
    )
    new_ids = [cluster.id for cluster in rebuilt.levels[0].clusters]
    kept = [
        ids[old] == new_ids[new]
        for old, new in zip(made.levels[0].members, rebuilt.levels[0].members, strict=False)
    ]
    assert np.mean(kept) > 0.98
    assert {event.change for event in rebuilt.events} <= {LineageChange.KEPT, LineageChange.GROWN}
    assert normalized_mutual_info_score(TRUTH + truth, rebuilt.levels[0].members) > 0.95


def test_dense_vectors_help_where_words_do_not() -> None:
    draw = np.random.default_rng(0)
    texts = [f"word{n} other{n} thing{n // 2}" for n in range(80)]
    truth = np.arange(80) % 4
    dense = (np.eye(4)[truth] + draw.normal(0, 0.1, (80, 4))).astype(np.float32)
    found = build(GroupingInput(texts, dense=dense), Options(clusters=4), version=1)
    assert normalized_mutual_info_score(truth, found.levels[0].members) > 0.8
    with pytest.raises(ValueError, match="must have 4 numbers, not 0"):
        assign(found.model, texts)


def test_a_story_that_slept_takes_only_what_is_nearer() -> None:
    texts = ["harbour vessel cargo anchor quay", "harbour vessel cargo tide crane"]
    options = {"algorithm": Algorithm.STORIES, "threshold": 0.2, "half_life_s": 3600.0}
    day = 86_400.0
    at_once = build(
        GroupingInput(texts, times_s=np.array([0.0, 60.0])), Options(**options), version=1
    )
    assert at_once.levels[0].members.tolist() == [0, 0]
    later = build(GroupingInput(texts, times_s=np.array([0.0, day])), Options(**options), version=1)
    assert later.levels[0].members.tolist() == [-1, -1]
    assert later.unclustered[UnclusteredReason.OUTLIER] == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"clusters": 0},
        {"clusters": 2001},
        {"granularities": (0,)},
        {"granularities": tuple(range(2, 14))},
        {"threshold": 1.0},
        {"size_min": 0},
        {"half_life_s": 0.0},
    ],
)
def test_options_beyond_their_bounds_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"between|more than"):
        build(GroupingInput(TEXTS), Options(**wrong), version=1)  # type: ignore[arg-type]


def test_a_label_does_not_say_a_singular_and_its_plural() -> None:
    films = [f"movie movies film actor scene{n % 7}" for n in range(40)]
    ships = [f"harbour vessel cargo tide quay{n % 7}" for n in range(40)]
    languages = [""] * 80
    made = build(GroupingInput(films + ships, languages), Options(clusters=2), version=1)
    for cluster in made.levels[0].clusters:
        assert not {"movie", "movies"} <= set(cluster.label.split(", "))
        assert not {"movie", "movies"} <= {term for term, _ in cluster.terms}
