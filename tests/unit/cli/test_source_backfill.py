"""`fonds sources backfill`: requests, refusals and status."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from calls import Call, CallResult
from empty_records import open_records
from fonds.model.rows import ActRow, SourceRow

FEED = "https://news.example.org/feed.xml"
REQUEST = ("sources", "backfill", FEED, "--from", "2025-01-01")


@pytest.fixture
def home_call(call: Call, tmp_path: Path) -> Call:
    """A call with a new home in which a source is followed."""

    def run_command(*words: str) -> CallResult:
        return call("--home", str(tmp_path), *words)

    assert run_command("sources", "add", FEED).code == 0
    return run_command


def test_a_backfill_is_requested_shown_and_stopped(home_call: Call, tmp_path: Path) -> None:
    result = home_call(*REQUEST, "--to", "2025-06-30")
    assert result.out.strip() == f"backfill requested from 2025-01-01 to 2025-06-30: {FEED}"
    assert "from 2025-01-01 to 2025-06-30 is running" in home_call(*REQUEST).err
    assert home_call(*REQUEST).code == 2
    assert "backfill running" in home_call("sources", "list").out
    source_page = home_call("sources", "show", FEED).out
    assert "2025-01-01 to 2025-06-30: running" in source_page
    assert "0 listed: 0 entered, 0 known, 0 refused, 0 outside the dates, 0 undated" in source_page
    source = json.loads(home_call("--json", "sources", "show", FEED).out)
    facts = source["backfill"]
    assert (facts["state"], facts["next_page"]) == ("running", FEED)
    assert source["backfill_requested_by"].startswith("local:")
    stopped = json.loads(home_call("--json", "sources", "backfill", FEED, "--stop").out)
    assert stopped == {"source": FEED, "stopped": True}
    assert "no backfill was running" in home_call("sources", "backfill", FEED, "--stop").out
    assert "backfill" not in home_call("sources", "list").out
    assert "stopped, a person stopped it" in home_call("sources", "show", FEED).out
    first_day = datetime.now(UTC).date()
    second_request = json.loads(home_call("--json", *REQUEST, "--undated").out)
    # A day may begin during the request.
    assert first_day <= date.fromisoformat(second_request.pop("last")) <= datetime.now(UTC).date()
    assert second_request == {"source": FEED, "first": "2025-01-01", "undated": True}
    records = open_records(tmp_path / "records.sqlite")
    acts = [row.what for row in records.find(ActRow)]
    records.close()
    assert f"fonds sources backfill {FEED} 2025-01-01 to 2025-06-30" in acts
    assert f"fonds sources backfill --stop {FEED}" in acts


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Give the first day"),
        (("--from", "2025-01-01", "--stop"), "Give the first day"),
        (("--stop", "--undated"), "Give the first day"),
        (("--from", "soon"), "is not a date"),
        (("--from", "2999-01-01"), "is in the future"),
        (("--from", "2025-02-01", "--to", "2025-01-31"), "is after the last day"),
    ],
)
def test_bad_input_is_refused(home_call: Call, words: tuple[str, ...], message: str) -> None:
    result = home_call("sources", "backfill", FEED, *words)
    assert (result.code, message in result.err) == (2, True), result.err
    assert json.loads(home_call("--json", "sources", "show", FEED).out)["backfill"] is None


def test_a_paused_source_and_a_complete_feed_are_refused(home_call: Call, tmp_path: Path) -> None:
    home_call("sources", "pause", FEED)
    result = home_call(*REQUEST)
    assert (result.code, "Resume it" in result.err) == (2, True)
    home_call("sources", "resume", FEED)
    records = open_records(tmp_path / "records.sqlite")
    (row,) = records.find(SourceRow)
    records.change(SourceRow, [row.source_id], {"hints": {"older": "", "complete": True}})
    records.close()
    result = home_call(*REQUEST)
    assert (result.code, "it lists everything" in result.err) == (2, True)
