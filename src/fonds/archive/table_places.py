"""Rows in `cdx` and cells in the journal table that record where a file's bytes lie."""

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

INDEXED = "cdx-"
"""Prefix of the ids of captures known only from an index."""


def build_cdx_row(capture: Capture, file: FileMeta, place: Place, now: datetime) -> CdxRow:
    """Build the `cdx` row of a capture whose bytes lie at `place`."""
    return _build_row(capture, file.sha1, file.mime, place, now)


def build_revisit_rows(capture: Capture, place: Place, now: datetime) -> list[CdxRow]:
    """Build the row of a revisit, with the digest it declares.

    Returns none without a digest or WARC place.
    """
    raw = parse_sha1(capture.digest or "")
    if raw is None or place.kind is not PlaceKind.WARC:
        return []
    return [_build_row(capture, raw.hex(), REVISIT_MIME, place, now)]


def build_first_cells(
    capture: Capture, place: Place, record_id: str | None = None
) -> dict[str, bytes]:
    """Build the cells `f:c` and `file:cdx` for a file's first capture.

    `record_id` is the id of the record at `place`, as in `ArchivedRecord`, or None if unknown.
    """
    first_seen = build_first_seen_cell(capture, place, record_id=record_id)
    return first_seen | build_cdx_cell(capture, place, build_surt(capture.url))


def find_recorded_id(cells: Mapping[str, bytes], url: str, place: Place) -> str | None:
    """Return the record id that `f:c` gives for `url` at `place`.

    Returns None if `f:c` is about another capture, has no id, or cannot be read.
    """
    try:
        first_seen = read_first_seen(cells)
    except ValueError:
        return None
    key = (url, place.path.rpartition("/")[2], place.offset)
    is_same = first_seen is not None and (first_seen.url, first_seen.warc, first_seen.offset) == key
    return first_seen.record_id if first_seen and is_same else None


def build_later_cells(capture: Capture, place: Place) -> dict[str, bytes]:
    """Build the cell `file:cdx` for a later capture of the same file."""
    return build_cdx_cell(capture, place, build_surt(capture.url))


def compute_indexed_capture_id(sha1hex: str, location: Location) -> str:
    """Return the id of a capture known only from an index.

    It does not depend on where the line was read.
    """
    key = "\n".join(
        (sha1hex, *(str(getattr(location, attribute.name)) for attribute in fields(location)))
    )
    return INDEXED + sha1(key.encode("utf-8", "replace")).hexdigest()  # noqa: S324 (an id, not a seal)


def is_indexed(capture_id: str) -> bool:
    """Whether a capture is known only from an index: it was never ingested, its body never read."""
    return capture_id.startswith(INDEXED)


def build_indexed_key(sha1hex: str, cells: Mapping[str, bytes]) -> bytes:
    """Return the row key for an indexed capture that another replaces in the file's row.

    Raises ValueError if the row's `file:cdx` is missing or invalid.
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
    """Return the HTTP status to store for a record, or None without a head or a readable code."""
    return (http.status or None) if http else None


def find_end_offset(row: CdxRow) -> int:
    """Return a lower bound for the end of a record in its WARC.

    For a shared member, that of the member.
    """
    return split_offset(row.warc_offset)[0] + (row.warc_csize or 1)
