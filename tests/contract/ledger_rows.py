"""Rows of the ledger; each builder fills in the fields that a test does not set."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fonds.model.disposition import PENDING, RETURNING_VERDICTS
from fonds.model.rows import DispositionRow, EntryRow, InputRow

NOON = datetime(2024, 5, 6, 12, 0, 0, 123456, UTC)
LATER = NOON + timedelta(hours=1)


def entry(
    entry_id: str, *, input_id: str = "input", pipeline: str = "library", **changes: Any
) -> EntryRow:
    row = EntryRow(
        *(entry_id, pipeline, "capture", input_id, "http://x.org/"),
        *("20240506120000", "a.warc.gz:9", "default", NOON),
    )
    return replace(row, **changes)


def build_promise(
    entry_id: str,
    message_id: str,
    step: str,
    *,
    parent_step: str = "identify",
    pipeline: str = "library",
) -> DispositionRow:
    """Build the promise of a message that was sent and not processed."""
    return DispositionRow(
        *(message_id, pipeline, step, entry_id, entry_id, parent_step),
        *(PENDING, True, None, "", None, 0, LATER, None),
    )


def build_disposition(
    entry_id: str,
    message_id: str,
    step: str,
    verdict: str,
    *,
    minute: int = 0,
    pipeline: str = "library",
    **changes: Any,
) -> DispositionRow:
    """Build the disposition of a message."""
    at = LATER + timedelta(minutes=minute)
    row = DispositionRow(
        *(message_id, pipeline, step, entry_id, None, None),
        *(verdict, verdict in RETURNING_VERDICTS, None, "", None, 0, at, at),
    )
    return replace(row, **changes)


def input_row(input_id: str, **changes: Any) -> InputRow:
    row = InputRow(
        *(input_id, "a.warc.gz", "warc", "1-2", 2**40, 5),
        *({"not-a-capture": 2}, 2, False, None, NOON, "library"),
    )
    return replace(row, **changes)
