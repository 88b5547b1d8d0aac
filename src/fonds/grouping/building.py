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

from fonds.grouping.clustering import Apart, Cluster, Clustering, Finer, Level, Model
from fonds.grouping.families.density import density
from fonds.grouping.families.factors import factors
from fonds.grouping.families.partition import NONE, Family, Partition, Prepared, centroids, cosines
from fonds.grouping.families.stories import stories
from fonds.grouping.families.topics import topics
from fonds.grouping.labels.labelling import label
from fonds.grouping.labels.spelling import DOCUMENTS_MAX
from fonds.grouping.lineage import Event, carried, fresh_ids, parents
from fonds.grouping.options import Algorithm, Options, checked
from fonds.grouping.space.projecting import Vectors, fit
from fonds.grouping.space.weighting import Floats, idf, tfidf
from fonds.grouping.text.collection import Collection, TermCounts
from fonds.grouping.text.counting import Ints, Matrix, resolved
from fonds.grouping.text.duplicates import EMPTY
from fonds.grouping.text.reading import DOCUMENTS_AT_ONCE, Reader

FAMILIES: dict[Algorithm, Family] = {
    Algorithm.TOPICS: topics,
    Algorithm.STORIES: stories,
    Algorithm.FACTORS: factors,
    Algorithm.DENSITY: density,
}
REPRESENTATIVES_MAX = 10
REACH_PERCENTILE = 5

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Documents:
    """What is to be grouped, in any order; all fields are of one length.

    `languages`: of each text, or None to have it guessed for those that say none; `times_s`: seconds of any
    clock, for stories; `dense`: documents x numbers, float32, of a language model, or None.
    """

    texts: Sequence[str]
    languages: Sequence[str | None] | None = None
    times_s: NDArray[np.float64] | None = None
    dense: Floats | None = None

    def counted(self) -> Counted:
        """The same, read."""
        reader = Reader()
        counts = TermCounts(reader.vocabulary)
        languages = resolved(self.texts, self.languages)
        for at in range(0, len(self.texts), DOCUMENTS_AT_ONCE):
            some = slice(at, at + DOCUMENTS_AT_ONCE)
            counts.add(reader.read(self.texts[some], languages[some]))
        texts = self.texts
        return Counted(
            counts, lambda places: [texts[place] for place in places], self.times_s, self.dense
        )


@dataclass(frozen=True, slots=True)
class Counted:
    """Documents whose texts were read and may be gone.

    `counts`: what was read of them, used up by grouping; `texts`: gives the texts of documents by their
    places once more, for the spelling of labels, "" for one that is gone; the others as in `Documents`.
    """

    counts: TermCounts
    texts: Callable[[Sequence[int]], Sequence[str]]
    times_s: NDArray[np.float64] | None = None
    dense: NDArray[np.floating[Any]] | None = None


@dataclass(frozen=True, slots=True)
class Before:
    """The clustering before: the cluster of each document that is given now, -1 for new ones, and its
    ids."""

    members: Ints
    ids: tuple[str, ...]


def build(
    documents: Documents | Counted,
    options: Options,
    *,
    version: int,
    before: Before | None = None,
    progress: Progress = lambda stage: None,
) -> Clustering:
    """The clustering of documents; `version` numbers it, and is higher than that of any before.

    `progress` is called with the name of each stage as it begins: read, place, group, label. Raises
    ValueError for options beyond their bounds.
    """
    checked(options)
    progress("read")
    given = documents.counted() if isinstance(documents, Documents) else documents
    collection = given.counts.collection(version)
    progress("place")
    vectors = _placed(collection, given.dense, options)
    progress("group")
    known = None if before is None else collection.gathered(before.members)
    times = None if given.times_s is None else given.times_s[collection.distinct]
    prepared = Prepared(vectors, vectors.weighted, times, known)
    found = _partition(prepared, options)
    progress("label")
    described, centres, reach = _levels(given, collection, prepared, found)
    levels, events = _identified(described, version, before)
    usual = max(set(collection.languages), key=collection.languages.count, default="")
    weights = idf(collection.dictionary.documents, collection.dictionary.document_counts)
    return Clustering(
        levels,
        collection.originals,
        apart(levels[0].members, collection.originals != EMPTY),
        events,
        Model(
            collection.dictionary,
            weights,
            vectors.space,
            centres[0],
            reach,
            found.evidence,
            usual,
            _finer(found.levels, centres),
        ),
        collection.frequencies,
    )


