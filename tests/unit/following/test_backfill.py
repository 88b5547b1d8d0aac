"""What a backfill reads from archives, pages and sitemaps, and how it ends."""

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
    add_polled_feed,
    entry,
    get_backfill,
    list_paths,
    make_page,
    poll_all,
    request_days,
    serve_archives,
    serve_index,
    serve_json_pages,
    story,
)
from unit.following.world import LINKS, World, advance

POLL_COLUMNS = (
    *("etag", "last_modified", "digest", "mark", "rate_day", "listed", "last_polled", "last_well"),
    *("last_new", "failures", "status", "error", "refused", "hints", "silent_polls", "days"),
    *("health", "form", "title"),
)
"""The columns of ordinary polls, which a backfill does not change."""


@pytest.mark.parametrize("relation", ["prev-archive", "next"])
def test_a_backfill_reads_the_requested_days_and_changes_no_poll_column(
    world: World, relation: str
) -> None:
    serve_archives(world, relation)
    before = add_polled_feed(world)
    assert before.links == 3
    request_days(world, before)
    assert poll_all(world)[0].new == 6
    after, backfill = world.get_row(before.source_id), get_backfill(world, before)
    assert {entered.url for entered in world.list_entries()} == {
        story(month, number) for month in (5, 3, 2) for number in (1, 2, 3)
    }
    assert (backfill.state, backfill.why.rpartition("/")[2]) == (
        BackfillState.ENDED,
        "1 are from before 2025-02-01",
    )
    assert (backfill.pages, backfill.listed, backfill.entered, backfill.outside) == (5, 15, 6, 9)
    assert (backfill.earliest, backfill.requested_by) == (date(2025, 1, 1), "ada")
    assert (after.links, after.polls, after.polling) == (9, 2, False)
    assert {name: getattr(after, name) for name in POLL_COLUMNS} == {
        name: getattr(before, name) for name in POLL_COLUMNS
    }
    assert after.next_poll == before.next_poll


