"""Responses for removed and embargoed files: the reason class (such as `copyright`) and the date,
nothing more.
"""

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
    """Refuse a request that names a removed or embargoed file by its SHA-1, in the path or in a
    parameter, in hex or base32.

    Raises HTTPException 410 for a removed file, and 403 for an embargoed one unless the user is a
    curator.
    """
    if hashes := list_requested_files(request):
        await run_in_threadpool(_check, stores, viewer, hashes)


def _check(stores: Stores, viewer: Viewer, hashes: Sequence[str]) -> None:
    for takedown in find_takedowns(stores.records, hashes).values():
        explanation = ReasonClass(takedown.reason_class).explanation
        detail = f"Taken down on {format_day(takedown.row_created)} ({takedown.reason_class}): {explanation}."
        raise HTTPException(410, detail)
    if viewer.has_role(Role.CURATOR):
        return
    for row in find_active_embargoes(stores.records, hashes).values():
        raise HTTPException(403, f"{describe_embargo(row)}.")
