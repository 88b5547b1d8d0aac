"""Rights of single captures: statements of the capture and of its file, combined from two rows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from fonds.model.rights import Rights, RobotsInForce, StatedRights
from fonds.model.rows import CaptureRightsRow, FileRightsRow
from fonds.ports import Records


def load_capture_rights(records: Records, captures: Mapping[str, str]) -> dict[str, Rights]:
    """Return the rights of each capture, by capture id.

    `captures` maps each capture id to the SHA-1 of its file in hexadecimal. Statements of the host
    and the response come before those of the file. A capture without known rights has empty rights.
    """
    rows = {row.capture_id: row for row in records.get(CaptureRightsRow, sorted(captures))}
    files = {row.sha1hex: row for row in records.get(FileRightsRow, sorted(set(captures.values())))}
    rights_by_capture = {}
    for capture_id, sha1hex in captures.items():
        rights_by_capture[capture_id] = merge_row_rights(rows.get(capture_id), files.get(sha1hex))
    return rights_by_capture


def merge_row_rights(row: CaptureRightsRow | None, file: FileRightsRow | None) -> Rights:
    """Combine the rights in the rows of a capture and of its file. Equal statements occur once."""
    statements = [
        statement
        for rights_row in (row, file)
        if rights_row
        for statement in rights_row.stated.statements
    ]
    return Rights(_decode_robots(row), tuple(dict.fromkeys(statements)))


def parse_row_rights(row: CaptureRightsRow) -> Rights:
    """Return the rights that the row of a capture states, without those of its file."""
    return merge_row_rights(row, None)


def build_capture_rights_row(
    capture_id: str, sha1hex: str, rights: Rights, updated_at: datetime
) -> CaptureRightsRow | None:
    """Build the row of `capture_rights` with the rights of a capture.

    Returns None if the rights contain neither a statement nor a robots.txt.
    """
    robots = rights.robots
    if robots is None and not rights.statements:
        return None
    return CaptureRightsRow(
        capture_id=capture_id,
        sha1hex=sha1hex,
        robots_url=robots.url if robots else None,
        robots_answer=robots.answer if robots else None,
        robots_capture_id=robots.capture_id if robots else None,
        robots_rule=robots.rule if robots else None,
        stated=StatedRights(rights.statements),
        updated=updated_at,
    )


def _decode_robots(row: CaptureRightsRow | None) -> RobotsInForce | None:
    if row is None or row.robots_url is None:
        return None
    return RobotsInForce(
        row.robots_url, row.robots_answer or "", row.robots_capture_id, row.robots_rule or ""
    )