def test_a_poll_of_several_pages_is_not_cut_at_the_limit_of_one_page(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve_archives(world)
    row = add_polled_feed(world)
    monkeypatch.setattr("fonds.following.listings.listing.ENTRIES_MAX", 4)
    request_days(world, row)
    poll_all(world)
    backfill = get_backfill(world, row)
    assert (backfill.listed, backfill.entered, backfill.refused, backfill.outside) == (15, 6, 0, 9)


def test_backfill_polls_record_their_counts_outside_the_days(world: World) -> None:
    serve_archives(world)
    row = add_polled_feed(world)
    request_days(world, row)
    poll_all(world)
    now = world.place.clock()
    source_details = load_source_details(world.place.records, row.source_id, now)
    assert source_details is not None
    backfilled, ordinary = source_details.polls
    assert (ordinary.new, ordinary.backfill) == (3, None)
    assert (backfilled.new, backfilled.listed, backfilled.known) == (6, 15, 0)
    backfill = backfilled.backfill
    assert backfill is not None
    assert (len(backfill.pages), backfill.outside, backfill.undated) == (5, 9, 0)
    today = now.date()
    assert list_polls_on(world.place.records, row.source_id, today) == [ordinary.input_id]
    days = world.get_row(row.source_id).days or {}
    assert days[today.isoformat()] == DayCounts(1, 0, 3, 0)
    assert (
        sum(outcome.count for outcome in source_details.endings) == source_details.source.links == 9
    )


def test_a_json_feed_is_read_along_its_next_url(world: World) -> None:
    serve_json_pages(world)
    row = add_polled_feed(world)
    request_days(world, row)
    assert [result.new for result in poll_all(world)] == [6]
    assert get_backfill(world, row).pages == 5


def test_a_backfill_skips_sitemaps_that_changed_before_its_days(world: World) -> None:
    serve_index(world, {"a": "2025-01-02", "b": "2025-03-09", "c": "2025-01-31", "d": "2026-01-01"})
    row = world.add("/feed")
    request_days(world, row)
    world.place.records.change(SourceRow, [row.source_id], {"hints": {"older": "", "children": 4}})
    # A normal poll reads all sitemaps.
    assert world.poller.poll(world.get_row(row.source_id)) is not None
    paths_before = list_paths(world)
    poll_all(world)
    # The date of the third has no time zone and may be one day later.
    assert list_paths(world)[len(paths_before) :] == ["/feed", "/b.xml", "/c.xml", "/d.xml"]
    backfill = get_backfill(world, row)
    assert (backfill.sitemaps, backfill.known, backfill.entered) == (1, 9, 0)
    assert backfill.why == "all sitemaps of the index were read"


def test_a_backfill_continues_an_index_and_skips_unreadable_sitemaps(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill_poll, "PAGES_A_POLL", 3)
    serve_index(world, dict.fromkeys("abcde", "2025-03-09"))
    row = world.add("/feed")
    world.serve("/c.xml", b"", 404)
    request_days(world, row)
    poll_all(world)
    # The index itself is a page of the first poll only.
    backfill = get_backfill(world, row)
    assert (backfill.state, backfill.pages, backfill.unread) == (BackfillState.ENDED, 5, 1)
    requested = [path for path in list_paths(world) if path.endswith(".xml")][5:]
    assert requested == [f"/{name}.xml" for name in "abcde"]


def test_undated_entries_are_skipped_unless_requested(world: World) -> None:
    world.serve("/feed", make_page(5, "/old"))
    world.serve("/old", atom([entry(3, 1), entry(3, 2, is_dated=False)], "", HISTORY))
    row = add_polled_feed(world)
    request_days(world, row)
    poll_all(world)
    assert (get_backfill(world, row).entered, get_backfill(world, row).undated) == (1, 1)
    request_days(world, row, undated=True)
    poll_all(world)
    backfill = get_backfill(world, row)
    assert (backfill.entered, backfill.known, backfill.undated) == (1, 1, 0)


def test_a_page_that_changed_before_the_days_is_outside(world: World) -> None:
    serve_index(world, {"a": "2026-01-01"})
    old = "<lastmod>2024-05-01</lastmod>"
    new = "<lastmod>2025-05-01</lastmod>"
    old_sitemap, new_sitemap = sitemap(LINKS[:1], old), sitemap(LINKS[1:2], new)
    world.serve(
        "/a.xml", old_sitemap.replace(b"</urlset>", new_sitemap[new_sitemap.index(b"<url>") :])
    )
    row = world.add("/feed")
    request_days(world, row, undated=True)
    poll_all(world)
    backfill = get_backfill(world, row)
    assert (backfill.outside, backfill.undated, backfill.known) == (1, 0, 1)


def test_a_complete_feed_has_no_older_pages(world: World) -> None:
    row = world.add("/feed")
    request_days(world, row)
    world.serve("/feed", atom([entry(5, 1)], '<fh:complete/><link rel="next" href="/4"/>', HISTORY))
    poll_all(world)
    assert "lists everything" in get_backfill(world, row).why
    assert "/4" not in list_paths(world)


@pytest.mark.parametrize(
    ("next_url", "reason"),
    [
        ("/feed", "leads back"),
        ("/4", "leads back"),
        ("/round", "leads back"),
        ("", "no link to an older page"),
    ],
)
def test_a_loop_or_the_last_page_ends_the_backfill(
    world: World, next_url: str, reason: str
) -> None:
    world.serve("/feed", make_page(5, "/4"))
    world.serve("/4", make_page(4, next_url))
    world.serve("/round", b"", 302, Location="/feed")
    row = add_polled_feed(world)
    request_days(world, row)
    poll_all(world)
    backfill = get_backfill(world, row)
    assert (backfill.state, reason in backfill.why, backfill.pages) == (
        BackfillState.ENDED,
        True,
        2,
    )


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (404, b"", "the server responded with 404"),
        (410, b"", "the server responded with 410"),
        (200, b"<html>no</html>", "page"),
    ],
)
def test_an_unreadable_page_fails_the_backfill(
    world: World, status: int, body: bytes, reason: str
) -> None:
    serve_archives(world)
    world.serve("/3", body, status)
    row = add_polled_feed(world)
    request_days(world, row)
    poll_all(world)
    backfill = get_backfill(world, row)
    assert (backfill.state, reason in backfill.why) == (BackfillState.FAILED, True)
    assert world.get_row(row.source_id).state == "active"
    assert world.get_row(row.source_id).failures == 0


def test_temporary_failures_are_retried_later_each_time_and_give_up_after_five(
    world: World,
) -> None:
    serve_archives(world)
    world.serve("/4", b"", 503)
    row = add_polled_feed(world)
    request_days(world, row)
    waits = []
    while get_backfill(world, row).state is BackfillState.RUNNING:
        world.place.records.change(SourceRow, [row.source_id], {"next_poll": world.place.clock()})
        results = [result for result in poll_all(world) if result.notes.backfill]
        backfill = get_backfill(world, row)
        if backfill.state is BackfillState.RUNNING:
            waits.append((backfill.due_at - world.place.clock()).total_seconds())
            world.place.clock.pass_s(waits[-1])
    assert waits == [1800.0, 3600.0, 7200.0, 14400.0]
    assert "failed after 5 attempts in a row" in get_backfill(world, row).why
    assert results[-1].error is not None


