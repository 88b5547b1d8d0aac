"""Every feed and sitemap of the corpus, compared with feedparser: only intended differences occur.

`docs/feeds.md` lists and explains these differences.
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
    for path in sorted(path for path in FEEDS.rglob("*") if path.is_file()):
        body = path.read_bytes()
        try:
            listing: Listing | str = read_listing(body, URL)
        except PermanentError as error:
            listing = error.detail
        yield str(path.relative_to(FEEDS)), body, listing


def read_with_feedparser(body: bytes) -> list[Mapping[str, Any]]:
    parsed = feedparser.parse(io.BytesIO(body), response_headers={"content-location": URL})
    return list(parsed.entries)


EXPECTED_DIFFERENCES = {
    "atom10/entry_id_no_normalization_4.xml": "link: an address with its original case",
    "node_precedence/atom10_id.xml": "link: an id that is no address",
    "rss/item_guid_isPermaLink_ValueError.xml": "link: an invalid address is kept unchanged",
    "entry_link_rel_enclosure_no_href.xml": "link: the page rather than an enclosure",
    "entry_link_no_href_link_priority.xml": "link: the page rather than an enclosure",
    "rdf_item_links.xml": "link: the first of several rather than the last",
    "rss_channel_item_links.xml": "link: the first of several rather than the last",
    "rss_channel_item_uri_at_protocol.xml": "link: the first of several rather than the last",
}
"""Expected differences of single files, by the end of their names."""


def find_reason(path: str) -> str | None:
    return next(
        (reason for end, reason in EXPECTED_DIFFERENCES.items() if path.endswith(end)), None
    )


def find_differences(path: str, peer: Mapping[str, Any], entry: RssEntry) -> Iterator[str]:
    """Yield the differences of an entry with their reasons; others begin with 'unexplained'."""
    link = peer.get("link") or None
    if link != entry.link:
        if reason := find_reason(path):
            yield reason
            return
        if entry.link and entry.link == peer.get("feedburner_origlink"):
            yield "link: the address before feedburner's"
        elif entry.link is None and link == peer.get("id"):
            yield "link: an id that is no address"
        else:
            yield f"unexplained link: {link} {entry.link}"
    title = " ".join(str(peer.get("title") or "").split()) or None
    if title != entry.title:
        is_equal = (
            clean_title(title) == entry.title or clean_title(clean_title(title)) == entry.title
        )
        yield "title: markup and entities" if is_equal else "title: scripts and codings"
    yield from _find_date_differences(peer, entry)


def _find_date_differences(peer: Mapping[str, Any], entry: RssEntry) -> Iterator[str]:
    stored = dict(peer.items())
    parsed = [stored.get(f"{name}_parsed") for name in ("published", "created", "updated")]
    times = [timegm(parsed_time) for parsed_time in parsed if parsed_time]
    moment, _ = read_moment(entry.pub_date)
    time = int(moment.timestamp()) if moment else None
    if time == (times[0] if times else None):
        return
    if not times:
        yield "date: not read by feedparser"
    elif len(times) > 1 and time in times:
        yield "date: another date of the entry"
    elif time is not None:
        yield "date: the first of several with one name"
    else:
        yield f"unexplained date: {times} {entry.pub_date}"


def test_entries_equal_those_of_feedparser_except_for_known_differences() -> None:
    counts: Counter[str] = Counter()
    unexplained = []
    for name, body, listing in read_all():
        if isinstance(listing, str) or listing.kind not in ("rss", "rdf", "atom"):
            continue
        entries = read_with_feedparser(body)
        counts["feeds, strictly" if not listing.problem else "feeds, leniently"] += 1
        if len(entries) != len(listing.entries):
            unexplained.append(f"{name}: {len(entries)} and {len(listing.entries)} entries")
            continue
        counts["entries"] += len(entries)
        for peer, entry in zip(entries, listing.entries, strict=True):
            for difference in find_differences(name, peer, entry):
                is_unexplained = difference.startswith("unexplained")
                counts[difference.partition(" link:")[0] if is_unexplained else difference] += 1
                if is_unexplained:
                    unexplained.append(f"{name}: {difference}")
    print("\n" + "\n".join(f"{count:6} {label}" for label, count in counts.most_common()))
    assert counts["entries"] > 1_500
    assert unexplained == []


def test_all_files_of_the_corpus_are_read_or_refused_with_a_reason() -> None:
    kinds: Counter[str] = Counter()
    began = time.process_time()
    for _, _, listing in read_all():
        kinds[listing.kind if isinstance(listing, Listing) else "refused"] += 1
        assert not isinstance(listing, str) or len(listing) > 8
    seconds = time.process_time() - began
    print(f"\n{sum(kinds.values())} files, {seconds:.1f} s of CPU: {dict(kinds.most_common())}")
    assert kinds["sitemap"] + kinds["sitemap-index"] >= 28


def test_feeds_with_entries_in_feedparser_are_not_refused() -> None:
    lost = [
        name
        for name, body, listing in read_all()
        if isinstance(listing, str)
        and name.endswith((".xml", ".rss", ".atom"))
        and read_with_feedparser(body)
    ]
    assert lost == []
