"""What a JATS or NLM article states about its use: licence and holder.

Source: ANSI/NISO Z39.96 (JATS 1.3), `permissions`; NISO RP-22 (`ali:license_ref`).
Bound: `STATEMENTS_MAX` elements of each name are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from lxml import etree

from fonds.formats.listings.markup import text_of
from fonds.model.rights import STATEMENTS_MAX, StatedIn, Statement
from fonds.rights.licenses import (
    holder_stated,
    is_creative_commons,
    license_of_name,
    license_stated,
    rights_stated,
)

_HREF = "{http://www.w3.org/1999/xlink}href"
_LICENSE_REF = "{http://www.niso.org/schemas/ali/1.0/}license_ref"
_WHERE = StatedIn.ARTICLE


def article_rights(root: etree._Element) -> tuple[Statement, ...]:
    """Return the licences and holders that stand in the `permissions` of an article's own metadata."""
    meta = root.find("front/article-meta")
    if meta is None:
        return ()
    found: list[Statement] = []
    for place in (*meta.findall("permissions")[:STATEMENTS_MAX], meta):
        for element in place.findall("license")[:STATEMENTS_MAX]:
            found += _license(element)
        for element in place.findall(_LICENSE_REF)[:STATEMENTS_MAX]:
            found += license_stated(text_of(element), _WHERE, "license_ref")
        holders = [text_of(one) for one in place.findall("copyright-holder")[:STATEMENTS_MAX]]
        for holder in holders:
            found += holder_stated(holder, _WHERE, "copyright-holder")
        if not holders:
            for element in place.findall("copyright-statement")[:STATEMENTS_MAX]:
                found += rights_stated(text_of(element), _WHERE, "copyright-statement")
    return tuple(dict.fromkeys(found))[:STATEMENTS_MAX]


def _license(element: etree._Element) -> list[Statement]:
    """The licence an element links, the one its text links or names, or else its text."""
    address = element.get(_HREF) or next(_addresses(element), "")
    if address:
        return license_stated(address, _WHERE, "license")
    text = text_of(element)
    known = license_of_name(text)
    return license_stated(known or text, _WHERE, "license") if text.strip() else []


def _addresses(element: etree._Element) -> Iterator[str]:
    """Addresses within a licence: of its `license_ref`, then of links to Creative Commons."""
    yield from (text for one in element.iter(_LICENSE_REF) if (text := text_of(one).strip()))
    links = (
        one.get(_HREF) or "" for one in islice(element.iter("ext-link", "uri"), STATEMENTS_MAX)
    )
    yield from (link for link in links if is_creative_commons(link))
