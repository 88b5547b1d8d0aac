"""OPML, RSS of full days, and tables of URLs and downloads."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.feeds import daily_rss
from fonds.following.listings import whole_day_rss as day_reader
from fonds.following.listings.csv_tables import (
    EPOCHS,
    FIRST_ID,
    LAST_IDS,
    NEED_CANONICAL_URL,
    ObjectVersion,
    choose,
    detect_header,
    find_day_in_name,
    find_epoch,
    parse_historical_row,
    parse_url_row,
    split_fields,
)
from fonds.following.listings.listing import FeedOutline, clean_title, clean_url
from fonds.following.listings.opml import read_opml, write_opml
from fonds.following.listings.whole_day_rss import (
    ITEM_MAX_BYTES,
    DayItem,
    DayPiece,
    read_rss_day,
    read_rss_piece,
)
from fonds.model.errors import DamagedInputError, LimitError

NOW = datetime(2026, 11, 22, 1, 0, tzinfo=UTC)
names = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Z"), exclude_characters="<>&/"), min_size=1
)


@given(st.lists(st.tuples(names, names), max_size=8, unique_by=lambda pair: pair[0]))
def test_written_opml_is_read_back_unchanged(titles_and_folders: list[tuple[str, str]]) -> None:
    outlines = [
        FeedOutline(f"https://a.example/{number}", title, folder, "https://a.example/")
        for number, (title, folder) in enumerate(titles_and_folders)
    ]
    parsed = read_opml(write_opml(outlines, "Feeds", NOW))
    assert {outline.url for outline in parsed} == {outline.url for outline in outlines}
    assert len(parsed) == len(outlines)


def test_nested_folders_and_duplicates_of_opml_are_read() -> None:
    body = (
        b'<opml version="1.0"><body><outline text="News"><outline title="Europe">'
        b'<outline type="rss" text="A" XMLURL="https://a.example/feed"/></outline></outline>'
        b'<outline text="B" xmlUrl="https://b.example/"/><outline text="B2" xmlUrl="https://b.example/"/>'
        b"</body></opml>"
    )
    assert read_opml(body) == [
        FeedOutline("https://a.example/feed", "A", "News/Europe"),
        FeedOutline("https://b.example/", "B"),
    ]


@pytest.mark.parametrize(
    "body", [b"", b"<rss/>", b"<opml", b"<!DOCTYPE o [<!ENTITY a 'b'>]><opml/>"]
)
def test_a_body_that_is_no_opml_is_rejected(body: bytes) -> None:
    with pytest.raises(DamagedInputError):
        read_opml(body)


def test_folders_of_opml_are_cut_and_their_slashes_replaced() -> None:
    names = [f"a/{'b' * 300}" for _ in range(5)]
    opened = "".join(f'<outline text="{name}">' for name in names)
    body = (
        f"<opml><body>{opened}<outline xmlUrl='https://a.example/'/>{'</outline>' * 5}"
        "<outline xmlUrl='https://b.example/'/></body></opml>"
    )
    inner, outer = read_opml(body.encode())
    assert inner.folder == "/".join(f"a {'b' * 300}" for _ in names)[:1_000]
    assert outer.folder == ""


def read_day(body: bytes, via: str = "day", day: str | None = None) -> list[DayItem]:
    return list(read_rss_day(io.BytesIO(body), via, day, read_rss_piece))


LINKS = [f"https://news.example.org/{number}?a=1&b=2" for number in range(400)]


@pytest.mark.parametrize("cdata", [False, True])
@pytest.mark.parametrize("piece_bytes", [7, 64 * 1024])
def test_whole_day_rss_is_read_item_by_item(
    cdata: bool, piece_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(day_reader, "PIECE_BYTES", piece_bytes)
    items = read_day(daily_rss(LINKS[:40], has_cdata=cdata), "day.rss")
    assert [item.entry and item.entry.link for item in items] == LINKS[:40]
    first = items[0].entry
    assert first is not None
    assert (first.title, first.domain) == ("A & B", "example.org")
    assert (first.source_feed_id, first.source_source_id) == (70, 7)
    assert first.source_url == "https://news.example.org/feed?a=1&b=2"
    assert (first.fetch_date, first.via) == ("2026-11-22", "day.rss")
    dated = read_day(daily_rss(LINKS[:1]), "x", "2026-11-24")[0].entry
    assert dated is not None
    assert dated.fetch_date == "2026-11-24"


def test_truncated_whole_day_rss_reports_the_problem_and_keeps_earlier_items() -> None:
    body = daily_rss(LINKS)
    items = read_day(body[: body.index(b"/200?") + 3])
    assert items[-1].problem == "the file ends within an item"
    assert [item.number for item in items] == list(range(201))
    assert all(item.entry for item in items[:-1])


def test_an_endless_item_is_reported_and_skipped() -> None:
    endless = b"<rss><item><link>" + b"x" * (3 * ITEM_MAX_BYTES) + b"</link></item>"
    body = endless + daily_rss(LINKS[:2]).partition(b"</lastBuildDate>")[2]
    items = read_day(body)
    assert items[0].problem
    assert [item.entry.link for item in items if item.entry] == LINKS[:2]


@pytest.mark.parametrize(
    ("content", "link", "title"),
    [
        (b"<link>a<link>https://a.example/</link>", "https://a.example/", None),
        (
            b"<LINK>https://a.example/</link><link>https://b.example/</link>",
            "https://a.example/",
            None,
        ),
        (b"<link/><title>T</title>", None, "T"),
        (b"<title><![CDATA[A < B]]> C</title>", None, "A < B C"),
        (b"<title><![CDATA[never closed</title>", None, "<![CDATA[never closed"),
        (b"<title>&#" + b"9" * 5_000 + b"; T</title>", None, "\ufffd T"),
    ],
)
def test_odd_elements_of_an_item_are_read(
    content: bytes, link: str | None, title: str | None
) -> None:
    (item,) = read_day(b"<rss><item>" + content + b"</item></rss>")
    assert item.entry is not None
    assert item.entry.link == (
        clean_url("a<link>https://a.example/") if b"a<link>" in content else link
    )
    assert item.entry.title == clean_title(title)


def test_a_parser_that_leaves_the_input_unread_is_stopped() -> None:
    def read_nothing(piece: bytes, *_: object) -> DayPiece:
        return DayPiece([], 0, None)

    stream = io.BytesIO(b"x" * 10_000_000)
    with pytest.raises(LimitError):
        list(read_rss_day(stream, "day", None, read_nothing))
    assert stream.tell() < 1_000_000


@given(st.binary(max_size=400))
def test_any_stream_becomes_items_and_problems(noise: bytes) -> None:
    body = b"<rss><item>" + noise + b"</item>" + noise
    items = read_day(body)
    assert all((item.entry is None) == bool(item.problem) for item in items)


def test_a_table_of_urls_is_read_with_and_without_a_header() -> None:
    header = detect_header(split_fields("\ufefftitle,URL,pub_date,feed_id"))
    entry = parse_url_row(
        header, split_fields('"A, b",https://a.example/,2026-11-22,7'), "x.csv", "2026-11-21"
    )
    assert header.is_explicit
    assert (entry.link, entry.title, entry.source_feed_id) == ("https://a.example/", "A, b", 7)
    assert (entry.pub_date, entry.fetch_date) == ("Sun, 22 Nov 2026 00:00:00 -0000", "2026-11-21")
    bare = detect_header(split_fields("5,https://a.example/"))
    assert not bare.is_explicit
    assert parse_url_row(bare, ["6", "https://b.example/"], "x", None).link == "https://b.example/"
    assert parse_url_row(bare, ["6"], "x", None).link is None


@pytest.mark.parametrize("line", ['"open', '"a"b', "," * 500])
def test_a_malformed_csv_line_is_rejected(line: str) -> None:
    with pytest.raises(ValueError, match=r".{8,}"):
        split_fields(line)


def test_the_day_of_a_file_is_found_in_its_name() -> None:
    """The original searched from the beginning of the full address and never found a day."""
    assert find_day_in_name("s3://bucket/2020-01-01/stories_2023-11-04.csv.gz") == "2023-11-04"
    assert find_day_in_name("stories-20231104.csv") == "2023-11-04"
    assert find_day_in_name("stories-2023-13-04.csv") is None


HISTORICAL_FIELDS = "collect_date,stories_id,media_id,downloads_id,feeds_id,language,url"


def test_a_historical_row_is_parsed() -> None:
    row = parse_historical_row(
        detect_header(split_fields(HISTORICAL_FIELDS)),
        split_fields("2023-11-04 01:02:03.5,1,2,3,4,pt-br,https://a.example/x"),
        "s3://b/2023-11-04.csv",
        "2023-11-04",
    )
    assert (row.downloads_id, row.url, row.language) == (3, "https://a.example/x", "pt-br")
    assert row.fetch_timestamp == datetime(2023, 11, 4, 1, 2, 3, 500_000, tzinfo=UTC).timestamp()
    entry = row.entry
    assert (entry.link, entry.source_feed_id, entry.source_source_id) == ("3", 4, 2)
    assert (entry.fetch_date, entry.via) == ("2023-11-04", "s3://b/2023-11-04.csv")


def test_a_table_of_ids_requests_the_canonical_url() -> None:
    row = parse_historical_row(detect_header(["downloads_id"]), ["3211617605"], "ids.csv", None)
    assert (row.url, row.fetch_timestamp, row.language) == (NEED_CANONICAL_URL, None, None)


@pytest.mark.parametrize("number", ["", "-1", "x", "٣", "9" * 30])
def test_a_row_without_a_valid_id_is_rejected(number: str) -> None:
    with pytest.raises(ValueError, match="downloads_id"):
        parse_historical_row(detect_header(["downloads_id"]), [number], "x", None)


B, D = (epoch.begin + timedelta(days=3) for epoch in EPOCHS)


def test_the_version_of_the_right_epoch_is_chosen() -> None:
    versions = [
        ObjectVersion("b", B),
        ObjectVersion("d", D),
        ObjectVersion("b2", B + timedelta(hours=1)),
    ]
    assert choose(FIRST_ID, B, versions) == versions[2]
    assert choose(LAST_IDS, D, versions) == versions[1]
    assert choose(FIRST_ID, D - timedelta(days=20), versions) is None
    assert choose(FIRST_ID, None, versions) is None
    assert choose(FIRST_ID, None, versions[:1]) == versions[0]
    assert choose(FIRST_ID - 1, None, versions) == versions[1]
    assert choose(FIRST_ID - 1, None, []) is None


@given(st.integers(0, 730 * 24))
def test_a_moment_lies_in_at_most_one_epoch(hours: int) -> None:
    moment = datetime(2021, 1, 1, tzinfo=UTC) + timedelta(hours=hours)
    assert sum(epoch.contains(moment) for epoch in EPOCHS) <= 1
    assert (find_epoch(moment) is not None) == any(epoch.contains(moment) for epoch in EPOCHS)
