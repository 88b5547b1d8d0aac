"""What a command writes as JSON and what the API answers are the same values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.testclient import TestClient

from calls import Call
from filled_home import fill_home, open_home
from fixtures.feeds import rss_of
from fonds.failures.groups import FailureGroup
from fonds.following.health import mute
from fonds.following.source_summary import PollSummary, SourceSummary
from fonds.model.rows import EntryRow
from fonds.web.app import create_app
from unit.following.archives import archived, asked_for, followed_feed, works
from unit.following.world import LINKS, World, later, world

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["world"]
Answer = Mapping[str, Any]


@contextmanager
def asking(home: Path) -> Iterator[TestClient]:
    """Open the API over a home."""
    with (
        open_home(home) as stores,
        TestClient(create_app(stores), base_url="http://localhost:8765") as client,
    ):
        yield client


def told(call: Call, home: Path, *words: str) -> list[dict[str, Any]]:
    """Return the objects that a command writes with `--json`."""
    result = call(*words, "--json", "--home", str(home))
    assert result.code == 0, result.err
    return [json.loads(line) for line in result.out.splitlines()]


def shared(kind: type[DataclassInstance], answers: Iterable[Answer]) -> list[dict[str, Any]]:
    """Return only the fields of `kind` of each answer; none may be missing."""
    names = [field.name for field in fields(kind)]
    return [{name: answer[name] for name in names} for answer in answers]


def test_sources_and_polls(call: Call, world: World, tmp_path: Path) -> None:
    """One source is read with a backfill, one fails and is muted, and one was never polled."""
    archived(world)
    row = followed_feed(world)
    asked_for(world, row)
    works(world)
    world.give("/down", b"", 500)
    down = world.add("/down")
    works(world)
    now = world.place.clock()
    mute(world.place.records, world.row(down.source_id), None, "they move", now)
    world.give("/new", rss_of([*LINKS, "https://www.youtube.com/watch?v=9"]))
    world.add("/new")
    later(world, days=1)
    with asking(tmp_path) as client:
        listed = client.get("/api/sources").json()["rows"]
        printed = told(call, tmp_path, "sources", "list")
        by_url = sorted(listed, key=lambda source: source["url"])
        assert shared(SourceSummary, printed) == shared(SourceSummary, by_url)
        assert {one["standing"] for one in listed} == {"active", "muted", "waiting"}
        for source in listed:
            (shown,) = told(call, tmp_path, "sources", "show", source["source_id"])
            page = client.get(f"/api{source['href']}").json()
            assert shared(SourceSummary, [shown]) == shared(SourceSummary, [page["source"]])
            assert shown["last_polls"] == page["last_polls"][:10]
            for poll in page["last_polls"]:
                (detail,) = told(call, tmp_path, "sources", "show", poll["input_id"])
                assert shared(PollSummary, [detail]) == [poll]
        (read,) = (one for one in listed if one["source_id"] == row.source_id)
        polls = client.get(f"/api{read['href']}").json()["last_polls"]
    assert read["backfill"]["state"] == "ended"
    assert {poll["backfill"] is None for poll in polls} == {True, False}


def test_failure_groups_and_their_samples(call: Call, tmp_path: Path) -> None:
    """The failures are those of a home into which broken PDFs were ingested."""
    fill_home(tmp_path)
    printed = [one for one in told(call, tmp_path, "failures") if "group" in one]
    note = ("failures", "note", "--group", printed[0]["group"], "--owner", "Ann")
    told(call, tmp_path, *note)
    printed = [one for one in told(call, tmp_path, "failures") if "group" in one]
    with asking(tmp_path) as client:
        page = client.get("/api/failures").json()
        (record,) = client.get(f"/api/records?group={printed[0]['group']}").json()["rows"][:1]
    names = {field.name for field in fields(FailureGroup)} - {"sample"}
    assert len(printed) == page["groups_total"] > 1
    for ours, theirs in zip(printed, page["groups"], strict=True):
        assert {name: ours[name] for name in names} == {name: theirs[name] for name in names}
        assert [ours["sample"]] == shared(EntryRow, [theirs["sample"]])
    assert printed[0]["note"]["owner"] == "Ann"
    (entry, *_) = told(call, tmp_path, "failures", "--list", "--group", printed[0]["group"])
    assert [entry] == shared(EntryRow, [record])
    for new in page["recent"]["new"]:
        assert shared(FailureGroup, [new])[0] in printed