def _placed(
    collection: Collection, dense: NDArray[np.floating[Any]] | None, options: Options
) -> Vectors:
    """The distinct documents in a space of theirs."""
    weights = idf(collection.dictionary.documents, collection.dictionary.document_counts)
    weighted = tfidf(collection.frequencies[collection.distinct], weights)
    width = 0 if dense is None else dense.shape[1]
    space = fit(weighted, collection, width, options.seed)
    return Vectors(space, weighted, None if dense is None else dense[collection.distinct])


def apart(members: Ints, has_features: NDArray[np.bool_]) -> dict[Apart, int]:
    """How many documents are in no cluster, and why."""
    return {
        Apart.EMPTY: int((~has_features).sum()),
        Apart.OUTLIER: int(((members == NONE) & has_features).sum()),
    }


def _partition(prepared: Prepared, options: Options) -> Partition:
    """What the family finds; one cluster of all, or none, where there is too little to group."""
    count = len(prepared.vectors)
    if count < 2:
        return Partition((np.zeros(count, dtype=np.int64),))
    return FAMILIES[options.algorithm](prepared, options)


def _levels(
    given: Counted, collection: Collection, prepared: Prepared, found: Partition
) -> tuple[list[Level], list[Floats], Floats]:
    """The levels, as yet without identities, the middles of their clusters, and the reach of those of the
    first."""
    levels: list[Level] = []
    middles: list[Floats] = []
    reach = np.zeros(0, np.float32)
    for members in found.levels:
        clusters = int(members.max(initial=NONE)) + 1
        centres = centroids(prepared.vectors, members, clusters)
        scores = cosines(prepared.vectors, members, centres)
        if not levels:
            reach = _reach(members, scores, clusters)
        levels.append(_level(given, collection, prepared.weighted, members, scores))
        middles.append(centres)
    return levels, middles, reach


def _finer(levels: Sequence[Ints], middles: Sequence[Floats]) -> tuple[Finer, ...]:
    """The levels below the first, by the members of distinct documents."""
    return tuple(
        Finer(number, middles[number], parents(members, levels[0]))
        for number, members in enumerate(levels)
        if number and len(middles[number]) >= len(middles[0])
    )


def _level(
    given: Counted, collection: Collection, weighted: Matrix, members: Ints, scores: Floats
) -> Level:
    clusters = int(members.max(initial=NONE)) + 1
    of_all = collection.spread(members)
    places = collection.spread(np.arange(len(members)))
    scores_of_all = np.zeros(len(of_all), np.float32)
    scores_of_all[of_all >= 0] = scores[places[of_all >= 0]]
    nearest = _nearest(members, scores, clusters)
    samples = []
    for one in nearest:
        some = collection.distinct[one[:DOCUMENTS_MAX]].tolist()
        samples.append((given.texts(some), [collection.languages[place] for place in some]))
    labels = label(collection, weighted, members, clusters, samples)
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


def _nearest(members: Ints, scores: Floats, clusters: int) -> list[Ints]:
    """The documents of each cluster, the nearest to its middle first."""
    order = np.lexsort((-scores, members))
    bounds = np.searchsorted(members[order], np.arange(clusters + 1))
    return [order[bounds[one] : bounds[one + 1]] for one in range(clusters)]


def _reach(members: Ints, scores: Floats, clusters: int) -> Floats:
    """The cosine that all but 5 % of each cluster's documents have at least."""
    return np.array(
        [
            np.percentile(scores[one], REACH_PERCENTILE) if len(one) else 1.0
            for one in _nearest(members, scores, clusters)
        ],
        dtype=np.float32,
    )


def _identified(
    levels: Sequence[Level], version: int, before: Before | None
) -> tuple[tuple[Level, ...], tuple[Event, ...]]:
    """The levels with ids and parents, and what changed of the first."""
    events: tuple[Event, ...] = ()
    coarser = {
        len(level.clusters): level for level in sorted(levels, key=lambda one: len(one.clusters))
    }
    identified = []
    for number, level in enumerate(levels):
        clusters = len(level.clusters)
        ids = tuple(f"{one}.{number}" if number else one for one in fresh_ids(clusters, version))
        if number == 0 and before is not None:
            lineage = carried(before.members, before.ids, level.members, clusters, version)
            ids, events = lineage.ids, lineage.events
        above = max((count for count in coarser if count < clusters), default=None)
        over = None if above is None else parents(level.members, coarser[above].members)
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
