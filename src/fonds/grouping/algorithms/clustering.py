"""Result and options of a clustering algorithm: labelled clusters, members, and model."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from fonds.grouping.algorithms.lineage import LineageEvent
from fonds.grouping.algorithms.space import VectorSpace
from fonds.grouping.algorithms.term_counts import Floats, Ints, Matrix, compute_tfidf
from fonds.model.vectors import Dictionary


class UnclusteredReason(StrEnum):
    """Reason why the algorithms put a document in no cluster.

    `EMPTY`: the document has no term that counts. `OUTLIER`: it is not similar enough to any
        cluster.
    """

    EMPTY = "empty"
    OUTLIER = "outlier"


@dataclass(frozen=True, slots=True)
class FinerLevel:
    """Level (granularity) of a clustering with at least as many clusters as the first level.

    `level`: number of the level; the first is 0.
    `centroids`: centroids of its clusters, clusters x dimensions.
    `coarser_clusters`: for each cluster, the first-level cluster that has most of its documents.
    """

    level: int
    centroids: Floats = field(repr=False)
    coarser_clusters: Ints = field(repr=False)


@dataclass(frozen=True, slots=True)
class PlacementModel:
    """Model that assigns new documents to clusters; it does not change until the next rebuild.

    `dictionary`: the terms that count, called features, with their document counts.
    `weights`: inverse document frequency (idf) of each feature.
    `space`: projection of documents to vectors.
    `centroids`: centroids of the first-level clusters, clusters x dimensions, float32, length 1.
    `score_minimums`: for each cluster, the minimum cosine similarity to accept a document.
    `evidence`: features x clusters, how strongly a term indicates a cluster; None if the nearest
        centroid decides.
    `language`: two-letter language for texts that state none.
    `finer`: the levels finer than the first.
    """

    dictionary: Dictionary
    weights: Floats = field(repr=False)
    space: VectorSpace = field(repr=False)
    centroids: Floats = field(repr=False)
    score_minimums: Floats = field(repr=False)
    evidence: Floats | None = field(repr=False)
    language: str
    finer: tuple[FinerLevel, ...] = ()


@dataclass(frozen=True, slots=True)
class Cluster:
    """Cluster of documents with its label and terms.

    `id`: id that persists over rebuilds while the cluster continues.
    `label`: name of the cluster's subject, for people.
    `size`: number of documents.
    `distinct`: number of documents that are not near-duplicates of another.
    `terms`: strongest terms as written in the documents, with their log-likelihood ratios.
    `representatives`: positions of the documents nearest to the centroid, nearest first.
    `parent`: number of the cluster on the next coarser level that has most of this cluster's
        documents; None on the coarsest level.
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
    """Level of a clustering: one granularity, between few broad and many narrow clusters.

    `members`: cluster number of each document, int64; -1 for none.
    `scores`: cosine similarity of each document to its cluster's centroid, float32; 0 for a
        document in no cluster.
    `clusters`: the clusters in the order of their numbers, largest cluster first.
    """

    members: Ints = field(repr=False)
    scores: Floats = field(repr=False)
    clusters: tuple[Cluster, ...]


@dataclass(frozen=True, slots=True)
class Clustering:
    """Complete result of a clustering algorithm.

    Documents are identified by their position in the input.

    `levels`: all granularities; first that with the requested or chosen number of clusters.
    `originals`: for each document, the one it is a near-duplicate of, possibly itself; -1 for an
        empty document.
    `unclustered`: number of documents in no first-level cluster, by reason.
    `events`: changes of the first-level clusters since the previous clustering.
    `model`: model that assigns documents that are added later.
    `frequencies`: term frequencies, documents x features; each row is stored as a document's
        `vector_idf`.
    """

    levels: tuple[Level, ...]
    originals: Ints = field(repr=False)
    unclustered: dict[UnclusteredReason, int]
    events: tuple[LineageEvent, ...]
    model: PlacementModel
    frequencies: Matrix = field(repr=False)

    def build_weights(self, documents: Ints) -> Matrix:
        """Return the tf-idf matrix of some documents, given by position: documents x features.

        Each row is stored as a document's `vector_tfidf`.
        """
        return compute_tfidf(self.frequencies[documents], self.model.weights)


# Parameters of a grouping and their bounds


CLUSTERS_MAX = 2000


class Algorithm(StrEnum):
    """Algorithms that group documents.

    `TOPICS`: few broad clusters. `STORIES`: many small clusters about one event each. `FACTORS`:
    non-negative matrix factorization. `DENSITY`: dense regions (HDBSCAN).
    """

    TOPICS = "topics"
    STORIES = "stories"
    FACTORS = "factors"
    DENSITY = "density"


@dataclass(frozen=True, slots=True)
class Options:
    """Parameters of a clustering algorithm.

    `clusters`: number of topics or factors. None: `TOPICS` chooses one from 2 to `clusters_max`.
    `granularities`: further numbers of topics, each computed as a level of its own.
    `threshold`: minimum cosine similarity between a document and a small cluster.
    `half_life_s`: seconds without a document after which the similarities to a small cluster are
        halved; None to ignore time.
    `size_min`: minimum number of documents of a small or dense cluster. Documents in smaller ones
        are in no cluster.
    `seed`: seed of all random choices.
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
    """Return the options of an algorithm unchanged. Raises ValueError if one is out of bounds."""
    clusters = 1 if options.clusters is None else options.clusters
    cluster_counts = (*options.granularities, options.clusters_max, clusters)
    if (
        not all(1 <= count <= CLUSTERS_MAX for count in cluster_counts)
        or len(options.granularities) > 10
    ):
        raise ValueError(f"set between 1 and {CLUSTERS_MAX} clusters, and at most 10 granularities")
    if not 0 < options.threshold < 1 or options.size_min < 1:
        raise ValueError("the threshold must be between 0 and 1, and the size 1 or more")
    if options.half_life_s is not None and not options.half_life_s > 0:
        raise ValueError("the half-life must be more than 0 seconds")
    return options
