"""Clusterings of generated texts: themes, order of documents, stable ids and later documents."""

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
def clustering() -> Clustering:
    return build(GroupingInput(TEXTS), FIVE, version=10)


def test_themes_are_found_with_their_own_words_as_terms(clustering: Clustering) -> None:
    assert normalized_mutual_info_score(TRUTH, clustering.levels[0].members) > 0.95
    own = {frozenset(words.split()) for words in THEMES.values()}
    for cluster in clustering.levels[0].clusters:
        terms = {term.lower() for term, _ in cluster.terms}
        assert any(len(terms & words) >= 8 for words in own)


def test_labels_are_unique_and_contain_no_stop_words(clustering: Clustering) -> None:
    labels = [cluster.label for cluster in clustering.levels[0].clusters]
    assert len(set(labels)) == len(labels)
    words = {word.lower() for label in labels for word in label.replace(",", "").split()}
    words |= {term.lower() for other in clustering.levels[0].clusters for term, _ in other.terms}
    assert words & load_stop_words("en") == set()


def test_sizes_scores_and_representatives_match_the_members(clustering: Clustering) -> None:
    level = clustering.levels[0]
    for number, cluster in enumerate(level.clusters):
        inside = np.flatnonzero(level.members == number)
        assert cluster.size == len(inside)
        best = level.scores[list(cluster.representatives)]
        assert set(cluster.representatives) <= set(inside.tolist())
        assert list(best) == sorted(best, reverse=True)
        assert best[0] == level.scores[inside].max()
    assert level.scores.max() <= 1.0001


def test_the_order_of_documents_does_not_change_the_clusters(clustering: Clustering) -> None:
    order = list(range(len(TEXTS)))
    random.Random(5).shuffle(order)
    shuffled = build(GroupingInput([TEXTS[number] for number in order]), FIVE, version=10)
    assert np.array_equal(shuffled.levels[0].members, clustering.levels[0].members[order])
    assert [cluster.label for cluster in shuffled.levels[0].clusters] == [
        cluster.label for cluster in clustering.levels[0].clusters
    ]


@pytest.mark.parametrize("times", [2, 3])
def test_repeating_all_documents_changes_only_the_sizes(clustering: Clustering, times: int) -> None:
    repeated_texts = build(GroupingInput(TEXTS * times), FIVE, version=10)
    assert np.array_equal(
        repeated_texts.levels[0].members, np.tile(clustering.levels[0].members, times)
    )
    for single, repeated in zip(
        clustering.levels[0].clusters, repeated_texts.levels[0].clusters, strict=True
    ):
        assert (repeated.label, repeated.distinct) == (single.label, single.distinct)
        assert repeated.size == times * single.size


def test_copies_of_a_document_count_once(clustering: Clustering) -> None:
    copied = build(GroupingInput(TEXTS + [TEXTS[0]] * 100), FIVE, version=10)
    assert np.array_equal(copied.levels[0].members[: len(TEXTS)], clustering.levels[0].members)
    assert len(set(copied.originals[len(TEXTS) :].tolist())) == 1


def test_a_document_with_one_changed_word_is_a_near_duplicate() -> None:
    words = TEXTS[0].split()
    altered = " ".join([*words[:-1], "harbour"])
    originals = build(GroupingInput([*TEXTS, altered]), FIVE, version=1).originals
    assert originals[-1] == originals[0]
    assert len(set(originals.tolist())) > 0.95 * len(TEXTS)


def test_all_levels_are_built_in_one_pass_with_parents() -> None:
    levels = build(
        GroupingInput(TEXTS), Options(clusters=5, granularities=(2, 12)), version=3
    ).levels
    assert [len(level.clusters) for level in levels] == [5, 2, 12]
    coarse, fine = levels[1], levels[2]
    assert all(child.parent is None for child in coarse.clusters)
    assert {child.parent for child in levels[0].clusters} == {0, 1}
    for number, cluster in enumerate(fine.clusters):
        parents = levels[0].members[fine.members == number]
        assert cluster.parent == np.bincount(parents).argmax()
    ids = [child.id for level in levels for child in level.clusters]
    assert len(set(ids)) == len(ids)


def test_the_number_of_topics_is_detected() -> None:
    assert len(build(GroupingInput(TEXTS), Options(), version=1).levels[0].clusters) == 5


def test_documents_without_terms_are_unclustered_with_a_reason() -> None:
    built = build(GroupingInput([*TEXTS, "", "the of and", "\ud800 \x00"]), FIVE, version=1)
    assert built.unclustered == {UnclusteredReason.EMPTY: 3, UnclusteredReason.OUTLIER: 0}
    assert built.levels[0].members[-3:].tolist() == [-1, -1, -1]


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("texts", [[], [""], ["ship"], ["ship", "ship"], ["ship", "oven"]])
def test_the_smallest_collections_are_clustered_without_error(
    algorithm: Algorithm, texts: list[str]
) -> None:
    built = build(GroupingInput(texts), Options(algorithm=algorithm), version=1)
    assert len(built.levels[0].members) == len(texts)
    assert sum(built.unclustered.values()) == int((built.levels[0].members < 0).sum())
    assert assign(built.model, ["ship"]).members.shape == (1,)


