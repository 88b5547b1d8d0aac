"""Rights statements of a page: robots and TDM meta elements, licences, holders.

Source: HTML, 4.6.7 (`license`); the TDM Reservation Protocol; DC-HTML; ccREL (`cc:license`).
Elements are selected by XPath; at most `STATEMENTS_MAX` (100) of each kind are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from lxml import etree
from lxml.etree import _Element as Element

from fonds.extract.article.linked_data import LinkedData
from fonds.model.rights import STATEMENTS_MAX, Statement, StatementSource
from fonds.rights.licenses import (
    build_holder_statements,
    build_license_statements,
    build_rights_statements,
    is_creative_commons,
)
from fonds.rights.preferences import (
    TDM_POLICY,
    TDM_RESERVATION,
    parse_policy,
    parse_reservation,
    parse_robots_directives,
)

_ROBOTS = "robots"
_AGENT = re.compile(r"[a-z0-9-]{0,40}(?:bot|spider|crawler)(?:-[a-z0-9]{1,20})?|slurp|teoma")
_LICENSE_LINKS = etree.XPath(
    "(//link | //a)[contains(@rel, 'icense') or contains(@rel, 'ICENSE') or @itemprop = 'license']"
    f"[position() <= {STATEMENTS_MAX}]"
)
_CREATIVE_COMMONS_LINKS = etree.XPath(
    f"(//a[contains(@href, 'creativecommons.org/')])[position() <= {STATEMENTS_MAX}]"
)
StatementReader = Callable[[str, str, str], Iterable[Statement]]


def read_page_rights(
    markup: bytes, tree: Element, linked_data: LinkedData, url: str
) -> tuple[Statement, ...]:
    """Return the statements of a page about its licence and permitted use. `url` is the URL of the
    page, '' if unknown.

    Statements in meta tags come first, then those in links and JSON-LD. Most pages have no licence
    links. `markup` is searched for the word "license" first, which takes a fifth of the time of
    searching the tree.
    """
    statements = [
        *_iter_meta_statements(tree, url),
        *_iter_link_statements(markup, tree, url),
        *_iter_linked_data_statements(linked_data, url),
    ]
    return tuple(dict.fromkeys(statements))[:STATEMENTS_MAX]


def _iter_meta_statements(tree: Element, url: str) -> Iterator[Statement]:
    for element in tree.iter("meta"):
        content = element.get("content")
        name = (element.get("name") or element.get("property") or "").strip().lower()
        if not name or not content or not content.strip():
            continue
        reader = _METAS.get(name)
        if reader is not None:
            yield from reader(content, name, url)
        elif _AGENT.fullmatch(name):
            yield from parse_robots_directives(content, StatementSource.META, _ROBOTS, name)


def _iter_link_statements(markup: bytes, tree: Element, url: str) -> Iterator[Statement]:
    """Yield the rights statements of links that are marked as licences, then of other links to
    Creative Commons licences.
    """
    targets: set[str] = set()
    has_license_word = b"icense" in markup or b"ICENSE" in markup
    for element in _LICENSE_LINKS(tree) if has_license_word else ():
        target = (element.get("href") or "").strip()
        relations = (element.get("rel") or "").lower().split()
        is_license = any(relation.rpartition(":")[2] == "license" for relation in relations)
        if target and (is_license or element.get("itemprop") == "license"):
            targets.add(target)
            source = StatementSource.LINK if is_license else StatementSource.STRUCTURED_DATA
            yield from build_license_statements(target, source, str(element.tag), url)
    for element in _CREATIVE_COMMONS_LINKS(tree) if b"creativecommons.org/" in markup else ():
        target = (element.get("href") or "").strip()
        if target not in targets and is_creative_commons(target):
            targets.add(target)
            yield from build_license_statements(target, StatementSource.TEXT, str(element.tag), url)


def _iter_linked_data_statements(linked_data: LinkedData, url: str) -> Iterator[Statement]:
    source = StatementSource.STRUCTURED_DATA
    for text in linked_data.licenses:
        yield from build_license_statements(text, source, "license", url)
    for text in linked_data.holders:
        yield from build_holder_statements(text, source, "copyrightHolder")
    for text in linked_data.notices:
        yield from build_rights_statements(text, source, "copyrightNotice", url)


def _parse_robots(content: str, name: str, url: str) -> Iterable[Statement]:
    return parse_robots_directives(content, StatementSource.META, _ROBOTS)


def _parse_reservation(content: str, name: str, url: str) -> Iterable[Statement]:
    return parse_reservation(content, StatementSource.META)


def _parse_policy(content: str, name: str, url: str) -> Iterable[Statement]:
    return parse_policy(content, StatementSource.META)


def _parse_license(content: str, name: str, url: str) -> Iterable[Statement]:
    return build_license_statements(content, StatementSource.META, name, url)


def _parse_holder(content: str, name: str, url: str) -> Iterable[Statement]:
    return build_holder_statements(content, StatementSource.META, name)


def _parse_rights(content: str, name: str, url: str) -> Iterable[Statement]:
    return build_rights_statements(content, StatementSource.META, name, url)


_METAS: Mapping[str, StatementReader] = MappingProxyType(
    {
        _ROBOTS: _parse_robots,
        TDM_RESERVATION: _parse_reservation,
        TDM_POLICY: _parse_policy,
        "copyright": _parse_holder,
        "dc.license": _parse_license,
        "dc.rights": _parse_rights,
        "dc.rights.license": _parse_license,
        "dc.rightsholder": _parse_holder,
        "dcterms.license": _parse_license,
        "dcterms.rights": _parse_rights,
        "dcterms.rightsholder": _parse_holder,
        "dc:rights": _parse_rights,
        "dcterms:license": _parse_license,
        "dcterms:rights": _parse_rights,
        "dcterms:rightsholder": _parse_holder,
        "license": _parse_license,
        "rights": _parse_rights,
    }
)
