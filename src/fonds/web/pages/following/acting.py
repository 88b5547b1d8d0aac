"""What curators do with a source from its page: have it polled next, pause, resume, mute it, name it anew."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import RedirectResponse

from fonds.model.errors import ConfigurationError
from fonds.model.rows import SourceRow
from fonds.ports import Records
from fonds.sources.following.editing import change_state, describe, poll_soon
from fonds.sources.following.muting import mute, unmute
from fonds.web.access.declared import CURATES
from fonds.web.access.forms import NONE_OF_OURS, Fields, day_of
from fonds.web.pages.following.source import SourceId
from fonds.web.problems import RefusedError
from fonds.web.rendering import OpenStores, sentence

EDITED, MUTED = ("title", "folder", "collection"), ("until", "note")
FIELDS = frozenset({*EDITED, *MUTED})

router = APIRouter(include_in_schema=False, dependencies=[CURATES])


class Act(StrEnum):
    """What is done with a source; the words of `fonds sources`."""

    POLL = "poll"
    PAUSE = "pause"
    RESUME = "resume"
    MUTE = "mute"
    UNMUTE = "unmute"
    EDIT = "edit"


@router.post("/sources/{source_id}/{act}")
def act_html(
    stores: OpenStores,
    source_id: SourceId,
    act: Act,
    said: Annotated[dict[str, str], Depends(Fields(FIELDS, only_sent=True))],
) -> RedirectResponse:
    """Do it, and lead back to the source, which says how it stands; done twice it is as done once."""
    known = {Act.EDIT: EDITED, Act.MUTE: MUTED}.get(act, ())
    if not said.keys() <= set(known):
        raise RefusedError(400, NONE_OF_OURS)
    act_on(stores.records, source_id, act, said)
    return RedirectResponse(f"/sources/{source_id}", 303)


def act_on(records: Records, source_id: str, act: Act, said: Mapping[str, str]) -> None:
    """Do it. Raises RefusedError 404 where there is no such source, 409 for one that cannot be polled as it
    stands, 400 for words that cannot be."""
    rows = records.get(SourceRow, [source_id])
    if not rows:
        raise RefusedError(404, "There is no source of this id.")
    try:
        _do(records, rows[0], act, said)
    except ConfigurationError as error:
        status = 409 if act is Act.POLL or (act is Act.MUTE and rows[0].state != "active") else 400
        raise RefusedError(status, sentence(str(error))) from None


def _do(records: Records, row: SourceRow, act: Act, said: Mapping[str, str]) -> None:
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
