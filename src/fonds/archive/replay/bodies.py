"""Load the body of a capture from any stored capture that has the same bytes.

The body of a revisit is the body of the capture that it refers to. At most `COPIES_MAX` copies are
tried.
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
    """Capture with its decoded body, ready to be replayed.

    `row`: `cdx` row of the requested capture.
    `source`: `cdx` row of the capture from whose WARC record the bytes were read. It differs from
        `row` for a revisit, or if the record of `row` cannot be read.
    `body`: decoded bytes of the response or file.
    `http`: head (status line and headers) of the HTTP response; None if there is none.
    """

    row: CdxRow
    source: CdxRow
    body: bytes
    http: HttpHead | None


def build_place(row: CdxRow) -> Place:
    """Return the location of the WARC record of a capture."""
    return Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)


def load_capture_body(records: Records, archive: Archive, row: CdxRow) -> ReplayedCapture:
    """Load the decoded body of a capture. Its bytes always match the SHA-1 of the capture.

    Raises PermanentError if no stored copy can be read. Raises the errors of
    `fonds.ports.Archive.read` if a store is unavailable.
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
    """Iterate over the `cdx` rows from which the body of a capture can be read. The capture's own
    row comes first.

    The other rows are captures with the same SHA-1. Revisits are left out, because their records
    have no body.
    """
    if row.mimetype != REVISIT_MIME:
        yield row
    for copy_row in records.find(CdxRow, {"sha1hex": row.sha1hex}):
        is_same = (copy_row.warc_path, copy_row.warc_offset) == (row.warc_path, row.warc_offset)
        if copy_row.mimetype != REVISIT_MIME and not is_same:
            yield copy_row


def _find_own_head(archive: Archive, row: CdxRow) -> HttpHead | None:
    """Return the HTTP response head (status line and headers) in a revisit's own WARC record.

    It may differ from the head of the original response, for example if the server answered "not
    modified". Returns None if the row is not a revisit, or the record has no head or cannot be
    read.
    """
    if row.mimetype != REVISIT_MIME:
        return None
    try:
        return archive.read(build_place(row)).http
    except PermanentError:
        return None
