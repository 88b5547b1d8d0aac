"""Captures that are known already, under whatever name their WARC has, and what a new row of one replaces."""

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
    """What is to be done with the rows of captures in a batch.

    `rows` are those to be kept, by capture id; `replaced` are rows that one of them takes the place of.
    `repeats` are ids of captures that are known under another id.
    """

    rows: dict[str, CdxRow] = field(default_factory=dict)
    replaced: dict[str, list[CdxRow]] = field(default_factory=dict)
    repeats: set[str] = field(default_factory=set)


def plan_captures(
    records: Records, rows: Sequence[CdxRow], owners: Mapping[str, str]
) -> CapturePlan:
    """Hold new rows against those that are there. `owners` gives the capture that owns each file.

    One capture has one row: that of an index is taken over by whoever reads the body, that of another entry
    by the owner of the file alone.
    """
    there = _load_existing(records, rows)
    by_key: dict[CaptureKey, list[CdxRow]] = {}
    for one in there.values():
        by_key.setdefault(build_capture_key(one), []).append(one)
    plan = CapturePlan()
    for row in rows:
        same = by_key.setdefault(build_capture_key(row), [])
        at_place = there.get(build_cdx_key(row))
        if at_place is not None and at_place not in same and is_indexed(at_place.capture_id):
            # The same record, of which an index says another digest or time.
            same.append(at_place)
        kept = _choose_row(row, same, is_owner=owners.get(row.sha1hex) == row.capture_id)
        if kept is None:
            plan.repeats.add(row.capture_id)
            continue
        plan.rows[row.capture_id] = kept
        replaced = [one for one in same if one != kept and one.capture_id != row.capture_id]
        plan.replaced[row.capture_id] = replaced
        same[:] = [kept]
        there[build_cdx_key(kept)] = kept
    return plan


def write_captures(records: Records, plan: CapturePlan) -> None:
    """Write the rows of a plan: a row that takes another's place is there before that is gone."""
    if plan.rows:
        records.put(list(plan.rows.values()), replace=False)
    for capture_id, replaced in plan.replaced.items():
        row = plan.rows[capture_id]
        for old in replaced:
            if build_cdx_key(old) == build_cdx_key(row):
                values = {one.name: getattr(row, one.name) for one in fields(row)}
                changed = {name: one for name, one in values.items() if name not in CdxRow.KEY}
                records.change(
                    CdxRow, [build_cdx_key(row)], changed, {"capture_id": old.capture_id}
                )
            else:
                records.delete(CdxRow, [build_cdx_key(old)])


def build_cdx_key(row: CdxRow) -> Key:
    """The key of a row of `cdx`."""
    return row.warc_path, row.warc_offset


def _choose_row(row: CdxRow, rows: Sequence[CdxRow], *, is_owner: bool) -> CdxRow | None:
    """The row a capture has in the end; None where another entry's row stays."""
    own = [one for one in rows if one.capture_id == row.capture_id]
    if own:
        return own[0]
    others = [one for one in rows if not is_indexed(one.capture_id)]
    if others and not is_owner:
        return None
    # A record of ours keeps its name, an index's name for a WARC of others is better than a path.
    names = [one.warc_path for one in others] or [
        row.warc_path,
        *(one.warc_path for one in rows),
    ]
    return replace(row, warc_path=min(names, key=rank_name))


def _load_existing(records: Records, rows: Sequence[CdxRow]) -> dict[Key, CdxRow]:
    """The rows that may be of the same captures, by their keys."""
    if not rows:
        return {}
    found = list(records.get(CdxRow, [build_cdx_key(row) for row in rows]))
    where = {
        "sha1hex": sorted({row.sha1hex for row in rows}),
        "warc_offset": sorted({row.warc_offset for row in rows}),
    }
    found += records.find(CdxRow, where)
    return {build_cdx_key(row): row for row in found}
