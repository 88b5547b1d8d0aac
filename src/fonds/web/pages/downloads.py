"""The bytes of a file and what was made of them, handed out so that nothing of it ever runs here."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException
from starlette.responses import Response

from fonds.library.description import description, read_body
from fonds.model.errors import PermanentError
from fonds.model.keys import sha1_from_text, thumbnail_blob_key
from fonds.web.pages.file import file_text, unknown_file
from fonds.web.rendering import OpenStores
from fonds.web.security import ARCHIVED_POLICY

YEAR_S = 365 * 24 * 3600
ARCHIVED_HEADERS = {
    "Content-Security-Policy": ARCHIVED_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-cache",
}

router = APIRouter()


def _known(sha1hex: str) -> str:
    raw = sha1_from_text(sha1hex)
    if raw is None:
        raise HTTPException(404, unknown_file(sha1hex))
    return raw.hex()


@router.get("/file/{sha1hex}/body", response_class=Response, summary="The archived bytes of a file")
def body(stores: OpenStores, sha1hex: str) -> Response:
    """The bytes whose SHA-1 this is, always as a download; pages come as plain bytes, never as HTML."""
    known = _known(sha1hex)
    found = description(stores, known)
    if not found.known:
        raise HTTPException(404, unknown_file(sha1hex))
    try:
        content = read_body(stores, found)
    except PermanentError as error:
        raise HTTPException(404, str(error)) from error
    pdf = found.file is not None and found.file.mimetype == "application/pdf"
    name = f"{known}.pdf" if pdf else f"{known}.bin"
    return Response(
        content,
        media_type="application/pdf" if pdf else "application/octet-stream",
        headers={**ARCHIVED_HEADERS, "Content-Disposition": f'attachment; filename="{name}"'},
    )


@router.get("/file/{sha1hex}/text", response_class=Response, summary="The whole text of a file")
def text(stores: OpenStores, sha1hex: str) -> Response:
    """The text as extracted, pages parted by form feeds."""
    known = _known(sha1hex)
    said = file_text(stores, description(stores, known))
    if said is None:
        raise HTTPException(404, f"There is no text of {known} here; /file/{known} says why.")
    encoded = said.encode("utf-8", "replace")
    return Response(encoded, media_type="text/plain; charset=utf-8", headers=ARCHIVED_HEADERS)


@router.get("/file/{sha1hex}/thumbnail", response_class=Response, summary="The first page of a PDF")
def thumbnail(stores: OpenStores, sha1hex: str) -> Response:
    """A JPEG within 180 × 300 pixels."""
    known = _known(sha1hex)
    jpeg = stores.blobs.get(thumbnail_blob_key(known))
    if jpeg is None:
        raise HTTPException(404, f"There is no thumbnail of {known} here.")
    # Named by the hash of what it shows: it may be kept for as long as a browser likes.
    kept = {"Cache-Control": f"private, max-age={YEAR_S}, immutable"}
    return Response(jpeg, media_type="image/jpeg", headers={**ARCHIVED_HEADERS, **kept})
