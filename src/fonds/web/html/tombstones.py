"""The one place where requests for files that are not shown are answered: reason class and date, no more."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from fonds.derivatives.visibility import find_active_embargoes, find_takedowns
from fonds.model.access import Role, Viewer
from fonds.model.restrictions import ReasonClass
from fonds.ports import Stores
from fonds.web.access.viewers import TheViewer
from fonds.web.html.rendering import OpenStores, describe_embargo, format_day, list_requested_files


async def refuse_hidden(request: Request, stores: OpenStores, viewer: TheViewer) -> None:
    """Raises HTTPException when a part of the address, or what is asked for by key, is the SHA-1 of a file
    that is not shown, in whatever spelling: 410 where it was taken down, 403 while it is under embargo, but
    for who may curate."""
    if asked := list_requested_files(request):
        await run_in_threadpool(_check, stores, viewer, asked)


def _check(stores: Stores, viewer: Viewer, hashes: Sequence[str]) -> None:
    for gone in find_takedowns(stores.records, hashes).values():
        why = ReasonClass(gone.reason_class).explanation
        told = f"Taken down on {format_day(gone.row_created)} ({gone.reason_class}): {why}."
        raise HTTPException(410, told)
    if viewer.has_role(Role.CURATOR):
        return
    for row in find_active_embargoes(stores.records, hashes).values():
        raise HTTPException(403, f"{describe_embargo(row)}.")
