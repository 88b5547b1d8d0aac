"""Best match: when no document has all words of a search, rank those that have any of them."""

from __future__ import annotations

from dataclasses import replace

from fonds.model.document import Match, SearchQuery, SearchResults
from fonds.ports import Index


def best_match_if_none(index: Index, query: SearchQuery, exact: SearchResults) -> SearchResults:
    """Return the results of an exact search, or those of best match when the exact search found none.

    The notes of the exact search stay with the results. Raises ValueError with a sentence for people.
    """
    if exact.total or query.match is Match.BEST or not query.text.strip():
        return exact
    best = index.search(replace(query, match=Match.BEST, with_notes=False))
    return replace(best, notes=exact.notes, meant=exact.meant) if best.total else exact
