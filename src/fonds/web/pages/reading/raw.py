"""A file as it is: its bytes in hex, what its server said, and the header of its WARC record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import Response

from fonds.library.reading.citing import ArchivedPlace, place_told
from fonds.library.reading.raw import (
    PIECE_BYTES,
    ROW_BYTES,
    Head,
    HexRow,
    ReadRecord,
    hex_rows,
    http_head,
    read_raw,
    record_head,
)
from fonds.model.errors import PermanentError
from fonds.model.secrets import without_secrets
from fonds.ports import Stores
from fonds.web.access.declared import READS
from fonds.web.pages.file import file_title
from fonds.web.pages.reading.read_file import known_file, other_spelling
from fonds.web.rendering import OpenStores, link, page

FROM_MAX = 2**40

router = APIRouter(dependencies=[READS])

From = Annotated[
    int,
    Query(
        alias="from", ge=0, le=FROM_MAX, description="First byte, from 0; its row is shown whole"
    ),
]


@dataclass(frozen=True, slots=True)
class RawFile:
    """`rows` are the bytes from `first` (from 0) on, `shown_bytes` of `size_bytes`, codings undone.

    `place` is the record they were read from; `http` is the head of the server's answer in it, None where it
    has none, `warc` the header of the record. Where nothing can be read `why` says so, `size_bytes` is
    None and there are no rows.
    """

    sha1hex: str
    title: str
    language: str | None
    place: ArchivedPlace | None
    http: Head | None
    warc: Head | None
    size_bytes: int | None
    first: int
    shown_bytes: int
    rows: Sequence[HexRow]
    why: str | None


def raw_file(stores: Stores, sha1hex: str, first: int) -> RawFile:
    """Raises HTTPException 404 for a file nobody knows, and where it ends before byte `first`."""
    found = known_file(stores, sha1hex)
    title, language = file_title(found)
    try:
        record = read_raw(stores.archive, found)
    except PermanentError as error:
        why = without_secrets(error.detail)
        return RawFile(found.sha1hex, title, language, None, None, None, None, first, 0, (), why)
    return _raw(found.sha1hex, title, language, record, first)


def _raw(sha1hex: str, title: str, language: str | None, record: ReadRecord, first: int) -> RawFile:
    body = record.payload.body
    if first and first >= len(body):
        raise HTTPException(404, f"This file has {len(body):,} bytes; there is no byte {first:,}.")
    begin = first - first % ROW_BYTES
    return RawFile(
        sha1hex=sha1hex,
        title=title,
        language=language,
        place=place_told(record.capture),
        http=http_head(record.payload),
        warc=record_head(record.payload),
        size_bytes=len(body),
        first=begin,
        shown_bytes=len(body[begin : begin + PIECE_BYTES]),
        rows=hex_rows(body, begin),
        why=None,
    )


@router.get("/file/{sha1hex}/raw.json", include_in_schema=False)
@router.get("/api/files/{sha1hex}/raw", summary="The bytes of a file in hex, and its headers")
def raw_json(stores: OpenStores, sha1hex: str, first: From = 0) -> RawFile:
    """4,096 bytes from the first asked for on, the head of the server's answer, and the record's header."""
    return raw_file(stores, sha1hex, first)


@router.get("/file/{sha1hex}/raw", include_in_schema=False)
def raw_html(request: Request, stores: OpenStores, sha1hex: str, first: From = 0) -> Response:
    """The same as a page."""
    elsewhere = other_spelling(sha1hex, link("/raw", **{"from": first}))
    if elsewhere is not None:
        return elsewhere
    found = raw_file(stores, sha1hex, first)
    path, behind = f"/file/{found.sha1hex}/raw", found.first + found.shown_bytes
    before = max(0, found.first - PIECE_BYTES)
    return page(
        request,
        "raw.html",
        heading=_heading(found),
        found=found,
        previous_href=link(path, **{"from": before}) if found.first else None,
        next_href=link(path, **{"from": behind}) if behind < (found.size_bytes or 0) else None,
    )


def _heading(found: RawFile) -> str:
    if found.size_bytes is None:
        return "The bytes cannot be read now"
    return f"{found.shown_bytes:,} of {found.size_bytes:,} bytes shown"
