"""Parse the links of an HTML page, such as a front page or section, and the feeds that it names.

Source: HTML, sections 4.6 (links) and 4.2.3 (`base`); RSS autodiscovery.

Limits: linear time; at most 5,000 links and 50 feeds of a page are kept.
"""

from __future__ import annotations

import lxml.html
from lxml import etree

from fonds.following.listings.listing import (
    Listing,
    build_listing,
    clean_title,
    clean_url,
)
from fonds.model.capture import RssEntry
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.text.xml import get_text

LINKS_MAX = 5_000
FEEDS_MAX = 50
FEED_TYPES = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"}
)
_SKIPPED_PREFIXES = ("javascript:", "mailto:", "tel:", "data:", "#")


def read_page(body: bytes, url: str, charset: str | None = None) -> Listing:
    """Return the distinct links of an HTML page in page order, as a listing.

    `further` of the listing has the URLs of the feeds that the page names. Fragments of links, and
    links to the page itself, are omitted. Raises DamagedInputError if the body is not HTML.
    """
    tree = _parse(body, charset)
    base = _find_base(tree, url)
    entries: dict[str, RssEntry] = {url.partition("#")[0]: RssEntry()}
    own_count = len(entries)
    for anchor in tree.iter("a", "area"):
        href = anchor.get("href", "").strip()
        if (
            not href
            or href.lower().startswith(_SKIPPED_PREFIXES)
            or len(entries) >= LINKS_MAX + own_count
        ):
            continue
        link = (clean_url(href, base) or "").partition("#")[0]
        entry = RssEntry(link=link, title=clean_title(get_text(anchor)), source_url=url or None)
        if link and (link not in entries or not entries[link].title):
            entries.setdefault(link, entry)
    return build_listing(
        "page",
        list(entries.values())[own_count:],
        title=tree.findtext(".//title"),
        further_urls=_find_feeds(tree, base),
    )


def _parse(body: bytes, charset: str | None) -> lxml.html.HtmlElement:
    try:
        parser = lxml.html.HTMLParser(encoding=charset, no_network=True, huge_tree=False)
    except LookupError:
        parser = lxml.html.HTMLParser(no_network=True, huge_tree=False)
    try:
        tree = lxml.html.document_fromstring(body, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError, AssertionError) as error:
        raise DamagedInputError(Reason.BAD_LISTING, f"not a page: {error}") from error
    return tree


def _find_base(tree: lxml.html.HtmlElement, url: str) -> str:
    base_href = next(
        (element.get("href") for element in tree.iter("base") if element.get("href")), None
    )
    return clean_url(base_href, url) or url


def _find_feeds(tree: lxml.html.HtmlElement, base: str) -> list[str]:
    hrefs = [
        clean_url(element.get("href"), base)
        for element in tree.iter("link")
        if (element.get("type") or "").partition(";")[0].strip().lower() in FEED_TYPES
        and "alternate" in (element.get("rel") or "").lower().split()
    ]
    return list(dict.fromkeys(href for href in hrefs if href))[:FEEDS_MAX]
