"""Notes on groups of failures: a form of each group on the page, and the same for programs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends
from starlette.responses import RedirectResponse

from fonds.library.failures.notes import set_note
from fonds.model.rows import FailureNoteRow
from fonds.web.access.declared import CURATES
from fonds.web.access.forms import Fields
from fonds.web.access.viewers import TheViewer
from fonds.web.problems import RefusedError
from fonds.web.rendering import OpenStores, link, sentence
from fonds.web.rest.service import SentJson, decoded, takes

API = "/api/failures/note"
FIELDS = frozenset({"pipeline", "group", "note", "owner"})


router = APIRouter(dependencies=[CURATES])


class SentNote(msgspec.Struct, forbid_unknown_fields=True):
    """A note on a group of failures of a pipeline, and whom it is left to; both empty: no note."""

    pipeline: str
    group: str
    note: str = ""
    owner: str = ""


_TAKES = takes(
    msgspec.json.schema(SentNote)["$defs"]["SentNote"],
    {"pipeline": "library", "group": "0123456789abcdef", "note": "Asked them", "owner": "Ann"},
)


def _noted(stores: OpenStores, viewer: TheViewer, sent: SentNote) -> FailureNoteRow | None:
    try:
        return set_note(
            stores.records, sent.pipeline, sent.group,
            note=sent.note, owner=sent.owner, by=viewer.name, at=datetime.now(UTC),
        )  # fmt: skip
    except ValueError as error:
        raise RefusedError(400, f"{sentence(str(error))}.") from error


@router.post("/failures/note", include_in_schema=False)
def note_html(
    stores: OpenStores,
    viewer: TheViewer,
    named: Annotated[dict[str, str], Depends(Fields(FIELDS))],
) -> RedirectResponse:
    """Note it, and lead back to the group."""
    sent = SentNote(**named)
    _noted(stores, viewer, sent)
    return RedirectResponse(link("/failures", pipeline=sent.pipeline, group=sent.group), 303)


@router.put(API, summary="Note something about a group of failures", openapi_extra=_TAKES)
def note_json(stores: OpenStores, viewer: TheViewer, sent: SentJson) -> FailureNoteRow | None:
    """As `fonds failures note`: in the place of what was noted; without note and owner nothing is noted any
    more, and the answer is null."""
    return _noted(stores, viewer, decoded(sent, SentNote))
