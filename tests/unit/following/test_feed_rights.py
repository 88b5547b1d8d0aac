"""What feeds state about the use of their entries, in well-formed and broken feeds."""

from __future__ import annotations

import pytest

from fonds.following.listings.feed_rights import STATED_MAX
from fonds.following.listings.listing import Listing
from fonds.following.listings.xml_feeds import (
    read_leniently,
    read_strictly,
)

URL = "https://news.example/feed"
CC = "http://creativecommons.org/licenses/by-nc/4.0/"
RSS = (
    '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    ' xmlns:creativeCommons="http://backend.userland.com/creativeCommonsRssModule">'
    "<channel><title>News</title><copyright>© 2024 The Basin Courier</copyright>"
    f"<item><link>https://news.example/1</link><creativeCommons:license>{CC}</creativeCommons:license></item>"
    "<item><link>https://news.example/2</link><dc:rights>© Ada Stroom</dc:rights></item>"
    "<item><link>https://news.example/3</link></item></channel></rss>"
)
ATOM = (
    '<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><rights>All rights reserved</rights>'
    '<entry><link href="https://news.example/1"/>'
    f'<link rel="license" href="{CC}"/><rights>© Us</rights></entry></feed>'
)


def list_rights(listing: Listing) -> list[list[tuple[str, str, str]]]:
    return [
        [(str(right.subject), right.value, str(right.stated_in)) for right in entry.rights]
        for entry in listing.entries
    ]


FEED = ("holder", "The Basin Courier", "feed")


@pytest.mark.parametrize("read", [read_strictly, read_leniently])
def test_an_entry_states_its_own_rights_before_those_of_its_feed(read) -> None:  # type: ignore[no-untyped-def]
    assert list_rights(read(RSS.encode(), URL)) == [
        [("license", "cc-by-nc-4.0", "entry of the feed"), FEED],
        [("holder", "Ada Stroom", "entry of the feed"), FEED],
        [FEED],
    ]
    (entry,) = list_rights(read(ATOM.encode(), URL))
    assert set(entry) == {
        ("license", "cc-by-nc-4.0", "entry of the feed"),
        ("holder", "Us", "entry of the feed"),
        ("license", "all rights reserved", "feed"),
    }


def test_many_statements_of_an_entry_are_cut() -> None:
    statements = "".join(f"<copyright>© Holder {number}</copyright>" for number in range(1_000))
    feed = RSS.replace("<dc:rights>© Ada Stroom</dc:rights>", statements)
    assert len(read_strictly(feed.encode(), URL).entries[1].rights) == STATED_MAX + 1
