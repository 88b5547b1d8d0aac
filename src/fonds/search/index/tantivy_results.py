"""Run a search with a tantivy searcher: its hits and counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import tantivy
from tantivy import Order, Query

from fonds.model.document import IndexDocument
from fonds.model.search import Hit, SearchQuery, SearchResults
from fonds.search.fields import FACET_FIELDS
from fonds.search.index.passages import build_hit
from fonds.search.index.tantivy_query import build, restrict_after
from fonds.search.index.tantivy_schema import (
    UNDATED,
    build_schema,
    decode_document,
    encode_document,
    format_day,
    format_month,
    get_day_field,
    get_month_field,
    get_sort_field,
    register_analyzer,
)
from fonds.search.query.filters import normalize_query
from fonds.search.query.parser import parse_query
from fonds.search.query.tree import Node

# The maximum of the library, so that the largest values are counted in every segment.
VALUES_COUNTED_MAX = 65_000
SMALL_INDEX_MEMORY_BYTES = 15_000_000
MONTHS_MAX = 12_000

_SORTS: dict[str, tuple[str | None, Order]] = {
    "score": (None, Order.Desc),
    "added": ("added_at", Order.Desc),
    "id": ("order_key", Order.Asc),
}


def _choose_order(query: SearchQuery) -> tuple[str | None, Order]:
    """Return the field that the results of a query are sorted by, and the direction.

    The field is None for sorting by score.
    """
    if query.sort == "newest":
        return get_day_field(query.dates), Order.Desc
    if query.sort == "oldest":
        return get_sort_field(query.dates), Order.Asc
    return _SORTS[query.sort]


def _build_aggregations(values_max: int, dates: str) -> dict[str, Any]:
    """Build the request for counts of all matches: by the values of facets, and by date.

    - `values_max`: maximum number of values per facet.
    - `dates`: name of the index field with day or month numbers.
    """
    date_terms = {"field": dates, "size": MONTHS_MAX, "segment_size": MONTHS_MAX}
    terms = {"size": values_max, "segment_size": VALUES_COUNTED_MAX}
    return {field: {"terms": {"field": field, **terms}} for field in FACET_FIELDS} | {
        "dates": {"terms": date_terms}
    }


def build_empty_results(generation: str | None = None) -> SearchResults:
    """Return empty search results: no hits, and no values in any facet."""
    no_values, beyond_counts = dict.fromkeys(FACET_FIELDS, ()), dict.fromkeys(FACET_FIELDS, 0)
    return SearchResults(
        total=0, hits=(), facets=no_values, beyond=beyond_counts, generation=generation
    )


def run_search(
    searcher: tantivy.Searcher, tantivy_query: Query, query: SearchQuery, tree: Node
) -> SearchResults:
    """Run a search on the opened index and return its results.

    Counts cover all matches, hits only the requested page.
    """
    matches = _search_page(searcher, tantivy_query, query)
    hits = _build_hits(searcher, matches, query, tree)
    if query.after is not None:
        matches = searcher.search(tantivy_query, limit=1)
    total: int = matches.count  # type: ignore[attr-defined]
    if not query.facet_values_max:
        return SearchResults(total=total, hits=hits)
    if not total:
        return build_empty_results()
    name, field = _choose_date_naming(query)
    counts = searcher.aggregate(tantivy_query, _build_aggregations(query.facet_values_max, field))
    dates = _parse_buckets(counts, "dates")
    facets = {name: _sort_largest(_parse_buckets(counts, name)) for name in FACET_FIELDS}
    return SearchResults(
        total=total,
        hits=hits,
        facets=facets,
        beyond={name: total - sum(n for _, n in pairs) for name, pairs in facets.items()},
        dates=tuple((name(n), count) for n, count in sorted(dates.items()) if n != UNDATED),
        undated=dates.get(UNDATED, 0),
    )


def match_documents(documents: Sequence[IndexDocument], query: SearchQuery) -> set[str]:
    """Return the ids of those documents that a query matches.

    The documents, which should be few, are put in a temporary index in memory. Raises ValueError
    with a message for users if the query is invalid.
    """
    normalized_query = normalize_query(replace(query, offset=0, after=None, sort="id"))
    tantivy_search = build(normalized_query, parse_query(normalized_query), build_schema())
    index = tantivy.Index(build_schema())
    register_analyzer(index)
    writer = index.writer(SMALL_INDEX_MEMORY_BYTES, num_threads=1)
    for document in documents:
        writer.add_document(encode_document(document, build_schema()))
    writer.commit()
    index.reload()
    searcher = index.searcher()
    matches = searcher.search(tantivy_search, limit=max(len(documents), 1), count=False)
    return {decode_document(searcher.doc(address))[0].id for _, address in matches.hits}


def _choose_date_naming(query: SearchQuery) -> tuple[Callable[[int], str], str]:
    """Return how dates are counted in the results of a query: by day or by month.

    The first result formats a day or month number as text. The second is the name of the index
    field that has these numbers.
    """
    if query.is_by_day:
        return format_day, get_day_field(query.dates)
    return format_month, get_month_field(query.dates)


def _search_page(
    searcher: tantivy.Searcher, tantivy_query: Query, query: SearchQuery
) -> tantivy.SearchResult:
    """Return the requested page of hits.

    If the page starts after the document `query.after`, one extra hit is returned, because this
    document itself may be among the hits.
    """
    field, order = _choose_order(query)
    if query.after is not None:
        tantivy_query = restrict_after(tantivy_query, query.after, build_schema())
    limit = max(query.count_max + (query.after is not None), 1)
    return searcher.search(
        tantivy_query, limit=limit, offset=query.offset, order_by_field=field, order=order
    )


def _build_hits(
    searcher: tantivy.Searcher, results: tantivy.SearchResult, query: SearchQuery, tree: Node
) -> tuple[Hit, ...]:
    hits = []
    for rank, address in results.hits:
        document, text = decode_document(searcher.doc(address))
        if document.id == query.after:
            continue
        score = float(rank) if query.sort == "score" else 0.0
        hits.append(build_hit(document, text, score, tree, with_snippets=query.with_snippets))
    return tuple(hits[: query.count_max])


def _parse_buckets(counts: Mapping[str, Any], name: str) -> dict[Any, int]:
    return {bucket["key"]: bucket["doc_count"] for bucket in counts[name]["buckets"]}


def _sort_largest(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
