"""Parse sitemaps: URL sets, indexes, news sitemaps and plain text, optionally gzipped.

Source: sitemaps.org protocol 0.9; Google's news sitemaps 0.9.
Limits: 50 MiB unpacked and at most 200 times the packed size. As in the protocol, 50,000 URLs of
each kind are kept; URLs of pages beyond that are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fonds.following.listings.dates import format_rfc2822
from fonds.following.listings.listing import (
    ENTRIES_MAX,
    FURTHER_MAX,
    Listing,
    build_listing,
    clean_title,
    clean_url,
)
from fonds.model.capture import RssEntry
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.text.coding import decode_body
from fonds.text.xml import free_element, get_local_name, get_text, has_entities, iter_elements

BODY_MAX_BYTES = 50 * 1024 * 1024
GZIP_MAGIC = b"\x1f\x8b"
_SKIPPED = frozenset({"image", "video", "link"})
_READ_ELEMENTS = frozenset({"loc", "publication_date", "title", "lastmod"})


def unpack_gzip(body: bytes) -> bytes:
    """Unpack a gzipped body; return any other body unchanged.

    Raises LimitError if the unpacked body is too large, and DamagedInputError if the gzip data is
    damaged.
    """
    if not body.startswith(GZIP_MAGIC):
        return body
    return decode_body(lambda: iter((body,)), ["gzip"], body_max_bytes=BODY_MAX_BYTES)


def read_sitemap(body: bytes, url: str) -> Listing:
    """Parse a sitemap or an index of sitemaps at `url`.

    Raises DamagedInputError if the body is neither.
    """
    try:
        return _read(body, url, repair=False)
    except DamagedInputError as error:
        if has_entities(body):
            raise
        listing = _read(body, url, repair=True)
        if not listing.entries and not listing.further_urls:
            raise
        fields: dict[str, Any] = {
            "further_urls": listing.further_urls,
            "change_times": listing.change_times,
            "problem": error.detail,
        }
        return replace(
            build_listing(listing.kind, listing.entries, **fields),
            omitted_count=listing.omitted_count,
        )


def _read(body: bytes, url: str, *, repair: bool) -> Listing:
    entries: list[RssEntry] = []
    further_urls: list[str] = []
    values: dict[str, str] = {}
    change_times: dict[str, str] = {}
    kind, omitted_count = "sitemap", 0
    for element in iter_elements(body, repair=repair):
        name = get_local_name(element)
        if name in _READ_ELEMENTS and values.setdefault(name, "") == "":
            parent = element.getparent()
            if parent is None or get_local_name(parent) not in _SKIPPED:
                values[name] = get_text(element)
        elif name == "url":
            if len(entries) < ENTRIES_MAX:
                entries.append(_build_entry(values, url))
                _set_change(change_times, entries[-1].link, values)
            else:
                omitted_count += 1
            values = {}
            free_element(element)
        elif name == "sitemap":
            sitemap_url = clean_url(values.get("loc"), url)
            if sitemap_url and len(further_urls) < FURTHER_MAX:
                further_urls.append(sitemap_url)
                _set_change(change_times, sitemap_url, values)
            values = {}
            free_element(element)
        elif name == "sitemapindex":
            kind = "sitemap-index"
    return replace(
        build_listing(kind, entries, further_urls=further_urls, change_times=change_times),
        omitted_count=omitted_count,
    )


def _set_change(change_times: dict[str, str], url: str | None, values: Mapping[str, str]) -> None:
    moment = format_rfc2822(values.get("lastmod"))
    if url and moment:
        change_times.setdefault(url, moment)


def _build_entry(attributes: dict[str, str], url: str) -> RssEntry:
    """Build the entry of a page in a sitemap.

    `lastmod` is not the page's publication date and is therefore not used.
    """
    return RssEntry(
        link=clean_url(attributes.get("loc"), url),
        title=clean_title(attributes.get("title")),
        pub_date=format_rfc2822(attributes.get("publication_date")),
        source_url=url or None,
    )


def read_text(body: bytes, url: str) -> Listing:
    """Parse a sitemap with one URL per line. Empty lines and lines that begin with `#` are skipped.

    Raises DamagedInputError if most lines are not URLs.
    """
    text = body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    lines = [
        stripped_line
        for line in text.splitlines()
        if (stripped_line := line.strip()) and stripped_line[0] != "#"
    ]
    url_lines = [line for line in lines if line.lower().startswith(("http://", "https://"))]
    if not url_lines or 2 * len(url_lines) < len(lines):
        raise DamagedInputError(Reason.BAD_LISTING, "some lines are not URLs")
    entries = [RssEntry(link=clean_url(line), source_url=url or None) for line in lines]
    return build_listing("url-list", entries)
