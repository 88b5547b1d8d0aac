"""Search: words and filters in, results, facets and a histogram out; the URL holds all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, get_origin

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import HTMLResponse

from fonds.model.document import DateKind, DateOf
from fonds.model.encoding import pluralize
from fonds.model.file import Kind
from fonds.model.search import (
    RESULTS_MAX,
    Hit,
    MatchMode,
    QueryError,
    SearchResults,
    Snippet,
    VersionHit,
)
from fonds.ports import Stores
from fonds.search.direct_hits import DirectHit
from fonds.search.export_formats import FORMS
from fonds.search.facets import ThemeCounts, count_dates, count_facets
from fonds.search.fields import LABELS, read_labelled_values
from fonds.search.query.parser import QUERY_MAX_CHARS, has_all_versions
from fonds.search.request import FILTERS, KIND_WORDS, VIEW_PARAMETERS, ActiveFilter, SearchRequest
from fonds.search.results import find_near_duplicates
from fonds.search.run_search import count_request, run_search
from fonds.search.unread_files import describe_unread
from fonds.web.access.roles import READS
from fonds.web.html.charts import HistogramBar, Period, build_periods, build_spans, draw_histogram
from fonds.web.html.rendering import OpenStores, Pager, build_pager, build_url, render_page
from fonds.web.pages.search_completion import find_offered_values
from fonds.web.pages.search_facets import (
    build_facets,
    build_theme_facet,
    list_offered,
)
from fonds.web.pages.theme_links import ThemeLink, find_document_themes
from fonds.web.serving.json_requests import TheService
from fonds.web.serving.parameters import shorten, take_search
from fonds.web.serving.problems import RefusedError
from fonds.wiring.collections import CollectionService

# What came to be found by a search in the last days.


DAYS = 7


@dataclass(frozen=True, slots=True)
class RecentAdditions:
    """So many of a result came to be found since a day; `href` lists them, the last first."""

    count: int
    since: date
    href: str


def recent_additions(stores: Stores, form: SearchRequest, today: date) -> RecentAdditions | None:
    """How many came in the seven days until `today`, in UTC; None where these dates are asked for already, or
    the words leave no room for them."""
    since = today - timedelta(days=DAYS - 1)
    words = form.q.strip()
    held = f"({words})" if " OR " in words else words
    query = f"{held} added:>={since.isoformat()}".strip()
    if len(query) > QUERY_MAX_CHARS or form.dates is DateOf.ADDED or "added:" in words:
        return None
    count = count_request(form.model_copy(update={"q": query}), stores).total
    href = build_url("/search", **form.build_params({"q": query, "sort": "added"}))
    return RecentAdditions(count, since, href)


# One result of a search, as the page and the API show it.


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One result; `id` is a PDF's SHA-1 or a story's id, `sha1hex` the file its text is of.

    `date_kind` says whether `publication_date` is the day it was published or the day its file was made,
    `captured` is the day of its capture, `license`, `rights_holder` and `preferences` are stated about its
    use, `fields` has the values of the fields that have a label in `fonds.search.fields`, by their names in a
    query, `indexed_date` says when it came to be found as it is. `snippets` are up
    to three passages with the pages of a PDF they begin on; `snippet` is the first, `snippet_marks` are
    (start, end) offsets in it, `title_marks` in `title`. `themes` are those of collections it is in.
    `near_duplicate_of` is the id of an earlier result of the same page that says nearly the same; `alike` is
    how many documents of the search this one stands for, where near-duplicates are one. `version` is the
    earlier version that matches, of a story found by `version:all` whose current version does not match. None
    means unknown, or none.
    """

    id: str
    sha1hex: str
    kind: Kind
    title: str | None
    url: str
    canonical_domain: str
    publication_date: date | None
    language: str | None
    collection: str
    page_count: int | None
    word_count: int | None
    has_thumbnail: bool
    score: float
    authors: Sequence[str]
    doi: str | None
    license: Sequence[str]
    rights_holder: Sequence[str]
    preferences: Sequence[str]
    fields: Mapping[str, Sequence[str]]
    date_kind: DateKind | None
    captured: date | None
    indexed_date: datetime
    title_marks: Sequence[tuple[int, int]]
    snippets: Sequence[Snippet]
    snippet: str
    snippet_marks: Sequence[tuple[int, int]]
    themes: Sequence[ThemeLink]
    near_duplicate_of: str | None
    alike: int
    version: VersionHit | None


