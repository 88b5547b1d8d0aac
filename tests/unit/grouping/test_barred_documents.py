"""A document excluded from its cluster is assigned to the nearest other cluster that accepts it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fonds.grouping.algorithms.assignment import assign
from fonds.grouping.algorithms.builder import GroupingInput, build
from fonds.grouping.algorithms.clustering import Options
from themed_texts import themed_texts


def test_an_excluded_document_moves_to_the_nearest_other_cluster_within_reach() -> None:
    texts, _ = themed_texts(200)
    model = build(GroupingInput(texts), Options(clusters=5), version=1).model
    plain = assign(model, texts[:20])
    excluded = {document: [int(plain.members[document])] for document in range(0, 20, 2)}
    wide_model = replace(model, score_minimums=np.full(5, -1.0, np.float32))
    moved = assign(wide_model, texts[:20], excluded_clusters=excluded)
    for document in range(20):
        if document not in excluded:
            assert moved.members[document] == assign(wide_model, texts[:20]).members[document]
            continue
        assert moved.members[document] not in (-1, *excluded[document])
        alternatives = [
            assign(
                wide_model,
                texts[:20],
                excluded_clusters={document: [number for number in range(5) if number != cluster]},
            )
            for cluster in range(5)
            if cluster not in excluded[document]
        ]
        assert moved.scores[document] == max(
            alternative.scores[document] for alternative in alternatives
        )
    narrow_model = replace(model, score_minimums=np.full(5, 2.0, np.float32))
    unassigned = assign(narrow_model, texts[:20], excluded_clusters=excluded)
    assert set(unassigned.members.tolist()) == {-1}
    all_excluded = {document: list(range(5)) for document in range(20)}
    assert set(assign(wide_model, texts[:20], excluded_clusters=all_excluded).members.tolist()) == {
        -1
    }


def test_a_document_excluded_from_another_cluster_stays_in_its_own() -> None:
    texts, _ = themed_texts(100)
    model = build(GroupingInput(texts), Options(clusters=4), version=1).model
    plain = assign(model, texts)
    excluded = {
        document: [(int(member) + 1) % 4]
        for document, member in enumerate(plain.members)
        if member >= 0
    }
    unchanged = assign(model, texts, excluded_clusters=excluded)
    assert np.array_equal(unchanged.members, plain.members)
    assert np.array_equal(unchanged.scores, plain.scores)
