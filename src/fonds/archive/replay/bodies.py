"""The body of a capture, read from any place that has a copy.

A revisit's body is that of its original.

At most `COPIES_MAX` places are tried.
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
    """A capture and its decoded body.

    `http` is the head of the HTTP response, or None if there is none.
    `source` is the capture whose bytes were read. For a revisit it is another capture.
    """

    row: CdxRow
    source: CdxRow
    body: bytes
    http: HttpHead | None


def build_place(row: CdxRow) -> Place:
    """Return the place of a capture's record."""
    return Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)


def load_capture_body(records: Records, archive: Archive, row: CdxRow) -> ReplayedCapture:
    """Return a capture's body. The bytes always match the capture's SHA-1.

    Raises PermanentError if no copy can be read. Raises the errors of `Archive.read` if a store is
    unavailable.
    """
    first_error: PermanentError | None = None
    for copy in islice(_iter_copies(records, row), COPIES_MAX):
        try:
            payload = archive.read(build_place(copy), row.sha1hex)
        except PermanentError as error:
            first_error = first_error or error
            continue
        http = payload.http if copy is row else _find_own_head(archive, row) or payload.http
        return ReplayedCapture(row, copy, payload.body, http)
    raise first_error or PermanentError(
        Reason.MISSING_SOURCE,
        (
            f"{build_place(row)} refers to the bytes of an earlier capture ({row.sha1hex}), "
            "but no stored capture has them"
        ),
    )


def _iter_copies(records: Records, row: CdxRow) -> Iterator[CdxRow]:
    """Iterate over the captures that should hold the bytes, the capture itself first."""
    if row.mimetype != REVISIT_MIME:
        yield row
    for copy_row in records.find(CdxRow, {"sha1hex": row.sha1hex}):
        is_same = (copy_row.warc_path, copy_row.warc_offset) == (row.warc_path, row.warc_offset)
        if copy_row.mimetype != REVISIT_MIME and not is_same:
            yield copy_row


def _find_own_head(archive: Archive, row: CdxRow) -> HttpHead | None:
    """Return the response head stored in a revisit record ("not modified").

    Returns None if the row is not a revisit or has no head.
    """
    if row.mimetype != REVISIT_MIME:
        return None
    try:
        return archive.read(build_place(row)).http
    except PermanentError:
        return None
