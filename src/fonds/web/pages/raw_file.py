"""Page of the raw data of a file: its bytes in hex, its HTTP response headers, and the header of
its WARC record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import Response

from fonds.model.errors import PermanentError
from fonds.model.secrets import redact_secrets
from fonds.ports import Stores
from fonds.viewer.citation import ArchivedPlace, build_archived_place
from fonds.viewer.raw_record import (
    PIECE_BYTES,
    ROW_BYTES,
    HeaderBlock,
    HexRow,
    ReadRecord,
    build_hex_rows,
    build_http_head,
    build_record_head,
    read_raw,
)
from fonds.web.access.roles import READS
from fonds.web.html.rendering import OpenStores, build_url, render_page
from fonds.web.pages.file import (
    find_file_title,
    load_file,
    redirect_spelling,
)

FROM_MAX = 2**40

router = APIRouter(tags=["files"], dependencies=[READS])

From = Annotated[
    int,
    Query(
        alias="from",
        ge=0,
        le=FROM_MAX,
        description="First byte, from 0; the response starts at its row",
    ),
]


@dataclass(frozen=True, slots=True)
class RawFilePage:
    """Content of the page of raw data: a range of the bytes of a file, and the headers stored with
    the file.

    `first`: position of the first shown byte, from 0.
    `shown_bytes`: number of shown bytes.
    `size_bytes`: size of the file without content codings, None if nothing can be read.
    `rows`: the shown bytes in hex; empty if nothing can be read.
    `place`: location of the WARC record from which the bytes were read.
    `http`: head of the HTTP response, None if the record has none.
    `warc`: header of that WARC record, None if the bytes do not come from one.
    `why`: why nothing can be read, None if the bytes were read.
    """

    sha1hex: str
    title: str
    language: str | None
    place: ArchivedPlace | None
    http: HeaderBlock | None
    warc: HeaderBlock | None
    size_bytes: int | None
    first: int
    shown_bytes: int
    rows: Sequence[HexRow]
    why: str | None


def build_raw_file(stores: Stores, sha1hex: str, first: int) -> RawFilePage:
    """Build the page of the raw data of a file, starting with the row of 16 bytes that contains
    byte `first`.

    Raises HTTPException 404 for an unknown file, and if the file has no byte `first`.
    """
    description = load_file(stores, sha1hex)
    title, language = find_file_title(description)
    try:
        record = read_raw(stores.archive, description)
    except PermanentError as error:
        reason = redact_secrets(error.detail)
        return RawFilePage(
            description.sha1hex, title, language, None, None, None, None, first, 0, (), reason
        )
    return _build_raw(description.sha1hex, title, language, record, first)


def _build_raw(
    sha1hex: str, title: str, language: str | None, record: ReadRecord, first: int
) -> RawFilePage:
    body = record.payload.body
    if first and first >= len(body):
        raise HTTPException(404, f"There is no byte {first:,}. This file has {len(body):,} bytes.")
    begin = first - first % ROW_BYTES
    return RawFilePage(
        sha1hex=sha1hex,
        title=title,
        language=language,
        place=build_archived_place(record.capture),
        http=build_http_head(record.payload),
        warc=build_record_head(record.payload),
        size_bytes=len(body),
        first=begin,
        shown_bytes=len(body[begin : begin + PIECE_BYTES]),
        rows=build_hex_rows(body, begin),
        why=None,
    )


@router.get("/file/{sha1hex}/raw.json", include_in_schema=False)
@router.get(
    "/api/files/{sha1hex}/raw",
    summary="Bytes of a file in hex, and its headers",
    operation_id="get_raw_file",
)
def raw_json(stores: OpenStores, sha1hex: str, first: From = 0) -> RawFilePage:
    """Return 4,096 bytes from the requested one, the head of the server's response, and the record
    header.
    """
    return build_raw_file(stores, sha1hex, first)


@router.get("/file/{sha1hex}/raw", include_in_schema=False)
def raw_html(request: Request, stores: OpenStores, sha1hex: str, first: From = 0) -> Response:
    """Show the raw data."""
    redirect = redirect_spelling(sha1hex, build_url("/raw", **{"from": first}))
    if redirect is not None:
        return redirect
    page = build_raw_file(stores, sha1hex, first)
    path, end = f"/file/{page.sha1hex}/raw", page.first + page.shown_bytes
    previous_start = max(0, page.first - PIECE_BYTES)
    return render_page(
        request,
        "raw.html",
        heading=_format_heading(page),
        page=page,
        previous_href=build_url(path, **{"from": previous_start}) if page.first else None,
        next_href=build_url(path, **{"from": end}) if end < (page.size_bytes or 0) else None,
    )


def _format_heading(page: RawFilePage) -> str:
    if page.size_bytes is None:
        return "The bytes cannot be read"
    return f"{page.shown_bytes:,} of {page.size_bytes:,} bytes shown"