@pytest.mark.parametrize(
    ("retry_after_s", "wait_s"), [("60", 1800.0), ("10000", 10000.0), ("9999999", 86400.0)]
)
def test_retry_after_delays_an_older_page(world: World, retry_after_s: str, wait_s: float) -> None:
    serve_archives(world)
    world.serve("/4", b"", 429, retry_after=retry_after_s)
    row = add_polled_feed(world)
    request_days(world, row)
    poll_all(world)
    waits_s = (get_backfill(world, row).due_at - world.place.clock()).total_seconds()
    assert (waits_s, get_backfill(world, row).attempts) == (wait_s, 1)
    world.place.clock.pass_s(wait_s - 1)
    poll_all(world)
    assert list_paths(world).count("/4") == 1


def test_a_page_that_recovers_continues_the_backfill(world: World) -> None:
    serve_archives(world)
    world.serve("/4", b"", 503)
    row = add_polled_feed(world)
    request_days(world, row)
    poll_all(world)
    assert (get_backfill(world, row).attempts, get_backfill(world, row).at) == (
        1,
        f"{world.server.url}/4",
    )
    serve_archives(world)
    advance(world, hours=2)
    poll_all(world)
    backfill = get_backfill(world, row)
    assert (backfill.state, backfill.entered, backfill.attempts) == (BackfillState.ENDED, 6, 0)
    assert list_paths(world).count("/4") == 2


def test_a_backfill_ends_at_the_page_limit_and_another_continues_there(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill_poll, "PAGES_MAX", 3)
    monkeypatch.setattr(backfill_poll, "PAGES_A_POLL", 2)
    serve_archives(world)
    row = add_polled_feed(world)
    request_days(world, row)
    assert [result.new for result in poll_all(world)] == [0, 3]
    backfill = get_backfill(world, row)
    assert (backfill.state, backfill.earliest) == (BackfillState.ENDED, date(2025, 3, 1))
    assert "the last day 2025-03-01" in backfill.why
    n_paths = len(list_paths(world))
    now = world.place.clock()
    request_backfill(
        world.place.records, world.get_row(row.source_id), (FIRST, backfill.earliest), "ada", now
    )
    poll_all(world)
    assert list_paths(world)[n_paths:] == ["/2", "/1"]
    assert get_backfill(world, row).entered == 3


def test_backfills_and_normal_polls_take_turns(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill_poll, "PAGES_A_POLL", 1)
    serve_archives(world)
    row = add_polled_feed(world)
    request_days(world, row)
    poller = replace(world.poller, bounds=replace(world.poller.bounds, min_s=0.0))
    world.place.records.change(SourceRow, [row.source_id], {"rate_day": 1e9})
    kinds = []
    advance(world, days=2)
    for _ in range(9):
        (due,) = poller.list_due(1)
        result = poller.poll(due)
        assert result is not None
        kinds.append(result.notes.backfill is not None)
        advance(world, seconds=1)
    assert kinds.count(True) >= 4
    assert kinds.count(False) >= 4


def test_one_poll_is_limited_in_time_and_entries(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve_archives(world)
    row = add_polled_feed(world)
    request_days(world, row)
    get = world.poller.get

    def get_slowly(url: str, headers: object, tls: object) -> object:
        world.place.clock.pass_s(200.0)
        return get(url, headers, tls)  # type: ignore[arg-type]

    poller = replace(world.poller, get=get_slowly)  # type: ignore[arg-type]
    assert poller.poll(world.get_row(row.source_id)) is not None
    assert get_backfill(world, row).pages == 2
    monkeypatch.setattr(backfill_poll, "ENTRIES_A_POLL", 3)
    world.poll(row)
    assert (get_backfill(world, row).pages, get_backfill(world, row).state) == (
        3,
        BackfillState.RUNNING,
    )


def test_a_page_of_a_busy_host_is_postponed_by_its_delay(world: World) -> None:
    serve_archives(world)
    row = add_polled_feed(world)
    request_days(world, row)
    get = world.poller.get

    def get_or_postpone(url: str, headers: object, tls: object) -> object:
        if not url.endswith("/feed"):
            raise PostponedError("its host is asked again in 40 s", 40.0)
        return get(url, headers, tls)  # type: ignore[arg-type]

    poller = replace(world.poller, get=get_or_postpone)  # type: ignore[arg-type]
    assert poller.poll(world.get_row(row.source_id)) is not None
    assert poller.list_due(10) == []
    advance(world, seconds=40)
    # Nothing was read, so this does not count as a poll.
    assert poller.poll(world.get_row(row.source_id)) is None
    backfill, postponed = get_backfill(world, row), world.get_row(row.source_id)
    assert (backfill.attempts, backfill.pages, postponed.polls, postponed.polling) == (
        0,
        1,
        2,
        False,
    )
    assert postponed.next_poll == world.place.clock() + timedelta(seconds=40)
    advance(world, seconds=40)
    poll_all(world)
    assert (get_backfill(world, row).entered, world.get_row(row.source_id).polls) == (6, 3)
