"""The JSON that polls store in the database, byte by byte, because other versions of Fonds read
it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from fixtures.feeds import rss_with_links
from fonds.model.source import DayCounts, ListingHints
from unit.following.world import LINKS, World


def read_columns(folder: Path, query: str) -> list[tuple[str | None, ...]]:
    with closing(sqlite3.connect(folder / "records.sqlite")) as database:
        return database.execute(query).fetchall()


def test_the_hints_and_days_of_a_poll_are_stored_as_json(world: World, tmp_path: Path) -> None:
    feed = rss_with_links([*LINKS, "http://10.0.0.1/"])
    world.serve("/feed", feed)
    source = world.poll(world.add("/feed")).row
    day = f"{world.list_polls()[0].updated:%Y-%m-%d}"
    ((hints, days, tally, refused, backfill),) = read_columns(
        tmp_path, "select hints, days, refused_tally, refused, backfill from sources"
    )
    assert hints == (
        '{"ttl_s":null,"update_s":null,"hubs":[],"cloud":"","self_url":"",'
        '"children":0,"older":"","complete":false}'
    )
    assert days == f'{{"{day}":[1,0,4,1]}}'
    assert tally == '{"bad-host":1}'
    assert list(json.loads(refused or "").values()) == ["bad-host"]
    assert backfill is None
    assert source.hints == ListingHints(older="")
    assert source.days == {day: DayCounts(1, 0, 4, 1)}
    ((notes,),) = read_columns(tmp_path, "select fingerprint from inputs")
    assert notes == (
        f'{{"status":200,"bytes":{len(feed)},"kind":"rss","listed":5,"known":0,"refused":1}}'
    )


def test_a_failed_poll_stores_only_its_status(world: World, tmp_path: Path) -> None:
    world.serve("/feed", b"", 503)
    world.poll(world.add("/feed"))
    assert read_columns(tmp_path, "select fingerprint from inputs") == [('{"status":503}',)]
    ((hints, days),) = read_columns(tmp_path, "select hints, days from sources")
    assert hints is None
    assert [*json.loads(days or "").values()] == [[1, 1, 0, 0]]
