"""Build the SQL rows (`cdx`) and wide-table cells that record where the bytes of a capture are
stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from hashlib import sha1

from fonds.model.capture import REVISIT_MIME, Capture, Place, PlaceKind
from fonds.model.exchange import HttpHead
from fonds.model.file import FileMeta
from fonds.model.keys import parse_sha1
from fonds.model.record_offset import split_offset
from fonds.model.rows import CdxRow
from fonds.stores.journal_table.cells import (
    Location,
    build_cdx_cell,
    build_first_seen_cell,
    read_first_seen,
    read_location,
)
from fonds.stores.journal_table.keys import build_alternate_key
from fonds.urls.surt import build_lookup_key, build_surt

INDEXED_PREFIX = "cdx-"
"""Prefix of the ids of captures that are known only from a CDX index and were never read."""


def build_cdx_row(capture: Capture, file: FileMeta, place: Place, now: datetime) -> CdxRow:
    """Build the row of the SQL table `cdx` for a capture whose bytes are stored at `place`.

    `now` is the creation time of the row.
    """
    return _build_row(capture, file.sha1, file.mime, place, now)


def build_revisit_rows(capture: Capture, place: Place, now: datetime) -> list[CdxRow]:
    """Build the row of the SQL table `cdx` for a revisit record, with the SHA-1 that it declares.

    Returns the row in a list. The list is empty if the revisit declares no SHA-1, or if `place` is
    not a WARC record.
    """
    raw = parse_sha1(capture.digest or "")
    if raw is None or place.kind is not PlaceKind.WARC:
        return []
    return [_build_row(capture, raw.hex(), REVISIT_MIME, place, now)]


def build_first_cells(
    capture: Capture, place: Place, record_id: str | None = None
) -> dict[str, bytes]:
    """Build the cells `f:c` (first seen) and `file:cdx` (location) of the wide table for the first
    capture of a file.

    `record_id` is the WARC-Record-ID of the record at `place`; None if unknown.
    """
    first_seen = build_first_seen_cell(capture, place, record_id=record_id)
    return first_seen | build_cdx_cell(capture, place, build_surt(capture.url))


def find_recorded_id(cells: Mapping[str, bytes], url: str, place: Place) -> str | None:
    """Return the WARC-Record-ID that a file's cell `f:c` (first seen) gives for one capture.

    `cells` are the cells of the file's table row. `url` and `place` identify the capture. Returns
    None if the cell describes another capture, has no record id, or cannot be parsed.
    """
    try:
        first_seen = read_first_seen(cells)
    except ValueError:
        return None
    key = (url, place.path.rpartition("/")[2], place.offset)
    is_same = first_seen is not None and (first_seen.url, first_seen.warc, first_seen.offset) == key
    return first_seen.record_id if first_seen and is_same else None


def build_later_cells(capture: Capture, place: Place) -> dict[str, bytes]:
    """Build the cell `file:cdx` (location) of the wide table for a capture of a file that is not
    its first capture.
    """
    return build_cdx_cell(capture, place, build_surt(capture.url))


def compute_indexed_capture_id(sha1hex: str, location: Location) -> str:
    """Return the id of a capture that is known only from a CDX index.

    The id is computed from the SHA-1 and the location, so two indexes that list one capture give
    one id.
    """
    key = "\n".join(
        (sha1hex, *(str(getattr(location, attribute.name)) for attribute in fields(location)))
    )
    return INDEXED_PREFIX + sha1(key.encode("utf-8", "replace")).hexdigest()  # noqa: S324 (an id, not a seal)


def is_indexed(capture_id: str) -> bool:
    """Return whether a capture id belongs to a capture known only from a CDX index.

    Such a capture was never ingested, and its body was never read.
    """
    return capture_id.startswith(INDEXED_PREFIX)


def build_indexed_key(sha1hex: str, cells: Mapping[str, bytes]) -> bytes:
    """Return the key of the alternate table row for the capture that a file's row currently names.

    The key is used when another capture replaces that capture in the file's row. Raises ValueError
    if the cell `file:cdx` is missing or invalid.
    """
    location = read_location(cells)
    if location is None:
        raise ValueError(f"the row of {sha1hex} has no file:cdx")
    return build_alternate_key(sha1hex, compute_indexed_capture_id(sha1hex, location))


def _build_row(capture: Capture, sha1hex: str, mime: str, place: Place, now: datetime) -> CdxRow:
    key = build_surt(capture.url)
    return CdxRow(
        capture_id=capture.id,
        sha1hex=sha1hex,
        url=capture.url,
        surt=key,
        surt_key=build_lookup_key(key),
        datetime=capture.datetime14,
        mimetype=mime,
        status=capture.status,
        warc_path=place.path,
        warc_csize=place.size_bytes,
        warc_offset=place.offset,
        row_created=now,
    )


def get_status(http: HttpHead | None) -> int | None:
    """Return the HTTP status to store for a WARC record. Returns None without an HTTP head or a
    readable status code.
    """
    return (http.status or None) if http else None


def find_end_offset(row: CdxRow) -> int:
    """Return a lower bound for the offset at which the WARC record of a capture ends.

    For a record that shares its gzip member or zstd frame with others, the bound is the offset of
    that member plus one.
    """
    return split_offset(row.warc_offset)[0] + (row.warc_csize or 1)
