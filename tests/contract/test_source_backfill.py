"""A backfill is asked for and stopped by whoever comes first, whatever keeps the records."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from fonds.following.backfill_requests import request_backfill, stop_backfill
from fonds.following.source_edits import SourceOptions, build_source
from fonds.model.errors import ConfigurationError
from fonds.model.rows import SourceRow
from fonds.ports import Records

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
DAYS = date(2025, 1, 1), date(2025, 6, 30)


def test_what_was_seen_of_a_source_before_is_not_written_over(records: Records) -> None:
    seen = replace(
        build_source("https://a.example/feed", SourceOptions(), NOW),
        next_poll=NOW + timedelta(hours=1),
    )
    records.put([seen])
    wanted = request_backfill(records, seen, DAYS, "ada", NOW)
    (row,) = records.get(SourceRow, [seen.source_id])
    assert (row.backfill, row.backfill_changes, row.next_poll) == (
        replace(wanted, poll_at=seen.next_poll),
        1,
        NOW,
    )
    with pytest.raises(ConfigurationError, match="Stop it first"):
        request_backfill(records, seen, DAYS, "bob", NOW)
    # Both saw it go on; the second finds it stopped.
    assert [stop_backfill(records, row, NOW) for _ in range(2)] == [True, False]
    (row,) = records.get(SourceRow, [seen.source_id])
    assert (row.backfill_changes, row.next_poll) == (2, seen.next_poll)
    assert records.change(SourceRow, [row.source_id], {"polls": 7}, {"backfill_changes": 1}) == 0
