"""Sample of the dates and clusters of a clustering's documents, cached until the collection
changes.

Limits: the first 20,000 documents by id.
"""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from fonds.grouping.columns import Column
from fonds.grouping.names import CollectionName, build_level_conf, build_unclustered_conf
from fonds.grouping.stored.keys import build_clustering_prefix, parse_document_row
from fonds.grouping.tables import (
    ASSIGNMENTS,
    COLLECTIONS,
    DOCUMENTS,
    Tables,
    build_assignment_row,
    decode_float,
    decode_int,
    decode_text,
)
from fonds.grouping.views.clusters import ClusterMember, add_titles

SAMPLE_MAX = 20_000
"""Maximum number of documents in the sample. The first ones by id are used."""

CACHE_SIZE = 4
UNDATED = -1
ABSENT = -1
_DAY_S = 86_400
_DAYS_MAX = 2_932_896
"""Days from 1970 to the year 9999, the last one that calendars support."""

Key = tuple[CollectionName, str, int, int, int]


@dataclass(frozen=True, slots=True)
class DocumentSample:
    """Sample of the documents of a clustering; a document has the same index in each sequence.

    `rows`: row keys of the documents in the table `documents`.
    `days`: dates in days since 1970, UNDATED without a date.
    `places`: index in `labels` of the document's cluster, ABSENT if not in the clustering.
    `scores`: cosine similarity to the centroid, 0 for a document in no cluster.
    `labels`: labels of clusters, then reasons of unclustered documents.
    `clusters`: number of entries in `labels` that are labels of clusters.
    `is_complete`: whether the sample has all documents of the collection.
    """

    rows: Sequence[bytes]
    days: Sequence[int]
    places: Sequence[int]
    scores: Sequence[float]
    labels: Sequence[str]
    clusters: int
    is_complete: bool

    def get_id(self, number: int) -> str:
        """Return the id of a sampled document by its index."""
        return parse_document_row(self.rows[number])[2]


@dataclass(slots=True)
class DocumentSampleCache:
    """Cache of the document samples of the 4 clusterings read last. Thread-safe."""

    sample_max: int = SAMPLE_MAX
    _cache: OrderedDict[Key, DocumentSample] = field(default_factory=OrderedDict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def get(
        self, tables: Tables, name: CollectionName, conf: str, timestamp: int, *, level: int = 0
    ) -> DocumentSample:
        """Return the document sample of a clustering; read it again after a change of the
        collection.

        Reading takes two rows per document.
        """
        sequence = decode_int(
            tables.get_row(COLLECTIONS, name.row, [Column.SEQUENCE]), Column.SEQUENCE
        )
        key = (name, conf, timestamp, level, sequence)
        with self._guard:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        sample = sample_documents(tables, name, conf, timestamp, self.sample_max, level=level)
        with self._guard:
            for outdated_key in [
                cached_key
                for cached_key in self._cache
                if cached_key[0] == name and cached_key[-1] != sequence
            ]:
                del self._cache[outdated_key]
            self._cache[key] = sample
            while len(self._cache) > CACHE_SIZE:
                self._cache.popitem(last=False)
        return sample


def list_sampled_members(
    tables: Tables, name: CollectionName, conf: str, timestamp: int, ids: Sequence[str]
) -> tuple[ClusterMember, ...]:
    """Return documents with their scores in a clustering and their titles, in the order of `ids`.

    `conf`: configuration part of the row keys: `NAME@1` for the second level, or
        `NAME@unclustered` for unclustered documents.
    """
    rows = [build_assignment_row(name, conf, timestamp, id_) for id_ in ids]
    cells = tables.get_rows(ASSIGNMENTS, rows, [Column.SCORE])
    scores = [decode_float(cells.get(row), Column.SCORE) for row in rows]
    return add_titles(tables, name, list(zip(ids, scores, strict=True)))


def sample_documents(
    tables: Tables,
    name: CollectionName,
    conf: str,
    timestamp: int,
    sample_max: int = SAMPLE_MAX,
    *,
    level: int = 0,
) -> DocumentSample:
    """Read the dates and clusters of the `sample_max` documents of a collection whose ids sort
    first.

    `timestamp`: time of the clustering, in seconds since 1970.
    `level`: number of the level (granularity) whose clusters are read; 0 is the first one.
    """
    prefix = name.row
    rows = [
        (row, decode_int(cells, Column.TIME, UNDATED))
        for row, cells in islice(tables.iter_rows(DOCUMENTS, prefix, [Column.TIME]), sample_max + 1)
    ]
    is_complete = len(rows) <= sample_max
    rows = rows[:sample_max]
    ids = [row[len(prefix) :] for row, _ in rows]
    placements = _load_placements(tables, name, conf, timestamp, level, ids)
    return DocumentSample(
        [row for row, _ in rows],
        array("l", (_to_day(seconds) for _, seconds in rows)),
        placements.places,
        placements.scores,
        placements.labels,
        placements.clusters,
        is_complete,
    )


def _to_day(seconds: int) -> int:
    day = seconds // _DAY_S
    return day if 0 <= day < _DAYS_MAX else UNDATED


@dataclass(frozen=True, slots=True)
class _PlacementArrays:
    """Clusters and scores of the sampled documents, by the index of the document.

    `places`: index in `labels` of the document's cluster or reason, ABSENT if it has none.
    `labels`: labels of clusters, then reasons of unclustered documents.
    `clusters`: number of entries in `labels` that are labels of clusters.
    """

    places: Sequence[int]
    scores: Sequence[float]
    labels: Sequence[str]
    clusters: int


def _load_placements(
    tables: Tables,
    name: CollectionName,
    conf: str,
    timestamp: int,
    level: int,
    ids: Sequence[bytes],
) -> _PlacementArrays:
    index_by_id = {id_: index for index, id_ in enumerate(ids)}
    places, scores = array("l", [ABSENT]) * len(ids), array("f", [0.0]) * len(ids)
    last_id = ids[-1] if ids else b""
    labels: list[str] = []
    clusters = 0
    for level_conf in (build_level_conf(conf, level), build_unclustered_conf(conf)):
        clusters = len(labels)
        label_numbers: dict[str, int] = {}
        for id_, label, score in _iter_assignments(tables, name, level_conf, timestamp, last_id):
            if (index := index_by_id.get(id_)) is not None:
                places[index] = label_numbers.setdefault(label, clusters + len(label_numbers))
                scores[index] = score
        labels += label_numbers
    return _PlacementArrays(places, scores, labels, clusters)


def _iter_assignments(
    tables: Tables, name: CollectionName, conf: str, timestamp: int, last: bytes
) -> Iterator[tuple[bytes, str, float]]:
    """Iterate over the assignments of documents to clusters on one level, in row order.

    Each item has the end of the row key (the encoded document id), the label of the cluster, and
    the score of the document in it.
    `last`: end of a row key; rows after it are not read.
    """
    prefix = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    for row, cells in tables.iter_rows(ASSIGNMENTS, prefix, [Column.LABEL, Column.SCORE]):
        id_ = row[len(prefix) :]
        if id_ > last:
            break
        yield id_, decode_text(cells, Column.LABEL), decode_float(cells, Column.SCORE)
