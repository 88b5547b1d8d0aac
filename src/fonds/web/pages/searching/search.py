"""Search: words and filters in, results, facets and a histogram out; the URL holds all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cache, partial
from typing import Annotated, Any, get_origin

from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import HTMLResponse

from fonds.kinds.similarity.near_duplicates import near_duplicates
from fonds.library.searching.best_match import best_match_if_none
from fonds.library.searching.collapsed import alike, collapsed, separate
from fonds.library.searching.dated import dates_counted
from fonds.library.searching.direct import Direct, direct
from fonds.library.searching.exported.forms import FORMS
from fonds.library.searching.themes import ThemeCounts
from fonds.library.searching.unread import unread_note
from fonds.model.document import RESULTS_MAX, DateOf, Match, SearchResults
from fonds.model.numbers import how_many
from fonds.model.query_error import QueryError
from fonds.ports import Index, Stores
from fonds.web.access.declared import READS
from fonds.web.charts import Bucket, histogram
from fonds.web.pages.periods import Period, periods, spans
from fonds.web.pages.searching.added import lately
from fonds.web.pages.searching.completing import offered_values
from fonds.web.pages.searching.facets import counted, made_facets
from fonds.web.pages.searching.form import (
    KIND_WORDS,
    Filter,
    SearchForm,
)
from fonds.web.pages.searching.hits import SearchHit, found_hit
from fonds.web.pages.searching.themes import counted_themes, offered, theme_facet
from fonds.web.parameters import shorten
from fonds.web.problems import RefusedError
from fonds.web.rendering import OpenStores, Pager, link, page, pager
from fonds.web.rest.service import TheService
from fonds.web.themes.tagged import tagged
from fonds.wiring.backends import asks_for_versions
from fonds.wiring.recurring.collections import CollectionService

EXPORTED_MAX = 100_000
"""So many documents of a result can be had in one answer; `fonds export` writes any number."""
BY_NUMBER = "Near-duplicates are one result where pages have numbers: not with sort=id or after."
NOTHING_YET = "Nothing can be searched yet"
WAYS_OUT_MAX = 6
FILTERS_KEPT_MAX = 20

router = APIRouter(dependencies=[READS])


@dataclass(frozen=True, slots=True)
class InEarlierVersions:
    """How many stories have the words of a search in an earlier version; `query` finds them."""

    count: int
    query: str


@dataclass(frozen=True, slots=True)
class SearchPage:
    """One page of results. `total` documents were found; `listed` results are they, of which `reachable` can
    be paged through: fewer, where near-duplicates among the first `compared` documents are one result.

    `dates` count all matches by YYYY-MM, or by YYYY-MM-DD where all lie within 72 days, `undated` those
    without a date;
    `facets` those of each value, leaving aside what is chosen of the same facet, and `beyond` those with
    values that are not listed.
    `direct` are the files the words are the name of: a URL, SHA-1, story id, DOI or file name. `notes`
    say what of the question no document has, when nothing was found, not by name either; `meant` is the query
    that was probably meant, and `earlier` counts the stories that match in an earlier version, None where
    none does. Themes are those of the first `themes_looked_in` collections by name, None for
    all; `themes` counts the matches by the themes of the collection that was asked for, None without one.
    `match` is `best` where no document has all of the words, and results have any of them.
    `generation` names what the index holds: the same, the same documents; None where it is not known.
    With sort=id the next page is had with `after` = `next`, None at the end; so all of a result can be
    had, however large.
    """

    answer: str
    direct: Sequence[Direct]
    notes: Sequence[str]
    meant: str | None
    earlier: InEarlierVersions | None
    match: Match
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
    stores: Stores, themes: CollectionService, form: SearchForm, *, collapses: bool = False
) -> SearchPage:
    """Raises ValueError with a sentence for people when the words cannot be understood."""
    ids = alike(stores.index, stores.records, form.query(), form.alike) if form.alike else []
    named = cache(lambda: direct(stores, form.q))
    search = (
        partial(collapsed, stores.index, stores.records)
        if collapses and not ids
        else partial(separate, stores.index)
    )
    falls_back = _falls_back(form)
    shown = (
        best_match_if_none(search, form.query(ids), lambda: bool(named()))
        if falls_back
        else search(form.query(ids))
    )
    results = shown.found
    things = named() if form.page == 1 or not results.total else []
    if results.match is Match.BEST:
        form = form.model_copy(update={"match": str(Match.BEST)})
    notes = results.notes
    facets, beyond = counted(stores.index, form, results, ids)
    documents = [hit.document for hit in results.hits]
    known = tagged(themes, [one.id for one in documents])
    repeated = near_duplicates(stores.records, documents)
    is_empty = not (results.total or things) and stores.index.count() == 0
    unread = unread_note(stores.records, form.q)
    return SearchPage(
        answer=NOTHING_YET if is_empty else _answer(form, results.total, len(things)),
        direct=things,
        notes=[] if is_empty or things else [*notes, *([unread] if unread else [])],
        meant=results.meant,
        earlier=None if things else _earlier(results),
        match=results.match,
        total=results.total,
        listed=shown.listed,
        compared=shown.compared,
        reachable=shown.reachable,
        page=form.page,
        pages=max(1, -(-shown.reachable // form.size)),
        next=_next(form, results),
        results=[
            found_hit(
                hit,
                known.themes.get(hit.document.id, ()),
                repeated.get(hit.document.id),
                shown.alike.get(hit.document.id, 0),
            )
            for hit in results.hits
        ],
        facets=facets,
        beyond=beyond,
        dates=dates_counted(stores.index, form.query(ids), results),
        undated=results.undated,
        themes_looked_in=known.looked_in,
        themes=counted_themes(stores, themes, form, ids),
        generation=results.generation,
    )


def _earlier(results: SearchResults) -> InEarlierVersions | None:
    if results.earlier_text is None:
        return None
    return InEarlierVersions(results.earlier_count, results.earlier_text)


def _falls_back(form: SearchForm) -> bool:
    """Whether the form leaves the kind of match open; a result in the order of ids is always exact."""
    return not form.match and bool(form.q.strip()) and _pages_by_number(form)


def _pages_by_number(form: SearchForm) -> bool:
    """Whether results may stand for others: what goes on behind an id knows nothing of those before it."""
    return form.sort != "id" and form.after is None


def _next(form: SearchForm, results: SearchResults) -> str | None:
    """Where the next page of a whole result begins."""
    if form.sort != "id" or len(results.hits) < form.size:
        return None
    return results.hits[-1].document.id


def _answer(form: SearchForm, total: int, things: int) -> str:
    about = f" for “{form.q.strip()}”" if form.q.strip() else ""
    within = " with these filters" if form.filters() else ""
    if total == 0 and things:
        return f"{how_many(things, 'file')} known by this name, and nothing else found"
    if total == 0:
        return f"Nothing found{about}{within}"
    if form.match == "best":
        return f"Best match: {how_many(total, 'document')} with any of these words{within}"
    if about or within:
        return f"{how_many(total, 'document')} found{about}{within}"
    return f"{how_many(total, 'document')} can be searched"


def _bars(form: SearchForm, found: SearchPage) -> list[Bucket]:
    """The histogram's bars; each opens exactly the documents it counts."""
    if any(len(counted_by) == len("YYYY-MM-DD") for counted_by, _ in found.dates):
        shown = spans({date.fromisoformat(day): count for day, count in found.dates})
    else:
        shown = periods(found.dates, form.from_, form.to)
    return [
        Bucket(one.label, one.count, link("/search", **form.params(_within(one)))) for one in shown
    ]


