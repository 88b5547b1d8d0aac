"""Page of the links of a source: links found on a day or by a poll, with an outcome, or that passed
a stage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.failures.accounting.tallies import count_outcomes, list_outcomes_of_any
from fonds.following.funnel import list_steps_after
from fonds.following.source_list import (
    SourceDetails,
    build_links_filter,
    list_polls_on,
)
from fonds.model.disposition import Reason, Verdict
from fonds.model.encoding import pluralize
from fonds.model.rows import EntryRow
from fonds.model.suggestions import format_unknown_name
from fonds.pipelines.flavours.registry import list_stages
from fonds.ports import Records
from fonds.web.access.roles import READS
from fonds.web.html.paging import TEXT_MAX_CHARS, CursorList, get_first_number
from fonds.web.html.rendering import OpenStores, build_url, build_window, capitalize, render_page
from fonds.web.pages.records import Record, build_record
from fonds.web.pages.source import SourceId, load_source
from fonds.web.serving.csv_tables import add_csv_route
from fonds.wiring.pipeline_names import check_names

PAGE_SIZE = 50
LINKS = CursorList("settled_at", EntryRow.KEY)

router = APIRouter(tags=["sources"], dependencies=[READS])


class LinksForm(BaseModel):
    """Query parameters that filter the links of a source. Without parameters, all links are
    listed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    outcome: Literal["", "done", "dropped", "quarantined", "pending"] = Field(
        "", description="Outcome of the link"
    )
    reason: Reason | Literal[""] = Field("", description="Reason why it was dropped or quarantined")
    step: str = Field("", max_length=100, description="Step that decided the outcome")
    beyond: str = Field(
        "",
        max_length=100,
        description="Stage of the pipeline: links that ended after it or were stored",
    )
    day: date | None = Field(None, description="Day of the polls that found the link, in UTC")
    poll: str = Field(
        "", max_length=40, pattern=r"^([0-9]{1,20})?$", description="Number of the poll"
    )
    after: Annotated[str, AfterValidator(LINKS.validate)] = Field(
        "",
        max_length=TEXT_MAX_CHARS,
        description="Cursor of the next page: `next` of the previous response",
    )

    def build_filters(self, records: Records, details: SourceDetails) -> list[dict[str, object]]:
        """Build filters for links on columns of the SQL table `entries`; a link matches if it
        matches any filter.

        Raises ValueError that names the nearest stage if the requested stage is unknown.
        """
        chosen_values = {"outcome": self.outcome, "reason": str(self.reason), "step": self.step}
        columns = {name: value for name, value in chosen_values.items() if value}
        where = {**self._build_poll_filter(records, details.source.source_id), **columns}
        return [{**where, **stage_filter} for stage_filter in self._build_stage_filters(details)]

    def _build_poll_filter(self, records: Records, source_id: str) -> dict[str, object]:
        of_poll = f"{source_id}.{self.poll}"
        if self.day is None:
            return {"input_id": of_poll} if self.poll else build_links_filter(source_id)
        polls = list_polls_on(records, source_id, self.day)
        return {"input_id": [poll for poll in polls if not self.poll or poll == of_poll]}

    def _build_stage_filters(self, details: SourceDetails) -> list[dict[str, object]]:
        """Build filters for the links of a source that passed the requested stage: links that were
        stored, or lost at a later stage.
        """
        if not self.beyond:
            return [{}]
        stages = list_stages(details.source.pipeline)
        if self.beyond not in stages:
            raise ValueError(format_unknown_name("stage", self.beyond, stages))
        later_steps = list_steps_after(details.endings, stages[: stages.index(self.beyond) + 1])
        lost_outcomes: list[str] = [str(Verdict.DROPPED), str(Verdict.QUARANTINED)]
        parts: list[dict[str, object]] = []
        if self.outcome in ("", "done"):
            parts.append({"outcome": str(Verdict.DONE)})
        if self.outcome != "done":
            steps = [name for name in later_steps if self.step in ("", name)]
            outcomes = [name for name in lost_outcomes if self.outcome in ("", name)]
            parts.append({"outcome": outcomes, "step": steps})
        return parts

    def build_params(self) -> dict[str, Any]:
        """Return all query parameters of the list of links except the cursor, for URLs of the
        list.
        """
        return self.model_dump(exclude={"after"}, mode="json")


@dataclass(frozen=True, slots=True)
class LinksPage:
    """One page of the links of a source, the link that ended last first.

    `first`: number of the first link on the page, from 1.
    `next`: value of the parameter `after` for the next page, None on the last page.
    """

    answer: str
    total: int
    first: int
    next: str | None
    rows: Sequence[Record]


def build_links_page(records: Records, source_id: str, form: LinksForm, now: datetime) -> LinksPage:
    """Build the requested page of the links of a source.

    Raises HTTPException 404 for an unknown source, 400 for an unknown step or stage.
    """
    details = load_source(records, source_id, now)
    wheres = _build_filters(records, form, details)
    cursor = LINKS.decode(form.after)
    first = get_first_number(cursor)
    rows = list_outcomes_of_any(
        records, wheres, after=LINKS.build_filter(cursor), count_max=PAGE_SIZE
    )
    total = sum(count_outcomes(records, where) for where in wheres)
    answer = f"{pluralize(total, 'link')} from {details.source.title or details.source.url}"
    following = LINKS.find_next(first, rows, PAGE_SIZE)
    return LinksPage(answer, total, first, following, [build_record(row) for row in rows])


def _build_filters(
    records: Records, form: LinksForm, details: SourceDetails
) -> list[Mapping[str, object]]:
    try:
        check_names(records, step=form.step)
        return [*form.build_filters(records, details)]
    except ValueError as error:
        raise HTTPException(400, capitalize(str(error))) from None


@router.get("/sources/{source_id}/links", include_in_schema=False)
def links_html(
    request: Request,
    stores: OpenStores,
    source_id: SourceId,
    form: Annotated[LinksForm, Query()],
) -> HTMLResponse:
    """Show the links of a source."""
    page = build_links_page(stores.records, source_id, form, datetime.now(UTC))
    path, params = f"/sources/{source_id}/links", form.build_params()
    return render_page(
        request,
        "links.html",
        heading=page.answer,
        page=page,
        source_href=f"/sources/{source_id}",
        explanation=form.reason.explanation if isinstance(form.reason, Reason) else None,
        chips=[(n, v, build_url(path, **{**params, n: None})) for n, v in params.items() if v],
        shown=build_window(path, params, page.total, len(page.rows), page.first - 1, page.next),
    )


@add_csv_route(router, "/sources/{source_id}/links", lambda page: page.rows)
@router.get("/sources/{source_id}/links.json", include_in_schema=False)
@router.get(
    "/api/sources/{source_id}/links", summary="Links of a source", operation_id="list_source_links"
)
def links_json(
    stores: OpenStores, source_id: SourceId, form: Annotated[LinksForm, Query()]
) -> LinksPage:
    """List the links of a source with their outcomes, 50 per page, last settled first."""
    return build_links_page(stores.records, source_id, form, datetime.now(UTC))
