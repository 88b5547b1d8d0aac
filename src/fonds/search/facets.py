"""Count the documents of a search by date and by facet value."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from msgspec import structs

from fonds.model.search import DAYS_COUNTED_MAX, SearchQuery, SearchResults
from fonds.ports import Index
from fonds.search.fields import FACET_FIELDS
from fonds.search.request import SearchRequest, format_value_name

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
