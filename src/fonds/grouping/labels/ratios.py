"""How surprisingly often a term stands in a cluster's documents: the signed log-likelihood ratio.

Source: T. Dunning, "Accurate methods for the statistics of surprise and coincidence", 1993. Documents are
counted, not occurrences, so that one repetitive document says no more than any other.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fonds.grouping.text.counting import Ints, Matrix

Doubles = NDArray[np.float64]
SHARE_MIN = 1.5
"""A term that names a cluster stands there at least so many times as often as elsewhere."""


def standing(present: Matrix, members: Ints, clusters: int) -> Matrix:
    """In how many documents of each cluster each column of `present` stands: clusters x columns."""
    inside = members >= 0
    belongs = sp.csr_matrix(
        (np.ones(int(inside.sum()), np.float32), (members[inside], np.flatnonzero(inside))),
        shape=(clusters, present.shape[0]),
    )
    counts = sp.csr_matrix(belongs @ present)
    counts.sort_indices()
    return counts


def ratios(counts: Matrix, sizes: Ints, everywhere: Ints, documents: int) -> Matrix:
    """The ratio of each count, above 0 where a term stands out: clusters x columns.

    `sizes`: documents of each cluster; `everywhere`: documents each column stands in; `documents`: all of
    them.
    """
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    inside = counts.data.astype(np.float64)
    of_cluster = sizes[row].astype(np.float64)
    of_term = everywhere[counts.indices].astype(np.float64)
    elsewhere = np.maximum(documents - of_cluster, 0)
    surprise = 2 * (
        _entropy(inside, of_cluster * of_term / documents)
        + _entropy(of_term - inside, elsewhere * of_term / documents)
        + _entropy(of_cluster - inside, of_cluster * (documents - of_term) / documents)
        + _entropy(elsewhere - of_term + inside, elsewhere * (documents - of_term) / documents)
    )
    share = inside / np.maximum(of_cluster, 1)
    share_elsewhere = (of_term - inside) / np.maximum(elsewhere, 1)
    stands_out = (share > SHARE_MIN * share_elsewhere) | (elsewhere == 0)
    scores = np.where(stands_out, np.maximum(surprise, 0), 0) + (elsewhere == 0) * share
    return sp.csr_matrix((scores, counts.indices.copy(), counts.indptr.copy()), shape=counts.shape)


def strongest(scores: Matrix, most: int) -> list[list[tuple[int, float]]]:
    """For each row its columns with the highest scores above 0, the highest first, at most `most`."""
    found = []
    for row in range(scores.shape[0]):
        part = slice(scores.indptr[row], scores.indptr[row + 1])
        columns, values = scores.indices[part], scores.data[part]
        order = np.lexsort((columns, -values))[:most]
        found.append([(int(columns[at]), float(values[at])) for at in order if values[at] > 0])
    return found


def _entropy(observed: Doubles, expected: Doubles) -> Doubles:
    """Observed x ln(observed / expected), 0 where nothing was observed."""
    safe = np.where(observed > 0, observed, 1)
    terms: Doubles = np.where(
        observed > 0, observed * np.log(safe / np.maximum(expected, 1e-12)), 0
    )
    return terms
