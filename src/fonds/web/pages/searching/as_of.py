"""What a search found at the end of a day, and why it finds others now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.library.searching.since.as_of import (
    CHANGED_MAX,
    FOUND_MAX,
    VERSIONS_MAX,
    WITHOUT_VERSIONS,
    Asking,
    AsOf,
    SortCount,
    checked_day,
)
from fonds.library.searching.since.verifying import Told
from fonds.model.access import Role
from fonds.model.document import DateOf, SearchQuery
from fonds.model.numbers import how_many
from fonds.model.query_error import QueryError
from fonds.ports import Stores
from fonds.web.access.declared import READS
from fonds.web.access.viewers import TheViewer
from fonds.web.pages.searching.form import QUERY_MAX_CHARS, Kinds, SearchForm, Values
from fonds.web.parameters import Day
from fonds.web.problems import RefusedError
from fonds.web.rendering import OpenStores, link, page, pager, sentence
from fonds.web.rendering import day as day_said
from fonds.web.serving.tables import tabled
from fonds.wiring.backends import asks_for_versions, found_among

PATH = "/search/as-of"
PAGE_SIZE = 50
PAGES_MAX = (FOUND_MAX + 3 * CHANGED_MAX) // PAGE_SIZE
BecameWord = Literal[
    "",
    "unchanged",
    "other_version",
    "version_added",
    "added",
    "unfound",
    "read_again",
    "read_again_unfound",
    "not_compared",
    "not_compared_unfound",
    "taken_down",
    "under_embargo",
]

router = APIRouter(dependencies=[READS])


class AsOfForm(BaseModel):
    """A search, the day it is asked as of, and which of its documents are listed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    q: str = Field(
        "", max_length=QUERY_MAX_CHARS, description='Words, "phrases", -excluded, OR, field:value'
    )
    kind: Kinds = Field([], description="pdf, story or other; repeat for alternatives")
    language: Values = Field(
        [], description="Two-letter code, empty for none; repeat for alternatives"
    )
    domain: Values = Field(
        [], description="Domain, empty for files without one; repeat for alternatives"
    )
    collection: Values = Field([], description="Collection; repeat for alternatives")
    from_: Day = Field(None, alias="from", description="First day, YYYY-MM-DD; empty for any")
    to: Day = Field(None, description="Last day, YYYY-MM-DD; empty for any")
    undated: bool = Field(False, description="Only documents without a date")
    dates: DateOf = Field(DateOf.PUBLISHED, description="The dates meant by from, to and undated")
    match: Literal["", "exact", "best"] = Field(
        "", description="exact: all of the words; best: any of them. Empty: exact"
    )
    day: Day = Field(None, description="The day at whose end it is asked, YYYY-MM-DD, in UTC")
    became: BecameWord = Field(
        "", description="List the documents that became this; empty for none"
    )
    page: int = Field(1, ge=1, le=PAGES_MAX, description="Page of the list, from 1")

    def search(self) -> SearchForm:
        """The search alone."""
        return SearchForm.model_validate(self._asked("day", "became", "page"))

    def params(self) -> dict[str, Any]:
        """Everything but where the list begins, for links."""
        return self._asked("page")

    def href(self, became: str = "") -> str:
        """The same with another list."""
        return link(PATH, **{**self.params(), "became": became})

    def _asked(self, *without: str) -> dict[str, Any]:
        said = self.model_dump(
            by_alias=True, exclude={*without}, exclude_defaults=True, mode="json"
        )
        return {name: 1 if value is True else value for name, value in said.items()}


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
    listed: Sequence[Told]


def as_of_page(request: Request, stores: Stores, form: AsOfForm, *, knows: bool) -> AsOfPage:
    """Raises ValueError with a sentence for a day or a search that cannot be asked."""
    if asks_for_versions(form.q):
        raise ValueError(sentence(WITHOUT_VERSIONS))
    day = checked_day(form.day, datetime.now(UTC).date())
    whole: Stores = request.app.state.whole_stores
    asking = Asking(stores, found_among, whole.records if knows else None)
    found = asking(_query(form), day)
    listed = found.listed.get(form.became, []) if _is_told(found, form.became) else []
    begin = (form.page - 1) * PAGE_SIZE
    return AsOfPage(
        answer=_answer(found),
        day=day,
        then=found.then,
        unknown=found.unknown,
        now=found.now,
        total=found.total,
        is_all_found=found.is_all_found,
        is_all_changed=found.is_all_changed,
        generation=found.generation,
        sorts=[_line(one, form) for one in found.sorts],
        became=form.became,
        listed_total=len(listed),
        page=form.page,
        listed=listed[begin : begin + PAGE_SIZE],
    )


def _query(form: AsOfForm) -> SearchQuery:
    return form.search().query()


def _is_told(found: AsOf, became: str) -> bool:
    return any(one.name == became for one in found.sorts)


def _line(one: SortCount, form: AsOfForm) -> BecameCount:
    return BecameCount(
        one.name, one.words, one.count, one.is_found_then, one.is_found_now, form.href(one.name)
    )


def _answer(found: AsOf) -> str:
    then = f"{found.then:,}" if not found.unknown else f"At least {found.then:,}"
    now = f"{found.now:,}" if found.is_all_found else f"{found.now:,} of {found.total:,}"
    was = "was" if found.then == 1 else "were"
    return f"{then} {was} found at the end of {day_said(found.day)}, {now} now"


@router.get(PATH, include_in_schema=False)
def as_of_html(
    request: Request,
    stores: OpenStores,
    viewer: TheViewer,
    form: Annotated[AsOfForm, Query()],
) -> HTMLResponse:
    """The sums, and a list; a day or a search that cannot be asked is told in its place, with status 400."""
    shown: Mapping[str, Any] = {
        "form": form,
        "search_href": link("/search", **form.search().params()),
        "bounds": (FOUND_MAX, CHANGED_MAX, VERSIONS_MAX),
        "chips": form.search().filters(),
    }
    if form.day is None:
        heading = "What did this search find before"
        return page(request, "as_of.html", heading=heading, error=None, found=None, **shown)
    try:
        found = as_of_page(request, stores, form, knows=viewer.may(Role.CURATOR))
    except ValueError as error:
        told = f"{sentence(str(error))}{'' if str(error).endswith('.') else '.'}"
        heading = "This cannot be answered"
        return page(request, "as_of.html", 400, heading=heading, error=told, found=None, **shown)
    pages = pager(PATH, form.params(), found.listed_total, form.page, PAGE_SIZE, PAGES_MAX)
    return page(
        request, "as_of.html", heading=found.answer, generation=found.generation, error=None,
        found=found, pager=pages, how_many=how_many, **shown,
    )  # fmt: skip


@tabled(router, PATH, lambda found: found.listed)
@router.get(f"{PATH}.json", include_in_schema=False)
@router.get("/api/search/as-of", summary="What a search found at the end of a day")
def as_of_json(
    request: Request,
    stores: OpenStores,
    viewer: TheViewer,
    form: Annotated[AsOfForm, Query()],
) -> AsOfPage:
    """Of each document it finds now or found then what became of it, as far as what is kept tells: how many
    of each sort, with sums, and with `became` fifty of one sort a page."""
    try:
        return as_of_page(request, stores, form, knows=viewer.may(Role.CURATOR))
    except QueryError as error:
        raise RefusedError(
            400, str(error), parameter="q", start=error.start, end=error.end
        ) from error
    except ValueError as error:
        raise RefusedError(400, f"{sentence(str(error))}.", parameter="day") from error
