"""Texts to a clustering: read, near-duplicates set aside, weighed, placed, grouped, labelled, identities
carried on.

What documents there are decides, not how they came: their order, or how often one comes, changes nothing,
since distinct documents are taken in an order of their own and each counts once. Bound: linear in the
texts.
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
from fonds.grouping.algorithms.duplicates import EMPTY
from fonds.grouping.algorithms.labels import (
    DOCUMENTS_MAX,
    label_clusters,
)
from fonds.grouping.algorithms.lineage import LineageEvent, carry_ids, create_ids, find_parents
from fonds.grouping.algorithms.methods import (
    NONE,
    Family,
    Partition,
    PreparedDocuments,
    compute_centroids,
    compute_cosines,
    partition_by_density,
    partition_by_factors,
    partition_into_stories,
)
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

FAMILIES: dict[Algorithm, Family] = {
    Algorithm.TOPICS: partition_into_topics,
    Algorithm.STORIES: partition_into_stories,
    Algorithm.FACTORS: partition_by_factors,
    Algorithm.DENSITY: partition_by_density,
}
REPRESENTATIVES_MAX = 10
REACH_PERCENTILE = 5

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class GroupingInput:
    """What is to be grouped, in any order; all fields are of one length.

    `languages`: of each text, or None to have it guessed for those that say none; `times_s`: seconds of any
    clock, for stories; `dense`: documents x numbers, float32, of a language model, or None.
    """

    texts: Sequence[str]
    languages: Sequence[str | None] | None = None
    times_s: NDArray[np.float64] | None = None
    dense: Floats | None = None

    def count(self) -> CountedDocuments:
        """The same, read."""
        reader = TermReader()
        counts = TermCounts(reader.vocabulary)
        languages = resolve_languages(self.texts, self.languages)
        for at in range(0, len(self.texts), DOCUMENT_BATCH):
            some = slice(at, at + DOCUMENT_BATCH)
            counts.add(reader.read(self.texts[some], languages[some]))
        texts = self.texts
        return CountedDocuments(
            counts, lambda places: [texts[place] for place in places], self.times_s, self.dense
        )


@dataclass(frozen=True, slots=True)
class CountedDocuments:
    """Documents whose texts were read and may be gone.

    `counts`: what was read of them, used up by grouping; `texts`: gives the texts of documents by their
    places once more, for the spelling of labels, "" for one that is gone; the others as in `GroupingInput`.
    """

    counts: TermCounts
    texts: Callable[[Sequence[int]], Sequence[str]]
    times_s: NDArray[np.float64] | None = None
    dense: NDArray[np.floating[Any]] | None = None


@dataclass(frozen=True, slots=True)
class PreviousClustering:
    """The clustering before: the cluster of each document that is given now, -1 for new ones, and its
    ids."""

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
    """The clustering of documents; `version` numbers it, and is higher than that of any before.

    `progress` is called with the name of each stage as it begins: read, place, group, label. Raises
    ValueError for options beyond their bounds.
    """
    validate_options(options)
    progress("read")
    given = documents.count() if isinstance(documents, GroupingInput) else documents
    collection = given.counts.build_collection(version)
    progress("place")
    vectors = _project_documents(collection, given.dense, options)
    progress("group")
    known = None if previous is None else collection.gather_values(previous.members)
    times = None if given.times_s is None else given.times_s[collection.distinct]
    prepared = PreparedDocuments(vectors, vectors.weighted, times, known)
    found = _partition_documents(prepared, options)
    progress("label")
    described, centres, reach = _build_levels(given, collection, prepared, found)
    levels, events = _assign_ids(described, version, previous)
    usual = max(set(collection.languages), key=collection.languages.count, default="")
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
            centres[0],
            reach,
            found.evidence,
            usual,
            _build_finer_levels(found.levels, centres),
        ),
        collection.frequencies,
    )


def _project_documents(
    collection: TextCollection, dense: NDArray[np.floating[Any]] | None, options: Options
) -> ProjectedVectors:
    """The distinct documents in a space of theirs."""
    weights = compute_idf(collection.dictionary.documents, collection.dictionary.document_counts)
    weighted = compute_tfidf(collection.frequencies[collection.distinct], weights)
    width = 0 if dense is None else dense.shape[1]
    space = fit_space(weighted, collection, width, options.seed)
    return ProjectedVectors(space, weighted, None if dense is None else dense[collection.distinct])


def count_unclustered(
    members: Ints, has_features: NDArray[np.bool_]
) -> dict[UnclusteredReason, int]:
    """How many documents are in no cluster, and why."""
    return {
        UnclusteredReason.EMPTY: int((~has_features).sum()),
        UnclusteredReason.OUTLIER: int(((members == NONE) & has_features).sum()),
    }


def _partition_documents(prepared: PreparedDocuments, options: Options) -> Partition:
    """What the family finds; one cluster of all, or none, where there is too little to group."""
    count = len(prepared.vectors)
    if count < 2:
        return Partition((np.zeros(count, dtype=np.int64),))
    return FAMILIES[options.algorithm](prepared, options)


def _build_levels(
    documents: CountedDocuments,
    collection: TextCollection,
    prepared: PreparedDocuments,
    partition: Partition,
) -> tuple[list[Level], list[Floats], Floats]:
    """The levels, as yet without identities, the middles of their clusters, and the reach of those of the
    first."""
    levels: list[Level] = []
    middles: list[Floats] = []
    reach = np.zeros(0, np.float32)
    for members in partition.levels:
        clusters = int(members.max(initial=NONE)) + 1
        centres = compute_centroids(prepared.vectors, members, clusters)
        scores = compute_cosines(prepared.vectors, members, centres)
        if not levels:
            reach = _compute_reach(members, scores, clusters)
        levels.append(_build_level(documents, collection, prepared.weighted, members, scores))
        middles.append(centres)
    return levels, middles, reach


def _build_finer_levels(
    levels: Sequence[Ints], middles: Sequence[Floats]
) -> tuple[FinerLevel, ...]:
    """The levels below the first, by the members of distinct documents."""
    return tuple(
        FinerLevel(number, middles[number], find_parents(members, levels[0]))
        for number, members in enumerate(levels)
        if number and len(middles[number]) >= len(middles[0])
    )


def _build_level(
    documents: CountedDocuments,
    collection: TextCollection,
    weighted: Matrix,
    members: Ints,
    scores: Floats,
) -> Level:
    clusters = int(members.max(initial=NONE)) + 1
    of_all = collection.spread_values(members)
    places = collection.spread_values(np.arange(len(members)))
    scores_of_all = np.zeros(len(of_all), np.float32)
    scores_of_all[of_all >= 0] = scores[places[of_all >= 0]]
    nearest = _rank_members(members, scores, clusters)
    samples = []
    for one in nearest:
        some = collection.distinct[one[:DOCUMENTS_MAX]].tolist()
        samples.append((documents.texts(some), [collection.languages[place] for place in some]))
    labels = label_clusters(collection, weighted, members, clusters, samples)
    sizes = np.bincount(of_all[of_all >= 0], minlength=clusters)
    distinct = np.bincount(members[members >= 0], minlength=clusters)
    described = tuple(
        Cluster(
            "",
            labels[one].text,
            int(sizes[one]),
            int(distinct[one]),
            labels[one].terms,
            tuple(int(place) for place in collection.distinct[nearest[one][:REPRESENTATIVES_MAX]]),
        )
        for one in range(clusters)
    )
    return Level(of_all, scores_of_all, described)


def _rank_members(members: Ints, scores: Floats, clusters: int) -> list[Ints]:
    """The documents of each cluster, the nearest to its middle first."""
    order = np.lexsort((-scores, members))
    bounds = np.searchsorted(members[order], np.arange(clusters + 1))
    return [order[bounds[one] : bounds[one + 1]] for one in range(clusters)]


def _compute_reach(members: Ints, scores: Floats, clusters: int) -> Floats:
    """The cosine that all but 5 % of each cluster's documents have at least."""
    return np.array(
        [
            np.percentile(scores[one], REACH_PERCENTILE) if len(one) else 1.0
            for one in _rank_members(members, scores, clusters)
        ],
        dtype=np.float32,
    )


def _assign_ids(
    levels: Sequence[Level], version: int, previous: PreviousClustering | None
) -> tuple[tuple[Level, ...], tuple[LineageEvent, ...]]:
    """The levels with ids and parents, and what changed of the first."""
    events: tuple[LineageEvent, ...] = ()
    coarser = {
        len(level.clusters): level for level in sorted(levels, key=lambda one: len(one.clusters))
    }
    identified = []
    for number, level in enumerate(levels):
        clusters = len(level.clusters)
        ids = tuple(f"{one}.{number}" if number else one for one in create_ids(clusters, version))
        if number == 0 and previous is not None:
            lineage = carry_ids(previous.members, previous.ids, level.members, clusters, version)
            ids, events = lineage.ids, lineage.events
        above = max((count for count in coarser if count < clusters), default=None)
        over = None if above is None else find_parents(level.members, coarser[above].members)
        described = tuple(
            Cluster(
                ids[one],
                cluster.label,
                cluster.size,
                cluster.distinct,
                cluster.terms,
                cluster.representatives,
                None if over is None else int(over[one]),
            )
            for one, cluster in enumerate(level.clusters)
        )
        identified.append(Level(level.members, level.scores, described))
    return tuple(identified), events
