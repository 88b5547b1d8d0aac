"""What curators do with a source from its page: have it polled next, pause and resume it, name it anew."""

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
from fonds.web.access.declared import CURATES
from fonds.web.access.forms import Fields
from fonds.web.pages.following.source import SourceId
from fonds.web.problems import RefusedError
from fonds.web.rendering import OpenStores, sentence

FIELDS = frozenset({"title", "folder", "collection"})

router = APIRouter(include_in_schema=False, dependencies=[CURATES])


class Act(StrEnum):
    """What is done with a source; the words of `fonds sources`."""

    POLL = "poll"
    PAUSE = "pause"
    RESUME = "resume"
    EDIT = "edit"


@router.post("/sources/{source_id}/{act}")
def act_html(
    stores: OpenStores,
    source_id: SourceId,
    act: Act,
    said: Annotated[dict[str, str], Depends(Fields(FIELDS, only_sent=True))],
) -> RedirectResponse:
    """Do it, and lead back to the source, which says how it stands; done twice it is as done once."""
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
        status = 409 if act is Act.POLL else 400
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
        case Act.EDIT:
            describe(records, row, **said)
