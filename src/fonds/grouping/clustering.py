"""What a grouping makes: clusters with their labels, the place of every document, and the model that
assigns more."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from fonds.grouping.lineage import Event
from fonds.grouping.space.projecting import Space
from fonds.grouping.space.weighting import Floats, tfidf
from fonds.grouping.text.counting import Ints, Matrix
from fonds.model.vectors import Dictionary


class Apart(StrEnum):
    """Why a document is in no cluster."""

    EMPTY = "empty"
    OUTLIER = "outlier"


@dataclass(frozen=True, slots=True)
class Finer:
    """A level with as many clusters as the first one, or more: its number, the middles of its clusters, and
    the cluster of the first level that holds most of each."""

    level: int
    centroids: Floats = field(repr=False)
    above: Ints = field(repr=False)


@dataclass(frozen=True, slots=True)
class Model:
    """What places documents that come later; frozen until the next rebuild.

    `weights`: the idf of each feature; `centroids`: clusters x directions, float32 of length 1; `reach`: the
    least cosine at which each cluster takes a document; `evidence`: features x clusters, or None where the
    nearest centroid decides; `language`: how texts that say none are read; `finer`: the levels below the
    first.
    """

    dictionary: Dictionary
    weights: Floats = field(repr=False)
    space: Space = field(repr=False)
    centroids: Floats = field(repr=False)
    reach: Floats = field(repr=False)
    evidence: Floats | None = field(repr=False)
    language: str
    finer: tuple[Finer, ...] = ()


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster: `id` stays over rebuilds, `label` tells people what it is about.

    `size` counts documents, `distinct` those that are no near-duplicate of another. `terms`: its strongest
    terms as written, with their log-likelihood ratios. `representatives`: the places of the documents
    nearest to its middle, the nearest first; their titles speak for it. `parent`: the number of the next
    coarser level's cluster that holds most of it, None at the coarsest.
    """

    id: str
    label: str
    size: int
    distinct: int
    terms: tuple[tuple[str, float], ...]
    representatives: tuple[int, ...]
    parent: int | None = None


@dataclass(frozen=True, slots=True)
class Level:
    """One granularity. `members`: the cluster of each document by number, int64, -1 for none; `scores`: the
    cosine of each to its cluster's middle, float32, 0 for none; `clusters` by number, the largest first."""

    members: Ints = field(repr=False)
    scores: Floats = field(repr=False)
    clusters: tuple[Cluster, ...]


@dataclass(frozen=True, slots=True)
class Clustering:
    """A whole grouping. Documents are known by their place in what was given.

    `levels`: the one that was asked for, or chosen, first. `originals`: for each document the one it is a
    near-duplicate of, maybe itself, -1 for an empty one. `apart`: how many documents are in no cluster of the
    first level, and why. `events`: what changed since the clustering before. `frequencies`: documents x
    features, a row each for `vector_idf`.
    """

    levels: tuple[Level, ...]
    originals: Ints = field(repr=False)
    apart: dict[Apart, int]
    events: tuple[Event, ...]
    model: Model
    frequencies: Matrix = field(repr=False)

    def weighted(self, documents: Ints) -> Matrix:
        """The tf-idf of some documents; a row each for `vector_tfidf`."""
        return tfidf(self.frequencies[documents], self.model.weights)
