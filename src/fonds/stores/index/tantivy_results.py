"""Counts and hits of one search, as the model wants them, out of a tantivy searcher."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import tantivy
from tantivy import Order, Query

from fonds.model.document import Hit, IndexDocument, SearchQuery, SearchResults
from fonds.stores.index.asked import checked
from fonds.stores.index.passages import hit
from fonds.stores.index.query.tree import Node
from fonds.stores.index.tantivy_query import behind, build, parsed
from fonds.stores.index.tantivy_schema import (
    RAW_FIELDS,
    UNDATED,
    day_field,
    day_name,
    from_tantivy,
    last_field,
    month_field,
    month_name,
    register_analyzer,
    schema,
    to_tantivy,
)

# As many as the library allows, so that the largest are counted over every segment.
VALUES_COUNTED_MAX = 65_000
FEW_MEMORY_BYTES = 15_000_000
MONTHS_MAX = 12_000

_SORTS: dict[str, tuple[str | None, Order]] = {
    "score": (None, Order.Desc),
    "added": ("added_at", Order.Desc),
    "id": ("order_key", Order.Asc),
}


def _order(query: SearchQuery) -> tuple[str | None, Order]:
    """The field results stand in the order of, and whether it falls or rises."""
    if query.sort == "newest":
        return day_field(query.dates), Order.Desc
    if query.sort == "oldest":
        return last_field(query.dates), Order.Asc
    return _SORTS[query.sort]


def _counts(values_max: int, dates: str) -> dict[str, Any]:
    """Counts by value, and by the numbers of this field of dates."""
    counted = {"field": dates, "size": MONTHS_MAX, "segment_size": MONTHS_MAX}
    terms = {"size": values_max, "segment_size": VALUES_COUNTED_MAX}
    return {field: {"terms": {"field": field, **terms}} for field in RAW_FIELDS} | {
        "dates": {"terms": counted}
    }


def nothing(generation: str | None = None) -> SearchResults:
    """The results of any search while there is no index yet."""
    none, beyond = dict.fromkeys(RAW_FIELDS, ()), dict.fromkeys(RAW_FIELDS, 0)
    return SearchResults(total=0, hits=(), facets=none, beyond=beyond, generation=generation)


def results(
    searcher: tantivy.Searcher, wanted: Query, query: SearchQuery, tree: Node
) -> SearchResults:
    """Run the search; the counts are over all matches, the hits are those of the page asked for."""
    found = _page(searcher, wanted, query)
    hits = _hits(searcher, found, query, tree)
    if query.after is not None:
        found = searcher.search(wanted, limit=1)
    total: int = found.count  # type: ignore[attr-defined]
    if not query.facet_values_max:
        return SearchResults(total=total, hits=hits)
    if not total:
        return nothing()
    name, field = _named_dates(query)
    counts = searcher.aggregate(wanted, _counts(query.facet_values_max, field))
    dates = _buckets(counts, "dates")
    facets = {name: _largest(_buckets(counts, name)) for name in RAW_FIELDS}
    return SearchResults(
        total=total,
        hits=hits,
        facets=facets,
        beyond={name: total - sum(n for _, n in pairs) for name, pairs in facets.items()},
        dates=tuple((name(n), count) for n, count in sorted(dates.items()) if n != UNDATED),
        undated=dates.get(UNDATED, 0),
    )


def found_among(documents: Sequence[IndexDocument], query: SearchQuery) -> set[str]:
    """The ids of those of a few documents that a query finds, in an index of this moment in memory.

    Raises ValueError with a sentence for people.
    """
    asked = checked(replace(query, offset=0, after=None, sort="id"))
    wanted = build(asked, parsed(asked), schema())
    index = tantivy.Index(schema())
    register_analyzer(index)
    writer = index.writer(FEW_MEMORY_BYTES, num_threads=1)
    for one in documents:
        writer.add_document(to_tantivy(one, schema()))
    writer.commit()
    index.reload()
    searcher = index.searcher()
    found = searcher.search(wanted, limit=max(len(documents), 1), count=False)
    return {from_tantivy(searcher.doc(address))[0].id for _, address in found.hits}


def _named_dates(query: SearchQuery) -> tuple[Callable[[int], str], str]:
    """What the numbers of days or months are called, and the field that has them."""
    if query.is_by_day:
        return day_name, day_field(query.dates)
    return month_name, month_field(query.dates)


def _page(searcher: tantivy.Searcher, wanted: Query, query: SearchQuery) -> tantivy.SearchResult:
    """The hits asked for, one more where the document they stand behind may come with them."""
    field, order = _order(query)
    if query.after is not None:
        wanted = behind(wanted, query.after, schema())
    limit = max(query.count_max + (query.after is not None), 1)
    return searcher.search(
        wanted, limit=limit, offset=query.offset, order_by_field=field, order=order
    )


def _hits(
    searcher: tantivy.Searcher, found: tantivy.SearchResult, query: SearchQuery, tree: Node
) -> tuple[Hit, ...]:
    hits = []
    for rank, address in found.hits:
        document, text = from_tantivy(searcher.doc(address))
        if document.id == query.after:
            continue
        score = float(rank) if query.sort == "score" else 0.0
        hits.append(hit(document, text, score, tree, with_snippets=query.with_snippets))
    return tuple(hits[: query.count_max])


def _buckets(counts: Mapping[str, Any], name: str) -> dict[Any, int]:
    return {bucket["key"]: bucket["doc_count"] for bucket in counts[name]["buckets"]}


def _largest(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
