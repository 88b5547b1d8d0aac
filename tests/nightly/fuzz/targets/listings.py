"""Listings: feeds, sitemaps, pages, tables; what comes is read within its limits or refused with words."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from email.utils import parsedate_to_datetime

from fixtures.feeds import (
    BOMB,
    api_rows,
    atom,
    json_feed,
    rdf,
    rss_of,
    sitemap,
    sitemap_index,
    whole_day,
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
from fonds.following.listings.whole_day_rss import read_rss_day
from fonds.model.capture import RssEntry
from fonds.model.errors import PermanentError
from nightly.fuzz.guarantees import holds

URL = "https://news.example.org/list"
LINKS = [f"https://news.example.org/{number}" for number in range(3)]


def check(data: bytes) -> None:
    """Read as everything that lists links."""
    try:
        listing = read_listing(data, URL)
    except PermanentError as error:
        holds(bool(error.detail), "what is refused has words", error)
    else:
        holds(len(listing.entries) <= ENTRIES_MAX, "a listing has bounds", len(listing.entries))
        for entry in listing.entries:
            _check_entry(entry)
    for item in read_rss_day(io.BytesIO(data), "day"):
        holds((item.entry is None) == bool(item.problem), "an item is read or refused", item)
        _check_entry(item.entry or RssEntry())
    _check_tables(data)
    try:
        read_opml(data)
    except PermanentError as error:
        holds(bool(error.detail), "what is refused has words", error)


def _check_entry(entry: RssEntry) -> None:
    holds(len(entry.link or "") <= URL_MAX_CHARS + 1, "an address has bounds", entry)
    holds(len(entry.title or "") <= TITLE_MAX_CHARS, "a title has bounds", entry)
    holds(entry.link is None or bool(entry.link), "an address is none or something", entry)
    if entry.pub_date is not None:
        parsedate_to_datetime(entry.pub_date)


def _check_tables(data: bytes) -> None:
    header = None
    for line in data.decode("utf-8", "replace").splitlines()[:50]:
        try:
            fields = split_fields(line)
            header = header or detect_header(fields)
            _check_entry(parse_url_row(header, fields, "x.csv", None))
            holds(
                parse_historical_row(header, fields, "x.csv", None).downloads_id >= 0,
                "an id is one",
            )
        except ValueError as error:
            holds(bool(str(error)), "a line that is refused has words", line)


def seeds() -> Iterator[bytes]:
    """One of each format."""
    yield rss_of(LINKS)
    yield rdf(LINKS)
    yield atom(['<link href="/a"/><updated>2026-11-22T01:02:03Z</updated>'])
    yield json_feed([{"id": "1", "url": LINKS[0], "date_published": "2026-11-22"}])
    yield sitemap(LINKS)
    yield gzip.compress(sitemap_index(LINKS))
    yield "\n".join(LINKS).encode()
    yield b"<html><a href='/a'>A</a><link rel=alternate type=application/rss+xml href=/f></html>"
    yield api_rows(1, 2)
    yield whole_day(LINKS)
    yield b"url,title,pub_date\n" + LINKS[0].encode() + b',"A, b",2026-11-22\n'
    yield b"collect_date,downloads_id,url\n2021-10-01 01:02:03,3211617605,https://a.example/"
    yield b'<opml version="2.0"><body><outline xmlUrl="https://a.example/"/></body></opml>'
    yield BOMB
