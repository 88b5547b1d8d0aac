"""Run a search request. The pages, API, command line, feeds and exports all use this module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from msgspec import structs

from fonds.grouping.tables import Tables
from fonds.model.search import MatchMode, SearchQuery, SearchResults, ThemeCounts
from fonds.ports import Index, Records, Stores
from fonds.search.best_match import search_with_fallback
from fonds.search.direct_hits import DirectHit, find_direct_hits, list_interpretations
from fonds.search.query.parser import has_all_versions
from fonds.search.request import SearchRequest
from fonds.search.results import (
    CollapsedResults,
    list_collapsed_ids,
    search_collapsed,
    search_uncollapsed,
)
from fonds.search.scan import MatchCount, count_matches
from fonds.search.unread_files import has_no_text_filter


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Result of a search request.

    - `request`, `query`: the request and its index query, with the match mode (all words or any
      word) that was used.
    - `page`: the requested page of results.
    - `direct_hits`: files that the search text names by URL, SHA-1, story id, DOI or file name.
      Empty on all pages but the first.
    - `themes`: number of documents per theme of the requested collection; None if none was
      requested.
    """

    request: SearchRequest
    query: SearchQuery
    page: CollapsedResults
    direct_hits: Sequence[DirectHit]
    themes: ThemeCounts | None

    @property
    def results(self) -> SearchResults:
        """Hits of the requested page, with total and counts of the whole result."""
        return self.page.results


def resolve_query(request: SearchRequest, index: Index, records: Records) -> SearchQuery:
    """Return the index query for a search request.

    For a request with `alike`, look up the near-duplicates of that document. Raises ValueError with
    a message for users if the request is invalid.
    """
    query = request.build_query()
    if not request.alike:
        return query
    return request.build_query(list_collapsed_ids(index, records, query, request.alike))


def count_request(request: SearchRequest, stores: Stores) -> MatchCount:
    """Count all documents that a search request finds.

    Raises ValueError with a message for users if the request is invalid.
    """
    return count_matches(stores.index, resolve_query(request, stores.index, stores.records))


def needs_stores(request: SearchRequest) -> bool:
    """Return whether a search request reads database rows or texts, and not only the index."""
    return bool(
        request.themes
        or request.alike
        or list_interpretations(request.q)
        or has_no_text_filter(request.q)
        or has_all_versions(request.q)
    )


def run_search(
    request: SearchRequest,
    index: Index,
    stores: Stores | None,
    tables: Tables | None = None,
    *,
    collapses: bool = False,
    offset: int | None = None,
) -> SearchAnswer:
    """Run a search request and return one page of results.

    - `stores`: may be None if `needs_stores` returns False for the request.
    - `tables`: tables of clusterings; required to count by theme.
    - `collapses`: whether near-duplicates are collapsed into one result.
    - `offset`: number of results to skip; replaces the page number of the request.

    Raises ValueError with a message for users if the request is invalid.
    """
    query = resolve_query(request, index, stores.records) if stores else request.build_query()
    if offset is not None:
        query = replace(query, offset=offset)
    find_direct = cache(lambda: find_direct_hits(stores, request.q) if stores else [])
    search = (
        partial(search_collapsed, index, stores.records)
        if stores and collapses and not query.ids
        else partial(search_uncollapsed, index)
    )
    page = (
        search_with_fallback(search, query, lambda: bool(find_direct()))
        if request.allows_best_match
        else search(query)
    )
    match = page.results.match
    if match is MatchMode.BEST:
        request, query = structs.replace(request, match="best"), replace(query, match=match)
    themes = None
    if request.themes and tables:
        # Imported here because most searches count no themes.
        from fonds.search.theme_counts import count_themes

        themes = count_themes(index, tables, request.themes, query)
    is_first = query.offset == 0 or not page.results.total
    return SearchAnswer(request, query, page, find_direct() if is_first else [], themes)
