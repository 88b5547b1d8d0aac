"""What a page states about its use: robots and TDM meta elements, licences, holders.

Source: HTML, 4.6.7 (`license`); the TDM Reservation Protocol; DC-HTML; ccREL (`cc:license`).
Bound: elements are chosen by XPath, `STATEMENTS_MAX` of each sort are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from lxml import etree
from lxml.etree import _Element as Element

from fonds.extract.article.linked_data import LinkedData
from fonds.model.rights import STATEMENTS_MAX, StatedIn, Statement
from fonds.rights.licenses import (
    holder_stated,
    is_creative_commons,
    license_stated,
    rights_stated,
)
from fonds.rights.preferences import (
    TDM_POLICY,
    TDM_RESERVATION,
    policy_statements,
    reservation_statements,
    robots_statements,
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
Reader = Callable[[str, str, str], Iterable[Statement]]


def page_rights(
    markup: bytes, tree: Element, linked: LinkedData, url: str
) -> tuple[Statement, ...]:
    """Return what a page states, what is meant for programs first. `url` is its address, "" where unknown.

    Most pages have no such links: `markup` tells that in a fifth of the time the tree takes.
    """
    found = [*_metas(tree, url), *_links(markup, tree, url), *_structured(linked, url)]
    return tuple(dict.fromkeys(found))[:STATEMENTS_MAX]


def _metas(tree: Element, url: str) -> Iterator[Statement]:
    for element in tree.iter("meta"):
        content = element.get("content")
        name = (element.get("name") or element.get("property") or "").strip().lower()
        if not name or not content or not content.strip():
            continue
        reader = _METAS.get(name)
        if reader is not None:
            yield from reader(content, name, url)
        elif _AGENT.fullmatch(name):
            yield from robots_statements(content, StatedIn.META, _ROBOTS, name)


def _links(markup: bytes, tree: Element, url: str) -> Iterator[Statement]:
    """Links that say they lead to the licence, then links to Creative Commons that do not say so."""
    stated: set[str] = set()
    is_told = b"icense" in markup or b"ICENSE" in markup
    for element in _LICENSE_LINKS(tree) if is_told else ():
        target = (element.get("href") or "").strip()
        relations = (element.get("rel") or "").lower().split()
        is_license = any(one.rpartition(":")[2] == "license" for one in relations)
        if target and (is_license or element.get("itemprop") == "license"):
            stated.add(target)
            where = StatedIn.LINK if is_license else StatedIn.STRUCTURED_DATA
            yield from license_stated(target, where, str(element.tag), url)
    for element in _CREATIVE_COMMONS_LINKS(tree) if b"creativecommons.org/" in markup else ():
        target = (element.get("href") or "").strip()
        if target not in stated and is_creative_commons(target):
            stated.add(target)
            yield from license_stated(target, StatedIn.TEXT, str(element.tag), url)


def _structured(linked: LinkedData, url: str) -> Iterator[Statement]:
    where = StatedIn.STRUCTURED_DATA
    for stated in linked.licenses:
        yield from license_stated(stated, where, "license", url)
    for stated in linked.holders:
        yield from holder_stated(stated, where, "copyrightHolder")
    for stated in linked.notices:
        yield from rights_stated(stated, where, "copyrightNotice", url)


def _of_robots(content: str, name: str, url: str) -> Iterable[Statement]:
    return robots_statements(content, StatedIn.META, _ROBOTS)


def _of_reservation(content: str, name: str, url: str) -> Iterable[Statement]:
    return reservation_statements(content, StatedIn.META)


def _of_policy(content: str, name: str, url: str) -> Iterable[Statement]:
    return policy_statements(content, StatedIn.META)


def _of_license(content: str, name: str, url: str) -> Iterable[Statement]:
    return license_stated(content, StatedIn.META, name, url)


def _of_holder(content: str, name: str, url: str) -> Iterable[Statement]:
    return holder_stated(content, StatedIn.META, name)


def _of_rights(content: str, name: str, url: str) -> Iterable[Statement]:
    return rights_stated(content, StatedIn.META, name, url)


_METAS: Mapping[str, Reader] = MappingProxyType(
    {
        _ROBOTS: _of_robots,
        TDM_RESERVATION: _of_reservation,
        TDM_POLICY: _of_policy,
        "copyright": _of_holder,
        "dc.license": _of_license,
        "dc.rights": _of_rights,
        "dc.rights.license": _of_license,
        "dc.rightsholder": _of_holder,
        "dcterms.license": _of_license,
        "dcterms.rights": _of_rights,
        "dcterms.rightsholder": _of_holder,
        "dc:rights": _of_rights,
        "dcterms:license": _of_license,
        "dcterms:rights": _of_rights,
        "dcterms:rightsholder": _of_holder,
        "license": _of_license,
        "rights": _of_rights,
    }
)
