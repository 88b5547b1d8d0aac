"""What a PDF's XMP packet says of title, authors, DOI, arXiv id and rights.

Source: ISO 16684-1:2019, 8.3 (Dublin Core), 8.5 (rights management); ccREL; TDM Reservation
Protocol; the PRISM, pdfx and CrossMark namespaces of publishers.
Bound: packets as large as `read_structure` lets through (1 MB), 200 authors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from types import MappingProxyType

from lxml import etree

from fonds.bibliography.identifiers import arxiv_id_in
from fonds.bibliography.identifiers.doi import doi_in
from fonds.extract.pdf.strings import clean_text
from fonds.model.rights import STATEMENTS_MAX, StatedIn, Statement
from fonds.rights.licenses import holder_stated, license_stated, rights_stated
from fonds.rights.preferences import policy_statements, reservation_statements

_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_DOI_NAMES = frozenset({"doi", "wps-articledoi"})
_DOI_OR_MORE_NAMES = frozenset({"identifier", "url"})
_XMP_RIGHTS = "{http://ns.adobe.com/xap/1.0/rights/}"
_TDM = "{http://www.w3.org/ns/tdmrep/}"
_RIGHTS_WORD = re.compile("rights|license|tdmrep", re.IGNORECASE)
_RIGHTS: Mapping[str, Callable[[str], list[Statement]]] = MappingProxyType(
    {
        "{http://creativecommons.org/ns#}license": partial(
            license_stated, where=StatedIn.XMP, name="cc:license"
        ),
        f"{_XMP_RIGHTS}WebStatement": partial(
            license_stated, where=StatedIn.XMP, name="xmpRights:WebStatement"
        ),
        f"{_DC}rights": partial(rights_stated, where=StatedIn.XMP, name="dc:rights"),
        f"{_XMP_RIGHTS}UsageTerms": partial(
            rights_stated, where=StatedIn.XMP, name="xmpRights:UsageTerms"
        ),
        f"{_XMP_RIGHTS}Owner": partial(holder_stated, where=StatedIn.XMP, name="xmpRights:Owner"),
        f"{_TDM}reservation": partial(reservation_statements, where=StatedIn.XMP),
        f"{_TDM}policy": partial(policy_statements, where=StatedIn.XMP),
    }
)
_AUTHORS_MAX, _VALUE_MAX_CHARS = 200, 2_000


@dataclass(frozen=True, slots=True)
class XmpFields:
    """None and () where the packet does not tell. `doi` is in lower case and begins with `10.`."""

    title: str | None = None
    authors: tuple[str, ...] = ()
    doi: str | None = None
    arxiv_id: str | None = None
    rights: tuple[Statement, ...] = ()


def read_xmp(packet: str) -> XmpFields:
    """The fields of a packet; never an error, and nothing of a packet that declares entities."""
    if "<!DOCTYPE" in packet or "<!ENTITY" in packet:
        return XmpFields()
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, recover=True, huge_tree=False
    )
    try:
        root = etree.fromstring(packet.encode("utf-8", "replace"), parser)
    except (etree.XMLSyntaxError, ValueError):
        return XmpFields()
    if root is None:
        return XmpFields()
    titles = [text for element in root.iter(f"{_DC}title") for text in _texts(element)]
    authors = [text for element in root.iter(f"{_DC}creator") for text in _texts(element)]
    return XmpFields(
        title=next(iter(titles), None),
        authors=tuple(dict.fromkeys(authors))[:_AUTHORS_MAX],
        doi=find_doi(root) if "10." in packet else None,
        arxiv_id=arxiv_id_in(packet),
        rights=_rights(root) if _RIGHTS_WORD.search(packet) else (),
    )


def _rights(root: etree._Element) -> tuple[Statement, ...]:
    """What the packet states about the use of the document, be it in elements or attributes."""
    found: list[Statement] = []
    for name, state in _RIGHTS.items():
        for text in islice(_stated(root, name), STATEMENTS_MAX):
            found += state(text)
    return tuple(dict.fromkeys(found))[:STATEMENTS_MAX]


def _stated(root: etree._Element, name: str) -> Iterator[str]:
    """The values of a property: texts, resources and attributes."""
    for element in root.iter(name):
        resource = element.get(f"{_RDF}resource")
        yield from [resource] if resource else _texts(element)
    for element in root.iter(f"{_RDF}Description"):
        if value := element.get(name):
            yield value


def find_doi(root: etree._Element) -> str | None:
    """A property called DOI, else one of the identifiers and addresses that holds one."""
    said = list(_properties(root))
    for names in (_DOI_NAMES, _DOI_OR_MORE_NAMES):
        for name, text in said:
            doi = doi_in(text) if name in names else None
            if doi:
                return doi
    return None


def _properties(root: etree._Element) -> Iterator[tuple[str, str]]:
    """Local name and text of each property, be it an element or an attribute."""
    for element in root.iter(etree.Element):
        yield _local(element.tag), element.text or ""
        for name, value in element.attrib.items():
            yield _local(str(name)), str(value)


def _local(name: str) -> str:
    return name.rpartition("}")[2].lower()


def _texts(element: etree._Element) -> list[str]:
    """The items of a list, that of the default language first, or the element's own text."""
    items = list(element.iter(f"{_RDF}li")) or [element]
    items.sort(key=lambda item: item.get(_LANGUAGE) != "x-default")
    cleaned = (clean_text(item.text or "").strip()[:_VALUE_MAX_CHARS] for item in items)
    return [text for text in cleaned if text]
