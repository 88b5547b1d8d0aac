"""`fonds sources list --health`, `mute` and `unmute`: the words of the pages, and the action
log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calls import Call, CallResult
from empty_records import open_records
from fonds.model.rows import ActRow, SourceRow
from home_rows import NOW

FEED, OTHER = "https://news.example.org/feed.xml", "https://other.example.org/feed.xml"


@pytest.fixture
def home_call(call: Call, tmp_path: Path) -> Call:
    """A call with a new home in which the second of two sources fails."""

    def run_command(*words: str) -> CallResult:
        return call("--home", str(tmp_path), *words)

    assert run_command("sources", "add", FEED, OTHER).code == 0
    records = open_records(tmp_path / "records.sqlite")
    (row,) = records.find(SourceRow, {"url": OTHER})
    values = {"failures": 2, "health": "failing", "failing_since": NOW, "error": "it answers 503"}
    records.change(SourceRow, [row.source_id], values)
    records.close()
    return run_command


def list_urls(call: Call, *words: str) -> list[str]:
    result = call("--json", "sources", "list", *words)
    assert result.code == 0, result.err
    return [json.loads(line)["url"] for line in result.out.splitlines()]


def test_sources_are_listed_by_health_and_the_rest_is_counted(home_call: Call) -> None:
    assert list_urls(home_call, "--health", "failing") == [OTHER]
    assert list_urls(home_call, "--health", "waiting") == [FEED]
    assert list_urls(home_call, "--health", "muted") == []
    day = f"{NOW:%Y-%m-%d}"
    assert list_urls(home_call, "--health", "failing", "--since", day) == [OTHER]
    assert list_urls(home_call, "--health", "failing", "--since", "2099-01-01") == []
    listing = home_call("sources", "list", "--health", "failing")
    assert (OTHER in listing.out, FEED in listing.out, "1 of 2 sources" in listing.err) == (
        True,
        False,
        True,
    )
    for words, message in (
        (("--since", day), "needs --health"),
        (("--since", day, "--health", "quiet"), "use one of dead, failing, silent"),
        (("--health", "failng"), "Did you mean 'failing'"),
    ):
        result = home_call("sources", "list", *words)
        assert (result.code, message in result.err) == (2, True), result.err


def test_a_failing_source_is_muted_and_shown_as_muted(home_call: Call, tmp_path: Path) -> None:
    muted = json.loads(home_call("--json", "sources", "mute", OTHER, "--note", "they  move").out)
    assert muted == {"muted": [OTHER], "until": None}
    assert list_urls(home_call, "--health", "muted") == [OTHER]
    assert list_urls(home_call, "--health", "failing") == []
    facts = json.loads(home_call("--json", "sources", "show", OTHER).out)
    assert (facts["health"], facts["muted"]["until"], facts["muted"]["note"]) == (
        "muted",
        None,
        "they move",
    )
    assert "until it works again: they move" in home_call("sources", "show", OTHER).out
    result = home_call("sources", "mute", FEED)
    assert (result.code, "Give an end time" in result.err) == (2, True)
    assert (
        "muted until 2999-01-31" in home_call("sources", "mute", FEED, "--until", "2999-01-31").out
    )
    assert json.loads(home_call("--json", "sources", "unmute", OTHER).out) == {"unmuted": [OTHER]}
    assert list_urls(home_call, "--health", "failing") == [OTHER]
    records = open_records(tmp_path / "records.sqlite")
    acts = [row.what for row in records.find(ActRow)]
    records.close()
    assert f"fonds sources mute {OTHER}" in acts
    assert f"fonds sources unmute {OTHER}" in acts
