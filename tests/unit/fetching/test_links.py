"""Links: the same URL of the same input has one id, and encoding keeps every field."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.following.link_rules import build_link
from fonds.model.capture import RssEntry
from fonds.model.entry import LINK, Link, TlsCheck, build_link_entry
from fonds.model.errors import DamagedInputError
from fonds.model.message import Message
from fonds.pipelines.flavours.stages import LINKS
from fonds.queues.messages.envelope import decode, encode

ENTRY = RssEntry(
    link="https://news.example.org/a",
    title="Ä title",
    pub_date="Mon, 01 Jan 2024 10:00:00 GMT",
    source_feed_id=7,
    via="7@feeds.example.org",
)


def test_the_same_url_of_the_same_input_has_the_same_id() -> None:
    first = build_link("https://news.example.org/a", "poll1", ENTRY)
    second = build_link(" https://news.example.org/a#part\n", "poll1")
    assert second.id == first.id


def test_another_url_or_input_has_another_id() -> None:
    ids = [
        build_link(url, poll).id
        for poll in ("poll1", "poll2")
        for url in ("https://news.example.org/a", "https://news.example.org/A")
    ]
    assert len(set(ids)) == 4


def test_links_of_one_domain_share_an_order_key_and_blogs_on_a_shared_host_do_not() -> None:
    def get_order_key(url: str) -> str:
        return build_link(url, "poll").order_key

    assert (
        get_order_key("https://www.news.co.uk/a")
        == get_order_key("http://sport.news.co.uk:8080/b")
        == "news.co.uk"
    )
    assert get_order_key("https://a.blogspot.com/") != get_order_key("https://b.blogspot.com/")


def test_a_link_without_a_feed_entry_gets_one_with_its_url() -> None:
    assert build_link("https://news.example.org/a", "poll").rss_entry.link == (
        "https://news.example.org/a"
    )
    assert build_link("https://other.example.org/", "poll", ENTRY).rss_entry is ENTRY


def test_a_link_is_an_entry_without_time_and_place() -> None:
    link = build_link("https://news.example.org/a", "poll", collection="news")
    entry = build_link_entry(link)
    assert (entry.id, entry.input_id, entry.kind, entry.url, entry.collection) == (
        link.id,
        "poll",
        LINK,
        "https://news.example.org/a",
        "news",
    )
    assert entry.item is link
    assert entry.seen_datetime14 is None
    assert entry.place is None


@given(url=st.text(), input_id=st.text(min_size=1))
def test_any_text_is_a_link_with_an_id(url: str, input_id: str) -> None:
    link = build_link(url, input_id)
    assert link.id.startswith(f"{input_id}-")
    assert build_link(url, input_id) == link


@pytest.mark.parametrize("tls", TlsCheck)
def test_an_encoded_link_keeps_every_field(tls: TlsCheck) -> None:
    moment = datetime(2026, 11, 22, 1, 2, 3, 456789, tzinfo=UTC)
    link = build_link("https://news.example.org/a", "poll", ENTRY, found_at=moment, tls=tls)
    assert decode(Message(link.id, encode(link)), LINKS.payload) == link


def test_a_message_that_is_no_link_raises() -> None:
    with pytest.raises(DamagedInputError, match="not a Link"):
        decode(Message("a", b'{"url": 5}'), Link)
