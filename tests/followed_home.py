"""A home with sources of every health, their polls and the outcomes of their links."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from fonds.following.health import compute_health_after_poll
from fonds.following.source_edits import SourceOptions, build_source
from fonds.model.disposition import Reason, Verdict
from fonds.model.rows import DispositionRow, EntryRow, InputRow, SourceRow
from fonds.model.source import Backfill
from fonds.ports import Stores
from home_rows import NOW

PIPELINE, STEP = "queue-fetcher", "fetch"
GOOD = build_source("https://daily.example/feed.xml", SourceOptions(title="The Daily"), NOW)
HOSTILE = build_source("https://bad.example/<script>alert(1)</script>", SourceOptions(), NOW)
SILENT = build_source("https://silent.example/sitemap.xml", SourceOptions(), NOW)
PAUSED = build_source("https://paused.example/rss", SourceOptions(), NOW)
HOSTILE_BACKFILL = Backfill(
    date(2025, 1, 1),
    date(2025, 6, 30),
    takes_undated=False,
    requested_at=NOW,
    requested_by="ada",
    due_at=NOW,
    poll_at=NOW,
    at="https://bad.example/<script>alert(4)</script>",
    pages=2,
    outside=70,
    attempts=2,
    trouble="<img src=x onerror=alert(4)>: it answers 503",
)
"""A backfill in progress, with a hostile page URL."""
BACKFILL_POLL = {
    "listed": 70,
    "known": 0,
    "refused": 0,
    "backfill": {"pages": ["https://bad.example/<b>2"], "unread": 0, "outside": 70, "undated": 0},
}
ORIGIN = "http://localhost:8765"
LATER = datetime.now(UTC) + timedelta(days=3)
KEPT, BLOCKED, WAITING = 60, 3, 2
TODAY = datetime.now(UTC)
"""Time of the last poll of the healthy source; statistics by day end today."""
POLLS, REFUSED = 25, 29


def row(stores: Stores, source: SourceRow = GOOD) -> SourceRow:
    """Return the current row of a source."""
    (stored_row,) = stores.records.get(SourceRow, [source.source_id])
    return stored_row


def fill_sources(stores: Stores) -> None:
    """Store a healthy source, a failing one with a hostile name, a silent one and a paused one."""
    before = NOW - timedelta(hours=1)
    healthy_fields = {
        "last_polled": before,
        "last_well": before,
        "last_new": before,
        "rate_day": 4.2,
    }
    rows = [
        replace(
            GOOD, polls=POLLS, links=KEPT + BLOCKED + WAITING, **_build_counts(), **healthy_fields
        ),
        replace(
            HOSTILE,
            title="<img src=x onerror=alert(2)>",
            polls=9,
            failures=7,
            failing_since=NOW,
            error="<b>503</b>",
            backfill=HOSTILE_BACKFILL,
        ),
        replace(
            SILENT, polls=2, links=5, listed=5, silent_polls=1, silent_since=NOW, **healthy_fields
        ),
        replace(PAUSED, state="paused"),
    ]
    stores.records.put([add_health(row) for row in rows])
    polls = [_build_poll(GOOD, number, new=0) for number in range(1, POLLS)]
    failed_poll = replace(_build_poll(HOSTILE, 9, new=0), fingerprint=json.dumps(BACKFILL_POLL))
    stores.records.put([*polls, failed_poll, _build_poll(SILENT, 2, new=0, listed=0)])
    last = _build_poll(GOOD, POLLS, new=KEPT + BLOCKED + WAITING, at=TODAY)
    entries = [_build_link(number, last) for number in range(last.entries)]
    stores.ledger.enter([last], entries, [STEP])
    stores.ledger.write(
        [
            *(_build_disposition(entry, Verdict.DONE) for entry in entries[:KEPT]),
            *(
                _build_disposition(entry, Verdict.DROPPED, Reason.ROBOTS_DENIED)
                for entry in entries[KEPT:-WAITING]
            ),
        ]
    )


def add_health(row: SourceRow) -> SourceRow:
    """Return the row with the health that its last poll would write."""
    return replace(row, health=str(compute_health_after_poll(row, TODAY)))


def _build_counts() -> dict[str, Any]:
    """Return the daily counts and rejected links of the healthy source."""
    days = {
        (TODAY - timedelta(days=days_ago)).date().isoformat(): [8, 0, 20, 1]
        for days_ago in range(1, 30)
    }
    days[TODAY.date().isoformat()] = [POLLS, 1, KEPT + BLOCKED + WAITING, 0]
    return {"refused_tally": {str(Reason.PRIVATE_ADDRESS): REFUSED}, "days": days}


def _build_poll(
    source: SourceRow, number: int, new: int, listed: int = 70, at: datetime | None = None
) -> InputRow:
    return InputRow(
        input_id=f"{source.source_id}.{number:06d}",
        pipeline=PIPELINE,
        path=source.url,
        kind="poll",
        position=0,
        finished=True,
        entries=new,
        updated=at or NOW + timedelta(minutes=number),
        fingerprint=json.dumps({"listed": listed, "known": listed - new}),
        tally={},
        tally_count=0,
        error=None,
    )


def _build_link(number: int, poll: InputRow) -> EntryRow:
    url = f"https://daily.example/story/{number}"
    return EntryRow(
        f"link-{number:03d}", PIPELINE, "link", poll.input_id, url, None, None, "default", NOW
    )


def _build_disposition(
    entry: EntryRow, verdict: Verdict, reason: Reason | None = None
) -> DispositionRow:
    return DispositionRow(
        message_id=entry.entry_id,
        pipeline=PIPELINE,
        step=STEP,
        entry_id=entry.entry_id,
        parent_id=None,
        parent_step=None,
        verdict=str(verdict),
        is_open=False,
        reason=str(reason) if reason else None,
        detail="",
        about=None,
        attempt=0,
        promised_at=NOW,
        settled_at=NOW,
    )
