"""How the documents of a search lie in the themes of a collection.

Counted over the stored assignments of the clustering that is served, not by the index: a rebuild changes what
is counted at once, and no document is indexed again. Bound: the first 10,000 documents by id; whoever shows
the counts is told of how many they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from fonds.collections.names import DEFAULT, Name, apart_conf, parse
from fonds.collections.reading.clusterings import collections, served_timestamp
from fonds.collections.reading.curated import names_of_labels
from fonds.collections.tables import ASSIGNMENTS, Tables, assignment_row, text
from fonds.library.searching.whole import found_now, whole
from fonds.model.document import SearchQuery
from fonds.model.names import no_such
from fonds.ports import Index

LOOKED_MAX = 10_000
NAMES_MAX = 1_000
_AT_ONCE = 500
_TRIES = 3
_LABEL = "main:label"


@dataclass(frozen=True, slots=True)
class ThemeCounts:
    """`themes`: labels of the first level with how many of the documents each has, the most first; `apart`
    are in the collection and in no theme, `outside` are not in it. `looked_at` of `total` documents were
    counted, the first by id: all of them where the two are the same. `names`: what people called themes, by
    label.
    """

    collection: str
    themes: Sequence[tuple[str, int]]
    apart: int
    outside: int
    looked_at: int
    total: int
    names: Mapping[str, str]


def theme_counts(index: Index, tables: Tables, asked: str, query: SearchQuery) -> ThemeCounts:
    """The themes of the documents a search finds, in the collection that is asked for as NAMESPACE/KEY.

    Raises ValueError with a sentence for people: for a search that is none, a collection there is not and
    one that was not grouped yet.
    """
    name = _collection(tables, asked)
    found = found_now(index, query)
    ids = [one.id for one in islice(whole(index, found.query, LOOKED_MAX), LOOKED_MAX)]
    total = max(found.total, len(ids))
    for _ in range(_TRIES):
        served = served_timestamp(tables, name)
        counts = Counter(_labels(tables, name, served or 0, ids))
        if served_timestamp(tables, name) == served:
            break
    apart, outside = counts.pop("", 0), counts.pop(None, 0)
    themes = [(label, count) for label, count in counts.items() if label is not None]
    return ThemeCounts(
        str(name),
        sorted(themes, key=lambda one: (-one[1], one[0])),
        apart,
        outside,
        len(ids),
        total,
        names_of_labels(tables, name, DEFAULT, served or 0, [label for label, _ in themes]),
    )


def _labels(tables: Tables, name: Name, at: int, ids: Sequence[str]) -> Iterator[str | None]:
    """The theme of each document, '' for one in none of them, None for one that is not in the collection."""
    for begin in range(0, len(ids), _AT_ONCE):
        some = ids[begin : begin + _AT_ONCE]
        rows = [assignment_row(name, DEFAULT, at, id_) for id_ in some]
        others = [assignment_row(name, apart_conf(DEFAULT), at, id_) for id_ in some]
        there = tables.rows(ASSIGNMENTS, [*rows, *others], [_LABEL])
        for row, other in zip(rows, others, strict=True):
            label = text(there.get(row), _LABEL)
            yield label if label else "" if other in there else None


def _collection(tables: Tables, asked: str) -> Name:
    """The collection that is meant, which has themes."""
    there = list(islice(collections(tables), NAMES_MAX)) if tables.are_there() else []
    name = parse(asked)
    if tables.are_there() and served_timestamp(tables, name):
        return name
    if any(one.name == name for one in there):
        raise ValueError(f"The collection {asked!r} has no themes as yet; fonds group makes them.")
    told = no_such("collection", asked, [str(one.name) for one in there if one.served])
    raise ValueError(told[:1].upper() + told[1:] + ("" if told.endswith("?") else "."))
