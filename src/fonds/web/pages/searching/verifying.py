"""What became of a result: the manifest of an export is held against the library."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from fonds.library.searching.manifest import MANIFEST_BYTES_MAX, Manifest, manifest_of
from fonds.library.searching.members import MEMBERS_MAX
from fonds.library.searching.since.verifying import (
    LISTED_MAX,
    WALKED_MAX,
    WORDS,
    Verified,
    Verifying,
    accounted,
)
from fonds.model.access import Role
from fonds.ports import Stores
from fonds.web.access.declared import READS
from fonds.web.access.viewers import TheViewer
from fonds.web.pages.searching.sent import Sent, manifest_sent
from fonds.web.parameters import shorten
from fonds.web.problems import RefusedError
from fonds.web.rendering import OpenStores, page

API = "/api/verify"
REASON_CHARS = 300
NOTHING = "Choose the manifest of an export, or paste it."

router = APIRouter(dependencies=[READS])


@router.get("/verify", include_in_schema=False)
def verify_html(request: Request) -> HTMLResponse:
    """The form alone."""
    return _page(request, 200, "What became of a result", None)


@router.post("/verify", include_in_schema=False)
def verified_html(
    request: Request, stores: OpenStores, viewer: TheViewer, sent: Sent
) -> HTMLResponse:
    """What became of the result of a manifest; what is none is told in its place, with status 400."""
    told = manifest_sent(request, sent)
    try:
        if not told:
            raise RefusedError(400, NOTHING)
        found = _verified(request, stores, viewer.may(Role.CURATOR), told)
    except RefusedError as error:
        return _page(request, 400, "This cannot be verified", None, str(error.detail))
    return _page(request, 200, _heading(found), found)


@router.post(
    API,
    summary="What became of a result since its manifest was written",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"type": "object"}}},
            "description": f"The manifest of an export as it is, {MANIFEST_BYTES_MAX:,} bytes at most",
        }
    },
)
def verify_json(request: Request, stores: OpenStores, viewer: TheViewer, sent: Sent) -> Verified:
    """How many documents are unchanged, read again, shown by another version, unfound, taken down, under
    embargo (null for who may not know; such are gone for them), gone and added, and the first 50 of each.
    Nothing is kept of what is sent."""
    return _verified(request, stores, viewer.may(Role.CURATOR), sent)


def _verified(request: Request, stores: Stores, knows: bool, told: bytes) -> Verified:
    """Raises RefusedError 400 for what is no manifest, or one of no search."""
    try:
        manifest = manifest_of(told)
        if manifest.asked is None:
            raise ValueError("it is of the library whole, and no search; nothing is compared")
        whole: Stores = request.app.state.whole_stores
        return Verifying(stores, whole.records if knows else None)(manifest, _file(manifest))
    except ValueError as error:
        said = f"This is no manifest that can be verified: {shorten(str(error), REASON_CHARS)}."
        raise RefusedError(400, said) from error


def _file(manifest: Manifest) -> str:
    return shorten(manifest.file, REASON_CHARS)


def _heading(found: Verified) -> str:
    if found.result_is_same:
        return "The search finds the same documents, of the same files"
    now = f"at least {found.now:,}" if found.now_is_more else f"{found.now or 0:,}"
    return f"{found.then:,} documents then, {now} now"


def _page(
    request: Request, status: int, heading: str, found: Verified | None, error: str | None = None
) -> HTMLResponse:
    read = {"generation": found.generation_now} if found is not None else {}
    return page(
        request,
        "verify.html",
        status,
        heading=heading,
        **read,
        found=found,
        error=error,
        sorts=accounted(found.compared) if found is not None and found.compared else [],
        words=WORDS,
        listed_max=LISTED_MAX,
        members_max=MEMBERS_MAX,
        walked_max=WALKED_MAX,
    )
