"""Sitemaps: sets of addresses, indexes of sitemaps, Google News', plain text; packed with gzip or not.

Source: sitemaps.org protocol 0.9; Google's news sitemaps 0.9.
Bound: 50 MiB unpacked, at most 200 times its size; 50,000 addresses of each kind are kept, as the protocol
has it, and those beyond are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fonds.formats.coding import decode_body
from fonds.formats.listings.dates import rfc2822
from fonds.formats.listings.listing import (
    ENTRIES_MAX,
    FURTHER_MAX,
    Listing,
    clean_title,
    clean_url,
    listing,
)
from fonds.formats.listings.markup import elements, let_go, local_name, text_of
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.model.rss_entry import RssEntry

BODY_MAX_BYTES = 50 * 1024 * 1024
GZIP_MAGIC = b"\x1f\x8b"
_SKIPPED = frozenset({"image", "video", "link"})
_WITHIN = frozenset({"loc", "publication_date", "title", "lastmod"})


def unpack(body: bytes) -> bytes:
    """The body without gzip, if it is packed. Raises LimitError and DamagedInputError."""
    if not body.startswith(GZIP_MAGIC):
        return body
    return decode_body(lambda: iter((body,)), ["gzip"], body_max_bytes=BODY_MAX_BYTES)


def read_sitemap(body: bytes, url: str) -> Listing:
    """A set of addresses or an index of sitemaps at `url`. Raises DamagedInputError for anything else."""
    try:
        return _read(body, url, mend=False)
    except DamagedInputError as error:
        if "entities" in error.detail:
            raise
        found = _read(body, url, mend=True)
        if not found.entries and not found.further:
            raise
        told: dict[str, Any] = {
            "further": found.further,
            "changed": found.changed,
            "problem": error.detail,
        }
        return replace(listing(found.kind, found.entries, **told), cut=found.cut)


def _read(body: bytes, url: str, *, mend: bool) -> Listing:
    entries: list[RssEntry] = []
    further: list[str] = []
    told: dict[str, str] = {}
    changed: dict[str, str] = {}
    kind, beyond = "sitemap", 0
    for element in elements(body, mend=mend):
        name = local_name(element)
        if name in _WITHIN and told.setdefault(name, "") == "":
            above = element.getparent()
            if above is None or local_name(above) not in _SKIPPED:
                told[name] = text_of(element)
        elif name == "url":
            if len(entries) < ENTRIES_MAX:
                entries.append(_entry(told, url))
                _note_change(changed, entries[-1].link, told)
            else:
                beyond += 1
            told = {}
            let_go(element)
        elif name == "sitemap":
            address = clean_url(told.get("loc"), url)
            if address and len(further) < FURTHER_MAX:
                further.append(address)
                _note_change(changed, address, told)
            told = {}
            let_go(element)
        elif name == "sitemapindex":
            kind = "sitemap-index"
    return replace(listing(kind, entries, further=further, changed=changed), cut=beyond)


def _note_change(changed: dict[str, str], address: str | None, told: Mapping[str, str]) -> None:
    moment = rfc2822(told.get("lastmod"))
    if address and moment:
        changed.setdefault(address, moment)


def _entry(told: dict[str, str], url: str) -> RssEntry:
    """`lastmod` is when a page changed, and no day of publication: it is left where it stands."""
    return RssEntry(
        link=clean_url(told.get("loc"), url),
        title=clean_title(told.get("title")),
        pub_date=rfc2822(told.get("publication_date")),
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
    return listing("url-list", entries)
