"""Audit of rights: compares the stored rights of captures with the HTTP responses that
state them.
"""

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


def find_changed_rights(
    row: CaptureRightsRow | None, capture: CdxRow, payload: Payload
) -> Rights | None:
    """Return the rights of a capture, corrected by its HTTP response; None if the stored rights are
    correct.

    `row`: stored rights of the capture; None if none are stored.
    `capture`: `cdx` row of the capture.
    `payload`: its WARC record.

    The response replaces only statements from HTTP headers; all others are taken from the stored
    rights. Also returns None if the record has no HTTP response, and for a capture known only from
    a CDX index, for which no rights are stored. The SQL table `cdx` has one row per capture in a
    WARC.
    """
    if payload.http is None or is_indexed(capture.capture_id):
        return None
    stored_rights = parse_row_rights(row) if row is not None else NO_RIGHTS
    other_statements = [
        statement
        for statement in stored_rights.statements
        if statement.stated_in is not StatementSource.HEADER
    ]
    header_statements = read_header_statements(payload.http, capture.url)
    rights = replace(stored_rights, statements=(*other_statements, *header_statements))
    return None if rights == stored_rights else rights


def lacks_host_text(records: Records, mime: str, sha1hexes: Sequence[str]) -> bool:
    """Whether the text of any of these robots.txt or tdmrep.json files is missing from the records.

    `mime`: media type of the files. The result is False for any type other than those of Fonds for
        robots.txt and tdmrep.json.
    `sha1hexes`: SHA-1s of the files in hex.
    """
    return mime in TYPES and len(records.get(HostTextRow, sha1hexes)) < len(sha1hexes)
