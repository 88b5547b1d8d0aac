"""One source: what its polls saw, and where its links got lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Query, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.library.accounting import count_outcomes, outcomes
from fonds.model.disposition import Reason
from fonds.model.rows import EntryRow
from fonds.ports import Records
from fonds.sources.following.days import SourceDay, judged
from fonds.sources.following.described import Followed, Poll, followed, links_of, polls_on
from fonds.web.access.declared import READS
from fonds.web.marks import TEXT_MAX_CHARS, MarkedList, first_of
from fonds.web.pages.following.lost import Passage, passage
from fonds.web.pages.following.sources import DAYS_SHOWN, SourceLine, source_line
from fonds.web.pages.following.strip import days_strip, told
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
    day: date | None = Field(None, description="The day, in UTC, of the polls that found it")
    poll: str = Field(
        "", max_length=40, pattern=r"^([0-9]{1,20})?$", description="The number of the poll"
    )
    after: Annotated[str, AfterValidator(LINKS.checked)] = Field(
        "", max_length=TEXT_MAX_CHARS, description="The page behind another: its `next`"
    )

    def where(self, records: Records, source_id: str) -> dict[str, object]:
        """The columns of `entries` asked for."""
        chosen = {"outcome": self.outcome, "reason": str(self.reason), "step": self.step}
        of_polls: dict[str, object] = links_of(source_id)
        if self.poll:
            of_polls = {"input_id": f"{source_id}.{self.poll}"}
        if self.day is not None:
            there = polls_on(records, source_id, self.day)
            asked = [one for one in there if not self.poll or one == of_polls["input_id"]]
            of_polls = {"input_id": asked}
        return {**of_polls, **{name: value for name, value in chosen.items() if value}}

    def params(self) -> dict[str, Any]:
        """Everything but where the page begins, for links."""
        return self.model_dump(exclude={"after"}, mode="json")


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A source, its last polls, the newest first, and what became of its links.

    `links` of them entered, in all its polls; `passage` says where they and those that were refused ended.
    `days` are the last 90, the last of them today; `silent_since` says since when it lists nothing, where
    it listed `listed` links before.
    """

    answer: str
    source: SourceLine
    collection: str
    folder: str
    pipeline: str
    status: int | None
    moved_from: str | None
    listed: int
    silent_since: datetime | None
    links: int
    passage: Passage
    days: Sequence[SourceDay]
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
        row.listed,
        row.silent_since,
        found.links,
        passage(found),
        judged(row, now.astimezone(UTC).date(), DAYS_SHOWN),
        found.polls,
    )


def links_page(records: Records, source_id: str, form: LinksForm, now: datetime) -> LinksPage:
    """What the form asks for. Raises HTTPException 404 where there is no such source, 400 for no step."""
    try:
        check_names(records, step=form.step)
    except ValueError as error:
        raise HTTPException(400, sentence(str(error))) from None
    found, where = _found(records, source_id, now), form.where(records, source_id)
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
    name = found.source.title or found.source.url
    whole = passage(found)
    if not whole.announced:
        return f"{name} is {found.standing} and brought nothing yet"
    kept = f"{whole.kept:,} were kept" if whole.kept != 1 else "1 was kept"
    return f"{name} is {found.standing}: of {how_many(whole.announced, 'link')} it listed {kept}"


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
    strip = days_strip(source_id, found.days)
    return page(request, "source.html", heading=found.answer, found=found, strip=strip, told=told)


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
