"""Read the fields of a PDF's XMP packet: title, authors, identifiers and rights.

Source: ISO 16684-1:2019, 8.3 (Dublin Core), 8.5 (rights management); ccREL; TDM Reservation
Protocol; the PRISM, pdfx and CrossMark namespaces of publishers.
Packets are limited by `read_structure` (1 MB); at most 200 authors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from types import MappingProxyType

from lxml import etree

from fonds.extract.pdf.strings import clean_text
from fonds.model.rights import STATEMENTS_MAX, Statement, StatementSource
from fonds.papers.bibliography.identifiers import find_arxiv_id, find_doi_in_text
from fonds.rights.licenses import (
    build_holder_statements,
    build_license_statements,
    build_rights_statements,
)
from fonds.rights.preferences import parse_policy, parse_reservation

_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_DOI_NAMES = frozenset({"doi", "wps-articledoi"})
_IDENTIFIER_NAMES = frozenset({"identifier", "url"})
_XMP_RIGHTS = "{http://ns.adobe.com/xap/1.0/rights/}"
_TDM = "{http://www.w3.org/ns/tdmrep/}"
_RIGHTS_WORD = re.compile("rights|license|tdmrep", re.IGNORECASE)
_RIGHTS: Mapping[str, Callable[[str], list[Statement]]] = MappingProxyType(
    {
        "{http://creativecommons.org/ns#}license": partial(
            build_license_statements, source=StatementSource.XMP, name="cc:license"
        ),
        f"{_XMP_RIGHTS}WebStatement": partial(
            build_license_statements, source=StatementSource.XMP, name="xmpRights:WebStatement"
        ),
        f"{_DC}rights": partial(
            build_rights_statements, source=StatementSource.XMP, name="dc:rights"
        ),
        f"{_XMP_RIGHTS}UsageTerms": partial(
            build_rights_statements, source=StatementSource.XMP, name="xmpRights:UsageTerms"
        ),
        f"{_XMP_RIGHTS}Owner": partial(
            build_holder_statements, source=StatementSource.XMP, name="xmpRights:Owner"
        ),
        f"{_TDM}reservation": partial(parse_reservation, source=StatementSource.XMP),
        f"{_TDM}policy": partial(parse_policy, source=StatementSource.XMP),
    }
)
_AUTHORS_MAX, _VALUE_MAX_CHARS = 200, 2_000


@dataclass(frozen=True, slots=True)
class XmpFields:
    """Fields of a PDF's XMP packet (metadata in XML); None or () if missing.

    - `doi`: DOI in lower case, beginning with `10.`.
    - `rights`: statements about licence and permitted use.
    """

    title: str | None = None
    authors: tuple[str, ...] = ()
    doi: str | None = None
    arxiv_id: str | None = None
    rights: tuple[Statement, ...] = ()


def read_xmp(packet: str) -> XmpFields:
    """Read the fields of an XMP packet. Never raises. A packet that declares XML entities yields no
    fields.
    """
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
    titles = [text for element in root.iter(f"{_DC}title") for text in _list_texts(element)]
    authors = [text for element in root.iter(f"{_DC}creator") for text in _list_texts(element)]
    return XmpFields(
        title=next(iter(titles), None),
        authors=tuple(dict.fromkeys(authors))[:_AUTHORS_MAX],
        doi=find_doi(root) if "10." in packet else None,
        arxiv_id=find_arxiv_id(packet),
        rights=_read_rights(root) if _RIGHTS_WORD.search(packet) else (),
    )


def _read_rights(root: etree._Element) -> tuple[Statement, ...]:
    """Return the statements about rights in the elements and attributes of an XMP packet."""
    statements: list[Statement] = []
    for name, build_statements in _RIGHTS.items():
        for text in islice(_iter_property_values(root, name), STATEMENTS_MAX):
            statements += build_statements(text)
    return tuple(dict.fromkeys(statements))[:STATEMENTS_MAX]


def _iter_property_values(root: etree._Element, name: str) -> Iterator[str]:
    """Yield the values of an XMP property: text of elements, `rdf:resource`, and attributes of
    descriptions.
    """
    for element in root.iter(name):
        resource = element.get(f"{_RDF}resource")
        yield from [resource] if resource else _list_texts(element)
    for element in root.iter(f"{_RDF}Description"):
        if value := element.get(name):
            yield value


def find_doi(root: etree._Element) -> str | None:
    """Return the DOI of an XMP packet, in a property called DOI or else in an identifier or URL;
    None if there is none.
    """
    properties = list(_iter_properties(root))
    for names in (_DOI_NAMES, _IDENTIFIER_NAMES):
        for name, text in properties:
            doi = find_doi_in_text(text) if name in names else None
            if doi:
                return doi
    return None


def _iter_properties(root: etree._Element) -> Iterator[tuple[str, str]]:
    """Yield name and text of each element and attribute in an XMP packet. Names are in lower case
    without namespace.
    """
    for element in root.iter(etree.Element):
        yield _local_name(element.tag), element.text or ""
        for name, value in element.attrib.items():
            yield _local_name(str(name)), str(value)


def _local_name(name: str) -> str:
    return name.rpartition("}")[2].lower()


def _list_texts(element: etree._Element) -> list[str]:
    """Return the texts of the items in an XMP list, the one in the default language first. Without
    a list, return the text of the element.
    """
    items = list(element.iter(f"{_RDF}li")) or [element]
    items.sort(key=lambda item: item.get(_LANGUAGE) != "x-default")
    cleaned = (clean_text(item.text or "").strip()[:_VALUE_MAX_CHARS] for item in items)
    return [text for text in cleaned if text]
