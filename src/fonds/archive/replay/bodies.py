"""The body of a capture: its own, or the one its revisit speaks of, wherever a copy can be read.

Bound: at most `COPIES_MAX` places are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from fonds.model.capture import REVISIT_MIME, Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.model.exchange import HttpHead
from fonds.model.rows import CdxRow
from fonds.ports import Archive, Records

COPIES_MAX = 10


@dataclass(frozen=True, slots=True)
class ReplayedCapture:
    """A capture and its body, codings undone. `http` is the answer's head, None where there was none;
    `source` the capture the bytes were read at, another one for a revisit."""

    row: CdxRow
    source: CdxRow
    body: bytes
    http: HttpHead | None


def build_place(row: CdxRow) -> Place:
    """Where the record of a capture lies."""
    return Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)


def load_capture_body(records: Records, archive: Archive, row: CdxRow) -> ReplayedCapture:
    """What a capture holds. Bytes that are not those of its SHA-1 are never given.

    Raises PermanentError when no copy can be read, and as `Archive.read` does when a store is away.
    """
    trouble: PermanentError | None = None
    for copy in islice(_iter_copies(records, row), COPIES_MAX):
        try:
            payload = archive.read(build_place(copy), row.sha1hex)
        except PermanentError as error:
            trouble = trouble or error
            continue
        http = payload.http if copy is row else _find_own_head(archive, row) or payload.http
        return ReplayedCapture(row, copy, payload.body, http)
    raise trouble or PermanentError(
        Reason.MISSING_SOURCE,
        f"{build_place(row)} says that the bytes are those of an earlier capture"
        f" ({row.sha1hex}), and no capture"
        " here holds them",
    )


def _iter_copies(records: Records, row: CdxRow) -> Iterator[CdxRow]:
    """The places the bytes should lie at, the capture's own first."""
    if row.mimetype != REVISIT_MIME:
        yield row
    for other in records.find(CdxRow, {"sha1hex": row.sha1hex}):
        mine = (other.warc_path, other.warc_offset) == (row.warc_path, row.warc_offset)
        if other.mimetype != REVISIT_MIME and not mine:
            yield other


def _find_own_head(archive: Archive, row: CdxRow) -> HttpHead | None:
    """What the server answered when nothing had changed, as the revisit has it; None where it has nothing."""
    if row.mimetype != REVISIT_MIME:
        return None
    try:
        return archive.read(build_place(row)).http
    except PermanentError:
        return None
