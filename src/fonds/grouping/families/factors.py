"""Factors: non-negative parts of the weighted terms; a document is in the one it has most of.

Source: D. Lee and H. S. Seung, "Learning the parts of objects by non-negative matrix factorization", 1999.
Bound: fitted on 20,000 documents, 200 rounds.
"""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import NMF

from fonds.grouping.families.partition import Partition, Prepared, centroids, without_gaps
from fonds.grouping.options import Options
from fonds.grouping.space.weighting import evenly

CLUSTERS_USUAL = 10
SAMPLE_DOCUMENTS = 20_000
ROUNDS_MAX = 200


def factors(prepared: Prepared, options: Options) -> Partition:
    """As many factors as are asked for, ten without; each document is in one."""
    weighted = prepared.weighted
    sample = weighted[evenly(weighted.shape[0], SAMPLE_DOCUMENTS)]
    clusters = min(options.clusters or CLUSTERS_USUAL, *sample.shape)
    model = NMF(
        clusters, init="nndsvda", random_state=options.seed, max_iter=ROUNDS_MAX, tol=1e-3
    ).fit(sample)
    held = model.transform(weighted)
    members = np.asarray(held).argmax(axis=1).astype(np.int64)
    nothing = np.asarray(held).max(axis=1) <= 0
    if nothing.any() and not nothing.all():
        places = centroids(prepared.vectors, np.where(nothing, -1, members), clusters)
        members[nothing] = (prepared.vectors[nothing] @ places.T).argmax(axis=1)
    return Partition((without_gaps(members),))
