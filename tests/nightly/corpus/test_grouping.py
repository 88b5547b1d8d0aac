"""Groupings of labelled data sets are nearly as good as `docs/figures.md` says."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from fonds.grouping.algorithms.builder import GroupingInput, build
from fonds.grouping.algorithms.clustering import (
    Algorithm,
    Clustering,
    Options,
)
from fonds.grouping.algorithms.stop_words import load_stop_words

SETS = Path(__file__).parents[3].parent / "shared" / "corpus" / "gold" / "text"
pytestmark = [
    pytest.mark.skipif(not SETS.is_dir(), reason="the corpus is not beside this repository"),
]


def group_set(name: str, **options: object) -> tuple[Clustering, np.ndarray, list[str]]:
    with gzip.open(SETS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    truth = np.unique([row["label"] for row in rows], return_inverse=True)[1]
    texts = [row["text"] for row in rows]
    if options.get("clusters") == "given":
        options["clusters"] = int(truth.max()) + 1
    return build(GroupingInput(texts), Options(**options), version=1), truth, texts  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "score_min"),
    [("bbc", 0.89), ("agnews_test", 0.55), ("SearchSnippets", 0.60), ("Pascal_Flickr", 0.33)],
)
def test_topics_agree_with_labels_of_people(name: str, score_min: float) -> None:
    clustering, truth, _ = group_set(name, clusters="given")
    print(name, normalized_mutual_info_score(truth, clustering.levels[0].members))
    assert normalized_mutual_info_score(truth, clustering.levels[0].members) >= score_min
    label_words = {
        word
        for cluster in clustering.levels[0].clusters
        for part in (cluster.label, *(term for term, _ in cluster.terms))
        for word in part.lower().replace(",", "").split()
    }
    assert label_words & load_stop_words("en") == set()


def test_stories_agree_with_labels_of_people() -> None:
    clustering, truth, _ = group_set("Tweet", algorithm=Algorithm.STORIES, size_min=1)
    assert adjusted_rand_score(truth, clustering.levels[0].members) >= 0.55


def test_the_order_of_texts_does_not_change_clusters() -> None:
    clustering, _, texts = group_set("Tweet", clusters="given")
    order = np.random.default_rng(1).permutation(len(texts))
    shuffled = build(GroupingInput([texts[n] for n in order]), Options(clusters=89), version=1)
    assert np.array_equal(shuffled.levels[0].members, clustering.levels[0].members[order])
