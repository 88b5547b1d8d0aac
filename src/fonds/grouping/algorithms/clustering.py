"""What a grouping makes: clusters with their labels, the place of every document, and the model that
assigns more."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from fonds.grouping.algorithms.lineage import LineageEvent
from fonds.grouping.algorithms.space import VectorSpace
from fonds.grouping.algorithms.term_counts import Floats, Ints, Matrix, compute_tfidf
from fonds.model.vectors import Dictionary


class UnclusteredReason(StrEnum):
    """Why a document is in no cluster."""

    EMPTY = "empty"
    OUTLIER = "outlier"


@dataclass(frozen=True, slots=True)
class FinerLevel:
    """A level with as many clusters as the first one, or more: its number, the middles of its clusters, and
    the cluster of the first level that holds most of each."""

    level: int
    centroids: Floats = field(repr=False)
    above: Ints = field(repr=False)


@dataclass(frozen=True, slots=True)
class PlacementModel:
    """What places documents that come later; frozen until the next rebuild.

    `weights`: the idf of each feature; `centroids`: clusters x directions, float32 of length 1; `reach`: the
    least cosine at which each cluster takes a document; `evidence`: features x clusters, or None where the
    nearest centroid decides; `language`: how texts that say none are read; `finer`: the levels below the
    first.
    """

    dictionary: Dictionary
    weights: Floats = field(repr=False)
    space: VectorSpace = field(repr=False)
    centroids: Floats = field(repr=False)
    reach: Floats = field(repr=False)
    evidence: Floats | None = field(repr=False)
    language: str
    finer: tuple[FinerLevel, ...] = ()


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
    near-duplicate of, maybe itself, -1 for an empty one. `unclustered`: how many documents are in no
    cluster of the first level, and why. `events`: what changed since the clustering before.
    `frequencies`: documents x features, a row each for `vector_idf`."""

    levels: tuple[Level, ...]
    originals: Ints = field(repr=False)
    unclustered: dict[UnclusteredReason, int]
    events: tuple[LineageEvent, ...]
    model: PlacementModel
    frequencies: Matrix = field(repr=False)

    def build_weights(self, documents: Ints) -> Matrix:
        """The tf-idf of some documents; a row each for `vector_tfidf`."""
        return compute_tfidf(self.frequencies[documents], self.model.weights)


# How a collection is grouped: the parameters of a configuration, each with its bounds.


CLUSTERS_MAX = 2000


class Algorithm(StrEnum):
    """The families by name."""

    TOPICS = "topics"
    STORIES = "stories"
    FACTORS = "factors"
    DENSITY = "density"


@dataclass(frozen=True, slots=True)
class Options:
    """Parameters of a grouping.

    `clusters`: how many topics or factors, None to have it chosen between 2 and `clusters_max`.
    `granularities`: further numbers of topics, of the same pass. `threshold`: the least cosine between a
    story and its leader. `half_life_s`: after so many seconds without a document a story must be twice as
    near to take another; None where time does not count. `size_min`: smaller stories, and groups of
    density, are no clusters. `seed`: whatever is drawn is drawn by it.
    """

    algorithm: Algorithm = Algorithm.TOPICS
    clusters: int | None = None
    clusters_max: int = 50
    granularities: tuple[int, ...] = ()
    threshold: float = 0.4
    half_life_s: float | None = None
    size_min: int = 2
    seed: int = 0


def validate_options(options: Options) -> Options:
    """The options themselves. Raises ValueError where one is beyond its bounds."""
    one = 1 if options.clusters is None else options.clusters
    asked = (*options.granularities, options.clusters_max, one)
    if not all(1 <= count <= CLUSTERS_MAX for count in asked) or len(options.granularities) > 10:
        raise ValueError(f"between 1 and {CLUSTERS_MAX} clusters, and 10 granularities at most")
    if not 0 < options.threshold < 1 or options.size_min < 1:
        raise ValueError("a threshold is between 0 and 1, a size 1 or more")
    if options.half_life_s is not None and not options.half_life_s > 0:
        raise ValueError("a half-life is more than 0 seconds")
    return options