def build_hit(
    hit: Hit, themes: Sequence[ThemeLink], near_duplicate_of: str | None, alike: int
) -> SearchHit:
    """A hit of the index, the themes its document is in, what it repeats, and how many it stands for."""
    document = hit.document
    return SearchHit(
        id=document.id,
        sha1hex=document.sha1hex,
        kind=document.kind,
        title=document.article_title,
        url=document.url,
        canonical_domain=document.canonical_domain,
        publication_date=document.publication_date,
        language=document.language,
        collection=document.collection,
        page_count=document.page_count,
        word_count=document.word_count,
        has_thumbnail=document.has_thumbnail,
        score=hit.score,
        authors=document.authors,
        doi=document.doi,
        license=document.licenses,
        rights_holder=document.holders,
        preferences=document.prefers,
        fields=read_labelled_values(document),
        date_kind=document.date_kind,
        captured=document.captured,
        indexed_date=document.indexed_date,
        title_marks=hit.title_marks,
        snippets=hit.snippets,
        snippet=hit.snippet.text,
        snippet_marks=hit.snippet.marks,
        themes=themes,
        near_duplicate_of=near_duplicate_of,
        alike=alike,
        version=hit.version,
    )


EXPORTED_MAX = 100_000
"""So many documents of a result can be had in one answer; `fonds export` writes any number."""
BY_NUMBER = "Near-duplicates are one result where pages have numbers: not with sort=id or after."
EMPTY_INDEX_HEADING = "Nothing can be searched yet"
RELAXED_FILTERS_MAX = 6
FILTERS_MAX = 20

router = APIRouter(dependencies=[READS])


@dataclass(frozen=True, slots=True)
class EarlierVersionHits:
    """How many stories have the words of a search in an earlier version; `query` finds them."""

    count: int
    query: str


@dataclass(frozen=True, slots=True)
class SearchPage:
    """One page of results. `total` documents were found; `listed` results are they, of which `reachable` can
    be paged through: fewer, where near-duplicates among the first `compared` documents are one result.

    `dates` count all matches by YYYY-MM, or by YYYY-MM-DD where all lie within 72 days, `undated` those
    without a date; `facets` those of each value, leaving aside what is chosen of the same facet, and
    `beyond` those with values that are not listed. `direct` are the files the words are the
    name of: a URL, SHA-1, story id, DOI or file name. `notes` say what of the question no document has,
    when nothing was found, not by name either; `meant` is the query that was probably meant, and
    `earlier` counts the stories that match in an earlier version, None where none does. Themes are those
    of the first `themes_looked_in` collections by name, None for all; `themes` counts the matches by the
    themes of the collection that was asked for, None without one. `match` is `best` where no document has
    all of the words, and results have any of them. `generation` names what the index holds: the same, the
    same documents; None where it is not known. With sort=id the next page is had with `after` = `next`,
    None at the end; so all of a result can be had, however large."""

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


