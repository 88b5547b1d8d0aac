"""`fonds sources list --standing`, `mute` and `unmute`: the words of the pages, and what is noted of them."""

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
def own(call: Call, tmp_path: Path) -> Call:
    """A call with a home of the test's own, in which the second of two sources fails."""

    def called(*words: str) -> CallResult:
        return call("--home", str(tmp_path), *words)

    assert called("sources", "add", FEED, OTHER).code == 0
    records = open_records(tmp_path / "records.sqlite")
    (row,) = records.find(SourceRow, {"url": OTHER})
    values = {"failures": 2, "standing": "failing", "failing_since": NOW, "error": "it answers 503"}
    records.change(SourceRow, [row.source_id], values)
    records.close()
    return called


def urls(call: Call, *words: str) -> list[str]:
    told = call("--json", "sources", "list", *words)
    assert told.code == 0, told.err
    return [json.loads(line)["url"] for line in told.out.splitlines()]


def test_those_that_stand_so_are_listed_and_the_rest_counted(own: Call) -> None:
    assert urls(own, "--standing", "failing") == [OTHER]
    assert urls(own, "--standing", "waiting") == [FEED]
    assert urls(own, "--standing", "muted") == []
    day = f"{NOW:%Y-%m-%d}"
    assert urls(own, "--standing", "failing", "--since", day) == [OTHER]
    assert urls(own, "--standing", "failing", "--since", "2099-01-01") == []
    said = own("sources", "list", "--standing", "failing")
    assert (OTHER in said.out, FEED in said.out, "1 of 2 sources" in said.err) == (
        True,
        False,
        True,
    )
    for words, meant in (
        (("--since", day), "needs --standing"),
        (("--since", day, "--standing", "quiet"), "use one of dead, failing, silent"),
        (("--standing", "failng"), "Did you mean 'failing'"),
    ):
        refused = own("sources", "list", *words)
        assert (refused.code, meant in refused.err) == (2, True), refused.err


def test_what_ails_a_source_is_muted_and_everything_says_so(own: Call, tmp_path: Path) -> None:
    told = json.loads(own("--json", "sources", "mute", OTHER, "--note", "they  move").out)
    assert told == {"muted": [OTHER], "until": None}
    assert urls(own, "--standing", "muted") == [OTHER]
    assert urls(own, "--standing", "failing") == []
    facts = json.loads(own("--json", "sources", "show", OTHER).out)
    assert (facts["standing"], facts["muted"]["until"], facts["muted"]["note"]) == (
        "muted",
        None,
        "they move",
    )
    assert "until it works again: they move" in own("sources", "show", OTHER).out
    refused = own("sources", "mute", FEED)
    assert (refused.code, "Give an end time" in refused.err) == (2, True)
    assert "muted until 2999-01-31" in own("sources", "mute", FEED, "--until", "2999-01-31").out
    assert json.loads(own("--json", "sources", "unmute", OTHER).out) == {"unmuted": [OTHER]}
    assert urls(own, "--standing", "failing") == [OTHER]
    records = open_records(tmp_path / "records.sqlite")
    acts = [row.what for row in records.find(ActRow)]
    records.close()
    assert f"fonds sources mute {OTHER}" in acts
    assert f"fonds sources unmute {OTHER}" in acts
