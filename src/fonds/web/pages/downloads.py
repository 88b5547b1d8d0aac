"""Downloads of a file and its derivatives, with headers that stop browsers from running them."""

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

router = APIRouter(tags=["files"], dependencies=[READS])


def _check_known(sha1hex: str) -> str:
    raw = parse_sha1(sha1hex)
    if raw is None:
        raise HTTPException(404, explain_unknown_file(sha1hex))
    return raw.hex()


@router.get(
    "/file/{sha1hex}/body",
    response_class=Response,
    summary="Download the archived file",
    operation_id="download_file",
)
def body(request: Request, stores: OpenStores, sha1hex: str) -> Response:
    """Return the archived bytes, always as a download. Web pages are sent as plain bytes, never as
    HTML.
    """
    description = load_file(stores, sha1hex)
    if is_pdf(description):
        return _send_bytes(
            request, stores, description, "attachment", PDF_TYPE, _build_pdf_name(description)
        )
    name = f"{description.sha1hex}.bin"
    return _send_bytes(request, stores, description, "attachment", "application/octet-stream", name)


@router.get(
    "/file/{sha1hex}/pdf",
    response_class=Response,
    summary="Open a PDF",
    operation_id="download_pdf",
)
def pdf(request: Request, stores: OpenStores, sha1hex: str) -> Response:
    """Return a PDF for the browser's own reader, under a policy without rights. Answer 404 for
    other files.
    """
    description = load_file(stores, sha1hex)
    if not is_pdf(description):
        raise HTTPException(
            404, f"{description.sha1hex} is not a PDF. See /file/{description.sha1hex}."
        )
    return _send_bytes(
        request, stores, description, "inline", PDF_TYPE, _build_pdf_name(description)
    )


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
    """Return a response with the bytes of a file or the requested range, or 304 if the browser has
    the bytes.
    """
    try:
        content = read_body(stores, description)
    except PermanentError as error:
        raise HTTPException(404, str(error)) from error
    headers = {**ARCHIVED_HEADERS, "Content-Disposition": build_disposition(disposition_kind, name)}
    return build_response(request.headers, content, media_type, description.sha1hex, headers)


@router.get(
    "/file/{sha1hex}/text",
    response_class=Response,
    summary="Full text of a file",
    operation_id="download_text",
)
def text(request: Request, stores: OpenStores, sha1hex: str) -> Response:
    """Return the text as extracted, with form feeds between pages."""
    hex_digest = _check_known(sha1hex)
    content = load_file_text(stores, build_description(stores, hex_digest))
    if content is None:
        raise HTTPException(
            404, f"{hex_digest} has no text. See /file/{hex_digest} for the reason."
        )
    encoded_text = content.encode("utf-8", "replace")
    etag = sha256(encoded_text).hexdigest()
    media_type = "text/plain; charset=utf-8"
    return build_response(request.headers, encoded_text, media_type, etag, ARCHIVED_HEADERS)


@router.get(
    "/file/{sha1hex}/thumbnail",
    response_class=Response,
    summary="Thumbnail of the first page of a PDF",
    operation_id="download_thumbnail",
)
def thumbnail(request: Request, stores: OpenStores, sha1hex: str) -> Response:
    """Return the thumbnail, a JPEG within 180 × 300 pixels."""
    hex_digest = _check_known(sha1hex)
    jpeg = stores.blobs.get(build_thumbnail_blob_key(hex_digest))
    if jpeg is None:
        raise HTTPException(404, f"{hex_digest} has no thumbnail.")
    # The URL contains the file's hash, so browsers may cache the thumbnail for a long time.
    cache_headers = {"Cache-Control": f"private, max-age={YEAR_S}, immutable"}
    etag = sha256(jpeg).hexdigest()
    return build_response(
        request.headers, jpeg, "image/jpeg", etag, {**ARCHIVED_HEADERS, **cache_headers}
    )
