"""What a backfill brings from archives, pages and sitemaps, and what each of them ends with."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest

from fixtures.feeds import atom, sitemap
from fonds.following import backfill_poll
from fonds.following.backfill_requests import request_backfill
from fonds.following.source_list import (
    list_polls_on,
    load_source_details,
)
from fonds.model.errors import PostponedError
from fonds.model.rows import SourceRow
from fonds.model.source import BackfillState, DayCounts
from unit.following.archives import (
    FIRST,
    HISTORY,
    archived,
    asked,
    asked_for,
    entry,
    followed_feed,
    index_of,
    page_of,
    paged_json,
    stands,
    story,
    works,
)
from unit.following.world import LINKS, World, later

ORDINARY = (
    *("etag", "last_modified", "digest", "mark", "rate_day", "listed", "last_polled", "last_well"),
    *("last_new", "failures", "status", "error", "refused", "hints", "silent_polls", "days"),
    *("standing", "form", "title"),
)
"""What the polls for what is new learned, and a backfill leaves as it is."""


@pytest.mark.parametrize("relation", ["prev-archive", "next"])
def test_the_days_asked_for_are_brought_from_the_archives_and_nothing_else_changes(
    world: World, relation: str
) -> None:
    archived(world, relation)
    before = followed_feed(world)
    assert before.links == 3
    asked_for(world, before)
    assert works(world)[0].new == 6
    after, found = world.row(before.source_id), stands(world, before)
    assert {one.url for one in world.entered()} == {
        story(month, number) for month in (5, 3, 2) for number in (1, 2, 3)
    }
    assert (found.state, found.why.rpartition("/")[2]) == (
        BackfillState.ENDED,
        "1 are from before 2025-02-01",
    )
    assert (found.pages, found.listed, found.entered, found.outside) == (5, 15, 6, 9)
    assert (found.earliest, found.requested_by) == (date(2025, 1, 1), "ada")
    assert (after.links, after.polls, after.polling) == (9, 2, False)
    assert {name: getattr(after, name) for name in ORDINARY} == {
        name: getattr(before, name) for name in ORDINARY
    }
    assert after.next_poll == before.next_poll


def test_what_one_poll_reads_of_several_pages_is_not_cut_as_one_of_them_is(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    archived(world)
    row = followed_feed(world)
    monkeypatch.setattr("fonds.following.listings.listing.ENTRIES_MAX", 4)
    asked_for(world, row)
    works(world)
    found = stands(world, row)
    assert (found.listed, found.entered, found.refused, found.outside) == (15, 6, 0, 9)


def test_its_polls_say_what_they_read_and_are_no_part_of_the_days(world: World) -> None:
    archived(world)
    row = followed_feed(world)
    asked_for(world, row)
    works(world)
    now = world.place.clock()
    source_details = load_source_details(world.place.records, row.source_id, now)
    assert source_details is not None
    backfilled, ordinary = source_details.polls
    assert (ordinary.new, ordinary.pages) == (3, None)
    assert (backfilled.new, backfilled.listed, backfilled.known) == (6, 15, 0)
    assert backfilled.pages == 5
    assert (backfilled.outside, backfilled.undated) == (9, 0)
    today = now.date()
    assert list_polls_on(world.place.records, row.source_id, today) == [ordinary.input_id]
    days = world.row(row.source_id).days or {}
    assert days[today.isoformat()] == DayCounts(1, 0, 3, 0)
    assert sum(one.count for one in source_details.ended) == source_details.source.links == 9


def test_a_json_feed_is_read_along_its_next_url(world: World) -> None:
    paged_json(world)
    row = followed_feed(world)
    asked_for(world, row)
    assert [one.new for one in works(world)] == [6]
    assert stands(world, row).pages == 5


def test_sitemaps_that_changed_before_are_passed_over_and_the_rest_is_read(world: World) -> None:
    index_of(world, {"a": "2025-01-02", "b": "2025-03-09", "c": "2025-01-31", "d": "2026-01-01"})
    row = world.add("/feed")
    asked_for(world, row)
    world.place.records.change(SourceRow, [row.source_id], {"hints": {"older": "", "children": 4}})
    assert world.polling.poll(world.row(row.source_id)) is not None  # for what is new: all of them
    before = asked(world)
    works(world)
    # The moment of the third names no zone, and may be a day later.
    assert asked(world)[len(before) :] == ["/feed", "/b.xml", "/c.xml", "/d.xml"]
    found = stands(world, row)
    assert (found.sitemaps, found.known, found.entered) == (1, 9, 0)
    assert found.why == "all sitemaps of the index were read"


def test_an_index_is_gone_on_with_and_what_cannot_be_read_is_passed_over(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill_poll, "PAGES_A_POLL", 3)
    index_of(world, dict.fromkeys("abcde", "2025-03-09"))
    row = world.add("/feed")
    world.give("/c.xml", b"", 404)
    asked_for(world, row)
    works(world)
    # The index itself is a page of the first poll only.
    found = stands(world, row)
    assert (found.state, found.pages, found.unread) == (BackfillState.ENDED, 5, 1)
    read = [path for path in asked(world) if path.endswith(".xml")][5:]
    assert read == [f"/{name}.xml" for name in "abcde"]


def test_what_says_no_day_is_left_out_unless_it_is_asked_for(world: World) -> None:
    world.give("/feed", page_of(5, "/old"))
    world.give("/old", atom([entry(3, 1), entry(3, 2, is_dated=False)], "", HISTORY))
    row = followed_feed(world)
    asked_for(world, row)
    works(world)
    assert (stands(world, row).entered, stands(world, row).undated) == (1, 1)
    asked_for(world, row, undated=True)
    works(world)
    found = stands(world, row)
    assert (found.entered, found.known, found.undated) == (1, 1, 0)


def test_a_page_changed_before_the_days_is_outside_of_them(world: World) -> None:
    index_of(world, {"a": "2026-01-01"})
    old = "<lastmod>2024-05-01</lastmod>"
    new = "<lastmod>2025-05-01</lastmod>"
    one, other = sitemap(LINKS[:1], old), sitemap(LINKS[1:2], new)
    world.give("/a.xml", one.replace(b"</urlset>", other[other.index(b"<url>") :]))
    row = world.add("/feed")
    asked_for(world, row, undated=True)
    works(world)
    found = stands(world, row)
    assert (found.outside, found.undated, found.known) == (1, 0, 1)


def test_a_feed_that_says_to_be_complete_has_nothing_older(world: World) -> None:
    row = world.add("/feed")
    asked_for(world, row)
    world.give("/feed", atom([entry(5, 1)], '<fh:complete/><link rel="next" href="/4"/>', HISTORY))
    works(world)
    assert "lists everything" in stands(world, row).why
    assert "/4" not in asked(world)


@pytest.mark.parametrize(
    ("leads", "told"),
    [
        ("/feed", "leads back"),
        ("/4", "leads back"),
        ("/round", "leads back"),
        ("", "no link to an older page"),
    ],
)
def test_a_circle_and_the_last_page_end_it(world: World, leads: str, told: str) -> None:
    world.give("/feed", page_of(5, "/4"))
    world.give("/4", page_of(4, leads))
    world.give("/round", b"", 302, Location="/feed")
    row = followed_feed(world)
    asked_for(world, row)
    works(world)
    found = stands(world, row)
    assert (found.state, told in found.why, found.pages) == (BackfillState.ENDED, True, 2)


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (404, b"", "the server responded with 404"),
        (410, b"", "the server responded with 410"),
        (200, b"<html>no</html>", "page"),
    ],
)
def test_a_page_that_cannot_be_read_ends_it(
    world: World, status: int, body: bytes, told: str
) -> None:
    archived(world)
    world.give("/3", body, status)
    row = followed_feed(world)
    asked_for(world, row)
    works(world)
    found = stands(world, row)
    assert (found.state, told in found.why) == (BackfillState.FAILED, True)
    assert world.row(row.source_id).state == "active"
    assert world.row(row.source_id).failures == 0


def test_what_fails_for_now_is_tried_again_later_each_time_and_given_up_after_five(
    world: World,
) -> None:
    archived(world)
    world.give("/4", b"", 503)
    row = followed_feed(world)
    asked_for(world, row)
    waits = []
    while stands(world, row).state is BackfillState.GOING_ON:
        world.place.records.change(SourceRow, [row.source_id], {"next_poll": world.place.clock()})
        done = [one for one in works(world) if one.notes.backfill]
        found = stands(world, row)
        if found.state is BackfillState.GOING_ON:
            waits.append((found.due_at - world.place.clock()).total_seconds())
            world.place.clock.pass_s(waits[-1])
    assert waits == [1800.0, 3600.0, 7200.0, 14400.0]
    assert "failed after 5 attempts in a row" in stands(world, row).why
    assert done[-1].error is not None


@pytest.mark.parametrize(
    ("said_s", "wait_s"), [("60", 1800.0), ("10000", 10000.0), ("9999999", 86400.0)]
)
def test_an_older_page_that_says_when_to_come_again_is_left_alone_until_then(
    world: World, said_s: str, wait_s: float
) -> None:
    archived(world)
    world.give("/4", b"", 429, retry_after=said_s)
    row = followed_feed(world)
    asked_for(world, row)
    works(world)
    waits_s = (stands(world, row).due_at - world.place.clock()).total_seconds()
    assert (waits_s, stands(world, row).attempts) == (wait_s, 1)
    world.place.clock.pass_s(wait_s - 1)
    works(world)
    assert asked(world).count("/4") == 1


def test_a_page_that_answers_at_last_is_gone_on_from(world: World) -> None:
    archived(world)
    world.give("/4", b"", 503)
    row = followed_feed(world)
    asked_for(world, row)
    works(world)
    assert (stands(world, row).attempts, stands(world, row).at) == (1, f"{world.server.url}/4")
    archived(world)
    later(world, hours=2)
    works(world)
    found = stands(world, row)
    assert (found.state, found.entered, found.attempts) == (BackfillState.ENDED, 6, 0)
    assert asked(world).count("/4") == 2


def test_at_the_most_pages_it_ends_and_another_goes_on_there(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill_poll, "PAGES_MAX", 3)
    monkeypatch.setattr(backfill_poll, "PAGES_A_POLL", 2)
    archived(world)
    row = followed_feed(world)
    asked_for(world, row)
    assert [one.new for one in works(world)] == [0, 3]
    found = stands(world, row)
    assert (found.state, found.earliest) == (BackfillState.ENDED, date(2025, 3, 1))
    assert "the last day 2025-03-01" in found.why
    before = len(asked(world))
    now = world.place.clock()
    request_backfill(
        world.place.records, world.row(row.source_id), (FIRST, found.earliest), "ada", now
    )
    works(world)
    assert asked(world)[before:] == ["/2", "/1"]
    assert stands(world, row).entered == 3


def test_neither_keeps_the_other_waiting(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill_poll, "PAGES_A_POLL", 1)
    archived(world)
    row = followed_feed(world)
    asked_for(world, row)
    always = replace(world.polling, bounds=replace(world.polling.bounds, min_s=0.0))
    world.place.records.change(SourceRow, [row.source_id], {"rate_day": 1e9})
    kinds = []
    later(world, days=2)
    for _ in range(9):
        (due,) = always.list_due(1)
        done = always.poll(due)
        assert done is not None
        kinds.append(done.notes.backfill is not None)
        later(world, seconds=1)
    assert kinds.count(True) >= 4
    assert kinds.count(False) >= 4


def test_one_poll_is_bounded_in_time_and_in_entries(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    archived(world)
    row = followed_feed(world)
    asked_for(world, row)
    get = world.polling.get

    def slow(url: str, headers: object, tls: object) -> object:
        world.place.clock.pass_s(200.0)
        return get(url, headers, tls)  # type: ignore[arg-type]

    polling = replace(world.polling, get=slow)  # type: ignore[arg-type]
    assert polling.poll(world.row(row.source_id)) is not None
    assert stands(world, row).pages == 2
    monkeypatch.setattr(backfill_poll, "ENTRIES_A_POLL", 3)
    world.poll(row)
    assert (stands(world, row).pages, stands(world, row).state) == (3, BackfillState.GOING_ON)


def test_a_page_whose_turn_has_not_come_is_asked_for_when_it_has(world: World) -> None:
    archived(world)
    row = followed_feed(world)
    asked_for(world, row)
    get = world.polling.get

    def busy(url: str, headers: object, tls: object) -> object:
        if not url.endswith("/feed"):
            raise PostponedError("its host is asked again in 40 s", 40.0)
        return get(url, headers, tls)  # type: ignore[arg-type]

    polling = replace(world.polling, get=busy)  # type: ignore[arg-type]
    assert polling.poll(world.row(row.source_id)) is not None
    assert polling.list_due(10) == []
    later(world, seconds=40)
    # Nothing was read: that was no poll.
    assert polling.poll(world.row(row.source_id)) is None
    found, put_off = stands(world, row), world.row(row.source_id)
    assert (found.attempts, found.pages, put_off.polls, put_off.polling) == (0, 1, 2, False)
    assert put_off.next_poll == world.place.clock() + timedelta(seconds=40)
    later(world, seconds=40)
    works(world)
    assert (stands(world, row).entered, world.row(row.source_id).polls) == (6, 3)
