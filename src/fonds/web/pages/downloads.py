"""The bytes of a file and what was made of them, handed out so that nothing of it ever runs here."""

from __future__ import annotations

from hashlib import sha256
from typing import Literal

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from fonds.model.errors import PermanentError
from fonds.model.keys import build_thumbnail_blob_key, parse_sha1
from fonds.ports import Stores
from fonds.viewer.description import FileDescription, build_description, read_body
from fonds.web.access.roles import READS
from fonds.web.access.security import ARCHIVED_POLICY
from fonds.web.html.rendering import OpenStores
from fonds.web.pages.file import (
    PDF_TYPE,
    explain_unknown_file,
    find_file_title,
    is_pdf,
    load_file,
    load_file_text,
)
from fonds.web.serving.downloads import build_disposition, build_file_name, build_response

YEAR_S = 365 * 24 * 3600
ARCHIVED_HEADERS = {
    "Content-Security-Policy": ARCHIVED_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-cache",
}

router = APIRouter(dependencies=[READS])


def _check_known(sha1hex: str) -> str:
    raw = parse_sha1(sha1hex)
    if raw is None:
        raise HTTPException(404, explain_unknown_file(sha1hex))
    return raw.hex()


@router.get("/file/{sha1hex}/body", response_class=Response, summary="The archived bytes of a file")
def body(request: Request, stores: OpenStores, sha1hex: str) -> Response:
    """The bytes whose SHA-1 this is, always as a download; pages come as plain bytes, never as HTML."""
    found = load_file(stores, sha1hex)
    if is_pdf(found):
        return _send_bytes(request, stores, found, "attachment", PDF_TYPE, _build_pdf_name(found))
    name = f"{found.sha1hex}.bin"
    return _send_bytes(request, stores, found, "attachment", "application/octet-stream", name)


@router.get("/file/{sha1hex}/pdf", response_class=Response, summary="A PDF as it is")
def pdf(request: Request, stores: OpenStores, sha1hex: str) -> Response:
    """A PDF for the browser's own reader, under a policy that leaves it no rights; 404 for all else."""
    found = load_file(stores, sha1hex)
    if not is_pdf(found):
        raise HTTPException(
            404, f"{found.sha1hex} is no PDF; /file/{found.sha1hex} says what it is."
        )
    return _send_bytes(request, stores, found, "inline", PDF_TYPE, _build_pdf_name(found))


def _build_pdf_name(description: FileDescription) -> str:
    return build_file_name(find_file_title(description)[0], ".pdf", description.sha1hex)


def _send_bytes(
    request: Request,
    stores: Stores,
    description: FileDescription,
    disposition_kind: Literal["inline", "attachment"],
    media_type: str,
    name: str,
) -> Response:
    """The bytes, or the part asked for, or that the browser has them."""
    try:
        content = read_body(stores, description)
    except PermanentError as error:
        raise HTTPException(404, str(error)) from error
    headers = {**ARCHIVED_HEADERS, "Content-Disposition": build_disposition(disposition_kind, name)}
    return build_response(request.headers, content, media_type, description.sha1hex, headers)


@router.get("/file/{sha1hex}/text", response_class=Response, summary="The whole text of a file")
def text(request: Request, stores: OpenStores, sha1hex: str) -> Response:
    """The text as extracted, pages parted by form feeds."""
    known = _check_known(sha1hex)
    said = load_file_text(stores, build_description(stores, known))
    if said is None:
        raise HTTPException(404, f"There is no text of {known} here; /file/{known} says why.")
    encoded = said.encode("utf-8", "replace")
    etag = sha256(encoded).hexdigest()
    media_type = "text/plain; charset=utf-8"
    return build_response(request.headers, encoded, media_type, etag, ARCHIVED_HEADERS)


@router.get("/file/{sha1hex}/thumbnail", response_class=Response, summary="The first page of a PDF")
def thumbnail(request: Request, stores: OpenStores, sha1hex: str) -> Response:
    """A JPEG within 180 × 300 pixels."""
    known = _check_known(sha1hex)
    jpeg = stores.blobs.get(build_thumbnail_blob_key(known))
    if jpeg is None:
        raise HTTPException(404, f"There is no thumbnail of {known} here.")
    # Named by the hash of what it shows: it may be kept for as long as a browser likes.
    kept = {"Cache-Control": f"private, max-age={YEAR_S}, immutable"}
    etag = sha256(jpeg).hexdigest()
    return build_response(request.headers, jpeg, "image/jpeg", etag, {**ARCHIVED_HEADERS, **kept})
