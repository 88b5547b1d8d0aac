"""One source: what its polls saw, and where its links got lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Query, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.library.accounting import count_outcomes, outcomes
from fonds.model.disposition import Reason
from fonds.model.rows import EntryRow
from fonds.ports import Records
from fonds.sources.following.described import Followed, Poll, followed, links_of
from fonds.web.access.declared import READS
from fonds.web.marks import TEXT_MAX_CHARS, MarkedList, first_of
from fonds.web.pages.following.sources import SourceLine, source_line
from fonds.web.pages.listed.records import Record, record
from fonds.web.rendering import OpenStores, how_many, link, page, sentence, shown
from fonds.web.serving.tables import tabled
from fonds.wiring.known import check_names

PAGE_SIZE = 50
LINKS = MarkedList("settled_at", EntryRow.KEY)
SourceId = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$", description="The id of a source")]

router = APIRouter(dependencies=[READS])


class LinksForm(BaseModel):
    """Which links of a source; without a word all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    outcome: Literal["", "done", "dropped", "quarantined", "pending"] = Field(
        "", description="What became of the link"
    )
    reason: Reason | Literal[""] = Field("", description="Why it was dropped or quarantined")
    step: str = Field("", max_length=100, description="The step that decided it")
    poll: str = Field(
        "", max_length=40, pattern=r"^([0-9]{1,20})?$", description="The number of the poll"
    )
    after: Annotated[str, AfterValidator(LINKS.checked)] = Field(
        "", max_length=TEXT_MAX_CHARS, description="The page behind another: its `next`"
    )

    def where(self, source_id: str) -> dict[str, object]:
        """The columns of `entries` asked for."""
        chosen = {"outcome": self.outcome, "reason": str(self.reason), "step": self.step}
        of_poll = {"input_id": f"{source_id}.{self.poll}"} if self.poll else links_of(source_id)
        return {**of_poll, **{name: value for name, value in chosen.items() if value}}

    def params(self) -> dict[str, Any]:
        """Everything but where the page begins, for links."""
        return self.model_dump(exclude={"after"}, mode="json")


@dataclass(frozen=True, slots=True)
class Ending:
    """So many links of the source ended so; `why` says it in words, `href` opens them."""

    outcome: str
    reason: str | None
    step: str | None
    count: int
    why: str
    href: str


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A source, its last polls, the newest first, and what became of its links, the most first.

    `links` of them entered, in all its polls. `is_silent`: the last poll went well and listed nothing.
    """

    answer: str
    source: SourceLine
    collection: str
    folder: str
    pipeline: str
    status: int | None
    moved_from: str | None
    is_silent: bool
    links: int
    endings: Sequence[Ending]
    polls: Sequence[Poll]


@dataclass(frozen=True, slots=True)
class LinksPage:
    """One page of a source's links, the last settled first; `first` and `next` as in a page of records."""

    answer: str
    total: int
    first: int
    next: str | None
    rows: Sequence[Record]


def source_page(records: Records, source_id: str, now: datetime) -> SourcePage:
    """A source. Raises HTTPException 404 where there is none of this id."""
    found = _found(records, source_id, now)
    row = found.source
    return SourcePage(
        _answer(found),
        source_line(row, now),
        row.collection,
        row.folder,
        row.pipeline,
        row.status,
        row.moved_from,
        found.is_silent,
        found.links,
        [_ending(source_id, one.outcome, one.reason, one.step, one.count) for one in found.ended],
        found.polls,
    )


def links_page(records: Records, source_id: str, form: LinksForm, now: datetime) -> LinksPage:
    """What the form asks for. Raises HTTPException 404 where there is no such source, 400 for no step."""
    try:
        check_names(records, step=form.step)
    except ValueError as error:
        raise HTTPException(400, sentence(str(error))) from None
    found, where = _found(records, source_id, now), form.where(source_id)
    begins = LINKS.read(form.after)
    first = first_of(begins)
    rows = outcomes(records, where, after=LINKS.after(begins), count_max=PAGE_SIZE)
    total = count_outcomes(records, where)
    answer = f"{how_many(total, 'link')} of {found.source.title or found.source.url}"
    following = LINKS.following(first, rows, PAGE_SIZE)
    return LinksPage(answer, total, first, following, [record(row) for row in rows])


def _found(records: Records, source_id: str, now: datetime) -> Followed:
    found = followed(records, source_id, now)
    if found is None:
        raise HTTPException(404, "There is no source of this id.")
    return found


def _answer(found: Followed) -> str:
    kept = sum(one.count for one in found.ended if one.outcome == "done")
    name = found.source.title or found.source.url
    if not found.links:
        return f"{name} is {found.standing} and brought nothing yet"
    return f"{name} is {found.standing}: of {how_many(found.links, 'link')} {kept:,} were kept"


def _ending(
    source_id: str, outcome: str, reason: str | None, step: str | None, count: int
) -> Ending:
    why = Reason(reason).explanation if reason else _WHY.get(outcome, "")
    href = link(f"/sources/{source_id}/links", outcome=outcome, reason=reason, step=step)
    return Ending(outcome, reason, step, count, why, href)


_WHY = {"done": "kept and searchable", "pending": "on its way"}


@tabled(router, "/sources/{source_id}", lambda found: found.polls)
@router.get("/sources/{source_id}.json", include_in_schema=False)
@router.get("/api/sources/{source_id}", summary="One source")
def source_json(stores: OpenStores, source_id: SourceId) -> SourcePage:
    """What its polls saw, and what became of its links by outcome, reason and step."""
    return source_page(stores.records, source_id, datetime.now(UTC))


@router.get("/sources/{source_id}", include_in_schema=False)
def source_html(request: Request, stores: OpenStores, source_id: SourceId) -> HTMLResponse:
    """A source and where its links got lost."""
    found = source_page(stores.records, source_id, datetime.now(UTC))
    return page(request, "source.html", heading=found.answer, found=found)


@router.get("/sources/{source_id}/links", include_in_schema=False)
def links_html(
    request: Request,
    stores: OpenStores,
    source_id: SourceId,
    form: Annotated[LinksForm, Query()],
) -> HTMLResponse:
    """The links of a source behind a number."""
    found = links_page(stores.records, source_id, form, datetime.now(UTC))
    path, params = f"/sources/{source_id}/links", form.params()
    return page(
        request,
        "links.html",
        heading=found.answer,
        found=found,
        source_href=f"/sources/{source_id}",
        explanation=form.reason.explanation if isinstance(form.reason, Reason) else None,
        chips=[(n, v, link(path, **{**params, n: None})) for n, v in params.items() if v],
        shown=shown(path, params, found.total, len(found.rows), found.first - 1, found.next),
    )


@tabled(router, "/sources/{source_id}/links", lambda found: found.rows)
@router.get("/sources/{source_id}/links.json", include_in_schema=False)
@router.get("/api/sources/{source_id}/links", summary="The links of one source")
def links_json(
    stores: OpenStores, source_id: SourceId, form: Annotated[LinksForm, Query()]
) -> LinksPage:
    """What became of each, 50 a page, the last settled first."""
    return links_page(stores.records, source_id, form, datetime.now(UTC))
