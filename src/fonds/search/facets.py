"""Count the documents of a search by theme, by date and by facet value.

Theme counts come from the stored assignments of documents to themes in the current clustering, not
from the index. After a rebuild of the clustering, the counts are new at once, without reindexing.
Limit: only the first 10,000 documents by
id are counted by theme; `ThemeCounts.looked_at` is the number counted.
"""

from __future__ import annotations

from calendar import monthrange
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice

from msgspec import structs

from fonds.grouping.columns import Column
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
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class ThemeCounts:
    """Number of documents of a search in each theme of a collection.

    - `collection`: name of the collection, NAMESPACE/KEY.
    - `themes`: labels of the themes of the first level (granularity), each with its number of
      documents, the largest theme first.
    - `unclustered`: number of documents that are in the collection but in no theme.
    - `outside`: number of documents that are not in the collection.
    - `looked_at`: number of documents counted, the first by id. All were counted if it equals
      `total`.
    - `total`: number of documents that the search finds.
    - `names`: names that people gave to themes, by label.
    """

    collection: str
    themes: Sequence[tuple[str, int]]
    unclustered: int
    outside: int
    looked_at: int
    total: int
    names: Mapping[str, str]


def count_themes(
    index: Index, tables: Tables, requested_name: str, query: SearchQuery
) -> ThemeCounts:
    """Count the documents of a search by the themes of the collection `requested_name`
    (NAMESPACE/KEY).

    Raises ValueError with a message for users if the search cannot be parsed, or if the collection
    is unknown or has no clustering yet.
    """
    name = _find_collection(tables, requested_name)
    matches = count_matches(index, query)
    ids = [
        document.id
        for document in islice(iter_documents(index, matches.query, DOCUMENTS_MAX), DOCUMENTS_MAX)
    ]
    total = max(matches.total, len(ids))
    for _ in range(_ATTEMPTS):
        served_timestamp = find_served_timestamp(tables, name)
        counts = Counter(_iter_labels(tables, name, served_timestamp or 0, ids))
        if find_served_timestamp(tables, name) == served_timestamp:
            break
    unclustered_count, outside = counts.pop("", 0), counts.pop(None, 0)
    themes = [(label, count) for label, count in counts.items() if label is not None]
    return ThemeCounts(
        str(name),
        sorted(themes, key=lambda theme: (-theme[1], theme[0])),
        unclustered_count,
        outside,
        len(ids),
        total,
        load_label_names(
            tables, name, DEFAULT, served_timestamp or 0, [label for label, _ in themes]
        ),
    )


def _iter_labels(
    tables: Tables, name: CollectionName, timestamp: int, ids: Sequence[str]
) -> Iterator[str | None]:
    """Yield the theme label of each document, in the order of `ids`.

    The label is '' if the document is in no theme, and None if it is not in the collection.
    `timestamp` identifies the clustering.
    """
    for begin in range(0, len(ids), _BATCH_SIZE):
        chunk = ids[begin : begin + _BATCH_SIZE]
        rows = [build_assignment_row(name, DEFAULT, timestamp, id_) for id_ in chunk]
        unclustered_rows = [
            build_assignment_row(name, build_unclustered_conf(DEFAULT), timestamp, id_)
            for id_ in chunk
        ]
        labels_by_row = tables.get_rows(ASSIGNMENTS, [*rows, *unclustered_rows], [Column.LABEL])
        for row, unclustered_row in zip(rows, unclustered_rows, strict=True):
            label = decode_text(labels_by_row.get(row), Column.LABEL)
            yield label if label else "" if unclustered_row in labels_by_row else None


def _find_collection(tables: Tables, requested_name: str) -> CollectionName:
    """Return the name of the collection that a user requested as `requested_name`.

    Raises ValueError with a message for users if the collection is unknown or has no themes yet.
    """
    collections = list(islice(iter_collections(tables), NAMES_MAX)) if tables.exist() else []
    name = parse(requested_name)
    if tables.exist() and find_served_timestamp(tables, name):
        return name
    if any(collection.name == name for collection in collections):
        raise ValueError(
            f"The collection {requested_name!r} has no themes yet. Run `fonds group {requested_name}`."
        )
    message = format_unknown_name(
        "collection",
        requested_name,
        [str(collection.name) for collection in collections if collection.served],
    )
    raise ValueError(message[:1].upper() + message[1:] + ("" if message.endswith("?") else "."))


# Dates, day by day if they are close together.


def count_dates(
    index: Index, query: SearchQuery, results: SearchResults
) -> Sequence[tuple[str, int]]:
    """Return the number of documents of a search by day or by month, as (date, count) pairs.

    Dates are `YYYY-MM-DD` if the months of the result span at most 72 days, otherwise `YYYY-MM`.
    Counts by day cost one more search, unless `results` has them already.
    """
    if query.is_by_day or not results.dates:
        return results.dates
    first = date.fromisoformat(f"{results.dates[0][0]}-01")
    last = date.fromisoformat(f"{results.dates[-1][0]}-01")
    last = last.replace(day=monthrange(last.year, last.month)[1])
    if (last - first).days >= DAYS_COUNTED_MAX:
        return results.dates
    day_query = replace(
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
    return index.search(day_query).dates


# Facet values.


def count_facets(
    index: Index, request: SearchRequest, results: SearchResults, ids: Sequence[str] = ()
) -> tuple[dict[str, Sequence[tuple[str, int]]], dict[str, int]]:
    """Return the counts of each facet of a search, and the number of documents with unlisted
    values.

    The first result maps a field to (value, count) pairs, the second maps a field to a number. A
    field's own filter is ignored when its values are counted, so that users see how many documents
    another value would give. If the request has `find`, only values that contain this text, or
    whose display names do, are listed. With `ids`, facets that the request filters by count only
    documents with these ids.
    """
    facets, beyond_counts = dict(results.facets), dict(results.beyond)
    for field, parameter in FACET_FIELDS.items():
        if getattr(request, parameter):
            relaxed_request = structs.replace(request, **{parameter: []}, after=None, page=1)
            other_results = index.search(replace(relaxed_request.build_query(ids), count_max=0))
            facets[field], beyond_counts[field] = (
                other_results.facets.get(field, ()),
                other_results.beyond.get(field, 0),
            )
    folded_text = request.find.strip().casefold()
    if folded_text:
        for field, parameter in FACET_FIELDS.items():
            facets[field] = [
                (value, count)
                for value, count in facets.get(field, ())
                if folded_text in value.casefold()
                or folded_text in format_value_name(parameter, value).casefold()
            ]
    return facets, beyond_counts
