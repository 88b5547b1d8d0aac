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

from fonds.collections.changing.redo import SEQUENCE
from fonds.collections.names import Name, apart_conf, level_conf
from fonds.collections.reading.clusters import Member, titled
from fonds.collections.tables import (
    ASSIGNMENTS,
    COLLECTIONS,
    DOCUMENTS,
    Tables,
    assignment_row,
    number,
    real,
    text,
)
from fonds.formats.grouping.keys import clustering_prefix, parts_of_document

LOOKED_MAX = 20_000
"""So many documents are looked at, the first by id."""

KEPT_MAX = 4
UNDATED = -1
ABSENT = -1
_DAY_S = 86_400
_DAYS_MAX = 2_932_896
"""Days from 1970 to the year 9999, behind which no calendar goes."""

Key = tuple[Name, str, int, int, int]


@dataclass(frozen=True, slots=True)
class Looked:
    """The documents that were looked at, one of a number in each of the sequences.

    `rows`: their rows in `documents`. `days`: since 1970, UNDATED without a date. `places`: the number in
    `labels` of where each is, ABSENT for none of the clustering. `scores`: the cosine of each to the middle
    of its cluster, 0 for those of none. A label is a cluster's, or the reason a document is apart for:
    `clusters` of them, the first, are those of clusters. `complete`: whether no document of the clustering
    was left out.
    """

    rows: Sequence[bytes]
    days: Sequence[int]
    places: Sequence[int]
    scores: Sequence[float]
    labels: Sequence[str]
    clusters: int
    complete: bool

    def id_of(self, at: int) -> str:
        """The id of a document by its number."""
        return parts_of_document(self.rows[at])[2]


@dataclass(slots=True)
class Times:
    """What was looked at of the last few clusterings that were asked for. Safe for several threads."""

    looked_max: int = LOOKED_MAX
    _kept: OrderedDict[Key, Looked] = field(default_factory=OrderedDict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def of(
        self, tables: Tables, name: Name, conf: str, timestamp: int, *, level: int = 0
    ) -> Looked:
        """Return the documents of a clustering, read again when the collection has changed. Reads two rows of
        each document."""
        sequence = number(tables.row(COLLECTIONS, name.row, [SEQUENCE]), SEQUENCE)
        key = (name, conf, timestamp, level, sequence)
        with self._guard:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        found = look(tables, name, conf, timestamp, self.looked_max, level=level)
        with self._guard:
            for old in [one for one in self._kept if one[0] == name and one[-1] != sequence]:
                del self._kept[old]
            self._kept[key] = found
            while len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        return found


def placed_members(
    tables: Tables, name: Name, conf: str, timestamp: int, ids: Sequence[str]
) -> tuple[Member, ...]:
    """These documents with their scores in a clustering and their titles; `conf`: that of a level, or of
    those apart."""
    rows = [assignment_row(name, conf, timestamp, id_) for id_ in ids]
    cells = tables.rows(ASSIGNMENTS, rows, ["main:score"])
    scores = [real(cells.get(row), "main:score") for row in rows]
    return titled(tables, name, list(zip(ids, scores, strict=True)))


def look(
    tables: Tables,
    name: Name,
    conf: str,
    timestamp: int,
    looked_max: int = LOOKED_MAX,
    *,
    level: int = 0,
) -> Looked:
    """Look at the documents: the first `looked_max` of the collection by id."""
    prefix = name.row
    rows = [
        (row, number(cells, "main:time", UNDATED))
        for row, cells in islice(tables.scan(DOCUMENTS, prefix, ["main:time"]), looked_max + 1)
    ]
    complete = len(rows) <= looked_max
    rows = rows[:looked_max]
    ids = [row[len(prefix) :] for row, _ in rows]
    now = _places(tables, name, conf, timestamp, level, ids)
    return Looked(
        [row for row, _ in rows],
        array("l", (_day(seconds) for _, seconds in rows)),
        now.places,
        now.scores,
        now.labels,
        now.clusters,
        complete,
    )


def _day(seconds: int) -> int:
    day = seconds // _DAY_S
    return day if 0 <= day < _DAYS_MAX else UNDATED


@dataclass(frozen=True, slots=True)
class _Placed:
    """Where documents are: the number of each one's label, its score there; the labels, those of clusters
    first."""

    places: Sequence[int]
    scores: Sequence[float]
    labels: Sequence[str]
    clusters: int


def _places(
    tables: Tables, name: Name, conf: str, timestamp: int, level: int, ids: Sequence[bytes]
) -> _Placed:
    numbers = {id_: at for at, id_ in enumerate(ids)}
    places, scores = array("l", [ABSENT]) * len(ids), array("f", [0.0]) * len(ids)
    last = ids[-1] if ids else b""
    labels: list[str] = []
    clusters = 0
    for one in (level_conf(conf, level), apart_conf(conf)):
        clusters = len(labels)
        known: dict[str, int] = {}
        for id_, label, score in _assigned(tables, name, one, timestamp, last):
            if (at := numbers.get(id_)) is not None:
                places[at] = known.setdefault(label, clusters + len(known))
                scores[at] = score
        labels += known
    return _Placed(places, scores, labels, clusters)


def _assigned(
    tables: Tables, name: Name, conf: str, timestamp: int, last: bytes
) -> Iterator[tuple[bytes, str, float]]:
    """The documents of a level by the end of their rows, up to `last`, with label and score of each."""
    prefix = clustering_prefix(name.namespace, name.key, conf, timestamp)
    for row, cells in tables.scan(ASSIGNMENTS, prefix, ["main:label", "main:score"]):
        id_ = row[len(prefix) :]
        if id_ > last:
            break
        yield id_, text(cells, "main:label"), real(cells, "main:score")
