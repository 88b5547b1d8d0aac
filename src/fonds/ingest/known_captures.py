"""Detect captures that are already recorded under another name of their WARC, and select the rows
to replace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from fonds.archive.table_places import is_indexed
from fonds.archive.warc_names import CaptureKey, build_capture_key, rank_name
from fonds.model.rows import CdxRow
from fonds.ports import Records

Key = tuple[str, int]


@dataclass(slots=True)
class CapturePlan:
    """Changes to the `cdx` rows (one row per capture) for a batch of new captures.

    - `rows`: rows to store, by capture id.
    - `replaced`: existing rows to remove, by the id of the capture that replaces them.
    - `repeats`: ids of new captures that the existing rows already have under another capture id.
    """

    rows: dict[str, CdxRow] = field(default_factory=dict)
    replaced: dict[str, list[CdxRow]] = field(default_factory=dict)
    repeats: set[str] = field(default_factory=set)


def plan_captures(
    records: Records, rows: Sequence[CdxRow], owners: Mapping[str, str]
) -> CapturePlan:
    """Compare the new `cdx` rows of a batch with existing rows, and return the changes to make.

    Two rows are of the same capture if SHA-1, file name of the WARC, offset and time are equal. In
    the end each capture has one row. A row that came only from an index is replaced by the new row.
    A row of a capture that Fonds has read is replaced only by the row of the file's primary
    capture. `owners` maps the SHA-1 of each file to the id of its primary capture.
    """
    existing = _load_existing(records, rows)
    by_key: dict[CaptureKey, list[CdxRow]] = {}
    for existing_row in existing.values():
        by_key.setdefault(build_capture_key(existing_row), []).append(existing_row)
    plan = CapturePlan()
    for row in rows:
        same_capture_rows = by_key.setdefault(build_capture_key(row), [])
        row_there = existing.get(build_cdx_key(row))
        if (
            row_there is not None
            and row_there not in same_capture_rows
            and is_indexed(row_there.capture_id)
        ):
            # The same record, for which an index gives another digest or time.
            same_capture_rows.append(row_there)
        chosen_row = _choose_row(
            row, same_capture_rows, is_owner=owners.get(row.sha1hex) == row.capture_id
        )
        if chosen_row is None:
            plan.repeats.add(row.capture_id)
            continue
        plan.rows[row.capture_id] = chosen_row
        replaced_rows = [
            existing_row
            for existing_row in same_capture_rows
            if existing_row != chosen_row and existing_row.capture_id != row.capture_id
        ]
        plan.replaced[row.capture_id] = replaced_rows
        same_capture_rows[:] = [chosen_row]
        existing[build_cdx_key(chosen_row)] = chosen_row
    return plan


def write_captures(records: Records, plan: CapturePlan) -> None:
    """Write the planned changes for a batch of captures to the table `cdx`. Each new row is written
    before the row that it replaces is removed.
    """
    if plan.rows:
        records.put(list(plan.rows.values()), replace=False)
    for capture_id, replaced_rows in plan.replaced.items():
        row = plan.rows[capture_id]
        for old in replaced_rows:
            if build_cdx_key(old) == build_cdx_key(row):
                values = {value.name: getattr(row, value.name) for value in fields(row)}
                changed_values = {
                    name: value for name, value in values.items() if name not in CdxRow.KEY
                }
                records.change(
                    CdxRow, [build_cdx_key(row)], changed_values, {"capture_id": old.capture_id}
                )
            else:
                records.delete(CdxRow, [build_cdx_key(old)])


def build_cdx_key(row: CdxRow) -> Key:
    """Return the primary key of a `cdx` row: WARC path and offset."""
    return row.warc_path, row.warc_offset


def _choose_row(row: CdxRow, rows: Sequence[CdxRow], *, is_owner: bool) -> CdxRow | None:
    """Return the row to store for a new capture, given the existing `rows` of the same capture.

    An existing row with the same capture id is returned unchanged. Returns None if the existing
    rows stay: one of them is of a capture that Fonds has read, and the new capture is not the
    primary capture of its file (`is_owner` is False). Otherwise returns `row` with the best of the
    known names of the WARC.
    """
    own_rows = [existing_row for existing_row in rows if existing_row.capture_id == row.capture_id]
    if own_rows:
        return own_rows[0]
    entered_rows = [
        existing_row for existing_row in rows if not is_indexed(existing_row.capture_id)
    ]
    if entered_rows and not is_owner:
        return None
    # A record in our archive keeps its name. For other WARCs a name from an index is better than a
    # path.
    names = [existing_row.warc_path for existing_row in entered_rows] or [
        row.warc_path,
        *(existing_row.warc_path for existing_row in rows),
    ]
    return replace(row, warc_path=min(names, key=rank_name))


def _load_existing(records: Records, rows: Sequence[CdxRow]) -> dict[Key, CdxRow]:
    """Return existing `cdx` rows that may describe the same captures as the new `rows`, by WARC
    path and offset.
    """
    if not rows:
        return {}
    candidates = list(records.get(CdxRow, [build_cdx_key(row) for row in rows]))
    where = {
        "sha1hex": sorted({row.sha1hex for row in rows}),
        "warc_offset": sorted({row.warc_offset for row in rows}),
    }
    candidates += records.find(CdxRow, where)
    return {build_cdx_key(row): row for row in candidates}
