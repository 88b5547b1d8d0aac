"""What is kept of the rights of captures, held against the responses themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fonds.archive.table_places import is_indexed
from fonds.model.archive import Payload
from fonds.model.rights import NO_RIGHTS, Rights, StatementSource
from fonds.model.rows import CaptureRightsRow, CdxRow, HostTextRow
from fonds.ports import Records
from fonds.rights.capture_rights import parse_row_rights
from fonds.rights.host_files import TYPES
from fonds.rights.preferences import read_header_statements


def find_changed_rights(records: Records, capture: CdxRow, payload: Payload) -> Rights | None:
    """Return the rights of a capture as its response states them; None where that is what is kept.

    Nothing is kept of captures that an index alone told of.
    """
    if payload.http is None or is_indexed(capture.capture_id):
        return None
    row = next(iter(records.get(CaptureRightsRow, [capture.capture_id])), None)
    known = parse_row_rights(row) if row is not None else NO_RIGHTS
    others = [one for one in known.statements if one.stated_in is not StatementSource.HEADER]
    stated = read_header_statements(payload.http, capture.url)
    rights = replace(known, statements=(*others, *stated))
    return None if rights == known else rights


def lacks_host_text(records: Records, mime: str, sha1hexes: Sequence[str]) -> bool:
    """Whether files of hosts were kept and their text was not."""
    return mime in TYPES and len(records.get(HostTextRow, sha1hexes)) < len(sha1hexes)
