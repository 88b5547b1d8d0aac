"""A document that may not be in its cluster goes to the nearest other that takes it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fonds.grouping.algorithms.assignment import assign
from fonds.grouping.algorithms.builder import GroupingInput, build
from fonds.grouping.algorithms.clustering import Options
from themed_texts import themed_texts


def test_the_nearest_other_cluster_takes_what_one_may_not_if_it_reaches_as_far() -> None:
    texts, _ = themed_texts(200)
    model = build(GroupingInput(texts), Options(clusters=5), version=1).model
    plain = assign(model, texts[:20])
    barred = {at: [int(plain.members[at])] for at in range(0, 20, 2)}
    far = replace(model, score_minimums=np.full(5, -1.0, np.float32))
    moved = assign(far, texts[:20], excluded=barred)
    for at in range(20):
        if at not in barred:
            assert moved.members[at] == assign(far, texts[:20]).members[at]
            continue
        assert moved.members[at] not in (-1, *barred[at])
        others = [
            assign(far, texts[:20], excluded={at: [one for one in range(5) if one != other]})
            for other in range(5)
            if other not in barred[at]
        ]
        assert moved.scores[at] == max(one.scores[at] for one in others)
    near = replace(model, score_minimums=np.full(5, 2.0, np.float32))
    nowhere = assign(near, texts[:20], excluded=barred)
    assert set(nowhere.members.tolist()) == {-1}
    every = {at: list(range(5)) for at in range(20)}
    assert set(assign(far, texts[:20], excluded=every).members.tolist()) == {-1}


def test_who_is_barred_from_another_cluster_stays_where_it_is() -> None:
    texts, _ = themed_texts(100)
    model = build(GroupingInput(texts), Options(clusters=4), version=1).model
    plain = assign(model, texts)
    other = {at: [(int(one) + 1) % 4] for at, one in enumerate(plain.members) if one >= 0}
    again = assign(model, texts, excluded=other)
    assert np.array_equal(again.members, plain.members)
    assert np.array_equal(again.scores, plain.scores)