def search_page(
    stores: Stores, collections: CollectionService, form: SearchRequest, *, collapses: bool = False
) -> SearchPage:
    """Raises ValueError with a sentence for people when the words cannot be understood."""
    answer = run_search(form, stores.index, stores, collections.tables, collapses=collapses)
    form, shown, results, things = answer.request, answer.page, answer.results, answer.direct_hits
    notes, ids = results.notes, answer.query.ids
    facets, beyond = count_facets(stores.index, form, results, ids)
    documents = [hit.document for hit in results.hits]
    document_themes = find_document_themes(collections, [document.id for document in documents])
    repeated = find_near_duplicates(stores.records, documents)
    is_empty = not (results.total or things) and stores.index.count() == 0
    unread = describe_unread(stores.records, form.q)
    return SearchPage(
        answer=EMPTY_INDEX_HEADING
        if is_empty
        else _build_heading(form, results.total, len(things)),
        direct=things,
        notes=[] if is_empty or things else [*notes, *([unread] if unread else [])],
        meant=results.meant,
        earlier=None if things else _build_earlier(results),
        match=results.match,
        total=results.total,
        listed=shown.listed,
        compared=shown.compared,
        reachable=shown.reachable,
        page=form.page,
        pages=max(1, -(-shown.reachable // form.size)),
        next=_find_next_page(form, results),
        results=[
            build_hit(
                hit,
                document_themes.themes.get(hit.document.id, ()),
                repeated.get(hit.document.id),
                shown.collapsed_counts.get(hit.document.id, 0),
            )
            for hit in results.hits
        ],
        facets=facets,
        beyond=beyond,
        dates=count_dates(stores.index, answer.query, results),
        undated=results.undated,
        themes_looked_in=document_themes.looked_in,
        themes=answer.themes,
        generation=results.generation,
    )


def _build_earlier(results: SearchResults) -> EarlierVersionHits | None:
    if results.earlier_text is None:
        return None
    return EarlierVersionHits(results.earlier_count, results.earlier_text)


def _find_next_page(form: SearchRequest, results: SearchResults) -> str | None:
    """Where the next page of a whole result begins."""
    if form.sort != "id" or len(results.hits) < form.size:
        return None
    return results.hits[-1].document.id


def _build_heading(form: SearchRequest, total: int, result_count: int) -> str:
    about = f" for “{form.q.strip()}”" if form.q.strip() else ""
    within = " with these filters" if form.list_filters() else ""
    if total == 0 and result_count:
        return f"{pluralize(result_count, 'file')} known by this name, and nothing else found"
    if total == 0:
        return f"Nothing found{about}{within}"
    if form.match == "best":
        return f"Best match: {pluralize(total, 'document')} with any of these words{within}"
    if about or within:
        return f"{pluralize(total, 'document')} found{about}{within}"
    return f"{pluralize(total, 'document')} can be searched"


def _build_bars(form: SearchRequest, page: SearchPage) -> list[HistogramBar]:
    """The histogram's bars; each opens exactly the documents it counts."""
    if any(len(counted_by) == len("YYYY-MM-DD") for counted_by, _ in page.dates):
        shown = build_spans({date.fromisoformat(day): count for day, count in page.dates})
    else:
        shown = build_periods(page.dates, form.from_, form.to)
    return [
        HistogramBar(
            one.label,
            one.count,
            build_url("/search", **form.build_params(_build_period_filter(one))),
        )
        for one in shown
    ]


def _list_date_kinds(form: SearchRequest) -> list[tuple[DateOf, str]]:
    """Each kind of date, and the search by it; its limits are days of another kind, and are left out."""
    kept = {"from": None, "to": None, "undated": None}
    found = []
    for one in DateOf:
        chosen = one if one is not DateOf.PUBLISHED else None
        found.append((one, build_url("/search", **form.build_params({"dates": chosen, **kept}))))
    return found


def _build_period_filter(period: Period) -> dict[str, Any]:
    return {"from": period.first.isoformat(), "to": period.last.isoformat()}


def _relaxed_filters(stores: Stores, form: SearchRequest) -> list[tuple[ActiveFilter, int]]:
    """Return how many documents a search that found nothing would find without each filter, most first."""
    counts = []
    for one in form.list_filters()[:RELAXED_FILTERS_MAX]:
        left = {k: v for k, v in {**form.build_filters(), **one.removal}.items() if v is not None}
        counts.append((one, count_request(SearchRequest.model_validate(left), stores).total))
    return sorted(counts, key=lambda way: -way[1])


def split_bad_token(text: str, error: ValueError) -> tuple[str, str, str] | None:
    """A query cut in three, its bad token in the middle; None where no one token is at fault."""
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
    """Results beside their facets; a bad query is told in its place, with status 400."""
    try:
        collapses = form.collapse != "no" and form.has_page_numbers
        page = search_page(stores, collections, form, collapses=collapses)
    except ValueError as error:
        return render_page(
            request,
            "search.html",
            400,
            heading="This search cannot be understood",
            error=str(error),
            bad=split_bad_token(form.q, error),
            form=form,
            found=None,
            feed=None,
            kind_words=KIND_WORDS,
            dates=None,
            values=find_offered_values(stores, collections, form, error),
        )
    exact_href = build_url("/search", **form.build_params({"match": "exact"}))
    best_href = build_url("/search", **form.build_params({"match": "best"}))
    if page.match is MatchMode.BEST:
        form = form.model_copy(update={"match": str(MatchMode.BEST)})
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
        found=page,
        nothing_yet=page.answer == EMPTY_INDEX_HEADING,
        facets=build_facets(form, page.facets, page.beyond),
        theme_facet=build_theme_facet(form, page.themes),
        offered=list_offered(collections, form),
        bars=bars,
        chart=draw_histogram(bars, "Documents by date"),
        new=recent_additions(stores, form, datetime.now(UTC).date()) if page.total else None,
        dates_of=_list_date_kinds(form),
        most=max(bars, key=lambda bar: bar.count, default=None),
        ways_out=_relaxed_filters(stores, form) if page.total == 0 else [],
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


def search_refused(request: Request, refusal: str) -> HTMLResponse:
    """A search with a value that cannot be: what is wrong, and the form with everything that can."""
    kept: dict[str, Any] = {}
    for name, field in SearchRequest.model_fields.items():
        key = field.alias or name
        if key not in (*FILTERS, *VIEW_PARAMETERS):
            continue
        values = request.query_params.getlist(key)
        is_list = get_origin(field.annotation) is list
        value = values[:FILTERS_MAX] if is_list else (values[:1] or [""])[0]
        if values and _is_valid({key: value}):
            kept[key] = value
    return render_page(
        request, "search.html", 400, heading="This search cannot be answered", error=refusal,
        bad=None, form=SearchRequest.model_validate(kept), found=None, feed=None, kind_words=KIND_WORDS,
        values=None,
        dates={name: shorten(request.query_params.get(name, ""), 40) for name in ("from", "to")},
    )  # fmt: skip


def _is_valid(values: Mapping[str, Any]) -> bool:
    try:
        SearchRequest.model_validate(values)
    except ValueError:
        return False
    return True


def _list_exports(form: SearchRequest) -> list[tuple[str, str, str]]:
    """Each form a result can be had in: title, link, and link with a manifest beside it."""
    filters = form.build_filters()
    return [
        (
            one.title,
            build_url(f"/search/export/{name}", **filters),
            build_url(f"/search/export/{name}.zip", **filters),
        )
        for name, one in FORMS.items()
    ]


@router.get("/search.json", include_in_schema=False)
@router.get("/api/search", summary="Full-text search")
def search_json(
    stores: OpenStores,
    collections: TheService,
    form: Annotated[SearchRequest, take_search(*FILTERS, *VIEW_PARAMETERS)],
) -> SearchPage:
    """Ten results a page with snippets, and counts by kind, language, domain, collection and month. With
    collapse=yes near-duplicates are one result, else each is its own."""
    collapses = form.collapse == "yes"
    if collapses and not form.has_page_numbers:
        raise RefusedError(400, BY_NUMBER, parameter="collapse")
    try:
        return search_page(stores, collections, form, collapses=collapses)
    except QueryError as error:
        raise RefusedError(
            400, str(error), parameter="q", start=error.start, end=error.end
        ) from error
    except ValueError as error:
        raise HTTPException(400, str(error)) from error
