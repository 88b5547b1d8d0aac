"""Which cluster each term speaks for: complement naive Bayes with weights brought to one length.

Source: J. Rennie, L. Shih, J. Teevan and D. Karger, "Tackling the poor assumptions of naive Bayes text
classifiers", 2003, section 4.4 (WCNB).

Clusters found in few directions are made exact by all their terms: what each term says is learned from the
clusters, documents go where their terms say, and that again, until few move or a cluster would be
left empty. Bound: five rounds.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from fonds.grouping.space.weighting import Floats
from fonds.grouping.text.counting import Ints, Matrix

ROUNDS_MAX = 5
SMOOTHING = 0.1
_SETTLED = 0.999
_DOCUMENTS_AT_ONCE = 50_000


def refine(weighted: Matrix, members: Ints, clusters: int) -> tuple[Ints, Floats]:
    """The clusters of all documents after what their terms say, and the evidence that says it."""
    evidence = learn(weighted, members, clusters)
    for _ in range(ROUNDS_MAX):
        moved = decide(weighted, evidence)
        if len(np.unique(moved)) < clusters:
            break
        same = float(np.mean(moved == members))
        members = moved
        evidence = learn(weighted, members, clusters)
        if same >= _SETTLED:
            break
    return members, evidence


def learn(weighted: Matrix, members: Ints, clusters: int) -> Floats:
    """Features x clusters, float32: higher where a term speaks for a cluster."""
    inside = members >= 0
    belongs = sp.csr_matrix(
        (np.ones(int(inside.sum()), np.float32), (members[inside], np.flatnonzero(inside))),
        shape=(clusters, weighted.shape[0]),
    )
    held = (belongs @ weighted).toarray()
    elsewhere = held.sum(axis=0) - held + SMOOTHING
    rare = -np.log(elsewhere / elsewhere.sum(axis=1, keepdims=True))
    evidence: Floats = (rare / np.abs(rare).sum(axis=1, keepdims=True)).T.astype(np.float32)
    return np.ascontiguousarray(evidence)


def decide(weighted: Matrix, evidence: Floats) -> Ints:
    """The cluster the terms of each document speak for most."""
    parts = [
        np.asarray(weighted[at : at + _DOCUMENTS_AT_ONCE] @ evidence).argmax(axis=1)
        for at in range(0, weighted.shape[0], _DOCUMENTS_AT_ONCE)
    ]
    return np.concatenate(parts or [np.zeros(0, np.int64)]).astype(np.int64)
