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
    """Search for all words of a query; if no document has all of them, for any of the words.

    `search` runs a query. The second search is omitted if the query has no text, already asks for
    any of the words, or names a file (`is_named` returns True). The notes about unknown words and
    earlier versions always come from the first search. Raises ValueError if the query is invalid.
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
