"""Search as of a day: the documents that a search found at the end of a past day, and why the
search finds other documents now.
"""

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
from fonds.search.changed_document import ChangedDocument
from fonds.search.query.parser import has_all_versions
from fonds.search.request import AS_OF_PARAMETERS, FILTERS, SearchRequest
from fonds.search.run_search import resolve_query
from fonds.web.access.roles import READS
from fonds.web.access.viewers import TheViewer
from fonds.web.html.rendering import (
    OpenStores,
    build_pager,
    build_url,
    capitalize,
    format_day,
    render_page,
)
from fonds.web.serving.csv_tables import add_csv_route
from fonds.web.serving.parameters import take_search
from fonds.web.serving.problems import RefusedError
from fonds.wiring.index import match_documents

PATH = "/search/as-of"
PAGE_SIZE = 50
PAGES_MAX = 1_000
router = APIRouter(tags=["search"], dependencies=[READS])


AsOfRequest = Annotated[SearchRequest, take_search(*FILTERS, *AS_OF_PARAMETERS)]


@dataclass(frozen=True, slots=True)
class DocumentChangeCount:
    """Number of documents of a search to which the same change happened since a past day.

    `words`: the change as text.
    `is_found_then`: whether the search found the documents at the end of that day; None if unknown.
    `is_found_now`: whether the search finds the documents now.
    `href`: address of the list of the documents.
    """

    name: str
    words: str
    count: int
    is_found_then: bool | None
    is_found_now: bool
    href: str


@dataclass(frozen=True, slots=True)
class AsOfPage:
    """Results of a search at the end of `day` (UTC), compared with the results now.

    `then`: number of documents that were found then, as far as known.
    `unknown`: number of documents of which it is unknown whether they were found then.
    `now`: number of documents found now, among those that were compared.
    `total`: number of all documents found now.
    `is_all_found`: false if only the first documents by id were compared.
    `is_all_changed`: false if not all documents written since the day were checked. `unknown` and
        `then` may then be too low.
    `sorts`: numbers of documents by kind of change since the day.
    `listed`: one page of the `listed_total` documents with the kind of change `change`.
    Embargoes count as changes only for curators.
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
    sorts: Sequence[DocumentChangeCount]
    change: str
    listed_total: int
    page: int
    listed: Sequence[ChangedDocument]


def build_as_of_page(
    request: Request, stores: Stores, form: SearchRequest, *, knows_embargoes: bool
) -> AsOfPage:
    """Compare a search with its results at the end of a day.

    Raises ValueError with a sentence for users if the day or the search is not supported.
    """
    if has_all_versions(form.q):
        raise ValueError(capitalize(NO_VERSIONS_MESSAGE))
    day = validate_day(form.day, datetime.now(UTC).date())
    all_stores: Stores = request.app.state.whole_stores
    context = AsOfContext(stores, match_documents, all_stores.records if knows_embargoes else None)
    result = context(resolve_query(form, stores.index, stores.records), day)
    listed_documents = result.listed.get(form.change, []) if _is_listed(result, form.change) else []
    begin = (form.page - 1) * PAGE_SIZE
    return AsOfPage(
        answer=_build_heading(result),
        day=day,
        then=result.found_then_count,
        unknown=result.unknown_count,
        now=result.found_now_count,
        total=result.total,
        is_all_found=result.has_all_found,
        is_all_changed=result.is_all_changed,
        generation=result.generation,
        sorts=[_build_line(sort_count, form) for sort_count in result.sort_counts],
        change=form.change,
        listed_total=len(listed_documents),
        page=form.page,
        listed=listed_documents[begin : begin + PAGE_SIZE],
    )


def _is_listed(result: AsOfResult, change: str) -> bool:
    return any(sort_count.name == change for sort_count in result.sort_counts)


def _build_line(sort_count: ChangeSortCount, form: SearchRequest) -> DocumentChangeCount:
    return DocumentChangeCount(
        sort_count.name,
        sort_count.words,
        sort_count.count,
        sort_count.is_found_then,
        sort_count.is_found_now,
        build_url(PATH, **form.build_params({"change": sort_count.name})),
    )


def _build_heading(result: AsOfResult) -> str:
    then_text = (
        f"{result.found_then_count:,}"
        if not result.unknown_count
        else f"At least {result.found_then_count:,}"
    )
    now_text = (
        f"{result.found_now_count:,}"
        if result.has_all_found
        else f"{result.found_now_count:,} of {result.total:,}"
    )
    verb = "was" if result.found_then_count == 1 else "were"
    return f"{then_text} {verb} found at the end of {format_day(result.day)}, {now_text} now"


@router.get(PATH, include_in_schema=False)
def as_of_html(
    request: Request,
    stores: OpenStores,
    viewer: TheViewer,
    form: AsOfRequest,
) -> HTMLResponse:
    """Show the counts and a list.

    For an unsupported day or search, show the error with status 400.
    """
    template_values: Mapping[str, Any] = {
        "form": form,
        "search_href": build_url("/search", **form.build_filters()),
        "bounds": (RESULTS_MAX, CHANGED_MAX, VERSIONS_MAX),
        "chips": form.list_filters(),
    }
    if form.day is None:
        heading = "Results at an earlier date"
        return render_page(
            request, "as_of.html", heading=heading, error=None, page=None, **template_values
        )
    try:
        as_of_page = build_as_of_page(
            request, stores, form, knows_embargoes=viewer.has_role(Role.CURATOR)
        )
    except ValueError as error:
        message = f"{capitalize(str(error))}{'' if str(error).endswith('.') else '.'}"
        heading = "Invalid search"
        return render_page(
            request, "as_of.html", 400, heading=heading, error=message, page=None, **template_values
        )
    pages = build_pager(
        PATH, form.build_params(), as_of_page.listed_total, form.page, PAGE_SIZE, PAGES_MAX
    )
    return render_page(
        request, "as_of.html", heading=as_of_page.answer, generation=as_of_page.generation, error=None,
        page=as_of_page, pager=pages, how_many=pluralize, **template_values,
    )  # fmt: skip


@add_csv_route(router, PATH, lambda page: page.listed)
@router.get(f"{PATH}.json", include_in_schema=False)
@router.get(
    "/api/search/as-of",
    summary="Results of a search at the end of a day",
    operation_id="get_search_as_of",
)
def as_of_json(
    request: Request,
    stores: OpenStores,
    viewer: TheViewer,
    form: AsOfRequest,
) -> AsOfPage:
    """Compare the results at the end of a day with the results now.

    Return the number of documents by kind of change. With `change`, also list the documents with
    this change, 50 per page.
    """
    try:
        return build_as_of_page(
            request, stores, form, knows_embargoes=viewer.has_role(Role.CURATOR)
        )
    except QueryError as error:
        raise RefusedError(
            400, str(error), parameter="q", start=error.start, end=error.end
        ) from error
    except ValueError as error:
        raise RefusedError(400, f"{capitalize(str(error))}.", parameter="day") from error