@pytest.mark.parametrize("algorithm", [Algorithm.FACTORS, Algorithm.DENSITY, Algorithm.STORIES])
def test_every_algorithm_separates_distinct_themes(algorithm: Algorithm) -> None:
    options = Options(algorithm=algorithm, clusters=5, threshold=0.3)
    members = build(GroupingInput(TEXTS), options, version=1).levels[0].members
    inside = members >= 0
    assert inside.mean() > 0.7
    assert adjusted_rand_score(np.array(TRUTH)[inside], members[inside]) > 0.7


def test_later_documents_join_their_themes_and_unrelated_ones_are_outliers(
    clustering: Clustering,
) -> None:
    texts, truth = themed_texts(200, seed=99)
    assigned = assign(clustering.model, [*texts, "", "zebra umbrella", "season people"])
    inside = assigned.members[:200] >= 0
    assert inside.mean() > 0.85
    theme_of = {
        number: np.bincount(np.array(TRUTH)[clustering.levels[0].members == number]).argmax()
        for number in range(5)
    }
    is_right = [
        theme_of[member] == theme
        for member, theme in zip(assigned.members, truth, strict=False)
        if member >= 0
    ]
    assert np.mean(is_right) > 0.98
    assert assigned.members[200:].tolist() == [-1, -1, -1]
    assert assigned.unclustered[UnclusteredReason.EMPTY] == 2


def test_a_document_is_assigned_alone_as_in_a_batch(clustering: Clustering) -> None:
    texts, _ = themed_texts(20, seed=4)
    all_assigned = assign(clustering.model, texts)
    for number, text in enumerate(texts):
        single = assign(clustering.model, [text])
        assert single.members[0] == all_assigned.members[number]
        assert single.scores[0] == pytest.approx(all_assigned.scores[number], abs=1e-5)


def test_rows_are_converted_to_the_stored_vectors(clustering: Clustering) -> None:
    frequencies = build_vector(clustering.frequencies, 0, 10)
    weights = build_vector(clustering.build_weights(np.array([0])), 0, 10)
    assert frequencies.features.tolist() == weights.features.tolist()
    assert np.linalg.norm(weights.values) == pytest.approx(1, abs=1e-5)
    terms = [clustering.model.dictionary.terms[feature] for feature in frequencies.features]
    assert set(terms) <= {word.strip(".") for word in TEXTS[0].lower().split()}
    assert clustering.model.dictionary.version == 10


def test_a_rebuild_with_a_tenth_more_documents_keeps_ids(clustering: Clustering) -> None:
    more_texts, truth = themed_texts(30, seed=8)
    ids = tuple(cluster.id for cluster in clustering.levels[0].clusters)
    members = np.concatenate([clustering.levels[0].members, np.full(30, -1)])
    rebuilt = build(
        GroupingInput(TEXTS + more_texts),
        FIVE,
        version=11,
        previous=PreviousClustering(members, ids),
    )
    new_ids = [cluster.id for cluster in rebuilt.levels[0].clusters]
    is_kept = [
        ids[old] == new_ids[new]
        for old, new in zip(clustering.levels[0].members, rebuilt.levels[0].members, strict=False)
    ]
    assert np.mean(is_kept) > 0.98
    assert {event.change for event in rebuilt.events} <= {LineageChange.KEPT, LineageChange.GROWN}
    assert normalized_mutual_info_score(TRUTH + truth, rebuilt.levels[0].members) > 0.95


def test_dense_vectors_separate_themes_that_words_do_not() -> None:
    draw = np.random.default_rng(0)
    texts = [f"word{n} other{n} thing{n // 2}" for n in range(80)]
    truth = np.arange(80) % 4
    dense = (np.eye(4)[truth] + draw.normal(0, 0.1, (80, 4))).astype(np.float32)
    built = build(GroupingInput(texts, dense=dense), Options(clusters=4), version=1)
    assert normalized_mutual_info_score(truth, built.levels[0].members) > 0.8
    with pytest.raises(ValueError, match="must have 4 numbers, not 0"):
        assign(built.model, texts)


def test_a_story_ends_after_a_long_pause() -> None:
    texts = ["harbour vessel cargo anchor quay", "harbour vessel cargo tide crane"]
    options = {"algorithm": Algorithm.STORIES, "threshold": 0.2, "half_life_s": 3600.0}
    day = 86_400.0
    same_hour = build(
        GroupingInput(texts, times_s=np.array([0.0, 60.0])), Options(**options), version=1
    )
    assert same_hour.levels[0].members.tolist() == [0, 0]
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
def test_options_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"between|more than"):
        build(GroupingInput(TEXTS), Options(**wrong), version=1)  # type: ignore[arg-type]


def test_a_label_never_contains_singular_and_plural_of_one_word() -> None:
    films = [f"movie movies film actor scene{n % 7}" for n in range(40)]
    ships = [f"harbour vessel cargo tide quay{n % 7}" for n in range(40)]
    languages = [""] * 80
    built = build(GroupingInput(films + ships, languages), Options(clusters=2), version=1)
    for cluster in built.levels[0].clusters:
        assert not {"movie", "movies"} <= set(cluster.label.split(", "))
        assert not {"movie", "movies"} <= {term for term, _ in cluster.terms}
