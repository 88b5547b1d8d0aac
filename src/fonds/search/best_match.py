"""Best match: if no document has all words of a search, rank documents that have any of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fonds.model.search import MatchMode, SearchQuery
from fonds.search.results import CollapsedResults


def search_with_fallback(
    search: Callable[[SearchQuery], CollapsedResults],
    query: SearchQuery,
    is_named: Callable[[], bool] = lambda: False,
) -> CollapsedResults:
    """Return the results of a search, or its best match if there are none.

    The results keep the exact search's notes about unknown words and earlier versions. There is no
    best match for a query that names a file, as `is_named` says. Raises ValueError for an invalid
    query.
    """
    exact = search(query)
    exact_results = exact.results
    if exact_results.total or query.match is MatchMode.BEST or not query.text.strip() or is_named():
        return exact
    best = search(replace(query, match=MatchMode.BEST, with_notes=False))
    if not best.results.total:
        return exact
    best_results = replace(
        best.results,
        notes=exact_results.notes,
        corrected_query=exact_results.corrected_query,
        earlier_count=exact_results.earlier_count,
        earlier_text=exact_results.earlier_text,
    )
    return replace(best, results=best_results)
