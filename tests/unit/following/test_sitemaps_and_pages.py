"""Sitemaps of every kind, pages of links, and their limits."""

from __future__ import annotations

import gzip

import pytest

from fixtures.feeds import ENTITY_BOMB, sitemap, sitemap_index
from fonds.following.listings import sitemap as reader
from fonds.following.listings.link_page import LINKS_MAX
from fonds.following.listings.reader import read_listing
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, LimitError

URL = "https://news.example.org/sitemap.xml"
LINKS = ["https://news.example.org/a?x=1&y=2", "https://news.example.org/b"]
NEWS = (
    "<news:news><news:publication><news:name>N</news:name><news:language>en</news:language>"
    "</news:publication><news:publication_date>2026-11-22T01:02:03+01:00</news:publication_date>"
    "<news:title>Flood &amp; fire</news:title></news:news><lastmod>2020-01-01</lastmod>"
)


def test_a_sitemap_lists_its_urls() -> None:
    listing = read_listing(sitemap(LINKS), URL)
    assert (listing.kind, [entry.link for entry in listing.entries]) == ("sitemap", LINKS)


def test_a_news_sitemap_gives_title_and_date_but_lastmod_is_no_date() -> None:
    news_sitemap, plain_sitemap = (
        sitemap(LINKS, NEWS),
        sitemap(LINKS, "<lastmod>2020-01-01</lastmod>"),
    )
    first = read_listing(news_sitemap, URL).entries[0]
    assert (first.title, first.pub_date) == ("Flood & fire", "Sun, 22 Nov 2026 00:02:03 +0000")
    assert read_listing(plain_sitemap, URL).entries[0].pub_date is None


def test_urls_of_images_and_videos_are_ignored() -> None:
    image = (
        '<i:image xmlns:i="http://www.google.com/schemas/sitemap-image/1.1">'
        "<i:loc>https://cdn.example/1.jpg</i:loc><i:title>Pic</i:title></i:image>"
    )
    body = sitemap(LINKS, image)
    assert [entry.link for entry in read_listing(body, URL).entries] == LINKS
    images_first = body.replace(b"<loc>", image.encode() + b"<loc>").replace(
        image.encode() + b"</url>", b"</url>"
    )
    assert [(entry.link, entry.title) for entry in read_listing(images_first, URL).entries] == [
        (link, None) for link in LINKS
    ]


def test_a_sitemap_index_lists_further_sitemaps() -> None:
    listing = read_listing(sitemap_index([*LINKS, "/c.xml"]), URL)
    assert (listing.kind, listing.entries) == ("sitemap-index", ())
    assert listing.further_urls == (*LINKS, "https://news.example.org/c.xml")


def test_gzip_is_recognized_by_content_not_by_name() -> None:
    assert len(read_listing(gzip.compress(sitemap(LINKS)), URL).entries) == 2


def test_a_decompression_bomb_is_rejected() -> None:
    with pytest.raises(LimitError) as raised:
        read_listing(gzip.compress(b" " * 60_000_000), URL)
    assert raised.value.reason in (Reason.BOMB, Reason.TOO_LARGE)


def test_damaged_gzip_is_rejected() -> None:
    packed = bytearray(gzip.compress(sitemap(LINKS)))
    packed[20:30] = bytes(10)
    with pytest.raises(DamagedInputError):
        read_listing(bytes(packed), URL)


def test_urls_over_the_protocol_limit_are_counted() -> None:
    body = sitemap(f"https://news.example.org/{number}" for number in range(50_003))
    listing = read_listing(body, URL)
    assert (len(listing.entries), listing.omitted_count) == (50_000, 3)


def test_a_broken_sitemap_returns_its_urls_and_the_problem() -> None:
    listing = read_listing(sitemap(LINKS).replace(b"&amp;", b"&").replace(b"</urlset>", b""), URL)
    assert len(listing.entries) == 2
    assert listing.problem


def test_a_namespace_with_a_brace_is_accepted() -> None:
    body = sitemap(LINKS).replace(b'xmlns="http', b'xmlns="h}ttp')
    assert b"h}ttp" in body
    assert [entry.link for entry in read_listing(body, URL).entries] == LINKS


def test_a_sitemap_with_entities_is_rejected() -> None:
    with pytest.raises(DamagedInputError, match="entities"):
        reader.read_sitemap(ENTITY_BOMB.replace(b"rss", b"urlset"), URL)


def test_a_text_file_of_urls_is_read_line_by_line() -> None:
    body = b"\xef\xbb\xbfhttps://a.example/1\r\n\r\n# remark\n  https://a.example/2  \n"
    listing = read_listing(body, URL)
    assert listing.kind == "url-list"
    assert [entry.link for entry in listing.entries] == [
        "https://a.example/1",
        "https://a.example/2",
    ]


PAGE = b"""<html><head><title>Front</title><base href="/news/">
<link rel="alternate" type="application/rss+xml" href="/feed.xml">
<link rel="alternate stylesheet" type="text/css" href="x.css"></head><body>
<a href="one"><img src=x></a><a href="one#part">One</a><a href="https://other.example/2">Two</a>
<a href="javascript:alert(1)">x</a><a href="mailto:a@b">m</a><a href="#top">t</a><a>none</a>
<a href="https://news.example.org/sitemap.xml">itself</a></body></html>"""


def test_a_page_lists_each_link_once_and_its_feeds() -> None:
    listing = read_listing(PAGE, URL)
    assert (listing.kind, listing.title) == ("page", "Front")
    assert [entry.link for entry in listing.entries] == [
        "https://news.example.org/news/one",
        "https://other.example/2",
    ]
    assert listing.further_urls == ("https://news.example.org/feed.xml",)


def test_a_page_of_many_links_is_cut() -> None:
    body = b"<html>" + b"".join(b'<a href="/%d">x</a>' % number for number in range(9_000))
    assert len(read_listing(body, URL).entries) == LINKS_MAX


def test_change_dates_of_sitemaps_and_indexes_are_stored_by_url() -> None:
    body = sitemap(["/1", "/2"], "<lastmod>2025-01-02</lastmod>")
    listing = read_listing(body, "https://a.example.org/sitemap.xml", None)
    day = "Thu, 02 Jan 2025 00:00:00 -0000"
    assert listing.change_times == {f"https://a.example.org/{n}": day for n in (1, 2)}
    assert {entry.pub_date for entry in listing.entries} == {None}
    index = sitemap_index(["/a.xml"]).replace(b"</loc>", b"</loc><lastmod>2025-01-02</lastmod>")
    assert read_listing(index, "https://a.example.org/", None).change_times == {
        "https://a.example.org/a.xml": day
    }
    broken = body.replace(b"<url>", b"<b><url>", 1)
    assert read_listing(broken, "https://a.example.org/", None).change_times == listing.change_times
