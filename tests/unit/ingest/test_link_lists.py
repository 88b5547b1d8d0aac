"""Links from files: each URL enters once, refused lines are counted, and reading resumes anywhere."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.feeds import daily_rss
from fixtures.http_server import CannedResponse, HttpServer, serve_http
from fonds.following.listings.csv_tables import NEED_CANONICAL_URL
from fonds.ingest.sources.link_lists import (
    LimitedSource,
    ShuffledSource,
)
from fonds.ingest.sources.link_rows import DOWNLOADS, RSS_DAY, URL_LISTS
from fonds.ingest.sources.link_sample import LinkSample
from fonds.model.entry import TlsCheck
from small_pipeline import Workplace
from unit.ingest.link_list_server import World, build_urls


@pytest.fixture
def world(place: Workplace, tmp_path: Path) -> World:
    return World(place, tmp_path)


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with serve_http() as answering_server:
        yield answering_server


def test_a_table_row_enters_with_its_fields(world: World) -> None:
    name = world.write_file(
        "stories_2023-11-04.csv",
        ["url,title", 'https://a.example/1,"A, b"', "https://a.example/2,"],
    )
    world.take(world.create_source(name))
    first, second = world.take_links()
    entry = first.rss_entry
    assert (first.url, entry.title, entry.fetch_date) == (
        "https://a.example/1",
        "A, b",
        "2023-11-04",
    )
    assert (entry.via, second.rss_entry.link) == (name, "https://a.example/2")


def test_a_list_without_header_can_contain_urls_with_commas(world: World) -> None:
    world.take(
        world.create_source(
            world.write_file(
                "list", ["# note", "", "https://a.example/x,y", "https://b.example/1,2"]
            )
        )
    )
    assert [link.url for link in world.take_links()] == [
        "https://a.example/x,y",
        "https://b.example/1,2",
    ]


def test_refused_lines_are_counted_by_reason(world: World) -> None:
    lines = [
        "url",
        "https://a.example/1",
        "",
        "ftp://a.example/",
        "https://youtube.com/1",
        '"open',
        ",",
    ]
    world.take(world.create_source(world.write_file("x.csv", lines)))
    (row,) = world.list_inputs()
    assert row.tally == {"bad-scheme": 1, "non-news": 1, "bad-index-line": 1, "no-url": 1}
    assert (row.entries, row.finished) == (1, True)


def test_a_repeated_url_enters_once(world: World) -> None:
    lines = [*build_urls(0, 700), *build_urls(0, 700), *build_urls(600, 900)]
    world.take(world.create_source(world.write_file("x.csv", lines)))
    assert len(world.take_links()) == 900
    (row,) = world.list_inputs()
    assert row.tally == {"repeated": 800}
    world.check_balance()


def test_urls_that_differ_by_fragment_are_equal(world: World) -> None:
    lines = [
        "https://a.example/1",
        "https://b.example/#x",
        "https://a.example/1#part",
        "https://b.example/",
    ]
    world.take(world.create_source(world.write_file("x", lines)))
    assert [link.url for link in world.take_links()] == [
        "https://a.example/1",
        "https://b.example/",
    ]
    assert [row.tally for row in world.list_inputs()] == [{"repeated": 2}]


def test_allowing_known_links_enters_a_list_a_second_time(world: World) -> None:
    name = world.write_file("x.csv", [*build_urls(0, 300), *build_urls(0, 250)])
    world.take(world.create_source(name))
    assert [link.url for link in world.finish_links()] == build_urls(0, 300)
    second_source = replace(world.create_source(name), allows_known=True)
    world.place.clock.pass_s(60.0)
    world.take(second_source)
    assert [link.url for link in world.take_links()] == build_urls(0, 300)
    assert [row.tally for row in world.list_inputs()] == [{"repeated": 250}] * 2
    world.check_balance()


def test_links_in_the_queue_are_not_entered_again(world: World) -> None:
    name = world.write_file("x.csv", build_urls(0, 300))
    world.take(world.create_source(name))
    world.place.clock.pass_s(60.0)
    world.take(replace(world.create_source(name), allows_known=True))
    assert [link.url for link in world.finish_links()] == build_urls(0, 300)
    assert sorted(row.tally_count for row in world.list_inputs()) == [0, 300]
    world.check_balance()


def test_links_carry_the_tls_check_of_their_source(world: World) -> None:
    world.take(
        replace(world.create_source(world.write_file("x.csv", build_urls(0, 2))), tls=TlsCheck.NONE)
    )
    assert {link.tls for link in world.take_links()} == {TlsCheck.NONE}


def test_known_links_are_skipped_and_new_lines_of_a_list_enter(world: World) -> None:
    world.take(world.create_source(world.write_file("a.csv", build_urls(0, 300))))
    world.take(world.create_source(world.write_file("b.csv", build_urls(200, 500))))
    world.write_file("a.csv", build_urls(0, 310) + build_urls(500, 505))
    world.take(world.create_source(str(world.folder / "a.csv")))
    assert sorted(link.url for link in world.take_links()) == build_urls(0, 505)
    world.check_balance()


def test_an_unchanged_file_is_not_read_a_second_time(world: World) -> None:
    """The original used the bare name: it took equal names in two folders for one file."""
    path_a, path_b = (
        world.write_file("a/x.csv", build_urls(0, 5)),
        world.write_file("b/x.csv", build_urls(5, 10)),
    )
    world.take(world.create_source(path_a, path_b))
    second_run = world.take(world.create_source(path_a, path_b))
    assert len(world.take_links()) == 10
    assert (second_run.entries, second_run.known_input_count) == (0, 2)


@pytest.mark.parametrize("stop_after", [1, 3, 50, 201, 333, 420, 900, 1500])
def test_an_interrupted_intake_resumes_without_loss(world: World, stop_after: int) -> None:
    lines = [*build_urls(0, 300), *build_urls(100, 200), "ftp://x.example/", *build_urls(250, 640)]
    name = world.write_file("x.csv.gz", lines)
    world.take(world.create_source(name), stop_after=stop_after)
    world.take(world.create_source(name))
    sent = world.take_links()
    assert {link.url for link in sent} == set(build_urls(0, 640))
    (row,) = world.list_inputs()
    assert (row.entries, row.finished) == (640, True)
    assert sum(row.tally.values()) == len(lines) - 640
    world.check_balance()


def test_folders_gzip_and_daily_rss_files_are_read(world: World) -> None:
    world.write_file("days/mc-2022-02-18.rss.gz", daily_rss(build_urls(0, 250)))
    world.write_file("days/mc-2022-02-19.rss", daily_rss(build_urls(250, 300))[:-80])
    world.take(world.create_source(str(world.folder / "days"), form=RSS_DAY))
    links = world.take_links()
    assert len(links) == 299
    assert links[0].rss_entry.source_feed_id == 70
    assert sum(row.tally.get("bad-index-line", 0) for row in world.list_inputs()) == 1


@pytest.mark.parametrize("form", [URL_LISTS, RSS_DAY])
def test_a_decompression_bomb_is_counted_and_skipped(world: World, form: str) -> None:
    body = b"<rss><item>" + b" " * 40_000_000 if form == RSS_DAY else b"\n" * 40_000_000
    world.take(world.create_source(world.write_file("bomb.gz", body), form=form))
    (row,) = world.list_inputs()
    assert row.tally["bomb"] == 1


def test_a_missing_or_damaged_file_is_an_input_with_an_error(world: World) -> None:
    damaged = world.folder / "cut.gz"
    damaged.write_bytes(gzip.compress("\n".join(build_urls(0, 5000)).encode())[:4000])
    world.take(world.create_source(str(world.folder / "nowhere.csv"), str(damaged)))
    rows = {(row.path, row.error is None): row for row in world.list_inputs()}
    missing, cut = rows[str(world.folder / "nowhere.csv"), False], rows[str(damaged), False]
    assert (missing.tally, missing.error) == ({"missing-source": 1}, "no such file")
    assert cut.tally == {"damaged-record": 1}
    assert "decompression failed" in (cut.error or "")
    begun = rows[str(damaged), True]
    assert (begun.finished, begun.tally) == (False, {})
    assert begun.entries > 0
    world.check_balance()


def test_a_limited_run_stops_and_the_next_resumes(world: World) -> None:
    lines = [*build_urls(0, 120), "nonsense", "https://youtube.com/x"]
    name = world.write_file("x.csv", [*lines[:60], "ftp://a.example/", *lines[60:]])
    for _ in range(2):
        sample = LinkSample(count_max=50)
        world.take(LimitedSource(world.create_source(name, sample=sample), sample))
    (row,) = world.list_inputs()
    assert ([link.url for link in world.take_links()], row.finished) == (build_urls(0, 100), False)
    world.take(world.create_source(name))
    assert [link.url for link in world.take_links()] == build_urls(100, 120)
    (row,) = world.list_inputs()
    assert row.tally == {"bad-scheme": 1, "no-host": 1, "non-news": 1}
    world.check_balance()


def test_a_sample_selects_the_same_links_and_counts_the_rest(world: World) -> None:
    name = world.write_file("x.csv", build_urls(0, 1000))
    world.take(world.create_source(name, sample=LinkSample(percent=10)))
    links = world.take_links()
    assert 60 < len(links) < 140
    (row,) = world.list_inputs()
    assert row.tally == {"not-sampled": 1000 - len(links)}
    world.take(world.create_source(name, sample=LinkSample(percent=10)))
    assert world.take_links() == []
    world.take(world.create_source(name))
    assert len(world.take_links()) == 1000 - len(links)
    world.check_balance()


@pytest.mark.parametrize("stop_after", [250, 10**9])
def test_shuffled_links_are_complete_after_an_interruption(world: World, stop_after: int) -> None:
    name = world.write_file("x.csv", build_urls(0, 700))
    shuffled = ShuffledSource(
        world.create_source(name), lambda window_links: window_links.reverse(), window_size=100
    )
    world.take(shuffled, stop_after=stop_after)
    world.take(replace(shuffled, source=world.create_source(name)))
    sent_urls = [link.url for link in world.take_links()]
    assert sorted(set(sent_urls)) == build_urls(0, 700)
    assert sent_urls != sorted(sent_urls)
    world.check_balance()


def test_a_remote_file_is_fetched_once_and_not_stored(world: World, server: HttpServer) -> None:
    body = gzip.compress("\n".join(build_urls(0, 30)).encode())
    server.responses["/2024-01-02.csv.gz"] = CannedResponse(200, body, {"ETag": '"1"'})
    name = f"{server.url}/2024-01-02.csv.gz"
    world.take(world.create_source(name, f"{server.url}/none"))
    assert len(world.take_links()) == 30
    second_run = world.take(world.create_source(name))
    assert second_run.known_input_count == 1
    assert list((world.folder / "home" / "inbox").iterdir()) == []
    assert [row.tally for row in world.list_inputs() if row.error] == [{"missing-source": 1}]
    server.responses["/2024-01-02.csv.gz"] = CannedResponse(200, body, {"ETag": '"2"'})
    world.take(world.create_source(name))
    assert world.take_links() == []
    assert {"known-link": 30} in [row.tally for row in world.list_inputs()]


def test_an_interrupted_download_is_retried(world: World, server: HttpServer) -> None:
    body = "\n".join(build_urls(0, 30)).encode()
    server.responses["/x"] = CannedResponse(200, body, missing_bytes=100)
    source = world.create_source(f"{server.url}/x")
    (row,) = source.iter_inputs()
    assert list(source.iter_entries(row)) == [{"unreadable-source": 1}]
    assert "was lost" in source.problems[0]
    assert len(server.requests) == 1 + 2
    assert list((world.folder / "home" / "inbox").iterdir()) == []
    server.responses["/x"] = CannedResponse(200, body)
    assert len([entry for entry in source.iter_entries(row) if hasattr(entry, "item")]) == 30


IDS = ["collect_date,stories_id,media_id,downloads_id,feeds_id,language,url"]


def test_a_table_of_downloads_enters_with_its_metadata(world: World) -> None:
    lines = [
        *IDS,
        "2021-10-01 12:00:00.25,1,2,3211617605,4,en,https://a.example/1",
        "2022-01-02 00:00:00,1,2,3211617605,4,en,https://a.example/1",
        "2012-01-02 00:00:00,1,2,77,4,,https://a.example/1",
        "2012-01-02 00:00:00,1,2,77,4,,https://a.example/other",
        "2012-01-02 00:00:00,1,2,78,4,,https://youtube.com/1",
        "2012-01-02 00:00:00,1,2,,4,,https://a.example/2",
        "2012-01-02 00:00:00,1,2,79,4,,https:///no-host",
    ]
    name = world.write_file("s3/old_2021-10-01.csv.gz", lines)
    world.take(world.create_source(name, form=DOWNLOADS))
    first, second, third = world.take_links()
    assert first.url == "s3://old/downloads/3211617605#epoch-B"
    assert second.url == "s3://old/downloads/3211617605#epoch-D"
    assert third.url == "s3://old/downloads/77"
    assert (first.final_url, first.domain) == ("https://a.example/1", "a.example")
    assert first.fetch_timestamp == 1633089600.25
    entry = first.rss_entry
    assert (entry.link, entry.source_feed_id, entry.source_source_id) == ("3211617605", 4, 2)
    assert (entry.fetch_date, entry.via) == ("2021-10-01", name)
    (row,) = world.list_inputs()
    assert row.tally == {"repeated": 1, "non-news": 1, "bad-index-line": 1, "no-host": 1}


def test_downloads_without_metadata_enter_by_id(world: World) -> None:
    world.take(
        world.create_source(
            world.write_file("ids", ["downloads_id", "5", "6", "5"]), form=DOWNLOADS
        )
    )
    world.take(world.create_source(world.write_file("bare", ["7", "x", "8"]), form=DOWNLOADS))
    links = world.take_links()
    assert [link.rss_entry.link for link in links] == ["5", "6", "7", "8"]
    assert {link.final_url for link in links} == {NEED_CANONICAL_URL}
    assert {(link.fetch_timestamp, link.domain) for link in links} == {(None, "")}
    assert [row.tally for row in world.list_inputs()] in (
        [{"repeated": 1}, {"bad-index-line": 1}],
        [{"bad-index-line": 1}, {"repeated": 1}],
    )
