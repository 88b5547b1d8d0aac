"""`fonds sources backfill`: what is written down, refused and told of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from calls import Call, CallResult
from empty_records import open_records
from fonds.model.rows import ActRow, SourceRow

FEED = "https://news.example.org/feed.xml"
ASKED = ("sources", "backfill", FEED, "--from", "2025-01-01")


@pytest.fixture
def own(call: Call, tmp_path: Path) -> Call:
    """A call with a home of the test's own, in which a source is followed."""

    def called(*words: str) -> CallResult:
        return call("--home", str(tmp_path), *words)

    assert called("sources", "add", FEED).code == 0
    return called


def test_the_wish_is_written_down_told_and_taken_back(own: Call, tmp_path: Path) -> None:
    told = own(*ASKED, "--to", "2025-06-30")
    assert told.out.strip() == f"backfill requested from 2025-01-01 to 2025-06-30: {FEED}"
    assert "from 2025-01-01 to 2025-06-30 is running" in own(*ASKED).err
    assert own(*ASKED).code == 2
    assert "backfill going on" in own("sources", "list").out
    shown = own("sources", "show", FEED).out
    assert "2025-01-01 to 2025-06-30: going on" in shown
    assert "0 listed: 0 entered, 0 known, 0 refused, 0 outside the dates, 0 undated" in shown
    shown_json = json.loads(own("--json", "sources", "show", FEED).out)
    facts = shown_json["backfill"]
    assert (facts["state"], facts["next_page"]) == ("going on", FEED)
    assert shown_json["backfill_requested_by"].startswith("local:")
    stopped = json.loads(own("--json", "sources", "backfill", FEED, "--stop").out)
    assert stopped == {"source": FEED, "stopped": True}
    assert "no backfill was running" in own("sources", "backfill", FEED, "--stop").out
    assert "backfill" not in own("sources", "list").out
    assert "stopped, a person stopped it" in own("sources", "show", FEED).out
    again = json.loads(own("--json", *ASKED, "--undated").out)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert again == {"source": FEED, "first": "2025-01-01", "last": today, "undated": True}
    records = open_records(tmp_path / "records.sqlite")
    acts = [row.what for row in records.find(ActRow)]
    records.close()
    assert f"fonds sources backfill {FEED} 2025-01-01 to 2025-06-30" in acts
    assert f"fonds sources backfill --stop {FEED}" in acts


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Give the first day"),
        (("--from", "2025-01-01", "--stop"), "Give the first day"),
        (("--stop", "--undated"), "Give the first day"),
        (("--from", "soon"), "is not a date"),
        (("--from", "2999-01-01"), "is in the future"),
        (("--from", "2025-02-01", "--to", "2025-01-31"), "is after the last day"),
    ],
)
def test_what_cannot_be_is_refused(own: Call, words: tuple[str, ...], said: str) -> None:
    told = own("sources", "backfill", FEED, *words)
    assert (told.code, said in told.err) == (2, True), told.err
    assert json.loads(own("--json", "sources", "show", FEED).out)["backfill"] is None


def test_a_paused_source_and_a_page_are_refused(own: Call, tmp_path: Path) -> None:
    own("sources", "pause", FEED)
    told = own(*ASKED)
    assert (told.code, "Resume it" in told.err) == (2, True)
    own("sources", "resume", FEED)
    records = open_records(tmp_path / "records.sqlite")
    (row,) = records.find(SourceRow)
    records.change(SourceRow, [row.source_id], {"hints": {"older": "", "complete": True}})
    records.close()
    told = own(*ASKED)
    assert (told.code, "it lists everything" in told.err) == (2, True)
