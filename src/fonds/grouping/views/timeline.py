"""Dates and themes of the documents of a clustering, read once per state of the collection.

Bound: the first 20,000 documents by id.
"""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from fonds.grouping.names import CollectionName, build_level_conf, build_unclustered_conf
from fonds.grouping.redo_log import SEQUENCE
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
"""So many documents are looked at, the first by id."""

CACHE_SIZE = 4
UNDATED = -1
ABSENT = -1
_DAY_S = 86_400
_DAYS_MAX = 2_932_896
"""Days from 1970 to the year 9999, behind which no calendar goes."""

Key = tuple[CollectionName, str, int, int, int]


@dataclass(frozen=True, slots=True)
class DocumentSample:
    """The documents that were looked at, one of a number in each of the sequences.

    `rows`: their rows in `documents`. `days`: since 1970, UNDATED without a date. `places`: the number in
    `labels` of where each is, ABSENT for none of the clustering. `scores`: the cosine of each to the middle
    of its cluster, 0 for those of none. A label is a cluster's, or the reason a document is apart for:
    `clusters` of them, the first, are those of clusters. `is_complete`: whether no document of the clustering
    was left out.
    """

    rows: Sequence[bytes]
    days: Sequence[int]
    places: Sequence[int]
    scores: Sequence[float]
    labels: Sequence[str]
    clusters: int
    is_complete: bool

    def get_id(self, number: int) -> str:
        """The id of a document by its number."""
        return parse_document_row(self.rows[number])[2]


@dataclass(slots=True)
class DocumentSampleCache:
    """What was looked at of the last few clusterings that were asked for. Safe for several threads."""

    sample_max: int = SAMPLE_MAX
    _cache: OrderedDict[Key, DocumentSample] = field(default_factory=OrderedDict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def get(
        self, tables: Tables, name: CollectionName, conf: str, timestamp: int, *, level: int = 0
    ) -> DocumentSample:
        """Return the documents of a clustering, read again when the collection has changed. Reads two rows of
        each document."""
        sequence = decode_int(tables.get_row(COLLECTIONS, name.row, [SEQUENCE]), SEQUENCE)
        key = (name, conf, timestamp, level, sequence)
        with self._guard:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        found = sample_documents(tables, name, conf, timestamp, self.sample_max, level=level)
        with self._guard:
            for old in [one for one in self._cache if one[0] == name and one[-1] != sequence]:
                del self._cache[old]
            self._cache[key] = found
            while len(self._cache) > CACHE_SIZE:
                self._cache.popitem(last=False)
        return found


def list_placed_members(
    tables: Tables, name: CollectionName, conf: str, timestamp: int, ids: Sequence[str]
) -> tuple[ClusterMember, ...]:
    """These documents with their scores in a clustering and their titles; `conf`: that of a level, or of
    those apart."""
    rows = [build_assignment_row(name, conf, timestamp, id_) for id_ in ids]
    cells = tables.get_rows(ASSIGNMENTS, rows, ["main:score"])
    scores = [decode_float(cells.get(row), "main:score") for row in rows]
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
    """Look at the documents: the first `sample_max` of the collection by id."""
    prefix = name.row
    rows = [
        (row, decode_int(cells, "main:time", UNDATED))
        for row, cells in islice(tables.iter_rows(DOCUMENTS, prefix, ["main:time"]), sample_max + 1)
    ]
    complete = len(rows) <= sample_max
    rows = rows[:sample_max]
    ids = [row[len(prefix) :] for row, _ in rows]
    now = _load_placements(tables, name, conf, timestamp, level, ids)
    return DocumentSample(
        [row for row, _ in rows],
        array("l", (_to_day(seconds) for _, seconds in rows)),
        now.places,
        now.scores,
        now.labels,
        now.clusters,
        complete,
    )


def _to_day(seconds: int) -> int:
    day = seconds // _DAY_S
    return day if 0 <= day < _DAYS_MAX else UNDATED


@dataclass(frozen=True, slots=True)
class _PlacementArrays:
    """Where documents are: the number of each one's label, its score there; the labels, those of clusters
    first."""

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
    numbers = {id_: at for at, id_ in enumerate(ids)}
    places, scores = array("l", [ABSENT]) * len(ids), array("f", [0.0]) * len(ids)
    last = ids[-1] if ids else b""
    labels: list[str] = []
    clusters = 0
    for one in (build_level_conf(conf, level), build_unclustered_conf(conf)):
        clusters = len(labels)
        known: dict[str, int] = {}
        for id_, label, score in _iter_assignments(tables, name, one, timestamp, last):
            if (at := numbers.get(id_)) is not None:
                places[at] = known.setdefault(label, clusters + len(known))
                scores[at] = score
        labels += known
    return _PlacementArrays(places, scores, labels, clusters)


def _iter_assignments(
    tables: Tables, name: CollectionName, conf: str, timestamp: int, last: bytes
) -> Iterator[tuple[bytes, str, float]]:
    """The documents of a level by the end of their rows, up to `last`, with label and score of each."""
    prefix = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    for row, cells in tables.iter_rows(ASSIGNMENTS, prefix, ["main:label", "main:score"]):
        id_ = row[len(prefix) :]
        if id_ > last:
            break
        yield id_, decode_text(cells, "main:label"), decode_float(cells, "main:score")
