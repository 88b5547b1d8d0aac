"""Verification of an export: compares the manifest of the export with what its search finds in the
library now.
"""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Request
from starlette.responses import HTMLResponse

from fonds.model.access import Role
from fonds.ports import Stores
from fonds.search.manifest import MANIFEST_MAX_BYTES, MEMBERS_MAX, Manifest, parse_manifest
from fonds.search.verification import (
    LISTED_MAX,
    OUTCOME_WORDS,
    WALKED_MAX,
    ManifestVerifier,
    VerificationResult,
    build_accounts,
)
from fonds.web.access.roles import READS
from fonds.web.access.viewers import TheViewer
from fonds.web.actions import CROSS_SITE_FORM_MESSAGE
from fonds.web.html.rendering import OpenStores, render_page
from fonds.web.serving.concurrency import get_media_type
from fonds.web.serving.parameters import shorten
from fonds.web.serving.problems import RefusedError

# A manifest is uploaded as a file or pasted text in our form, or as the body itself.
#
# Source: RFC 7578 (multipart/form-data), RFC 2046, section 5.1.1 (boundaries).


FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
FIELDS = ("file", "pasted")
PARTS_MAX = 4
FRAME_MAX_BYTES = 10_000
"""Maximum size in bytes of the boundaries and headers around the parts of a multipart form."""
TOO_LONG = f"A manifest can have at most {MANIFEST_MAX_BYTES:,} bytes."
_BOUNDARY = re.compile(r'boundary="?([0-9A-Za-z\'()+_,./:=? -]{1,70}?)"?\s*(?:;|$)')
_NAME = re.compile(
    rb'(?i)^content-disposition:\s*form-data;(?:[^\r\n]*;)?\s*name="(\w{1,20})"', re.M
)


async def _read_body(request: Request) -> bytes:
    """Read the body of a request that uploads a manifest. Raises RefusedError 413 if the body is
    too long.
    """
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MANIFEST_MAX_BYTES + FRAME_MAX_BYTES:
            raise RefusedError(413, TOO_LONG)
    return bytes(body)


UploadBody = Annotated[bytes, Depends(_read_body)]


def parse_manifest_upload(request: Request, body: bytes) -> bytes:
    """Return the manifest in a submitted form: the uploaded file or, if none was chosen, the pasted
    text.

    Return b"" if there is neither. Raises RefusedError 400 for any other form.
    """
    kind = get_media_type(request.headers)
    if kind == FORM:
        fields = _parse_urlencoded(body)
    elif kind == MULTIPART:
        fields = _parse_multipart(request.headers.get("content-type", ""), body)
    else:
        raise RefusedError(400, CROSS_SITE_FORM_MESSAGE)
    if not fields.keys() <= set(FIELDS):
        raise RefusedError(400, CROSS_SITE_FORM_MESSAGE)
    return next((fields[name] for name in FIELDS if fields.get(name, b"").strip()), b"")


def _parse_urlencoded(body: bytes) -> dict[str, bytes]:
    try:
        text = body.decode("ascii")
        pairs = parse_qsl(text, max_num_fields=PARTS_MAX, keep_blank_values=True)
    except ValueError:
        raise RefusedError(400, CROSS_SITE_FORM_MESSAGE) from None
    return {name: value.encode("utf-8", "replace") for name, value in pairs}


def _parse_multipart(content_type: str, body: bytes) -> dict[str, bytes]:
    boundary = _BOUNDARY.search(content_type)
    if boundary is None:
        raise RefusedError(400, CROSS_SITE_FORM_MESSAGE)
    delimiter = b"\r\n--" + boundary[1].encode()
    fields: dict[str, bytes] = {}
    # The text before the first boundary and after the last is no part.
    for part in (b"\r\n" + body).split(delimiter, PARTS_MAX + 1)[1:-1]:
        head, blank, value = part.partition(b"\r\n\r\n")
        name_match = _NAME.search(head)
        if not blank or name_match is None or len(head) > FRAME_MAX_BYTES:
            raise RefusedError(400, CROSS_SITE_FORM_MESSAGE)
        fields[name_match[1].decode("ascii")] = value
    return fields


API = "/api/verify"
REASON_CHARS = 300
EMPTY_FORM_MESSAGE = "Choose the manifest of an export, or paste it."

router = APIRouter(tags=["search"], dependencies=[READS])


@router.get("/verify", include_in_schema=False)
def verify_html(request: Request) -> HTMLResponse:
    """Show the empty form."""
    return _render_page(request, 200, "Verify an export", None)


@router.post("/verify", include_in_schema=False)
def verified_html(
    request: Request, stores: OpenStores, viewer: TheViewer, sent: UploadBody
) -> HTMLResponse:
    """Show what became of an exported result.

    For an invalid manifest, show the error with status 400.
    """
    manifest_upload = parse_manifest_upload(request, sent)
    try:
        if not manifest_upload:
            raise RefusedError(400, EMPTY_FORM_MESSAGE)
        result = _verify_manifest(request, stores, viewer.has_role(Role.CURATOR), manifest_upload)
    except RefusedError as error:
        return _render_page(request, 400, "Invalid manifest", None, str(error.detail))
    return _render_page(request, 200, _format_heading(result), result)


@router.post(
    API,
    summary="Verify an export by its manifest",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"type": "object"}}},
            "description": f"Unchanged manifest of an export, at most {MANIFEST_MAX_BYTES:,} bytes",
        }
    },
    operation_id="verify_export",
)
def verify_json(
    request: Request, stores: OpenStores, viewer: TheViewer, sent: UploadBody
) -> VerificationResult:
    """Compare an export with the library: the number of documents by change, and the first 50 of
    each.

    For users who are not curators, `under_embargo` is null, and hidden documents count as `gone`.
    The manifest is not stored.
    """
    return _verify_manifest(request, stores, viewer.has_role(Role.CURATOR), sent)


def _verify_manifest(
    request: Request, stores: Stores, knows_embargoes: bool, data: bytes
) -> VerificationResult:
    """Parse the manifest of an export, and compare the exported documents with those that the
    search finds now.

    Raises RefusedError 400 if the manifest is invalid or belongs to an export without a search.
    """
    try:
        manifest = parse_manifest(data)
        if manifest.search is None:
            raise ValueError("it is of an export without a search, so there is nothing to compare")
        all_stores: Stores = request.app.state.whole_stores
        return ManifestVerifier(stores, all_stores.records if knows_embargoes else None)(
            manifest, _get_file_name(manifest)
        )
    except ValueError as error:
        message = f"This manifest cannot be verified: {shorten(str(error), REASON_CHARS)}."
        raise RefusedError(400, message) from error


def _get_file_name(manifest: Manifest) -> str:
    return shorten(manifest.file, REASON_CHARS)


def _format_heading(result: VerificationResult) -> str:
    if result.result_is_same:
        return "The search finds the same documents with the same files"
    now = f"at least {result.now:,}" if result.now_is_more else f"{result.now or 0:,}"
    return f"{result.then:,} documents then, {now} now"


def _render_page(
    request: Request,
    status: int,
    heading: str,
    result: VerificationResult | None,
    error: str | None = None,
) -> HTMLResponse:
    read = {"generation": result.generation_now} if result is not None else {}
    return render_page(
        request,
        "verify.html",
        status,
        heading=heading,
        **read,
        result=result,
        error=error,
        sorts=build_accounts(result.compared) if result is not None and result.compared else [],
        words=OUTCOME_WORDS,
        listed_max=LISTED_MAX,
        members_max=MEMBERS_MAX,
        walked_max=WALKED_MAX,
    )
