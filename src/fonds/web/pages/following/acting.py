"""What curators do with a source from its page: have it polled next or backfilled, pause, resume, mute it,
name it anew."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import RedirectResponse

from fonds.model.errors import ConfigurationError
from fonds.model.rows import SourceRow
from fonds.ports import Records
from fonds.sources.following.backfill import wishes
from fonds.sources.following.editing import change_state, describe, poll_soon
from fonds.sources.following.muting import mute, unmute
from fonds.web.access.declared import CURATES
from fonds.web.access.forms import NONE_OF_OURS, Fields, day_of
from fonds.web.access.viewers import HERE, TheViewer
from fonds.web.pages.following.source import SourceId
from fonds.web.problems import RefusedError
from fonds.web.rendering import OpenStores, sentence

EDITED, MUTED = ("title", "folder", "collection"), ("until", "note")
BACKFILLED = ("from", "to", "undated")
FIELDS = frozenset({*EDITED, *MUTED, *BACKFILLED})

router = APIRouter(include_in_schema=False, dependencies=[CURATES])


class Act(StrEnum):
    """What is done with a source; the words of `fonds sources`."""

    POLL = "poll"
    PAUSE = "pause"
    RESUME = "resume"
    MUTE = "mute"
    UNMUTE = "unmute"
    EDIT = "edit"
    BACKFILL = "backfill"
    STOP_BACKFILL = "stop-backfill"


_OF_STATE = (Act.POLL, Act.BACKFILL, Act.STOP_BACKFILL)


@router.post("/sources/{source_id}/{act}")
def act_html(
    stores: OpenStores,
    source_id: SourceId,
    act: Act,
    said: Annotated[dict[str, str], Depends(Fields(FIELDS, only_sent=True))],
    viewer: TheViewer,
) -> RedirectResponse:
    """Do it, and lead back to the source, which says how it stands; done twice it is as done once."""
    known = {Act.EDIT: EDITED, Act.MUTE: MUTED, Act.BACKFILL: BACKFILLED}.get(act, ())
    if not said.keys() <= set(known):
        raise RefusedError(400, NONE_OF_OURS)
    act_on(stores.records, source_id, act, said, viewer.name or HERE)
    return RedirectResponse(f"/sources/{source_id}", 303)


def act_on(
    records: Records, source_id: str, act: Act, said: Mapping[str, str], who: str = HERE
) -> None:
    """Do it in somebody's name. Raises RefusedError 404 where there is no such source, 409 for one that
    cannot be polled or backfilled as it stands, 400 for words that cannot be."""
    rows = records.get(SourceRow, [source_id])
    if not rows:
        raise RefusedError(404, "There is no source of this id.")
    try:
        _do(records, rows[0], act, said, who)
    except ConfigurationError as error:
        is_state = act in _OF_STATE or (act is Act.MUTE and rows[0].state != "active")
        status = 409 if is_state else 400
        raise RefusedError(status, sentence(str(error))) from None


def _do(records: Records, row: SourceRow, act: Act, said: Mapping[str, str], who: str) -> None:
    now = datetime.now(UTC)
    match act:
        case Act.POLL:
            poll_soon(records, row, now)
        case Act.PAUSE:
            change_state(records, row, "paused", now)
        case Act.RESUME:
            change_state(records, row, "active", now)
        case Act.MUTE:
            until = day_of(said.get("until", ""), "until")
            mute(records, row, until, said.get("note", ""), now)
        case Act.UNMUTE:
            unmute(records, row)
        case Act.EDIT:
            describe(records, row, **said)
        case Act.BACKFILL:
            days, takes_undated = days_said(said, now), bool(said.get("undated"))
            wishes.ask(records, row, days, who, now, takes_undated=takes_undated)
        case Act.STOP_BACKFILL:
            wishes.stop(records, row, now)


def days_said(said: Mapping[str, str], now: datetime) -> tuple[date, date]:
    """The days in the fields `from` and `to`. Raises RefusedError 400 for none that can be."""
    first, last = (day_of(said.get(name, ""), name) for name in ("from", "to"))
    if first is None:
        raise RefusedError(400, "Say from which day on.", parameter="from")
    try:
        return wishes.checked_days(first.date(), last.date() if last else None, now)
    except ValueError as error:
        raise RefusedError(400, sentence(str(error)), parameter="from") from None
