"""What a JATS or NLM article states about its use: licence and holder.

Source: ANSI/NISO Z39.96 (JATS 1.3), `permissions`; NISO RP-22 (`ali:license_ref`).
Bound: `STATEMENTS_MAX` elements of each name are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from lxml import etree

from fonds.model.rights import STATEMENTS_MAX, Statement, StatementSource
from fonds.rights.licenses import (
    build_holder_statements,
    build_license_statements,
    build_rights_statements,
    find_license_by_name,
    is_creative_commons,
)
from fonds.text.xml import get_text

_HREF = "{http://www.w3.org/1999/xlink}href"
_LICENSE_REF = "{http://www.niso.org/schemas/ali/1.0/}license_ref"
_STATED_IN = StatementSource.ARTICLE


def read_article_rights(root: etree._Element) -> tuple[Statement, ...]:
    """Return the licences and holders that stand in the `permissions` of an article's own metadata."""
    meta = root.find("front/article-meta")
    if meta is None:
        return ()
    found: list[Statement] = []
    for place in (*meta.findall("permissions")[:STATEMENTS_MAX], meta):
        for element in place.findall("license")[:STATEMENTS_MAX]:
            found += _parse_license(element)
        for element in place.findall(_LICENSE_REF)[:STATEMENTS_MAX]:
            found += build_license_statements(get_text(element), _STATED_IN, "license_ref")
        holders = [get_text(one) for one in place.findall("copyright-holder")[:STATEMENTS_MAX]]
        for holder in holders:
            found += build_holder_statements(holder, _STATED_IN, "copyright-holder")
        if not holders:
            for element in place.findall("copyright-statement")[:STATEMENTS_MAX]:
                found += build_rights_statements(
                    get_text(element), _STATED_IN, "copyright-statement"
                )
    return tuple(dict.fromkeys(found))[:STATEMENTS_MAX]


def _parse_license(element: etree._Element) -> list[Statement]:
    """The licence an element links, the one its text links or names, or else its text."""
    address = element.get(_HREF) or next(_iter_license_urls(element), "")
    if address:
        return build_license_statements(address, _STATED_IN, "license")
    text = get_text(element)
    known = find_license_by_name(text)
    return build_license_statements(known or text, _STATED_IN, "license") if text.strip() else []


def _iter_license_urls(element: etree._Element) -> Iterator[str]:
    """Addresses within a licence: of its `license_ref`, then of links to Creative Commons."""
    yield from (text for one in element.iter(_LICENSE_REF) if (text := get_text(one).strip()))
    links = (
        one.get(_HREF) or "" for one in islice(element.iter("ext-link", "uri"), STATEMENTS_MAX)
    )
    yield from (link for link in links if is_creative_commons(link))
