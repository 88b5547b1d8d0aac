"""The first request starts or stops a backfill, on every backend of records."""

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


def test_a_backfill_request_keeps_the_state_of_its_source(records: Records) -> None:
    source = replace(
        build_source("https://a.example/feed", SourceOptions(), NOW),
        next_poll=NOW + timedelta(hours=1),
    )
    records.put([source])
    backfill = request_backfill(records, source, DAYS, "ada", NOW)
    (row,) = records.get(SourceRow, [source.source_id])
    assert (row.backfill, row.backfill_changes, row.next_poll) == (
        replace(backfill, poll_at=source.next_poll),
        1,
        NOW,
    )
    with pytest.raises(ConfigurationError, match="Stop it first"):
        request_backfill(records, source, DAYS, "bob", NOW)
    # Both read it as running; the second finds it stopped.
    assert [stop_backfill(records, row, NOW) for _ in range(2)] == [True, False]
    (row,) = records.get(SourceRow, [source.source_id])
    assert (row.backfill_changes, row.next_poll) == (2, source.next_poll)
    assert records.change(SourceRow, [row.source_id], {"polls": 7}, {"backfill_changes": 1}) == 0
