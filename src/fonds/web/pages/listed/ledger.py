"""The ledger as a file: everything that ever came in and what became of it, handed out as it is written."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path
from starlette.responses import StreamingResponse

from fonds.library.searching.exported.forms import FORMS
from fonds.library.searching.exported.rows import TABLES
from fonds.model.names import no_such
from fonds.web.access.declared import READS
from fonds.web.rendering import OpenStores

OF_ROWS = {name: form for name, form in FORMS.items() if form.rows is not None}
Name = Annotated[str, Path(max_length=40, description="jsonl, csv or parquet")]

router = APIRouter(dependencies=[READS])


@router.get("/ledger/{name}", include_in_schema=False, response_class=StreamingResponse)
@router.get(
    "/api/ledger/{name}",
    response_class=StreamingResponse,
    summary="Everything that came in, and what became of it",
)
def ledger(stores: OpenStores, name: Name) -> StreamingResponse:
    """A row for each record, and one for each input and reason that was counted alone; `count` adds up to
    what the overview says came in."""
    form = OF_ROWS.get(name)
    if form is None or form.rows is None:
        raise HTTPException(404, f"{no_such('form of the ledger', name, OF_ROWS).capitalize()}.")
    table = TABLES["ledger"]
    headers = {"Content-Disposition": f'attachment; filename="ledger.{form.suffix}"'}
    pieces = form.rows(table.rows(stores), table.columns)
    return StreamingResponse(pieces, media_type=form.media_type, headers=headers)
