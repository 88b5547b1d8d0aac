"""Every feed and sitemap of the corpus beside feedparser: what differs is one of the differences we mean.

docs/feeds.md says which these are and why.
"""

from __future__ import annotations

import io
import time
from calendar import timegm
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import feedparser
import pytest

from fonds.following.listings.dates import read_moment
from fonds.following.listings.listing import Listing, clean_title
from fonds.following.listings.reader import read_listing
from fonds.model.capture import RssEntry
from fonds.model.errors import PermanentError

CORPUS = Path(__file__).parents[3].parent / "shared" / "corpus"
FEEDS = CORPUS / "feeds"
URL = "http://example.com/feed"

pytestmark = [
    pytest.mark.skipif(not FEEDS.is_dir(), reason=f"no feeds in {CORPUS}"),
]


def read_all() -> Iterator[tuple[str, bytes, Listing | str]]:
    for path in sorted(one for one in FEEDS.rglob("*") if one.is_file()):
        body = path.read_bytes()
        try:
            found: Listing | str = read_listing(body, URL)
        except PermanentError as error:
            found = error.detail
        yield str(path.relative_to(FEEDS)), body, found


def theirs(body: bytes) -> list[Mapping[str, Any]]:
    parsed = feedparser.parse(io.BytesIO(body), response_headers={"content-location": URL})
    return list(parsed.entries)


NAMED = {
    "atom10/entry_id_no_normalization_4.xml": "link: an address in the letters it was written in",
    "node_precedence/atom10_id.xml": "link: an id that is no address",
    "rss/item_guid_isPermaLink_ValueError.xml": "link: one that is no address is told as it stands",
    "entry_link_rel_enclosure_no_href.xml": "link: the page rather than an enclosure",
    "entry_link_no_href_link_priority.xml": "link: the page rather than an enclosure",
    "rdf_item_links.xml": "link: the first of several rather than the last",
    "rss_channel_item_links.xml": "link: the first of several rather than the last",
    "rss_channel_item_uri_at_protocol.xml": "link: the first of several rather than the last",
}
"""Single files whose difference was looked at, by the end of their name."""


def named(path: str) -> str | None:
    return next((told for end, told in NAMED.items() if path.endswith(end)), None)


def difference(path: str, their: Mapping[str, Any], our: RssEntry) -> Iterator[str]:
    """What is told differently, and why that is meant; 'unexplained' where nothing says so."""
    link = their.get("link") or None
    if link != our.link:
        if told := named(path):
            yield told
            return
        if our.link and our.link == their.get("feedburner_origlink"):
            yield "link: the address before feedburner's"
        elif our.link is None and link == their.get("id"):
            yield "link: an id that is no address"
        else:
            yield f"unexplained link: {link} {our.link}"
    title = " ".join(str(their.get("title") or "").split()) or None
    if title != our.title:
        same = clean_title(title) == our.title or clean_title(clean_title(title)) == our.title
        yield "title: markup and entities" if same else "title: scripts and codings"
    yield from _date_difference(their, our)


def _date_difference(their: Mapping[str, Any], our: RssEntry) -> Iterator[str]:
    stored = dict(their.items())
    parsed = [stored.get(f"{name}_parsed") for name in ("published", "created", "updated")]
    times = [timegm(one) for one in parsed if one]
    moment, _ = read_moment(our.pub_date)
    ours = int(moment.timestamp()) if moment else None
    if ours == (times[0] if times else None):
        return
    if not times:
        yield "date: one that feedparser does not read"
    elif len(times) > 1 and ours in times:
        yield "date: another of those the entry has"
    elif ours is not None:
        yield "date: the first of several of one name"
    else:
        yield f"unexplained date: {times} {our.pub_date}"


def test_entries_of_every_feed_are_feedparsers_or_differ_as_they_should() -> None:
    counts: Counter[str] = Counter()
    unexplained = []
    for name, body, found in read_all():
        if isinstance(found, str) or found.kind not in ("rss", "rdf", "atom"):
            continue
        entries = theirs(body)
        counts["feeds, strictly" if not found.problem else "feeds, leniently"] += 1
        if len(entries) != len(found.entries):
            unexplained.append(f"{name}: {len(entries)} and {len(found.entries)} entries")
            continue
        counts["entries"] += len(entries)
        for their, our in zip(entries, found.entries, strict=True):
            for told in difference(name, their, our):
                counts[told.partition(" link:")[0] if told.startswith("unex") else told] += 1
                if told.startswith("unexplained"):
                    unexplained.append(f"{name}: {told}")
    print("\n" + "\n".join(f"{count:6} {told}" for told, count in counts.most_common()))
    assert counts["entries"] > 1_500
    assert unexplained == []


def test_nothing_of_the_corpus_takes_long_or_is_refused_without_words() -> None:
    kinds: Counter[str] = Counter()
    began = time.process_time()
    for _, _, found in read_all():
        kinds[found.kind if isinstance(found, Listing) else "refused"] += 1
        assert not isinstance(found, str) or len(found) > 8
    seconds = time.process_time() - began
    print(f"\n{sum(kinds.values())} files, {seconds:.1f} s of CPU: {dict(kinds.most_common())}")
    assert kinds["sitemap"] + kinds["sitemap-index"] >= 28


def test_a_feed_of_feedparser_is_refused_only_where_it_finds_no_entry() -> None:
    lost = [
        name
        for name, body, found in read_all()
        if isinstance(found, str) and name.endswith((".xml", ".rss", ".atom")) and theirs(body)
    ]
    assert lost == []
