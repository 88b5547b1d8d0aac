"""Validate and normalize the filters of a query: order, page, dates and exact values.

All index backends use this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fonds.model.search import IDS_MAX, RESULTS_MAX, SearchQuery
from fonds.model.suggestions import format_unknown_name
from fonds.search.exact_values import format_sentence
from fonds.search.fields import normalize_exact_value

FACET_VALUES_MAX = 1_000
SORTS = ("score", "newest", "oldest", "added", "id")


def normalize_query(query: SearchQuery) -> SearchQuery:
    """Return a query whose filter values have the form that the index stores.

    Raises ValueError with a message for users if the order is unknown, the page is out of range,
    the dates exclude each other, or a language is invalid.
    """
    _check_page(query)
    _check_dates(query)
    return replace(
        query,
        languages=_normalize_exact("language", query.languages),
        domains=_normalize_exact("canonical_domain", query.domains),
    )


def _normalize_exact(field: str, values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(normalize_exact_value(field, value) for value in values))


def _check_page(query: SearchQuery) -> None:
    if query.sort not in SORTS:
        raise ValueError(format_sentence(format_unknown_name("order", query.sort, SORTS)))
    if len(query.ids) > IDS_MAX:
        raise ValueError(f"A search can name at most {IDS_MAX:,} documents.")
    if query.offset < 0 or query.count_max < 0:
        raise ValueError("The offset and the number of results cannot be negative.")
    if query.offset + query.count_max > RESULTS_MAX:
        raise ValueError(
            f"Only the first {RESULTS_MAX:,} results can be listed. Narrow the search."
        )
    if query.after is not None and (query.sort != "id" or query.offset):
        raise ValueError("The parameter “after” needs sort=id and no offset.")
    if not 0 <= query.facet_values_max <= FACET_VALUES_MAX:
        raise ValueError(f"A facet shows up to {FACET_VALUES_MAX:,} values.")


def _check_dates(query: SearchQuery) -> None:
    first, last = query.date_from, query.date_to
    if first and last and first > last:
        raise ValueError(f"The first day, {first}, is after the last day, {last}.")
    if query.undated and (first or last):
        raise ValueError(
            "Documents without a date match no range of dates. Remove undated or the dates."
        )
