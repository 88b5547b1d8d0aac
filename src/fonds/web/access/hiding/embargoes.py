"""The page of what is under embargo, for curators, who hide files there and show them again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse

from fonds.kinds import KINDS
from fonds.library.description import own_title
from fonds.model.embargo import EXPLAINED, NOTE_CHARACTERS_MAX
from fonds.model.numbers import how_many
from fonds.model.rows import EmbargoRow
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Records, Stores
from fonds.web.access.declared import CURATES
from fonds.web.rendering import page

SHOWN_MAX = 200
KEY_CHARACTERS_MAX = 100

router = APIRouter(dependencies=[CURATES])


@dataclass(frozen=True, slots=True)
class Hidden:
    """A file nobody is shown until a date; `title` is None where none is known."""

    sha1hex: str
    title: str | None
    reason_class: str
    note: str
    until: datetime
    made_by: str
    row_created: datetime


@dataclass(frozen=True, slots=True)
class Embargoes:
    """The files that are shown again soonest, and how many are hidden in all."""

    files: Sequence[Hidden]
    total: int


def embargoes(records: Records) -> Embargoes:
    """What is hidden now, by the date it ends."""
    where = {"lifting": None}
    order = ("until", "sha1hex")
    rows = records.find(EmbargoRow, where, order=order, count_max=SHOWN_MAX)
    return Embargoes(
        [_told(records, row) for row in list(rows)],
        records.count(EmbargoRow, where=where).get((), 0),
    )


def _told(records: Records, row: EmbargoRow) -> Hidden:
    return Hidden(
        row.sha1hex, own_title(_made(records, row.sha1hex)), row.reason_class, row.note, row.until,
        row.made_by, row.row_created,
    )  # fmt: skip


def _made(records: Records, sha1hex: str) -> dict[str, DerivativeRow]:
    return {
        kind.name: found
        for kind in KINDS
        if kind.indexed is not None
        for found in records.find(kind.row, {"sha1hex": sha1hex}, count_max=1)
    }


@router.get("/embargoes", include_in_schema=False)
def embargoes_html(
    request: Request,
    key: Annotated[
        str, Query(max_length=KEY_CHARACTERS_MAX, description="SHA-1 the form begins with")
    ] = "",
) -> HTMLResponse:
    """What is hidden, why and until when, and the form that hides a file."""
    whole: Stores = request.app.state.whole_stores
    found = embargoes(whole.records)
    total = how_many(found.total, "file is", "files are")
    return page(
        request,
        "embargoes.html",
        heading=f"{total} under embargo" if found.total else "Nothing is under embargo",
        found=found,
        key=key,
        reasons=EXPLAINED,
        note_max=NOTE_CHARACTERS_MAX,
        title=own_title(_made(whole.records, key)) if key else None,
    )


@router.get("/embargoes.json", include_in_schema=False)
@router.get("/api/embargoes", summary="What is under embargo")
def embargoes_json(request: Request) -> Embargoes:
    """The 200 files that are shown again soonest, and how many are hidden. For curators."""
    whole: Stores = request.app.state.whole_stores
    return embargoes(whole.records)
