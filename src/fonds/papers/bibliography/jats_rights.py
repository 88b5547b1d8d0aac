"""Licences and rights holders stated in a JATS or NLM article.

Source: ANSI/NISO Z39.96 (JATS 1.3), `permissions`; NISO RP-22 (`ali:license_ref`).
Limits: at most `STATEMENTS_MAX` (100) XML elements of each name are read.
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
    """Return the licences and rights holders that a JATS article states in the `permissions` of its
    metadata.
    """
    meta = root.find("front/article-meta")
    if meta is None:
        return ()
    statements: list[Statement] = []
    for permissions in (*meta.findall("permissions")[:STATEMENTS_MAX], meta):
        for element in permissions.findall("license")[:STATEMENTS_MAX]:
            statements += _parse_license(element)
        for element in permissions.findall(_LICENSE_REF)[:STATEMENTS_MAX]:
            statements += build_license_statements(get_text(element), _STATED_IN, "license_ref")
        holders = [
            get_text(holder_element)
            for holder_element in permissions.findall("copyright-holder")[:STATEMENTS_MAX]
        ]
        for holder in holders:
            statements += build_holder_statements(holder, _STATED_IN, "copyright-holder")
        if not holders:
            for element in permissions.findall("copyright-statement")[:STATEMENTS_MAX]:
                statements += build_rights_statements(
                    get_text(element), _STATED_IN, "copyright-statement"
                )
    return tuple(dict.fromkeys(statements))[:STATEMENTS_MAX]


def _parse_license(element: etree._Element) -> list[Statement]:
    """Return the statement of the licence in a licence element, as a list.

    The licence is the URL that the element or its text links to, otherwise the licence that its
    text names, otherwise the whole text. The list is empty without link and text.
    """
    address = element.get(_HREF) or next(_iter_license_urls(element), "")
    if address:
        return build_license_statements(address, _STATED_IN, "license")
    text = get_text(element)
    licence = find_license_by_name(text)
    return build_license_statements(licence or text, _STATED_IN, "license") if text.strip() else []


def _iter_license_urls(element: etree._Element) -> Iterator[str]:
    """Yield the URLs in a licence element: those in `license_ref`, then links to Creative Commons
    licences.
    """
    yield from (text for node in element.iter(_LICENSE_REF) if (text := get_text(node).strip()))
    links = (
        node.get(_HREF) or "" for node in islice(element.iter("ext-link", "uri"), STATEMENTS_MAX)
    )
    yield from (link for link in links if is_creative_commons(link))
