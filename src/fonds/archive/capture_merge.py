"""Merge captures from a CDX index with the captures that the wide table already has for a file.

The functions are pure. The result does not depend on the order of the captures or on repeats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fonds.archive.capture_rank import IndexedCapture, rank_capture
from fonds.archive.table_places import compute_indexed_capture_id
from fonds.stores.journal_table.cells import (
    F_C,
    FILE_CDX,
    FILE_META,
    FILE_MIME,
    FirstSeen,
    Location,
    encode_first_seen,
    encode_location,
    read_first_seen,
    read_location,
)
from fonds.stores.journal_table.keys import build_alternate_key, build_row_key

Cells = Mapping[str, bytes]
COLUMNS = (F_C, FILE_CDX, FILE_MIME, FILE_META)
"""Columns of a file's row in the wide table that are read to merge captures into the row."""


@dataclass(frozen=True, slots=True)
class MergedFile:
    """Cells of the wide table to write for one file after its captures were merged.

    `alternate_rows`: row key and cells of one row for each capture that the file's own row does not
        name.
    `file_cells`: cells to write to the file's own row; empty if that row must not change.
    """

    alternate_rows: list[tuple[bytes, dict[str, bytes]]]
    file_cells: dict[str, bytes]


def merge(sha1hex: str, captures: Sequence[IndexedCapture], existing: Cells) -> MergedFile:
    """Merge captures from a CDX index into the table row of a file, and return the cells to write.

    `sha1hex` is the SHA-1 of the file. `existing` holds the current cells of the file's row.

    The best of the new and stored captures goes into the file's own row. Each other capture gets an
    alternate row, which is a separate table row with the location of the capture. Revisits are
    ignored.

    If the row has the cell `file:meta`, Fonds has read the file. Then the row keeps its capture and
    its first-seen cell `f:c`, and the new captures only get alternate rows. A row whose cells
    cannot be parsed is left unchanged too: nothing is lost, and the audit reports it.
    """
    bodies = {capture.location: capture for capture in captures if not capture.is_revisit}
    try:
        stored_location = read_location(existing)
        first = read_first_seen(existing)
    except ValueError:
        return MergedFile(_build_alternate_rows(sha1hex, list(bodies)), {})
    if FILE_META in existing:
        return MergedFile(
            _build_alternate_rows(
                sha1hex,
                [
                    location
                    for location in bodies
                    if not _is_same_location(location, stored_location)
                ],
            ),
            {},
        )
    file_cells: dict[str, bytes] = {}
    if stored_location is not None and stored_location not in bodies:
        mime = existing.get(FILE_MIME, b"").decode("utf-8", "replace")
        bodies[stored_location] = IndexedCapture(sha1hex, stored_location, mime, None)
    if bodies:
        best = min(bodies.values(), key=lambda capture: capture.rank)
        file_cells = {FILE_CDX: encode_location(best.location), FILE_MIME: best.mime.encode()}
        first_seen_values = [build_first_seen(capture.location) for capture in bodies.values()]
        file_cells[F_C] = encode_first_seen(
            min([*([first] if first else []), *first_seen_values], key=_age_key)
        )
        other_locations = [location for location in bodies if location != best.location]
        return MergedFile(_build_alternate_rows(sha1hex, other_locations), file_cells)
    return MergedFile([], {})


def build_first_seen(location: Location) -> FirstSeen:
    """Build the content of the cell `f:c` (first seen) of the wide table from the location of a
    file's first capture.
    """
    digits = location.datetime14
    return FirstSeen(
        url=location.url,
        date=f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}T{digits[8:10]}:{digits[10:12]}:{digits[12:]}Z",
        warc=location.warc.rpartition("/")[2],
        offset=location.offset,
        count=1,
        record_id=None,
    )


def ranks_above(capture: IndexedCapture, other_capture: IndexedCapture) -> bool:
    """Return whether `capture` takes precedence over `other_capture`, whose CDX line names the same
    WARC record.
    """
    return _place_key(capture) < _place_key(other_capture)


def _place_key(capture: IndexedCapture) -> tuple[object, ...]:
    rank = rank_capture(capture.location, capture.mime)
    return (
        capture.is_revisit,
        rank,
        capture.sha1hex,
        -1 if capture.status is None else capture.status,
    )


def _build_alternate_rows(
    sha1hex: str, locations: Sequence[Location]
) -> list[tuple[bytes, dict[str, bytes]]]:
    return [
        (
            build_alternate_key(
                build_row_key(sha1hex).hex(), compute_indexed_capture_id(sha1hex, location)
            ),
            {FILE_CDX: encode_location(location)},
        )
        for location in locations
    ]


def _is_same_location(location: Location, stored_location: Location | None) -> bool:
    return stored_location is not None and (location.warc, location.offset) == (
        stored_location.warc,
        stored_location.offset,
    )


def _age_key(first_seen: FirstSeen) -> tuple[str, str, str, int]:
    """Return the sort key of a first-seen cell that puts the earliest capture first.

    Dates with and without a trailing `Z` compare as equal.
    """
    return (
        first_seen.date.removesuffix("Z"),
        first_seen.url,
        first_seen.warc or "",
        first_seen.offset or 0,
    )
