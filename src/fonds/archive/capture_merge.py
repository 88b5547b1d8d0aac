"""How captures of files come together with what the table says of them already.

Pure: whatever the order captures come in, and however often, the same is left.
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
"""What must be known of a row before."""


@dataclass(frozen=True, slots=True)
class MergedFile:
    """What is to be written of one file: rows of captures beside the best, and cells of its own row."""

    alternate_rows: list[tuple[bytes, dict[str, bytes]]]
    file_cells: dict[str, bytes]


def merge(sha1hex: str, captures: Sequence[IndexedCapture], existing: Cells) -> MergedFile:
    """The best capture goes into the file's own row, all others into rows of their own beside it.

    The row of a file that was read here (it has `file:meta`) keeps its capture and its `f:c`. So does one
    whose cells cannot be read: nothing is lost by that, and the audit tells of it.
    """
    bodies = {one.location: one for one in captures if not one.is_revisit}
    try:
        held = read_location(existing)
        first = read_first_seen(existing)
    except ValueError:
        return MergedFile(_build_alternate_rows(sha1hex, list(bodies)), {})
    if FILE_META in existing:
        return MergedFile(
            _build_alternate_rows(
                sha1hex, [one for one in bodies if not _is_same_location(one, held)]
            ),
            {},
        )
    own: dict[str, bytes] = {}
    if held is not None and held not in bodies:
        mime = existing.get(FILE_MIME, b"").decode("utf-8", "replace")
        bodies[held] = IndexedCapture(sha1hex, held, mime, None)
    if bodies:
        best = min(bodies.values(), key=lambda one: one.rank)
        own = {FILE_CDX: encode_location(best.location), FILE_MIME: best.mime.encode()}
        seen = [build_first_seen(one.location) for one in bodies.values()]
        own[F_C] = encode_first_seen(min([*([first] if first else []), *seen], key=_age_key))
        rest = [one for one in bodies if one != best.location]
        return MergedFile(_build_alternate_rows(sha1hex, rest), own)
    return MergedFile([], {})


def build_first_seen(location: Location) -> FirstSeen:
    """What `f:c` says when this was the first capture of a file."""
    at = location.datetime14
    return FirstSeen(
        url=location.url,
        date=f"{at[:4]}-{at[4:6]}-{at[6:8]}T{at[8:10]}:{at[10:12]}:{at[12:]}Z",
        warc=location.warc.rpartition("/")[2],
        offset=location.offset,
        count=1,
        record_id=None,
    )


def ranks_above(capture: IndexedCapture, other: IndexedCapture) -> bool:
    """Whether of two lines about one place the first is the one to go by."""
    return _place_key(capture) < _place_key(other)


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
                build_row_key(sha1hex).hex(), compute_indexed_capture_id(sha1hex, one)
            ),
            {FILE_CDX: encode_location(one)},
        )
        for one in locations
    ]


def _is_same_location(location: Location, stored: Location | None) -> bool:
    return stored is not None and (location.warc, location.offset) == (stored.warc, stored.offset)


def _age_key(first_seen: FirstSeen) -> tuple[str, str, str, int]:
    """What came first; a time with or without its zone is the same."""
    return (
        first_seen.date.removesuffix("Z"),
        first_seen.url,
        first_seen.warc or "",
        first_seen.offset or 0,
    )
