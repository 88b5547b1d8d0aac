"""The ledger as rows: everything that ever came in, and what became of it; counts add up to what came in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from fonds.model.disposition import Reason, Verdict
from fonds.model.rows import EntryRow, InputRow
from fonds.ports import Records

COLUMNS: Mapping[str, str] = {
    "entry_id": "text",
    "pipeline": "text",
    "input_id": "text",
    "kind": "text",
    "url": "text",
    "seen": "time",
    "place": "text",
    "collection": "text",
    "entered_at": "time",
    "outcome": "text",
    "reason": "text",
    "step": "text",
    "about": "text",
    "detail": "text",
    "settled_at": "time",
    "count": "integer",
}
"""Fields of `entries` under their names, times as ISO 8601; `count` is how many records a row stands for."""
COUNTED = "counted"


def ledger_rows(records: Records) -> Iterator[dict[str, Any]]:
    """A row for each entry, in the order of their keys; then one for each input and reason that was counted
    there and kept nowhere else: its `kind` is `counted`, its `place` the input's path."""
    for entry in records.find(EntryRow):
        row = {name: getattr(entry, name) for name in COLUMNS if name != "count"}
        yield {name: _plain(value) for name, value in row.items()} | {"count": 1}
    for one in records.find(InputRow):
        for reason, count in sorted(one.tally.items()):
            yield dict.fromkeys(COLUMNS) | {
                "pipeline": one.pipeline,
                "input_id": one.input_id,
                "kind": COUNTED,
                "place": one.path,
                "outcome": Verdict.DROPPED.value,
                "reason": Reason(reason).value,
                "settled_at": one.updated.isoformat(),
                "count": count,
            }


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
