"""Best match: when no document has all words of a search, rank those that have any of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fonds.library.searching.collapsed import Collapsed
from fonds.model.document import Match, SearchQuery


def best_match_if_none(
    search: Callable[[SearchQuery], Collapsed],
    query: SearchQuery,
    is_named: Callable[[], bool] = lambda: False,
) -> Collapsed:
    """Return what a search finds, or its best match when it finds nothing.

    What the exact search says of words that no document has, and of earlier versions that have them, stays
    with the results. There is no best match for words that name a file, as `is_named` says. Raises ValueError
    with a sentence for people.
    """
    exact = search(query)
    told = exact.found
    if told.total or query.match is Match.BEST or not query.text.strip() or is_named():
        return exact
    best = search(replace(query, match=Match.BEST, with_notes=False))
    if not best.found.total:
        return exact
    found = replace(
        best.found,
        notes=told.notes,
        meant=told.meant,
        earlier_count=told.earlier_count,
        earlier_text=told.earlier_text,
    )
    return replace(best, found=found)
