"""How a file's place is written down: its rows in `cdx` and its cells in the journal table."""

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
from fonds.urls.surt import build_surt, lookup_key

INDEXED = "cdx-"
"""What the ids of captures begin with that are known by an index alone."""


def build_cdx_row(capture: Capture, file: FileMeta, place: Place, now: datetime) -> CdxRow:
    """The row of `cdx` for a capture whose bytes lie at `place`."""
    return _build_row(capture, file.sha1, file.mime, place, now)


def build_revisit_rows(capture: Capture, place: Place, now: datetime) -> list[CdxRow]:
    """The row of a revisit, known by the digest it declares; none when it declares none."""
    raw = parse_sha1(capture.digest or "")
    if raw is None or place.kind is not PlaceKind.WARC:
        return []
    return [_build_row(capture, raw.hex(), REVISIT_MIME, place, now)]


def build_first_cells(
    capture: Capture, place: Place, record_id: str | None = None
) -> dict[str, bytes]:
    """What the row of a file says of the capture that brought it: `f:c` and `file:cdx`.

    `record_id` is that of the record at `place`, as in `Archived`; None when it is not known.
    """
    seen = build_first_seen_cell(capture, place, record_id=record_id)
    return seen | build_cdx_cell(capture, place, build_surt(capture.url))


def find_recorded_id(cells: Mapping[str, bytes], url: str, place: Place) -> str | None:
    """The id that `f:c` has of the record of `url` at `place`; None when it speaks of another or has none."""
    try:
        seen = read_first_seen(cells)
    except ValueError:
        return None
    there = (url, place.path.rpartition("/")[2], place.offset)
    same = seen is not None and (seen.url, seen.warc, seen.offset) == there
    return seen.record_id if seen and same else None


def build_later_cells(capture: Capture, place: Place) -> dict[str, bytes]:
    """What the row of a later capture of the same file says: `file:cdx`."""
    return build_cdx_cell(capture, place, build_surt(capture.url))


def compute_indexed_capture_id(sha1hex: str, location: Location) -> str:
    """The id of a capture that is known by an index alone: the same from wherever the line is read."""
    told = "\n".join((sha1hex, *(str(getattr(location, one.name)) for one in fields(location))))
    return INDEXED + sha1(told.encode("utf-8", "replace")).hexdigest()  # noqa: S324 (an id, not a seal)


def is_indexed(capture_id: str) -> bool:
    """Whether a capture is known by an index alone: it never entered, and nobody read its body."""
    return capture_id.startswith(INDEXED)


def build_indexed_key(sha1hex: str, cells: Mapping[str, bytes]) -> bytes:
    """Where the capture of an index goes when another takes its place in the row of the file.

    Raises ValueError for a row whose `file:cdx` cannot be read.
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
        surt_key=lookup_key(key),
        datetime=capture.datetime14,
        mimetype=mime,
        status=capture.status,
        warc_path=place.path,
        warc_csize=place.size_bytes,
        warc_offset=place.offset,
        row_created=now,
    )


def get_status(http: HttpHead | None) -> int | None:
    """The HTTP status a row tells of a record; None without head or a readable code."""
    return (http.status or None) if http else None


def find_end_offset(row: CdxRow) -> int:
    """The byte of its WARC a record reaches to at least: of one among several in a member, the member's."""
    return split_offset(row.warc_offset)[0] + (row.warc_csize or 1)
