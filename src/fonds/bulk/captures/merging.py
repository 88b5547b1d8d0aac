"""How captures of files come together with what the table says of them already.

Pure: whatever the order captures come in, and however often, the same is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fonds.bulk.captures.ranking import IndexedCapture, standing
from fonds.formats.journal import (
    F_C,
    FILE_CDX,
    FILE_META,
    FILE_MIME,
    FirstSeen,
    Location,
    alternate_key,
    first_seen_json,
    location_json,
    read_first_seen,
    read_location,
    row_key,
)
from fonds.formats.placing import indexed_capture_id

Cells = Mapping[str, bytes]
COLUMNS = (F_C, FILE_CDX, FILE_MIME, FILE_META)
"""What must be known of a row before."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What is to be written of one file: rows of captures beside the best, and cells of its own row."""

    others: list[tuple[bytes, dict[str, bytes]]]
    own: dict[str, bytes]


def merge(sha1hex: str, captures: Sequence[IndexedCapture], there: Cells) -> Merged:
    """The best capture goes into the file's own row, all others into rows of their own beside it.

    The row of a file that was read here (it has `file:meta`) keeps its capture and its `f:c`. So does one
    whose cells cannot be read: nothing is lost by that, and the audit tells of it.
    """
    bodies = {one.location: one for one in captures if not one.is_revisit}
    try:
        held = read_location(there)
        first = read_first_seen(there)
    except ValueError:
        return Merged(_beside(sha1hex, list(bodies)), {})
    if FILE_META in there:
        return Merged(_beside(sha1hex, [one for one in bodies if not _same(one, held)]), {})
    own: dict[str, bytes] = {}
    if held is not None and held not in bodies:
        mime = there.get(FILE_MIME, b"").decode("utf-8", "replace")
        bodies[held] = IndexedCapture(sha1hex, held, mime, None)
    if bodies:
        best = min(bodies.values(), key=lambda one: one.standing)
        own = {FILE_CDX: location_json(best.location), FILE_MIME: best.mime.encode()}
        seen = [first_seen(one.location) for one in bodies.values()]
        own[F_C] = first_seen_json(min([*([first] if first else []), *seen], key=_age))
        rest = [one for one in bodies if one != best.location]
        return Merged(_beside(sha1hex, rest), own)
    return Merged([], {})


def first_seen(location: Location) -> FirstSeen:
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


def better(one: IndexedCapture, other: IndexedCapture) -> bool:
    """Whether of two lines about one place the first is the one to go by."""
    return _at_one_place(one) < _at_one_place(other)


def _at_one_place(one: IndexedCapture) -> tuple[object, ...]:
    rank = standing(one.location, one.mime)
    return one.is_revisit, rank, one.sha1hex, -1 if one.status is None else one.status


def _beside(sha1hex: str, locations: Sequence[Location]) -> list[tuple[bytes, dict[str, bytes]]]:
    return [
        (
            alternate_key(row_key(sha1hex).hex(), indexed_capture_id(sha1hex, one)),
            {FILE_CDX: location_json(one)},
        )
        for one in locations
    ]


def _same(one: Location, held: Location | None) -> bool:
    return held is not None and (one.warc, one.offset) == (held.warc, held.offset)


def _age(seen: FirstSeen) -> tuple[str, str, str, int]:
    """What came first; a time with or without its zone is the same."""
    return seen.date.removesuffix("Z"), seen.url, seen.warc or "", seen.offset or 0
