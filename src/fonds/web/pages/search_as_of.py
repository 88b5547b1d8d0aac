"""What a search found at the end of a day, and why it finds others now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from fonds.model.access import Role
from fonds.model.encoding import pluralize
from fonds.model.search import QueryError
from fonds.ports import Stores
from fonds.search.as_of import (
    CHANGED_MAX,
    NO_VERSIONS_MESSAGE,
    RESULTS_MAX,
    VERSIONS_MAX,
    AsOfContext,
    AsOfResult,
    ChangeSortCount,
    validate_day,
)
from fonds.search.query.parser import has_all_versions
from fonds.search.request import AS_OF_PARAMETERS, FILTERS, SearchRequest
from fonds.search.run_search import resolve_query
from fonds.search.verification import ChangedDocument
from fonds.web.access.roles import READS
from fonds.web.access.viewers import TheViewer
from fonds.web.html.rendering import OpenStores, build_pager, build_url, capitalize, render_page
from fonds.web.html.rendering import format_day as day_said
from fonds.web.serving.csv_tables import add_csv_route
from fonds.web.serving.parameters import take_search
from fonds.web.serving.problems import RefusedError
from fonds.wiring.stores import match_documents

PATH = "/search/as-of"
PAGE_SIZE = 50
PAGES_MAX = 1_000
router = APIRouter(dependencies=[READS])


AsOfRequest = Annotated[SearchRequest, take_search(*FILTERS, *AS_OF_PARAMETERS)]


@dataclass(frozen=True, slots=True)
class BecameCount:
    """How many documents became what, in words; whether they were found then, None where that is not known,
    and are found now. `href` lists them."""

    name: str
    words: str
    count: int
    is_found_then: bool | None
    is_found_now: bool
    href: str


@dataclass(frozen=True, slots=True)
class AsOfPage:
    """What a search found at the end of `day`, in UTC: `then` documents, and up to `unknown` more of which it
    is not known. `now` are found now. The sums: `then` is that of the counts with `is_found_then`, `unknown`
    of those where that is null, `now` of those with `is_found_now`. Embargoes are told who may curate.

    `is_all_found` is false where more are found now (`total`) than were looked at; the sums are then of those
    that stand first in the order by id. `is_all_changed` is false where more was written since than was
    looked at: then `unknown` and `then` may be more. `listed` are those that became `became`, on this page.
    """

    answer: str
    day: date
    then: int
    unknown: int
    now: int
    total: int
    is_all_found: bool
    is_all_changed: bool
    generation: str | None
    sorts: Sequence[BecameCount]
    became: str
    listed_total: int
    page: int
    listed: Sequence[ChangedDocument]


def build_as_of_page(
    request: Request, stores: Stores, form: SearchRequest, *, knows: bool
) -> AsOfPage:
    """Raises ValueError with a sentence for a day or a search that cannot be asked."""
    if has_all_versions(form.q):
        raise ValueError(capitalize(NO_VERSIONS_MESSAGE))
    day = validate_day(form.day, datetime.now(UTC).date())
    whole: Stores = request.app.state.whole_stores
    asking = AsOfContext(stores, match_documents, whole.records if knows else None)
    found = asking(resolve_query(form, stores.index, stores.records), day)
    listed = found.listed.get(form.became, []) if _is_listed(found, form.became) else []
    begin = (form.page - 1) * PAGE_SIZE
    return AsOfPage(
        answer=_build_heading(found),
        day=day,
        then=found.found_then_count,
        unknown=found.unknown_count,
        now=found.found_now_count,
        total=found.total,
        is_all_found=found.has_all_found,
        is_all_changed=found.is_all_changed,
        generation=found.generation,
        sorts=[_build_line(one, form) for one in found.sort_counts],
        became=form.became,
        listed_total=len(listed),
        page=form.page,
        listed=listed[begin : begin + PAGE_SIZE],
    )


def _is_listed(result: AsOfResult, became: str) -> bool:
    return any(one.name == became for one in result.sort_counts)


def _build_line(sort_count: ChangeSortCount, form: SearchRequest) -> BecameCount:
    return BecameCount(
        sort_count.name,
        sort_count.words,
        sort_count.count,
        sort_count.is_found_then,
        sort_count.is_found_now,
        build_url(PATH, **form.build_params({"became": sort_count.name})),
    )


def _build_heading(result: AsOfResult) -> str:
    then = (
        f"{result.found_then_count:,}"
        if not result.unknown_count
        else f"At least {result.found_then_count:,}"
    )
    now = (
        f"{result.found_now_count:,}"
        if result.has_all_found
        else f"{result.found_now_count:,} of {result.total:,}"
    )
    was = "was" if result.found_then_count == 1 else "were"
    return f"{then} {was} found at the end of {day_said(result.day)}, {now} now"


@router.get(PATH, include_in_schema=False)
def as_of_html(
    request: Request,
    stores: OpenStores,
    viewer: TheViewer,
    form: AsOfRequest,
) -> HTMLResponse:
    """The sums, and a list; a day or a search that cannot be asked is told in its place, with status 400."""
    shown: Mapping[str, Any] = {
        "form": form,
        "search_href": build_url("/search", **form.build_filters()),
        "bounds": (RESULTS_MAX, CHANGED_MAX, VERSIONS_MAX),
        "chips": form.list_filters(),
    }
    if form.day is None:
        heading = "What did this search find before"
        return render_page(request, "as_of.html", heading=heading, error=None, found=None, **shown)
    try:
        found = build_as_of_page(request, stores, form, knows=viewer.has_role(Role.CURATOR))
    except ValueError as error:
        told = f"{capitalize(str(error))}{'' if str(error).endswith('.') else '.'}"
        heading = "This cannot be answered"
        return render_page(
            request, "as_of.html", 400, heading=heading, error=told, found=None, **shown
        )
    pages = build_pager(
        PATH, form.build_params(), found.listed_total, form.page, PAGE_SIZE, PAGES_MAX
    )
    return render_page(
        request, "as_of.html", heading=found.answer, generation=found.generation, error=None,
        found=found, pager=pages, how_many=pluralize, **shown,
    )  # fmt: skip


@add_csv_route(router, PATH, lambda found: found.listed)
@router.get(f"{PATH}.json", include_in_schema=False)
@router.get("/api/search/as-of", summary="What a search found at the end of a day")
def as_of_json(
    request: Request,
    stores: OpenStores,
    viewer: TheViewer,
    form: AsOfRequest,
) -> AsOfPage:
    """Of each document it finds now or found then what became of it, as far as what is kept tells: how many
    of each sort, with sums, and with `became` fifty of one sort a page."""
    try:
        return build_as_of_page(request, stores, form, knows=viewer.has_role(Role.CURATOR))
    except QueryError as error:
        raise RefusedError(
            400, str(error), parameter="q", start=error.start, end=error.end
        ) from error
    except ValueError as error:
        raise RefusedError(400, f"{capitalize(str(error))}.", parameter="day") from error