def _dates_of(form: SearchForm) -> list[tuple[DateOf, str]]:
    """Each kind of date, and the search by it; its limits are days of another kind, and are left out."""
    kept = {"from": None, "to": None, "undated": None}
    found = []
    for one in DateOf:
        chosen = one if one is not DateOf.PUBLISHED else None
        found.append((one, link("/search", **form.params({"dates": chosen, **kept}))))
    return found


def _within(period: Period) -> dict[str, Any]:
    return {"from": period.first.isoformat(), "to": period.last.isoformat()}


def _ways_out(index: Index, form: SearchForm) -> list[tuple[Filter, int]]:
    """For a search that found nothing: how much each filter's removal would find, the most first."""
    ways = []
    for one in form.filters()[:WAYS_OUT_MAX]:
        left = {k: v for k, v in {**form.params(), **one.removal}.items() if v is not None}
        query = SearchForm.model_validate(left).query()
        ways.append((one, index.search(replace(query, offset=0, count_max=1)).total))
    return sorted(ways, key=lambda way: -way[1])


def bad_token(text: str, error: ValueError) -> tuple[str, str, str] | None:
    """A query cut in three, its bad token in the middle; None where no one token is at fault."""
    if not isinstance(error, QueryError) or not error.end:
        return None
    return text[: error.start], text[error.start : error.end], text[error.end :]


