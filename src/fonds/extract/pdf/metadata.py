"""Collect title, authors, DOI and arXiv id of a PDF from several sources, and name the source of
each.

Source: DOI Handbook, 2.2 (syntax); arXiv, "Understanding the arXiv identifier".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any

from lxml import etree

from fonds.extract.pdf.first_page import FrontMatter, is_name, is_title
from fonds.extract.pdf.strings import clean_text
from fonds.model.rights import STATEMENTS_MAX, Statement, StatementSource
from fonds.papers.bibliography.identifiers import (
    ARXIV_ID,
    find_arxiv_id,
    find_doi_in_text,
    find_labelled_doi,
    parse_doi_link,
)
from fonds.rights.licenses import (
    build_holder_statements,
    build_license_statements,
    build_rights_statements,
)
from fonds.rights.preferences import parse_policy, parse_reservation

# Fields of a PDF's XMP packet.
#
# Source: ISO 16684-1:2019, 8.3 (Dublin Core), 8.5 (rights management); ccREL; TDM Reservation
# Protocol; the PRISM, pdfx and CrossMark namespaces of publishers.
# Packets are limited by `read_structure` (1 MB); at most 200 authors.


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
_XMP_AUTHORS_MAX, _VALUE_MAX_CHARS = 200, 2_000


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
        authors=tuple(dict.fromkeys(authors))[:_XMP_AUTHORS_MAX],
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
    cleaned_texts = (clean_text(item.text or "").strip()[:_VALUE_MAX_CHARS] for item in items)
    return [text for text in cleaned_texts if text]


_AUTHORS_MAX, _NAME_MAX_CHARS = 200, 200
_PAGE_SEARCHED_CHARS = 20_000
_WORD_PREFIX = re.compile(r"(?:microsoft (?:word|powerpoint|excel)) - ", re.IGNORECASE)
_TRAILING_JOURNAL = re.compile(
    r" - [^-]{3,120}, (?:IEEE|ACM)(?:/\w+)? (?:Transactions|Journal|Magazine)(?: on)?$"
)
_SEPARATOR = re.compile(r"\s*(?:;|\n|\r)\s*")
_LIST = re.compile(r"\s*(?:,\s*(?:and\s+)?|\s+and\s+|\s*&\s*)")
_PLACEHOLDER_AUTHOR = re.compile(
    r"(?:admin\w*|root|user\d*|owner|author|unknown|anonymous|default|guest|none|n/?a|test|me"
    r"|latex.*|tex|.*\b(?:microsoft|adobe|acrobat|distiller|office|writer|word)\b.*|\W*|\d+)",
    re.IGNORECASE,
)
_REFERENCES = re.compile(
    r"^\W{0,3}\d{0,2}\W{0,3}(?:references|bibliography|literature cited)\W{0,3}$",
    re.IGNORECASE | re.MULTILINE,
)
_ARXIV_STAMP = re.compile(
    r"arXiv:" + ARXIV_ID + r"\s{1,3}(?:\[[\w.-]{2,20}\]|\d{1,2}\s[A-Z][a-z]{2}\s\d{4})"
)


class MetadataSource(StrEnum):
    """Where in a PDF a metadata value was found: Info dictionary, XMP packet, link on the first
    page, or text of the first page. The order of preference is Info, XMP, page, link.
    """

    INFO = "info"
    XMP = "xmp"
    LINK = "link"
    PAGE = "page"


def has_own_metadata(info: Mapping[str, str] | None) -> bool:
    """Return whether the Info dictionary of a PDF has title and authors. The first page is then not
    searched for them.
    """
    by_name = {name.lower(): value for name, value in (info or {}).items()}
    title = " ".join(by_name.get("title", "").split())
    return _validate_title(title) is not None and bool(split_authors(by_name.get("author", "")))


def extract_bibliographic(
    info: Mapping[str, str] | None,
    xmp: XmpFields,
    front: FrontMatter,
    page: str,
    links: Sequence[str],
) -> dict[str, Any]:
    """Return `title`, `authors`, `doi` and `arxiv_id` of a PDF, as far as found. `title_from` and
    so on are the source of each.

    - `info`: Info dictionary of the PDF.
    - `xmp`: fields of the XMP packet.
    - `front`: title and authors on the first page.
    - `page`: text of the first page.
    - `links`: URLs of the links on the first page.
    """
    by_name = {name.lower(): value for name, value in (info or {}).items()}
    page_start = page[:_PAGE_SEARCHED_CHARS]
    result: dict[str, Any] = {}
    for name, candidates in (
        ("title", _iter_titles(by_name, xmp, front)),
        ("authors", _iter_authors(by_name, xmp, front)),
        ("doi", _iter_dois(by_name, xmp, page_start, links)),
        ("arxiv_id", _iter_arxiv_ids(by_name, xmp, page_start, links)),
    ):
        for value, source in candidates:
            if value:
                result |= {name: value, f"{name}_from": str(source)}
                break
    return result


def _iter_titles(
    info: Mapping[str, str], xmp: XmpFields, front: FrontMatter
) -> Iterable[tuple[str | None, MetadataSource]]:
    title = _TRAILING_JOURNAL.sub("", " ".join(info.get("title", "").split()))
    yield _validate_title(title), MetadataSource.INFO
    yield _validate_title(xmp.title), MetadataSource.XMP
    yield front.title, MetadataSource.PAGE
    bare = _WORD_PREFIX.sub("", title)
    yield bare if bare != title and is_title(bare) else None, MetadataSource.INFO


def _validate_title(title: str | None) -> str | None:
    return title if title and is_title(title) else None


def _iter_authors(
    info: Mapping[str, str], xmp: XmpFields, front: FrontMatter
) -> Iterable[tuple[list[str], MetadataSource]]:
    yield split_authors(info.get("author", "")), MetadataSource.INFO
    yield [name for author in xmp.authors for name in split_authors(author)], MetadataSource.XMP
    yield list(front.authors), MetadataSource.PAGE


def split_authors(text: str) -> list[str]:
    """Return the names of persons in a text; [] if it names a program or a user account.

    A comma may separate two names, or a family name and a given name: `Doe, Jane` is one name.
    """
    names = []
    for part in _SEPARATOR.split(text):
        pieces = [piece for piece in _LIST.split(part) if piece]
        if len(pieces) > 1 and sum(map(is_name, pieces)) > len(pieces) / 2:
            names += pieces
        else:
            names.append(part)
    bare = (" ".join(name.split())[:_NAME_MAX_CHARS] for name in names)
    return list(dict.fromkeys(n for n in bare if not _PLACEHOLDER_AUTHOR.fullmatch(n)))[
        :_AUTHORS_MAX
    ]


def _iter_dois(
    info: Mapping[str, str], xmp: XmpFields, page: str, links: Sequence[str]
) -> Iterable[tuple[str | None, MetadataSource]]:
    for name in ("doi", "wps-articledoi", "subject", "keywords", "title"):
        yield find_doi_in_text(info.get(name, "")), MetadataSource.INFO
    yield xmp.doi, MetadataSource.XMP
    labelled_doi = find_labelled_doi(page)
    if labelled_doi is not None and _REFERENCES.search(page, 0, labelled_doi[1]):
        labelled_doi = None
    yield labelled_doi[0] if labelled_doi else None, MetadataSource.PAGE
    linked_dois = {parse_doi_link(link) for link in links} - {None}
    yield linked_dois.pop() if len(linked_dois) == 1 else None, MetadataSource.LINK


def _iter_arxiv_ids(
    info: Mapping[str, str], xmp: XmpFields, page: str, links: Sequence[str]
) -> Iterable[tuple[str | None, MetadataSource]]:
    for name in ("title", "subject", "keywords", "doi", "arxivid"):
        yield find_arxiv_id(info.get(name, "")), MetadataSource.INFO
    yield xmp.arxiv_id, MetadataSource.XMP
    # Other papers are cited as `arXiv:…` too; a paper's own stamp has subject or date.
    stamp = _ARXIV_STAMP.search(page)
    yield stamp[1] if stamp else None, MetadataSource.PAGE
    linked_ids = {find_arxiv_id(link) for link in links} - {None}
    yield linked_ids.pop() if len(linked_ids) == 1 else None, MetadataSource.LINK
