"""Builder of a clustering from texts.

Steps: read the texts, remove near-duplicates, compute tf-idf weights and vectors, partition the
documents, label the clusters, and carry over the cluster ids of the previous clustering.

The result depends only on the set of distinct documents, not on their order or number of copies:
distinct documents are sorted by content, and each counts once. Limits: time and memory are linear
in the length of the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fonds.grouping.algorithms.clustering import (
    Algorithm,
    Cluster,
    Clustering,
    FinerLevel,
    Level,
    Options,
    PlacementModel,
    UnclusteredReason,
    validate_options,
)
from fonds.grouping.algorithms.corpus import (
    DOCUMENT_BATCH,
    TermCounts,
    TermReader,
    TextCollection,
)
from fonds.grouping.algorithms.density import partition_by_density
from fonds.grouping.algorithms.duplicates import EMPTY
from fonds.grouping.algorithms.factors import partition_by_factors
from fonds.grouping.algorithms.labels import (
    DOCUMENTS_MAX,
    label_clusters,
)
from fonds.grouping.algorithms.lineage import LineageEvent, carry_ids, create_ids, find_parents
from fonds.grouping.algorithms.partition import (
    NO_CLUSTER,
    Partition,
    PartitionAlgorithm,
    PreparedDocuments,
    compute_centroids,
    compute_cosines,
)
from fonds.grouping.algorithms.small_clusters import partition_into_small_clusters
from fonds.grouping.algorithms.space import ProjectedVectors, fit_space
from fonds.grouping.algorithms.term_counts import (
    Floats,
    Ints,
    Matrix,
    compute_idf,
    compute_tfidf,
    resolve_languages,
)
from fonds.grouping.algorithms.topics import partition_into_topics

PARTITION_ALGORITHMS: dict[Algorithm, PartitionAlgorithm] = {
    Algorithm.TOPICS: partition_into_topics,
    Algorithm.STORIES: partition_into_small_clusters,
    Algorithm.FACTORS: partition_by_factors,
    Algorithm.DENSITY: partition_by_density,
}
REPRESENTATIVES_MAX = 10
SCORE_MIN_PERCENTILE = 5

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class GroupingInput:
    """Documents to group, in any order. All sequences have one item per document.

    `languages`: language of each text; None if unknown, to be guessed.
    `times_s`: date of each document in seconds since any fixed time, used by the algorithm
        `stories`; or None.
    `dense`: dense vectors from a language model, documents x dimensions, float32; or None.
    """

    texts: Sequence[str]
    languages: Sequence[str | None] | None = None
    times_s: NDArray[np.float64] | None = None
    dense: Floats | None = None

    def count(self) -> CountedDocuments:
        """Read the texts and return the documents with their term counts, ready to be grouped."""
        reader = TermReader()
        counts = TermCounts(reader.vocabulary)
        languages = resolve_languages(self.texts, self.languages)
        for start in range(0, len(self.texts), DOCUMENT_BATCH):
            batch = slice(start, start + DOCUMENT_BATCH)
            counts.add(reader.read(self.texts[batch], languages[batch]))
        texts = self.texts
        return CountedDocuments(
            counts, lambda places: [texts[place] for place in places], self.times_s, self.dense
        )


@dataclass(frozen=True, slots=True)
class CountedDocuments:
    """Documents whose terms are already counted, so their texts need not be in memory.

    `counts`: term counts of the documents; grouping consumes them.
    `texts`: function that returns the texts of documents by position, to spell labels; "" for a
        missing text.
    `times_s`: date of each document in seconds since any fixed time; or None.
    `dense`: dense vectors from a language model, documents x dimensions; or None.
    """

    counts: TermCounts
    texts: Callable[[Sequence[int]], Sequence[str]]
    times_s: NDArray[np.float64] | None = None
    dense: NDArray[np.floating[Any]] | None = None


@dataclass(frozen=True, slots=True)
class PreviousClustering:
    """Previous clustering of the documents that are grouped again.

    `members`: previous cluster number of each input document, -1 for none.
    `ids`: id of each previous cluster, by number.
    """

    members: Ints
    ids: tuple[str, ...]


def build(
    documents: GroupingInput | CountedDocuments,
    options: Options,
    *,
    version: int,
    previous: PreviousClustering | None = None,
    progress: Progress = lambda stage: None,
) -> Clustering:
    """Build and return a clustering of documents.

    `version`: number of this clustering, higher than that of any previous one of the collection.
    `previous`: previous clustering, whose cluster ids are carried over; None if there is none.
    `progress`: function that is called with the name of each stage as it begins: read, place,
        group, label.

    Raises ValueError for options out of bounds.
    """
    validate_options(options)
    progress("read")
    counted_documents = documents.count() if isinstance(documents, GroupingInput) else documents
    collection = counted_documents.counts.build_collection(version)
    progress("place")
    vectors = _project_documents(collection, counted_documents.dense, options)
    progress("group")
    previous_members = None if previous is None else collection.gather_values(previous.members)
    times = (
        None
        if counted_documents.times_s is None
        else counted_documents.times_s[collection.distinct]
    )
    prepared_documents = PreparedDocuments(vectors, vectors.weighted_rows, times, previous_members)
    partition = _partition_documents(prepared_documents, options)
    progress("label")
    unnamed_levels, centroids, score_minimums = _build_levels(
        counted_documents, collection, prepared_documents, partition
    )
    levels, events = _assign_ids(unnamed_levels, version, previous)
    usual_language = max(set(collection.languages), key=collection.languages.count, default="")
    weights = compute_idf(collection.dictionary.documents, collection.dictionary.document_counts)
    return Clustering(
        levels,
        collection.originals,
        count_unclustered(levels[0].members, collection.originals != EMPTY),
        events,
        PlacementModel(
            collection.dictionary,
            weights,
            vectors.space,
            centroids[0],
            score_minimums,
            partition.evidence,
            usual_language,
            _build_finer_levels(partition.levels, centroids),
        ),
        collection.frequencies,
    )


def _project_documents(
    collection: TextCollection, dense: NDArray[np.floating[Any]] | None, options: Options
) -> ProjectedVectors:
    """Fit a vector space to a collection and return the vectors of its distinct documents.

    Distinct documents are those that are not near-duplicates of another.
    `dense`: dense vectors of all documents; None if there are none.
    """
    weights = compute_idf(collection.dictionary.documents, collection.dictionary.document_counts)
    weighted_rows = compute_tfidf(collection.frequencies[collection.distinct], weights)
    width = 0 if dense is None else dense.shape[1]
    space = fit_space(weighted_rows, collection, width, options.seed)
    return ProjectedVectors(
        space, weighted_rows, None if dense is None else dense[collection.distinct]
    )


def count_unclustered(
    members: Ints, has_features: NDArray[np.bool_]
) -> dict[UnclusteredReason, int]:
    """Return the number of documents in no cluster, by reason.

    `members`: cluster number of each document, NO_CLUSTER for none.
    `has_features`: whether each document has a term that counts; documents without one are empty.
    """
    return {
        UnclusteredReason.EMPTY: int((~has_features).sum()),
        UnclusteredReason.OUTLIER: int(((members == NO_CLUSTER) & has_features).sum()),
    }


def _partition_documents(prepared_documents: PreparedDocuments, options: Options) -> Partition:
    """Partition the documents into clusters with the algorithm that the options name.

    A single document forms one cluster. Without documents, the result has no clusters.
    """
    count = len(prepared_documents.vectors)
    if count < 2:
        return Partition((np.zeros(count, dtype=np.int64),))
    return PARTITION_ALGORITHMS[options.algorithm](prepared_documents, options)


def _build_levels(
    documents: CountedDocuments,
    collection: TextCollection,
    prepared_documents: PreparedDocuments,
    partition: Partition,
) -> tuple[list[Level], list[Floats], Floats]:
    """Build the levels (granularities) of a clustering, whose clusters do not have ids yet.

    Return three items: the levels, the centroids of the clusters of each level, and the minimum
    cosine similarity at which each first-level cluster accepts a document that is added later.
    """
    levels: list[Level] = []
    all_centroids: list[Floats] = []
    score_minimums = np.zeros(0, np.float32)
    for members in partition.levels:
        clusters = int(members.max(initial=NO_CLUSTER)) + 1
        centroids = compute_centroids(prepared_documents.vectors, members, clusters)
        scores = compute_cosines(prepared_documents.vectors, members, centroids)
        if not levels:
            score_minimums = _compute_score_minimums(members, scores, clusters)
        levels.append(
            _build_level(documents, collection, prepared_documents.weighted_rows, members, scores)
        )
        all_centroids.append(centroids)
    return levels, all_centroids, score_minimums


def _build_finer_levels(
    levels: Sequence[Ints], centroids: Sequence[Floats]
) -> tuple[FinerLevel, ...]:
    """Return the levels other than the first that have at least as many clusters as the first.

    A level is one granularity of the clustering. The model that assigns documents added later
    needs these levels.

    `levels`: for each level, the cluster number of each distinct document.
    `centroids`: for each level, the centroids of its clusters.
    """
    return tuple(
        FinerLevel(number, centroids[number], find_parents(members, levels[0]))
        for number, members in enumerate(levels)
        if number and len(centroids[number]) >= len(centroids[0])
    )


def _build_level(
    documents: CountedDocuments,
    collection: TextCollection,
    weighted_rows: Matrix,
    members: Ints,
    scores: Floats,
) -> Level:
    clusters = int(members.max(initial=NO_CLUSTER)) + 1
    all_members = collection.spread_values(members)
    places = collection.spread_values(np.arange(len(members)))
    all_scores = np.zeros(len(all_members), np.float32)
    all_scores[all_members >= 0] = scores[places[all_members >= 0]]
    nearest = _rank_members(members, scores, clusters)
    samples = []
    for ranked_documents in nearest:
        sample_places = collection.distinct[ranked_documents[:DOCUMENTS_MAX]].tolist()
        samples.append(
            (
                documents.texts(sample_places),
                [collection.languages[place] for place in sample_places],
            )
        )
    labels = label_clusters(collection, weighted_rows, members, clusters, samples)
    sizes = np.bincount(all_members[all_members >= 0], minlength=clusters)
    distinct = np.bincount(members[members >= 0], minlength=clusters)
    clusters_with_labels = tuple(
        Cluster(
            "",
            labels[number].text,
            int(sizes[number]),
            int(distinct[number]),
            labels[number].terms,
            tuple(
                int(place) for place in collection.distinct[nearest[number][:REPRESENTATIVES_MAX]]
            ),
        )
        for number in range(clusters)
    )
    return Level(all_members, all_scores, clusters_with_labels)


def _rank_members(members: Ints, scores: Floats, clusters: int) -> list[Ints]:
    """Return the documents of each cluster, nearest to the cluster's centroid first.

    `members`: cluster number of each document.
    `scores`: cosine similarity of each document to its cluster's centroid.
    `clusters`: number of clusters.
    """
    order = np.lexsort((-scores, members))
    bounds = np.searchsorted(members[order], np.arange(clusters + 1))
    return [order[bounds[cluster] : bounds[cluster + 1]] for cluster in range(clusters)]


def _compute_score_minimums(members: Ints, scores: Floats, clusters: int) -> Floats:
    """Return the minimum cosine similarity at which each cluster accepts a document added later.

    It is the 5th percentile of the similarities of the cluster's own documents; 1 for an empty
    cluster.
    """
    return np.array(
        [
            np.percentile(scores[ranked_documents], SCORE_MIN_PERCENTILE)
            if len(ranked_documents)
            else 1.0
            for ranked_documents in _rank_members(members, scores, clusters)
        ],
        dtype=np.float32,
    )


def _assign_ids(
    levels: Sequence[Level], version: int, previous: PreviousClustering | None
) -> tuple[tuple[Level, ...], tuple[LineageEvent, ...]]:
    """Return the levels with cluster ids and parents, and the lineage events of the first level.

    First-level clusters keep the id of the previous cluster that they continue; others get new ids.
    `version`: number of this clustering, which is part of new ids.
    """
    events: tuple[LineageEvent, ...] = ()
    coarser = {
        len(level.clusters): level for level in sorted(levels, key=lambda item: len(item.clusters))
    }
    levels_with_ids = []
    for number, level in enumerate(levels):
        clusters = len(level.clusters)
        ids = tuple(f"{id_}.{number}" if number else id_ for id_ in create_ids(clusters, version))
        if number == 0 and previous is not None:
            lineage = carry_ids(previous.members, previous.ids, level.members, clusters, version)
            ids, events = lineage.ids, lineage.events
        parent_count = max((count for count in coarser if count < clusters), default=None)
        parents = (
            None
            if parent_count is None
            else find_parents(level.members, coarser[parent_count].members)
        )
        clusters_with_ids = tuple(
            Cluster(
                ids[position],
                cluster.label,
                cluster.size,
                cluster.distinct,
                cluster.terms,
                cluster.representatives,
                None if parents is None else int(parents[position]),
            )
            for position, cluster in enumerate(level.clusters)
        )
        levels_with_ids.append(Level(level.members, level.scores, clusters_with_ids))
    return tuple(levels_with_ids), events
