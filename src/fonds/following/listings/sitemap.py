"""Sitemaps: sets of addresses, indexes of sitemaps, Google News', plain text; packed with gzip or not.

Source: sitemaps.org protocol 0.9; Google's news sitemaps 0.9.
Bound: 50 MiB unpacked, at most 200 times its size; 50,000 addresses of each kind are kept, as the protocol
has it, and those beyond are counted.
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
from fonds.text.xml import free_element, get_local_name, get_text, iter_elements

BODY_MAX_BYTES = 50 * 1024 * 1024
GZIP_MAGIC = b"\x1f\x8b"
_SKIPPED = frozenset({"image", "video", "link"})
_READ_ELEMENTS = frozenset({"loc", "publication_date", "title", "lastmod"})


def unpack_gzip(body: bytes) -> bytes:
    """The body without gzip, if it is packed. Raises LimitError and DamagedInputError."""
    if not body.startswith(GZIP_MAGIC):
        return body
    return decode_body(lambda: iter((body,)), ["gzip"], body_max_bytes=BODY_MAX_BYTES)


def read_sitemap(body: bytes, url: str) -> Listing:
    """A set of addresses or an index of sitemaps at `url`. Raises DamagedInputError for anything else."""
    try:
        return _read(body, url, repair=False)
    except DamagedInputError as error:
        if "entities" in error.detail:
            raise
        found = _read(body, url, repair=True)
        if not found.entries and not found.further:
            raise
        told: dict[str, Any] = {
            "further": found.further,
            "changed": found.changed,
            "problem": error.detail,
        }
        return replace(build_listing(found.kind, found.entries, **told), cut=found.cut)


def _read(body: bytes, url: str, *, repair: bool) -> Listing:
    entries: list[RssEntry] = []
    further: list[str] = []
    told: dict[str, str] = {}
    changed: dict[str, str] = {}
    kind, beyond = "sitemap", 0
    for element in iter_elements(body, repair=repair):
        name = get_local_name(element)
        if name in _READ_ELEMENTS and told.setdefault(name, "") == "":
            above = element.getparent()
            if above is None or get_local_name(above) not in _SKIPPED:
                told[name] = get_text(element)
        elif name == "url":
            if len(entries) < ENTRIES_MAX:
                entries.append(_build_entry(told, url))
                _set_change(changed, entries[-1].link, told)
            else:
                beyond += 1
            told = {}
            free_element(element)
        elif name == "sitemap":
            address = clean_url(told.get("loc"), url)
            if address and len(further) < FURTHER_MAX:
                further.append(address)
                _set_change(changed, address, told)
            told = {}
            free_element(element)
        elif name == "sitemapindex":
            kind = "sitemap-index"
    return replace(build_listing(kind, entries, further=further, changed=changed), cut=beyond)


def _set_change(changed: dict[str, str], address: str | None, values: Mapping[str, str]) -> None:
    moment = format_rfc2822(values.get("lastmod"))
    if address and moment:
        changed.setdefault(address, moment)


def _build_entry(attributes: dict[str, str], url: str) -> RssEntry:
    """`lastmod` is when a page changed, and no day of publication: it is left where it stands."""
    return RssEntry(
        link=clean_url(attributes.get("loc"), url),
        title=clean_title(attributes.get("title")),
        pub_date=format_rfc2822(attributes.get("publication_date")),
        source_url=url or None,
    )


def read_text(body: bytes, url: str) -> Listing:
    """A sitemap of one address a line; empty lines and those that begin with `#` are none.

    Raises DamagedInputError for lines that are mostly no addresses.
    """
    text = body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    lines = [bare for line in text.splitlines() if (bare := line.strip()) and bare[0] != "#"]
    good = [line for line in lines if line.lower().startswith(("http://", "https://"))]
    if not good or 2 * len(good) < len(lines):
        raise DamagedInputError(Reason.BAD_LISTING, "lines that are no addresses")
    entries = [RssEntry(link=clean_url(line), source_url=url or None) for line in lines]
    return build_listing("url-list", entries)
