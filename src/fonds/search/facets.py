"""How the documents of a search lie in the themes of a collection.

Counted over the stored assignments of the clustering that is served, not by the index: a rebuild changes what
is counted at once, and no document is indexed again. Limits: the first 10,000 documents by id; whoever shows
the counts is told of how many they are.
"""

from __future__ import annotations

from calendar import monthrange
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice

from fonds.grouping.names import DEFAULT, CollectionName, build_unclustered_conf, parse
from fonds.grouping.tables import ASSIGNMENTS, Tables, build_assignment_row, decode_text
from fonds.grouping.views.clusterings import find_served_timestamp, iter_collections
from fonds.grouping.views.curation import load_label_names
from fonds.model.search import DAYS_COUNTED_MAX, SearchQuery, SearchResults
from fonds.model.suggestions import format_unknown_name
from fonds.ports import Index
from fonds.search.fields import FACET_FIELDS
from fonds.search.request import SearchRequest, format_value_name
from fonds.search.scan import count_matches, iter_documents

DOCUMENTS_MAX = 10_000
NAMES_MAX = 1_000
_BATCH_SIZE = 500
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


def count_themes(
    index: Index, tables: Tables, requested_name: str, query: SearchQuery
) -> ThemeCounts:
    """The themes of the documents a search finds, in the collection that is asked for as NAMESPACE/KEY.

    Raises ValueError with a sentence for people: for a search that is none, a collection there is not and
    one that was not grouped yet.
    """
    name = _find_collection(tables, requested_name)
    found = count_matches(index, query)
    ids = [
        one.id for one in islice(iter_documents(index, found.query, DOCUMENTS_MAX), DOCUMENTS_MAX)
    ]
    total = max(found.total, len(ids))
    for _ in range(_TRIES):
        served = find_served_timestamp(tables, name)
        counts = Counter(_iter_labels(tables, name, served or 0, ids))
        if find_served_timestamp(tables, name) == served:
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
        load_label_names(tables, name, DEFAULT, served or 0, [label for label, _ in themes]),
    )


def _iter_labels(
    tables: Tables, name: CollectionName, timestamp: int, ids: Sequence[str]
) -> Iterator[str | None]:
    """The theme of each document, '' for one in none of them, None for one that is not in the collection."""
    for begin in range(0, len(ids), _BATCH_SIZE):
        some = ids[begin : begin + _BATCH_SIZE]
        rows = [build_assignment_row(name, DEFAULT, timestamp, id_) for id_ in some]
        others = [
            build_assignment_row(name, build_unclustered_conf(DEFAULT), timestamp, id_)
            for id_ in some
        ]
        there = tables.get_rows(ASSIGNMENTS, [*rows, *others], [_LABEL])
        for row, other in zip(rows, others, strict=True):
            label = decode_text(there.get(row), _LABEL)
            yield label if label else "" if other in there else None


def _find_collection(tables: Tables, requested_name: str) -> CollectionName:
    """The collection that is meant, which has themes."""
    there = list(islice(iter_collections(tables), NAMES_MAX)) if tables.exist() else []
    name = parse(requested_name)
    if tables.exist() and find_served_timestamp(tables, name):
        return name
    if any(one.name == name for one in there):
        raise ValueError(
            f"The collection {requested_name!r} has no themes as yet; fonds group makes them."
        )
    told = format_unknown_name(
        "collection", requested_name, [str(one.name) for one in there if one.served]
    )
    raise ValueError(told[:1].upper() + told[1:] + ("" if told.endswith("?") else "."))


# The dates of a result day by day, where all of them lie close together.


def count_dates(
    index: Index, query: SearchQuery, results: SearchResults
) -> Sequence[tuple[str, int]]:
    """How many documents a result has by `YYYY-MM-DD`, where the months they are of are 72 days at most,
    else by `YYYY-MM` as they were counted. Costs one more search where nothing limited them to these days.
    """
    if query.is_by_day or not results.dates:
        return results.dates
    first = date.fromisoformat(f"{results.dates[0][0]}-01")
    last = date.fromisoformat(f"{results.dates[-1][0]}-01")
    last = last.replace(day=monthrange(last.year, last.month)[1])
    if (last - first).days >= DAYS_COUNTED_MAX:
        return results.dates
    within = replace(
        query,
        date_from=max(first, query.date_from or first),
        date_to=min(last, query.date_to or last),
        offset=0,
        after=None,
        count_max=1,
        facet_values_max=1,
        with_snippets=False,
        with_notes=False,
    )
    return index.search(within).dates


# Values of fields.


def count_facets(
    index: Index, request: SearchRequest, results: SearchResults, ids: Sequence[str] = ()
) -> tuple[dict[str, Sequence[tuple[str, int]]], dict[str, int]]:
    """Return the values of each facet with their counts, and how many documents have other values.

    A facet is counted without what is selected in it, so that its other values keep their counts. With
    `find`, only values that contain it, or whose names do, are listed. With `ids`, only these documents are
    counted.
    """
    facets, beyond = dict(results.facets), dict(results.beyond)
    for field, parameter in FACET_FIELDS.items():
        if getattr(request, parameter):
            rest = request.model_copy(update={parameter: [], "after": None, "page": 1})
            others = index.search(replace(rest.build_query(ids), count_max=0))
            facets[field], beyond[field] = others.facets.get(field, ()), others.beyond.get(field, 0)
    wanted = request.find.strip().casefold()
    if wanted:
        for field, parameter in FACET_FIELDS.items():
            facets[field] = [
                (value, count)
                for value, count in facets.get(field, ())
                if wanted in value.casefold()
                or wanted in format_value_name(parameter, value).casefold()
            ]
    return facets, beyond
