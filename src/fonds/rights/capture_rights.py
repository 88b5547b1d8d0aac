"""What is known of the rights of captures: the rows of the capture and of its file, as one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from fonds.model.rights import Rights, RobotsInForce, Statement
from fonds.model.rows import CaptureRightsRow, FileRightsRow
from fonds.ports import Records


def load_capture_rights(records: Records, captures: Mapping[str, str]) -> dict[str, Rights]:
    """The rights of captures, by capture id; `captures` gives the SHA-1 in hex of each capture's file.

    What the host and the response state comes before what the file states. A capture nothing is known of has
    an empty value.
    """
    rows = {row.capture_id: row for row in records.get(CaptureRightsRow, sorted(captures))}
    files = {row.sha1hex: row for row in records.get(FileRightsRow, sorted(set(captures.values())))}
    found = {}
    for capture_id, sha1hex in captures.items():
        found[capture_id] = merge_row_rights(rows.get(capture_id), files.get(sha1hex))
    return found


def merge_row_rights(row: CaptureRightsRow | None, file: FileRightsRow | None) -> Rights:
    """The rights in the rows of one capture and of its file, each statement once."""
    statements = [*_decode_statements(row), *_decode_statements(file)]
    return Rights(_decode_robots(row), tuple(dict.fromkeys(statements)))


def parse_row_rights(row: CaptureRightsRow) -> Rights:
    """What is kept of one capture alone."""
    return merge_row_rights(row, None)


def encode_statements(statements: Iterable[Statement]) -> dict[str, Any]:
    """Statements as the column `stated` holds them."""
    return {"statements": [one.to_json() for one in statements]}


def build_capture_rights_row(
    capture_id: str, sha1hex: str, rights: Rights, updated: datetime
) -> CaptureRightsRow | None:
    """The row of a capture; None where nothing is known of its rights."""
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
        stated=encode_statements(rights.statements),
        updated=updated,
    )


def _decode_statements(row: CaptureRightsRow | FileRightsRow | None) -> list[Statement]:
    return [Statement.from_json(one) for one in row.stated["statements"]] if row else []


def _decode_robots(row: CaptureRightsRow | None) -> RobotsInForce | None:
    if row is None or row.robots_url is None:
        return None
    return RobotsInForce(
        row.robots_url, row.robots_answer or "", row.robots_capture_id, row.robots_rule or ""
    )
