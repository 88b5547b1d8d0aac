"""Search page and API: results, facets and histogram of a search. The URL contains all settings of
the search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Request
from msgspec import structs
from starlette.responses import HTMLResponse

from fonds.model.document import DateOf
from fonds.model.encoding import pluralize
from fonds.model.search import (
    QUERY_MAX_CHARS,
    RESULTS_MAX,
    MatchMode,
    QueryError,
    SearchResults,
    ThemeCounts,
)
from fonds.ports import Stores
from fonds.search.direct_hits import DirectHit
from fonds.search.export_formats import EXPORT_FORMATS
from fonds.search.facets import count_dates, count_facets
from fonds.search.fields import LABELS
from fonds.search.hits import EarlierVersionHits, SearchHit, build_search_hit
from fonds.search.query.parser import has_all_versions
from fonds.search.request import (
    FILTERS,
    KIND_WORDS,
    PARAMETERS,
    VIEW_PARAMETERS,
    ActiveFilter,
    SearchRequest,
    parse_request,
)
from fonds.search.results import find_near_duplicates
from fonds.search.run_search import count_request, run_search
from fonds.search.unread_files import describe_unread
from fonds.web.access.roles import READS
from fonds.web.html.charts import HistogramBar, draw_histogram
from fonds.web.html.periods import Period, build_periods, build_spans
from fonds.web.html.rendering import OpenStores, Pager, build_pager, build_url, render_page
from fonds.web.pages.document_themes import find_document_themes
from fonds.web.pages.search_completion import find_offered_values
from fonds.web.pages.search_facets import (
    build_facets,
    build_theme_facet,
    list_offered_collections,
)
from fonds.web.serving.json_requests import TheService
from fonds.web.serving.parameters import shorten, take_search
from fonds.web.serving.problems import RefusedError
from fonds.wiring.collections import CollectionService

DAYS = 7


@dataclass(frozen=True, slots=True)
class RecentAdditions:
    """Number of documents of a search result that were added to the library since day `since`.

    `href`: address of the list of those documents, newest first.
    """

    count: int
    since: date
    href: str


def count_recent_additions(
    stores: Stores, form: SearchRequest, today: date
) -> RecentAdditions | None:
    """Count the results of a search that were added in the seven days until `today`, in UTC.

    Return None if the search already filters by the day of addition, or if the query with that
    filter would be too long.
    """
    since = today - timedelta(days=DAYS - 1)
    words = form.q.strip()
    group = f"({words})" if " OR " in words else words
    query = f"{group} added:>={since.isoformat()}".strip()
    if len(query) > QUERY_MAX_CHARS or form.dates is DateOf.ADDED or "added:" in words:
        return None
    count = count_request(structs.replace(form, q=query), stores).total
    href = build_url("/search", **form.build_params({"q": query, "sort": "added"}))
    return RecentAdditions(count, since, href)


EXPORTED_MAX = 100_000
"""Maximum number of documents in one export from the search page. `fonds export` has no limit."""
COLLAPSE_NEEDS_PAGES_MESSAGE = (
    "Near-duplicates can be collapsed only on numbered pages, so not with sort=id or after."
)
EMPTY_INDEX_HEADING = "No searchable documents yet"
RELAXED_FILTERS_MAX = 6
FILTERS_MAX = 20

router = APIRouter(tags=["search"], dependencies=[READS])


@dataclass(frozen=True, slots=True)
class SearchPage:
    """One page of the results of a search.

    `answer`: heading of the page.
    `direct`: files that the query names by a URL, SHA-1, story id, DOI or file name.
    `notes`: parts of the query that no document matches, if there are no results and no `direct`
        files.
    `meant`: query with corrected spelling, as a suggestion; None if there is none.
    `earlier`: stories of which only an earlier version matches; None if there are none.
    `match`: `best` if no document has all words and results have any of them.
    `total`: number of matching documents.
    `listed`: number of results; fewer than `total` if near-duplicates are collapsed into one
        result.
    `compared`: number of documents at the start of the result that were compared for
        near-duplicates.
    `reachable`: number of results that can be reached by page number.
    `next`: value of `after` for the next page with sort=id, None on the last page. These cursors
        reach all results.
    `facets`: for each facet, numbers of matches by value, ignoring the selected values of the same
        facet.
    `beyond`: for each facet, the number of matches with values that are not listed.
    `dates`: numbers of matches by YYYY-MM, or by YYYY-MM-DD if all are within 72 days.
    `undated`: number of matches without a date.
    `themes_looked_in`: number of collections, first by name, in which themes of results were looked
        up; None for all.
    `themes`: numbers of matches by theme of the requested collection; None if no collection is
        requested.
    `generation`: id of the index contents; equal ids mean equal documents. None if unknown.
    """

    answer: str
    direct: Sequence[DirectHit]
    notes: Sequence[str]
    meant: str | None
    earlier: EarlierVersionHits | None
    match: MatchMode
    total: int
    listed: int
    compared: int
    reachable: int
    page: int
    pages: int
    next: str | None
    results: Sequence[SearchHit]
    facets: Mapping[str, Sequence[tuple[str, int]]]
    beyond: Mapping[str, int]
    dates: Sequence[tuple[str, int]]
    undated: int
    themes_looked_in: int | None
    themes: ThemeCounts | None
    generation: str | None


def build_search_page(
    stores: Stores, collections: CollectionService, form: SearchRequest, *, collapses: bool = False
) -> SearchPage:
    """Run a search and build the page of its results.

    Raises ValueError with a sentence for users if the query is invalid.
    """
    answer = run_search(form, stores.index, stores, collections.tables, collapses=collapses)
    form, collapsed_page, results, direct_hits = (
        answer.request,
        answer.page,
        answer.results,
        answer.direct_hits,
    )
    notes, ids = results.notes, answer.query.ids
    facets, unlisted_counts = count_facets(stores.index, form, results, ids)
    documents = [hit.document for hit in results.hits]
    document_themes = find_document_themes(collections, [document.id for document in documents])
    near_duplicates = find_near_duplicates(stores.records, documents)
    is_empty = not (results.total or direct_hits) and stores.index.count() == 0
    unread_note = describe_unread(stores.records, form.q)
    return SearchPage(
        answer=EMPTY_INDEX_HEADING
        if is_empty
        else _build_heading(form, results.total, len(direct_hits)),
        direct=direct_hits,
        notes=[] if is_empty or direct_hits else [*notes, *([unread_note] if unread_note else [])],
        meant=results.corrected_query,
        earlier=None if direct_hits else _build_earlier(results),
        match=results.match,
        total=results.total,
        listed=collapsed_page.listed,
        compared=collapsed_page.compared,
        reachable=collapsed_page.reachable,
        page=form.page,
        pages=max(1, -(-collapsed_page.reachable // form.size)),
        next=_find_next_page(form, results),
        results=[
            build_search_hit(
                hit,
                document_themes.themes.get(hit.document.id, ()),
                near_duplicates.get(hit.document.id),
                collapsed_page.collapsed_counts.get(hit.document.id, 0),
            )
            for hit in results.hits
        ],
        facets=facets,
        beyond=unlisted_counts,
        dates=count_dates(stores.index, answer.query, results),
        undated=results.undated,
        themes_looked_in=document_themes.searched_count,
        themes=answer.themes,
        generation=results.generation,
    )


def _build_earlier(results: SearchResults) -> EarlierVersionHits | None:
    if results.earlier_text is None:
        return None
    return EarlierVersionHits(results.earlier_count, results.earlier_text)


def _find_next_page(form: SearchRequest, results: SearchResults) -> str | None:
    """Return the cursor of the next page of results: the id of the last result on the current page.

    Return None on the last page, and if the results are not sorted by id.
    """
    if form.sort != "id" or len(results.hits) < form.size:
        return None
    return results.hits[-1].document.id


def _build_heading(form: SearchRequest, total: int, result_count: int) -> str:
    query_clause = f" for “{form.q.strip()}”" if form.q.strip() else ""
    filter_clause = " with these filters" if form.list_filters() else ""
    if total == 0 and result_count:
        return (
            f"{pluralize(result_count, 'file matches', 'files match')} this name; no other results"
        )
    if total == 0:
        return f"Nothing found{query_clause}{filter_clause}"
    if form.match == "best":
        return f"Best match: {pluralize(total, 'document')} with any of these words{filter_clause}"
    if query_clause or filter_clause:
        return f"{pluralize(total, 'document')} found{query_clause}{filter_clause}"
    return f"{pluralize(total, 'searchable document')}"


def _build_bars(form: SearchRequest, page: SearchPage) -> list[HistogramBar]:
    """Build the bars of the date histogram of a search. Each bar links to the documents that it
    counts.
    """
    if any(len(counted_by) == len("YYYY-MM-DD") for counted_by, _ in page.dates):
        periods = build_spans({date.fromisoformat(day): count for day, count in page.dates})
    else:
        periods = build_periods(page.dates, form.from_, form.to)
    return [
        HistogramBar(
            period.label,
            period.count,
            build_url("/search", **form.build_params(_build_period_filter(period))),
        )
        for period in periods
    ]


def _list_date_kinds(form: SearchRequest) -> list[tuple[DateOf, str]]:
    """Return each kind of date (such as published or captured) with the URL of the same search by
    that kind of date.

    That URL has no limits of dates, because limits belong to one kind of date.
    """
    cleared_limits = {"from": None, "to": None, "undated": None}
    links = []
    for kind in DateOf:
        chosen_kind = kind if kind is not DateOf.PUBLISHED else None
        links.append(
            (
                kind,
                build_url("/search", **form.build_params({"dates": chosen_kind, **cleared_limits})),
            )
        )
    return links


def _build_period_filter(period: Period) -> dict[str, Any]:
    return {"from": period.first.isoformat(), "to": period.last.isoformat()}


def _list_relaxed_filters(stores: Stores, form: SearchRequest) -> list[tuple[ActiveFilter, int]]:
    """Return the first six active filters of a search, each with the number of documents that the
    search finds without that filter, the largest number first.
    """
    counts = []
    for active in form.list_filters()[:RELAXED_FILTERS_MAX]:
        remaining = {
            k: v for k, v in {**form.build_filters(), **active.removal}.items() if v is not None
        }
        counts.append((active, count_request(parse_request(remaining), stores).total))
    return sorted(counts, key=lambda way: -way[1])


def split_bad_token(text: str, error: ValueError) -> tuple[str, str, str] | None:
    """Return the parts of a query before, in and after its invalid token, None if no single token
    is invalid.
    """
    if not isinstance(error, QueryError) or not error.end:
        return None
    return text[: error.start], text[error.start : error.end], text[error.end :]


@router.get("/search", include_in_schema=False)
def search_html(
    request: Request,
    stores: OpenStores,
    collections: TheService,
    form: Annotated[SearchRequest, take_search(*FILTERS, *VIEW_PARAMETERS)],
) -> HTMLResponse:
    """Show results with facets. A page with an invalid query shows the error, with status 400."""
    try:
        collapses = form.collapse != "no" and form.has_page_numbers
        page = build_search_page(stores, collections, form, collapses=collapses)
    except ValueError as error:
        return render_page(
            request,
            "search.html",
            400,
            heading="Invalid search",
            error=str(error),
            bad=split_bad_token(form.q, error),
            form=form,
            page=None,
            feed=None,
            kind_words=KIND_WORDS,
            dates=None,
            values=find_offered_values(stores, collections, form, error),
        )
    exact_href = build_url("/search", **form.build_params({"match": "exact"}))
    best_href = build_url("/search", **form.build_params({"match": "best"}))
    if page.match is MatchMode.BEST:
        form = structs.replace(form, match="best")
    bars = _build_bars(form, page)
    return render_page(
        request,
        "search.html",
        heading=page.answer,
        generation=page.generation,
        error=None,
        form=form,
        exact_href=exact_href,
        best_href=best_href,
        page=page,
        nothing_yet=page.answer == EMPTY_INDEX_HEADING,
        facets=build_facets(form, page.facets, page.beyond),
        theme_facet=build_theme_facet(form, page.themes),
        offered=list_offered_collections(collections, form),
        bars=bars,
        chart=draw_histogram(bars, "Documents by date"),
        new=count_recent_additions(stores, form, datetime.now(UTC).date()) if page.total else None,
        dates_of=_list_date_kinds(form),
        most=max(bars, key=lambda bar: bar.count, default=None),
        ways_out=_list_relaxed_filters(stores, form) if page.total == 0 else [],
        values=find_offered_values(stores, collections, form) if page.total == 0 else None,
        kind_words=KIND_WORDS,
        labels=LABELS,
        feed=build_url("/search.atom", **form.build_filters()),
        as_of=None if has_all_versions(form.q) else form.build_filters(),
        exports=_list_exports(form),
        exported_max=EXPORTED_MAX,
        pager=_build_pager(form, page.reachable),
    )


def _build_pager(form: SearchRequest, reachable: int) -> Pager:
    pages_max = RESULTS_MAX // form.size
    return build_pager("/search", form.build_params(), reachable, form.page, form.size, pages_max)


def render_refusal(request: Request, refusal: str) -> HTMLResponse:
    """Show a search with an invalid parameter: the error, and the form with all valid
    parameters."""
    valid: dict[str, Any] = {}
    for name in (*FILTERS, *VIEW_PARAMETERS):
        values = request.query_params.getlist(name)
        values = values[: PARAMETERS[name].values_max or 1]
        if values and _is_valid({name: values}):
            valid[name] = values
    return render_page(
        request, "search.html", 400, heading="Invalid search", error=refusal,
        bad=None, form=parse_request(valid), page=None, feed=None, kind_words=KIND_WORDS,
        values=None,
        dates={name: shorten(request.query_params.get(name, ""), 40) for name in ("from", "to")},
    )  # fmt: skip


def _is_valid(values: Mapping[str, Any]) -> bool:
    try:
        parse_request(values)
    except ValueError:
        return False
    return True


def _list_exports(form: SearchRequest) -> list[tuple[str, str, str]]:
    """Return the formats in which the results of a search can be exported: title, link, and link to
    the export with a manifest.
    """
    filters = form.build_filters()
    return [
        (
            export_format.title,
            build_url(f"/search/export/{name}", **filters),
            build_url(f"/search/export/{name}.zip", **filters),
        )
        for name, export_format in EXPORT_FORMATS.items()
    ]


@router.get("/search.json", include_in_schema=False)
@router.get("/api/search", summary="Full-text search", operation_id="search")
def search_json(
    stores: OpenStores,
    collections: TheService,
    form: Annotated[SearchRequest, take_search(*FILTERS, *VIEW_PARAMETERS)],
) -> SearchPage:
    """Return ten results per page with snippets.

    Counts are by kind, language, domain, collection and month.

    With collapse=yes near-duplicates are one result, otherwise separate results.
    """
    collapses = form.collapse == "yes"
    if collapses and not form.has_page_numbers:
        raise RefusedError(400, COLLAPSE_NEEDS_PAGES_MESSAGE, parameter="collapse")
    try:
        return build_search_page(stores, collections, form, collapses=collapses)
    except QueryError as error:
        raise RefusedError(
            400, str(error), parameter="q", start=error.start, end=error.end
        ) from error
    except ValueError as error:
        raise HTTPException(400, str(error)) from error
