"""The one place where requests for files that are not shown are answered: reason class and date, no more."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from fonds.kinds.embargoes import embargoed
from fonds.library.tracing.taken_down import taken_down
from fonds.model.access import Role, Viewer
from fonds.model.takedown import ReasonClass
from fonds.ports import Stores
from fonds.web.access.viewers import TheViewer
from fonds.web.rendering import OpenStores, day, embargo_told, files_asked


async def not_hidden(request: Request, stores: OpenStores, viewer: TheViewer) -> None:
    """Raises HTTPException when a part of the address, or what is asked for by key, is the SHA-1 of a file
    that is not shown, in whatever spelling: 410 where it was taken down, 403 while it is under embargo, but
    for who may curate."""
    if asked := files_asked(request):
        await run_in_threadpool(_check, stores, viewer, asked)


def _check(stores: Stores, viewer: Viewer, asked: Sequence[str]) -> None:
    for gone in taken_down(stores.records, asked).values():
        why = ReasonClass(gone.reason_class).explanation
        told = f"Taken down on {day(gone.row_created)} ({gone.reason_class}): {why}."
        raise HTTPException(410, told)
    if viewer.may(Role.CURATOR):
        return
    for row in embargoed(stores.records, asked).values():
        raise HTTPException(403, f"{embargo_told(row)}.")
