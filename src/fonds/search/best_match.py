"""Best match: when no document has all words of a search, rank those that have any of them."""

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
    """Return what a search finds, or its best match when it finds nothing.

    What the exact search says of words that no document has, and of earlier versions that have them, stays
    with the results. There is no best match for words that name a file, as `is_named` says. Raises ValueError
    with a sentence for people.
    """
    exact = search(query)
    told = exact.results
    if told.total or query.match is MatchMode.BEST or not query.text.strip() or is_named():
        return exact
    best = search(replace(query, match=MatchMode.BEST, with_notes=False))
    if not best.results.total:
        return exact
    found = replace(
        best.results,
        notes=told.notes,
        meant=told.meant,
        earlier_count=told.earlier_count,
        earlier_text=told.earlier_text,
    )
    return replace(best, results=found)
