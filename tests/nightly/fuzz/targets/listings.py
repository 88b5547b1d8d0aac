"""Listings: feeds, sitemaps, pages and tables are read within limits or refused with a reason."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from email.utils import parsedate_to_datetime

from fixtures.feeds import (
    ENTITY_BOMB,
    api_rows,
    atom,
    daily_rss,
    json_feed,
    rdf,
    rss_with_links,
    sitemap,
    sitemap_index,
)
from fonds.following.listings.csv_tables import (
    detect_header,
    parse_historical_row,
    parse_url_row,
    split_fields,
)
from fonds.following.listings.listing import (
    ENTRIES_MAX,
    TITLE_MAX_CHARS,
    URL_MAX_CHARS,
)
from fonds.following.listings.opml import read_opml
from fonds.following.listings.reader import read_listing
from fonds.following.listings.whole_day_rss import read_rss_day, read_rss_piece
from fonds.model.capture import RssEntry
from fonds.model.errors import PermanentError
from nightly.fuzz.guarantees import require

URL = "https://news.example.org/list"
LINKS = [f"https://news.example.org/{number}" for number in range(3)]


def check(data: bytes) -> None:
    """Read the data in all formats of listings."""
    try:
        listing = read_listing(data, URL)
    except PermanentError as error:
        require(bool(error.detail), "refused data has a reason", error)
    else:
        require(
            len(listing.entries) <= ENTRIES_MAX, "a listing keeps its limit", len(listing.entries)
        )
        for entry in listing.entries:
            _check_entry(entry)
    for item in read_rss_day(io.BytesIO(data), "day", None, read_rss_piece):
        require((item.entry is None) == bool(item.problem), "an item is read or refused", item)
        _check_entry(item.entry or RssEntry())
    _check_tables(data)
    try:
        read_opml(data)
    except PermanentError as error:
        require(bool(error.detail), "refused data has a reason", error)


def _check_entry(entry: RssEntry) -> None:
    require(len(entry.link or "") <= URL_MAX_CHARS + 1, "an address keeps its limit", entry)
    require(len(entry.title or "") <= TITLE_MAX_CHARS, "a title keeps its limit", entry)
    require(entry.link is None or bool(entry.link), "an address is None or not empty", entry)
    if entry.pub_date is not None:
        parsedate_to_datetime(entry.pub_date)


def _check_tables(data: bytes) -> None:
    header = None
    for line in data.decode("utf-8", "replace").splitlines()[:50]:
        try:
            fields = split_fields(line)
            header = header or detect_header(fields)
            _check_entry(parse_url_row(header, fields, "x.csv", None))
            require(
                parse_historical_row(header, fields, "x.csv", None).downloads_id >= 0,
                "an id is not negative",
            )
        except ValueError as error:
            require(bool(str(error)), "a refused line has a reason", line)


def seeds() -> Iterator[bytes]:
    """Yield a listing of each format."""
    yield rss_with_links(LINKS)
    yield rdf(LINKS)
    yield atom(['<link href="/a"/><updated>2026-11-22T01:02:03Z</updated>'])
    yield json_feed([{"id": "1", "url": LINKS[0], "date_published": "2026-11-22"}])
    yield sitemap(LINKS)
    yield gzip.compress(sitemap_index(LINKS))
    yield "\n".join(LINKS).encode()
    yield b"<html><a href='/a'>A</a><link rel=alternate type=application/rss+xml href=/f></html>"
    yield api_rows(1, 2)
    yield daily_rss(LINKS)
    yield b"url,title,pub_date\n" + LINKS[0].encode() + b',"A, b",2026-11-22\n'
    yield b"collect_date,downloads_id,url\n2021-10-01 01:02:03,3211617605,https://a.example/"
    yield b'<opml version="2.0"><body><outline xmlUrl="https://a.example/"/></body></opml>'
    yield ENTITY_BOMB