@router.get("/search", include_in_schema=False)
def search_html(
    request: Request,
    stores: OpenStores,
    themes: TheService,
    form: Annotated[SearchForm, Query()],
) -> HTMLResponse:
    """Results beside their facets; a bad query is told in its place, with status 400."""
    try:
        collapses = form.collapse != "no" and _pages_by_number(form)
        found = search_page(stores, themes, form, collapses=collapses)
    except ValueError as error:
        return page(
            request, "search.html", 400, heading="This search cannot be understood", error=str(error),
            bad=bad_token(form.q, error), form=form, found=None, feed=None, kind_words=KIND_WORDS, dates=None,
            values=offered_values(stores, themes, form, error),
        )  # fmt: skip
    exact_href = link("/search", **form.params({"match": "exact"}))
    best_href = link("/search", **form.params({"match": "best"}))
    if found.match is Match.BEST:
        form = form.model_copy(update={"match": str(Match.BEST)})
    bars = _bars(form, found)
    return page(
        request,
        "search.html",
        heading=found.answer,
        generation=found.generation,
        error=None,
        form=form,
        exact_href=exact_href,
        best_href=best_href,
        found=found,
        nothing_yet=found.answer == NOTHING_YET,
        facets=made_facets(form, found.facets, found.beyond),
        theme_facet=theme_facet(form, found.themes),
        offered=offered(themes, form),
        bars=bars,
        chart=histogram(bars, "Documents by date"),
        new=lately(stores.index, form, datetime.now(UTC).date()) if found.total else None,
        dates_of=_dates_of(form),
        most=max(bars, key=lambda bar: bar.count, default=None),
        ways_out=_ways_out(stores.index, form) if found.total == 0 else [],
        values=offered_values(stores, themes, form) if found.total == 0 else None,
        kind_words=KIND_WORDS,
        feed=None if form.alike else link("/search.atom", **said(form)),
        as_of=None if form.alike or asks_for_versions(form.q) else said(form),
        exports=[] if form.alike else _exports(form),
        exported_max=EXPORTED_MAX,
        pager=_pager(form, found.reachable),
    )


def _pager(form: SearchForm, reachable: int) -> Pager:
    pages_max = RESULTS_MAX // form.size
    return pager("/search", form.params(), reachable, form.page, form.size, pages_max)


def search_refused(request: Request, refusal: str) -> HTMLResponse:
    """A search with a value that cannot be: what is wrong, and the form with everything that can."""
    kept: dict[str, Any] = {}
    for name, field in SearchForm.model_fields.items():
        key = field.alias or name
        values = request.query_params.getlist(key)
        is_list = get_origin(field.annotation) is list
        value = values[:FILTERS_KEPT_MAX] if is_list else (values[:1] or [""])[0]
        if values and _can_be({key: value}):
            kept[key] = value
    return page(
        request, "search.html", 400, heading="This search cannot be answered", error=refusal,
        bad=None, form=SearchForm.model_validate(kept), found=None, feed=None, kind_words=KIND_WORDS,
        values=None,
        dates={name: shorten(request.query_params.get(name, ""), 40) for name in ("from", "to")},
    )  # fmt: skip


def _can_be(values: Mapping[str, Any]) -> bool:
    try:
        SearchForm.model_validate(values)
    except ValueError:
        return False
    return True


def said(form: SearchForm) -> dict[str, Any]:
    """What is searched for, without how it is shown."""
    shown = ("sort", "facets", "size", "find", "themes", "collapse", "alike")
    return {name: value for name, value in form.params().items() if name not in shown}


def _exports(form: SearchForm) -> list[tuple[str, str, str]]:
    """Each form a result can be had in: title, link, and link with a manifest beside it."""
    asked = said(form)
    return [
        (
            one.title,
            link(f"/search/export/{name}", **asked),
            link(f"/search/export/{name}.zip", **asked),
        )
        for name, one in FORMS.items()
    ]


@router.get("/search.json", include_in_schema=False)
@router.get("/api/search", summary="Full-text search")
def search_json(
    stores: OpenStores, themes: TheService, form: Annotated[SearchForm, Query()]
) -> SearchPage:
    """Ten results a page with snippets, and counts by kind, language, domain, collection and month. With
    collapse=yes near-duplicates are one result, else each is its own."""
    collapses = form.collapse == "yes"
    if collapses and not _pages_by_number(form):
        raise RefusedError(400, BY_NUMBER, parameter="collapse")
    try:
        return search_page(stores, themes, form, collapses=collapses)
    except QueryError as error:
        raise RefusedError(
            400, str(error), parameter="q", start=error.start, end=error.end
        ) from error
    except ValueError as error:
        raise HTTPException(400, str(error)) from error
