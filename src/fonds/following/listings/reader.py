"""Detect the format of a listing from its content and parse it: feed, sitemap, URL list or page.

Limits: each parser has its own limits; a body over 50 MiB is refused unread.
"""

from __future__ import annotations

import re

from fonds.following.listings.json_feeds import read_json_feed
from fonds.following.listings.link_page import read_page
from fonds.following.listings.listing import Listing
from fonds.following.listings.rss_fetcher import is_rss_fetcher, read_rss_fetcher
from fonds.following.listings.sitemap import (
    BODY_MAX_BYTES,
    read_sitemap,
    read_text,
    unpack_gzip,
)
from fonds.following.listings.xml_feeds import read_strictly
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, LimitError
from fonds.text.xml import find_root_name

SITEMAP_ROOTS = frozenset({"urlset", "sitemapindex"})
_EMBEDDED_FEED = re.compile(rb"<(?:rss\s|rdf:RDF\s|feed\s[^>]{0,500}xmlns)", re.IGNORECASE)
"""Pattern for the start of a feed that is wrapped in an HTML page."""


def read_listing(body: bytes, url: str, charset: str | None = None) -> Listing:
    """Parse the response body of a source at `url`.

    `charset` is the charset that the server stated, or None. Raises DamagedInputError
    (`bad-listing`) if the body is not a listing, and LimitError if it is too large.
    """
    if len(body) > BODY_MAX_BYTES:
        raise LimitError(Reason.TOO_LARGE, f"more than {BODY_MAX_BYTES} bytes")
    body = unpack_gzip(body)
    start = body[:1024].removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if not start:
        raise DamagedInputError(Reason.BAD_LISTING, "an empty body")
    if start == b"{":
        return read_rss_fetcher(body, url) if is_rss_fetcher(body) else read_json_feed(body, url)
    name = find_root_name(body)
    if name in SITEMAP_ROOTS:
        return read_sitemap(body, url)
    if name == "html" and not _EMBEDDED_FEED.search(body[:4096]):
        return read_page(body, url, charset)
    if not name and b"<" not in body[:4096]:
        return read_text(body, url)
    return read_feed(body, url, charset)


def read_feed(body: bytes, url: str, charset: str | None = None) -> Listing:
    """Parse a feed strictly, and leniently if strict parsing fails.

    Raises DamagedInputError if both fail.
    """
    try:
        return read_strictly(body, url, charset)
    except DamagedInputError as error:
        # Imported here because feedparser is slow to import.
        from fonds.following.listings.xml_feeds import read_leniently

        return read_leniently(body, url, charset, error.detail)
