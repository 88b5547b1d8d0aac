"""What a PDF's XMP packet says of title, authors, DOI and arXiv id.

Source: ISO 16684-1:2019, 8.3 (Dublin Core); the PRISM, pdfx and CrossMark namespaces publishers use.
Bound: packets as large as `read_structure` lets through (1 MB), 200 authors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from fonds.bibliography.identifiers import arxiv_id_in
from fonds.bibliography.identifiers.doi import doi_in
from fonds.extract.pdf.strings import clean_text

_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_DOI_NAMES = frozenset({"doi", "wps-articledoi"})
_DOI_OR_MORE_NAMES = frozenset({"identifier", "url"})
_AUTHORS_MAX, _VALUE_MAX_CHARS = 200, 2_000


@dataclass(frozen=True, slots=True)
class XmpFields:
    """None and () where the packet does not tell. `doi` is in lower case and begins with `10.`."""

    title: str | None = None
    authors: tuple[str, ...] = ()
    doi: str | None = None
    arxiv_id: str | None = None


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
    )


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
