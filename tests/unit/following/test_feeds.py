"""Feeds of every version: their entries and hints, and how broken and hostile feeds are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from fixtures.feeds import (
    ENTITY_BOMB,
    atom,
    json_feed,
    leaking_feed,
    rdf,
    rss,
    rss_item,
    rss_with_links,
)
from fonds.following.listings.listing import (
    ENTRIES_MAX,
    TITLE_MAX_CHARS,
    URL_MAX_CHARS,
)
from fonds.following.listings.reader import read_listing
from fonds.following.listings.xml_feeds import (
    build_cloud_url,
    compute_update_s,
    parse_ttl_s,
)
from fonds.model.errors import DamagedInputError

URL = "https://news.example.org/feed.xml"
LINKS = [f"https://news.example.org/{number}" for number in range(3)]


def list_links(body: bytes, charset: str | None = None) -> list[str | None]:
    return [entry.link for entry in read_listing(body, URL, charset).entries]


@pytest.mark.parametrize("version", ["0.90", "0.91", "0.92", "0.93", "0.94", "2.0"])
def test_rss_of_every_version_is_read_strictly(version: str) -> None:
    listing = read_listing(rss(map(rss_item, LINKS), version=version), URL)
    assert (listing.kind, listing.title, listing.problem) == ("rss", "The paper", "")
    assert [entry.link for entry in listing.entries] == LINKS
    first = listing.entries[0]
    assert (first.title, first.pub_date) == ("A title", "Sun, 22 Nov 2026 01:02:03 +0000")
    assert first.source_url == URL


def test_a_doctype_without_entities_is_accepted() -> None:
    doctype = (
        b'<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://my.netscape.com/r.dtd">'
    )
    body = rss_with_links(LINKS).replace(b"<rss", doctype + b"<rss", 1)
    listing = read_listing(body, URL)
    assert (listing.problem, len(listing.entries)) == ("", 3)


def test_rdf_items_next_to_the_channel_are_read() -> None:
    listing = read_listing(rdf(LINKS), URL)
    assert listing.kind == "rdf"
    assert listing.entries[0].pub_date == "Sun, 22 Nov 2026 00:02:03 +0000"


def test_atom_prefers_the_html_page_among_alternate_links() -> None:
    entry = (
        '<link rel="alternate" type="application/json" href="/data"/><link href="/untyped"/>'
        '<link rel="alternate" type="text/html" href="/page"/><link rel="edit" href="/edit"/>'
        "<updated>2026-11-22T05:00:00Z</updated><published>2026-11-21T23:30:00-01:00</published>"
    )
    listing = read_listing(atom([entry]), URL)
    assert listing.entries[0].link == "https://news.example.org/page"
    assert listing.entries[0].pub_date == "Sun, 22 Nov 2026 00:30:00 +0000"


def test_relative_links_are_resolved_by_xml_base() -> None:
    entry = '<link href="story"/>'
    feed = atom([entry], attributes='xml:base="https://other.example.org/a/"')
    assert list_links(feed) == ["https://other.example.org/a/story"]
    assert list_links(atom([entry])) == ["https://news.example.org/story"]


@pytest.mark.parametrize(
    ("item", "link"),
    [
        ("<link>https://a.example/x</link><guid>https://a.example/g</guid>", "https://a.example/x"),
        ("<guid>https://a.example/g</guid>", "https://a.example/g"),
        ('<guid isPermaLink="false">https://a.example/g</guid>', None),
        ('<atom:link href="https://a.example/a"/>', "https://a.example/a"),
        (
            "<link>https://feedproxy.example/1</link>"
            "<feedburner:origLink>https://a.example/o</feedburner:origLink>",
            "https://a.example/o",
        ),
        ("<link>\n  https://a.example/\n  long \n</link>", "https://a.example/  long"),
        ('<link href="https://a.example/h"/>', "https://a.example/h"),
        ('<link rel="enclosure" href="https://a.example/h.mp3"/>', None),
        ("<title>nothing</title>", None),
    ],
)
def test_the_link_of_an_item_is_chosen_by_element(item: str, link: str | None) -> None:
    assert list_links(rss([f"<item>{item}</item>"])) == [link]


def test_the_hints_of_a_feed_are_read() -> None:
    head = (
        "<ttl>30</ttl><sy:updatePeriod> daily </sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>"
        '<cloud domain="cloud.example" port="80" path="/RPC2" registerProcedure="x" protocol="xml-rpc"/>'
        '<atom:link rel="hub" href="https://hub.example/"/><atom:link rel="self" href="/feed.xml"/>'
        '<atom:link rel="next" href="?page=2"/>'
    )
    listing = read_listing(rss_with_links(LINKS, head), URL)
    hints = listing.hints
    assert (hints.ttl_s, hints.update_s) == (1800, 21_600)
    assert (hints.hubs, hints.cloud) == (("https://hub.example/",), "http://cloud.example:80/RPC2")
    assert hints.self_url == URL
    assert listing.further_urls == (f"{URL}?page=2",)


@pytest.mark.parametrize("value", ["", "-5", "0", "soon", "٣", "1e9"])
def test_an_invalid_ttl_is_ignored(value: str) -> None:
    assert parse_ttl_s(value) is None
    assert compute_update_s(value, value) is None


def test_hints_are_limited() -> None:
    assert parse_ttl_s("9" * 50) == 365 * 86_400
    assert compute_update_s("hourly", "9" * 50) == 1
    assert build_cloud_url({"domain": "a.example/@evil", "path": "/"}) == ""


def test_json_feed_is_read_with_its_next_page_and_hubs() -> None:
    items = [
        {"id": "1", "url": "/a", "title": "A", "date_published": "2026-11-22T01:02:03Z"},
        {"id": "https://news.example.org/by-id"},
        {"id": "x", "external_url": "https://other.example/"},
        {"id": 5},
    ]
    listing = read_listing(
        json_feed(
            items, next_url="/feed?2", hubs=[{"type": "WebSub", "url": "https://h.example/"}]
        ),
        URL,
    )
    assert [entry.link for entry in listing.entries] == [
        "https://news.example.org/a",
        "https://news.example.org/by-id",
        "https://other.example/",
        None,
    ]
    assert listing.further_urls == ("https://news.example.org/feed?2",)
    assert listing.hints.hubs == ("https://h.example/",)


@pytest.mark.parametrize(
    "broken",
    [
        rss_with_links(LINKS).replace(b"</channel></rss>", b""),
        rss_with_links(LINKS).replace(b"A title", b"Cats & dogs&nbsp;"),
        b"\n\n  " + rss_with_links(LINKS),
        rss_with_links(LINKS).replace(b"A title", b"a\x08b"),
        rss_with_links(LINKS).replace(b"</pubDate>", b"</pubdate>", 1),
        rss_with_links(LINKS).replace(b"A title", "Ä".encode("latin-1")),
        b"<html><body>" + rss_with_links(LINKS)[38:],
    ],
    ids=["cut", "entities", "blanks first", "controls", "tags", "charset", "wrapped"],
)
def test_a_broken_feed_returns_its_entries_and_the_problem(broken: bytes) -> None:
    listing = read_listing(broken, URL)
    assert {entry.link for entry in listing.entries} >= set(LINKS[:2])
    assert listing.problem


def test_the_charset_of_the_server_applies_if_the_feed_declares_none() -> None:
    undeclared = rss([rss_item(LINKS[0], "Zürich")]).partition(b"?>")[2].decode().encode("latin-1")
    assert read_listing(undeclared, URL, "iso-8859-1").entries[0].title == "Zürich"
    declared = rss([rss_item(LINKS[0], "Zürich")])
    assert read_listing(declared, URL, "iso-8859-1").entries[0].title == "Zürich"
    assert read_listing(declared, URL, "no-such-charset").entries[0].title == "Zürich"


def test_a_feed_in_utf_16_is_read() -> None:
    text = rss([rss_item(LINKS[0], "Żółć")]).decode().replace('encoding="UTF-8"', "")
    assert read_listing(text.encode("utf-16"), URL).entries[0].title == "Żółć"


@pytest.mark.parametrize("coding", ["utf-8", "utf-16"])
def test_entities_are_never_expanded(coding: str) -> None:
    try:
        listing = read_listing(ENTITY_BOMB.decode().encode(coding), URL)
    except DamagedInputError:
        return
    assert all("hahaha" not in str(entry) for entry in listing.entries)


def test_external_entities_do_not_read_local_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of this machine")
    try:
        listing = read_listing(leaking_feed(str(secret)), URL)
    except DamagedInputError:
        return
    assert all("of this machine" not in str(entry) for entry in listing.entries)


def test_entries_over_the_limit_are_counted() -> None:
    listing = read_listing(rss("<item/>" for _ in range(ENTRIES_MAX + 7)), URL)
    assert (len(listing.entries), listing.omitted_count) == (ENTRIES_MAX, 7)


def test_very_long_texts_are_cut() -> None:
    listing = read_listing(
        rss([rss_item("https://a.example/" + "x" * 100_000, "t" * 100_000)]), URL
    )
    (entry,) = listing.entries
    assert len(entry.title or "") == TITLE_MAX_CHARS
    assert len(entry.link or "") == URL_MAX_CHARS + 1


@pytest.mark.parametrize(
    "body", [b"", b"   ", b"{}", b"{", b"<note/>", b"plain words", b"\x00\xff" * 50, b"<rss", b"["]
)
def test_a_body_that_is_no_listing_raises_with_a_message(body: bytes) -> None:
    with pytest.raises(DamagedInputError, match=r".{8,}"):
        read_listing(body, URL)


def test_deep_nesting_is_rejected_or_read_without_a_crash() -> None:
    body = b"<rss><channel>" + b"<a>" * 100_000 + b"</a>" * 100_000 + b"</channel></rss>"
    try:
        read_listing(body, URL)
    except DamagedInputError:
        return


def test_deeply_nested_json_is_rejected() -> None:
    with pytest.raises(DamagedInputError):
        read_listing(b'{"items": ' + b"[" * 100_000, URL)


@given(st.binary(max_size=300))
@settings(max_examples=examples(40))
def test_any_bytes_are_read_as_a_listing_or_rejected(body: bytes) -> None:
    for start in (b"", b"<rss><channel><item>", b"<urlset><url><loc>", b'{"items": [{"url":'):
        try:
            listing = read_listing(start + body, URL)
        except DamagedInputError:
            continue
        assert listing.kind


HISTORY = 'xmlns:fh="http://purl.org/syndication/history/1.0"'
NEXT = '<link rel="next" href="?page=2"/>'
ARCHIVE = f'{NEXT}<link rel="prev-archive" href="/archive/4"/>'


@pytest.mark.parametrize("markup", ["", "&nbsp;"])
@pytest.mark.parametrize(
    ("head", "older", "is_complete"),
    [
        (ARCHIVE, "https://a.example.org/archive/4", False),
        (NEXT, "https://a.example.org/feed?page=2", False),
        ("<fh:complete/>" + ARCHIVE, "", True),
        ('<link rel="previous" href="/newer"/>', "", False),
    ],
)
def test_the_older_page_of_a_feed_is_found_by_its_links(
    head: str, older: str, is_complete: bool, markup: str
) -> None:
    entry = f'<title>{markup}</title><link href="https://a.example.org/1"/>'
    listing = read_listing(atom([entry], head, HISTORY), "https://a.example.org/feed", None)
    assert (listing.older_url, listing.is_complete, bool(listing.problem)) == (
        older,
        is_complete,
        bool(markup),
    )


def test_rss_names_its_archive_by_atom_links_and_json_feed_by_next_url() -> None:
    head = '<atom:link rel="prev-archive" href="/4"/>'
    assert read_listing(rss([], head), "https://a.example.org/", None).older_url.endswith("/4")
    body = json_feed([], next_url="/4")
    assert read_listing(body, "https://a.example.org/", None).older_url == "https://a.example.org/4"
