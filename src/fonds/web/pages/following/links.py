"""The links of a source behind a number: those of a day, a poll, an outcome, or that came so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.library.accounting import count_outcomes, outcomes_of_any
from fonds.model.disposition import Reason, Verdict
from fonds.model.names import no_such
from fonds.model.numbers import how_many
from fonds.model.rows import EntryRow
from fonds.pipelines import stages_of
from fonds.ports import Records
from fonds.sources.following.described import Followed, links_of, polls_on
from fonds.sources.following.funnel import steps_behind
from fonds.web.access.declared import READS
from fonds.web.marks import TEXT_MAX_CHARS, MarkedList, first_of
from fonds.web.pages.following.source import SourceId, found_source
from fonds.web.pages.listed.records import Record, record
from fonds.web.rendering import OpenStores, link, page, sentence, shown
from fonds.web.serving.tables import tabled
from fonds.wiring.known import check_names

PAGE_SIZE = 50
LINKS = MarkedList("settled_at", EntryRow.KEY)

router = APIRouter(dependencies=[READS])


class LinksForm(BaseModel):
    """Which links of a source; without a word all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    outcome: Literal["", "done", "dropped", "quarantined", "pending"] = Field(
        "", description="What became of the link"
    )
    reason: Reason | Literal[""] = Field("", description="Why it was dropped or quarantined")
    step: str = Field("", max_length=100, description="The step that decided it")
    beyond: str = Field(
        "",
        max_length=100,
        description="A stage of its pipeline: links that ended behind it, or were kept",
    )
    day: date | None = Field(None, description="The day, in UTC, of the polls that found it")
    poll: str = Field(
        "", max_length=40, pattern=r"^([0-9]{1,20})?$", description="The number of the poll"
    )
    after: Annotated[str, AfterValidator(LINKS.checked)] = Field(
        "", max_length=TEXT_MAX_CHARS, description="The page behind another: its `next`"
    )

    def wheres(self, records: Records, found: Followed) -> list[dict[str, object]]:
        """The columns of `entries` asked for: rows that have any of these. Raises ValueError, with the
        nearest, for no stage of the pipeline."""
        chosen = {"outcome": self.outcome, "reason": str(self.reason), "step": self.step}
        told = {name: value for name, value in chosen.items() if value}
        where = {**self._of_polls(records, found.source.source_id), **told}
        return [{**where, **one} for one in self._parts(found)]

    def _of_polls(self, records: Records, source_id: str) -> dict[str, object]:
        of_poll = f"{source_id}.{self.poll}"
        if self.day is None:
            return {"input_id": of_poll} if self.poll else links_of(source_id)
        there = polls_on(records, source_id, self.day)
        return {"input_id": [one for one in there if not self.poll or one == of_poll]}

    def _parts(self, found: Followed) -> list[dict[str, object]]:
        """What makes that a link ended behind a stage: it was kept, or lost at a later one."""
        if not self.beyond:
            return [{}]
        stages = stages_of(found.source.pipeline)
        if self.beyond not in stages:
            raise ValueError(no_such("stage", self.beyond, stages))
        behind = steps_behind(found.ended, stages[: stages.index(self.beyond) + 1])
        lost: list[str] = [str(Verdict.DROPPED), str(Verdict.QUARANTINED)]
        parts: list[dict[str, object]] = []
        if self.outcome in ("", "done"):
            parts.append({"outcome": str(Verdict.DONE)})
        if self.outcome != "done":
            steps = [one for one in behind if self.step in ("", one)]
            outcomes = [one for one in lost if self.outcome in ("", one)]
            parts.append({"outcome": outcomes, "step": steps})
        return parts

    def params(self) -> dict[str, Any]:
        """Everything but where the page begins, for links."""
        return self.model_dump(exclude={"after"}, mode="json")


@dataclass(frozen=True, slots=True)
class LinksPage:
    """One page of a source's links, the last settled first; `first` and `next` as in a page of records."""

    answer: str
    total: int
    first: int
    next: str | None
    rows: Sequence[Record]


def links_page(records: Records, source_id: str, form: LinksForm, now: datetime) -> LinksPage:
    """What the form asks for. Raises HTTPException 404 where there is no such source, 400 for no step."""
    found = found_source(records, source_id, now)
    wheres = _asked(records, form, found)
    begins = LINKS.read(form.after)
    first = first_of(begins)
    rows = outcomes_of_any(records, wheres, after=LINKS.after(begins), count_max=PAGE_SIZE)
    total = sum(count_outcomes(records, where) for where in wheres)
    answer = f"{how_many(total, 'link')} of {found.source.title or found.source.url}"
    following = LINKS.following(first, rows, PAGE_SIZE)
    return LinksPage(answer, total, first, following, [record(row) for row in rows])


def _asked(records: Records, form: LinksForm, found: Followed) -> list[Mapping[str, object]]:
    try:
        check_names(records, step=form.step)
        return [*form.wheres(records, found)]
    except ValueError as error:
        raise HTTPException(400, sentence(str(error))) from None


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
