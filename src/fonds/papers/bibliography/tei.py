"""Parse a paper from TEI, as GROBID writes it.

Source: TEI P5, chapters 2 (header), 3.12 (bibliographic citations) and 13 (names); GROBID 0.4 to
0.8, "TEI encoding of results".
Limits: linear in the bytes, which the caller limits. At most 10,000 references, 5,000 authors, 100
keywords and 100 funders are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lxml import etree

from fonds.model.archive import OpenBody
from fonds.model.bibliography import (
    Address,
    Affiliation,
    Author,
    Citation,
    Funder,
    Funding,
    Journal,
    Paper,
    PaperSummary,
)
from fonds.model.errors import DamagedInputError
from fonds.papers.bibliography.identifiers import WorkIdentifiers, collect_identifiers, find_orcid
from fonds.papers.bibliography.paper import (
    assess_quality,
    encode_paper,
    strip_full_text,
    summarize_paper,
)
from fonds.text.xml import parse_strictly

AUTHORS_MAX, AFFILIATIONS_MAX, PARTS_MAX = 5_000, 20, 20
_TEI = "{http://www.tei-c.org/ns/1.0}"
_ADDRESS_PARTS = {
    "line": "addrLine",
    "postcode": "postCode",
    "settlement": "settlement",
    "region": "region",
    "country": "country",
}


def get_plain_text(element: etree._Element) -> str:
    """Return all text within an XML element on one line."""
    return " ".join("".join(map(str, element.itertext())).split())


def parse_authors(elements: Iterable[etree._Element]) -> tuple[Author, ...]:
    """Parse the authors in TEI elements that name a person or organisation.

    An element without a name, such as one with only an affiliation, is skipped.
    """
    authors = (
        _parse_author(element) for element, _ in zip(elements, range(AUTHORS_MAX), strict=False)
    )
    return tuple(element for element in authors if element is not None)


def _parse_author(element: etree._Element) -> Author | None:
    person = element.find(f"{_TEI}persName")
    if person is None:
        names = [] if len(element) else [get_plain_text(element)]
        names += [get_plain_text(node) for node in element.findall(f"{_TEI}name")]
        names += [get_plain_text(node) for node in element.findall(f"{_TEI}orgName")]
        name = next(filter(None, names), "")
        return Author(name=name) if name else None
    given_names = [
        text for node in person.findall(f"{_TEI}forename") if (text := get_plain_text(node))
    ]
    surname = " ".join(filter(None, map(get_plain_text, person.findall(f"{_TEI}surname")))) or None
    parts = (*given_names, surname) if given_names or surname else (get_plain_text(person),)
    name = " ".join(filter(None, parts))
    if not name:
        return None
    first, *further_affiliations = _parse_affiliations(element) or (None,)
    return Author(
        name=name,
        given_name=given_names[0] if given_names else None,
        middle_name=" ".join(given_names[1:]) or None,
        surname=surname,
        email=_find_name_text(element, "email"),
        orcid=_find_orcid(element),
        affiliation=first,
        affiliations=tuple(node for node in further_affiliations if node is not None),
    )


def _find_orcid(element: etree._Element) -> str | None:
    ids = [
        node for node in element.iter(f"{_TEI}idno") if (node.get("type") or "").lower() == "orcid"
    ]
    return next(filter(None, (find_orcid(get_plain_text(node)) for node in ids[:PARTS_MAX])), None)


def _find_name_text(element: etree._Element, name: str) -> str | None:
    match = element.find(f".//{_TEI}{name}")
    return None if match is None else get_plain_text(match) or None


def _parse_affiliations(element: etree._Element) -> tuple[Affiliation, ...]:
    elements = element.findall(f"{_TEI}affiliation")[:AFFILIATIONS_MAX]
    affiliations = (_parse_affiliation(node) for node in elements)
    return tuple(node for node in affiliations if node != Affiliation())


def _parse_affiliation(element: etree._Element) -> Affiliation:
    """Parse the affiliation of an author.

    Several names of the same type, such as departments, are joined with "; ".
    """
    parts: dict[str, list[str]] = {}
    for node in element.findall(f"{_TEI}orgName")[:PARTS_MAX]:
        parts.setdefault(node.get("type") or "institution", []).append(get_plain_text(node))
    address = element.find(f".//{_TEI}address")
    address_value = Address() if address is None else _parse_address(address)
    raw_notes = [
        node for node in element.findall(f"{_TEI}note") if node.get("type") == "raw_affiliation"
    ]

    def joined(name: str) -> str | None:
        return "; ".join(filter(None, parts.get(name, ()))) or None

    return Affiliation(
        institution=joined("institution"),
        department=joined("department"),
        laboratory=joined("laboratory"),
        address=address_value if address_value != Address() else None,
        unstructured=get_plain_text(raw_notes[0]) or None if raw_notes else None,
    )


def _parse_address(element: etree._Element) -> Address:
    elements = {name: element.find(f"{_TEI}{tag}") for name, tag in _ADDRESS_PARTS.items()}
    return Address(
        **{
            name: get_plain_text(element_found) or None
            for name, element_found in elements.items()
            if element_found is not None
        }
    )


CITATIONS_MAX, KEYWORDS_MAX, FUNDERS_MAX, IDENTIFIERS_MAX = 10_000, 100, 100, 20
NS = {"tei": "http://www.tei-c.org/ns/1.0"}
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_ID = "{http://www.w3.org/XML/1998/namespace}id"
_CODE = re.compile(r"[A-Za-z]{2,3}(?=-|$)")
_DATE = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")


def read_tei(data: bytes) -> Paper:
    """Parse a paper from a TEI document. Raises ValueError if the bytes are not TEI or declare XML
    entities.
    """
    try:
        root = parse_strictly(data)
    except DamagedInputError as error:
        raise ValueError(error.detail) from error
    if etree.QName(root).localname not in ("TEI", "teiCorpus"):
        raise ValueError(f"not TEI: the root element is {etree.QName(root).localname!r}")
    root = root if root.tag.endswith("}TEI") else _set_namespace(root, NS["tei"])
    header = root.find("tei:teiHeader", NS)
    text = root.find("tei:text", NS)
    header = etree.Element("none") if header is None else header
    text = etree.Element("none") if text is None else text
    application = _find_first(header, ".//tei:appInfo/tei:application")
    source = _find_first(header, "tei:fileDesc/tei:sourceDesc/tei:biblStruct")
    source = etree.Element("none") if source is None else source
    identifiers = collect_identifiers(_list_identifiers(source))
    keywords = header.iterfind("tei:profileDesc/tei:textClass/tei:keywords//tei:term", NS)
    return Paper(
        doi=identifiers.doi,
        pmid=identifiers.pmid,
        pmcid=identifiers.pmcid,
        arxiv_id=identifiers.arxiv_id,
        isbn=identifiers.isbn,
        title=_find_text(source, "tei:analytic/tei:title")
        or _find_text(header, "tei:fileDesc/tei:titleStmt/tei:title"),
        authors=parse_authors(source.iterfind(".//tei:author", NS)),
        journal=_parse_journal(source, header, identifiers),
        date=_parse_date(source, header),
        keywords=tuple(filter(None, map(get_plain_text, _limit(keywords, KEYWORDS_MAX)))),
        citations=tuple(_iter_citations(text, header)),
        abstract=_get_text(_find_first(header, "tei:profileDesc/tei:abstract")),
        body=_get_text(_find_first(text, "tei:body")),
        acknowledgement=_get_text(_find_first(text, ".//tei:div[@type='acknowledgement']")),
        annex=_get_text(_find_first(text, ".//tei:div[@type='annex']")),
        funding=_parse_funding(header, text),
        language_code=_find_language(text, header),
        grobid_version=(application.get("version") if application is not None else None)
        or "unknown",
        grobid_timestamp=application.get("when") if application is not None else None,
    )


def _set_namespace(root: etree._Element, namespace: str) -> etree._Element:
    """Put every element of a document into the XML namespace `namespace`. Return the `TEI` element.

    If there is no `TEI` element, return `root`.
    """
    for element in root.iter(etree.Element):
        element.tag = f"{{{namespace}}}{etree.QName(element).localname}"
    return root if root.tag.endswith("}TEI") else next(root.iter(f"{{{namespace}}}TEI"), root)


def _find_first(element: etree._Element, path: str) -> etree._Element | None:
    return element.find(path, NS)


def _get_text(element: etree._Element | None) -> str | None:
    """Return all text within an element, including text outside paragraphs; None if there is none.

    Texts of child elements are joined with a space, as programs that read GROBID's results expect.
    """
    return None if element is None else " ".join(map(str, element.itertext())).strip() or None


def _find_text(element: etree._Element, *paths: str) -> str | None:
    """Return the text of the first element that has any, on one line; None if there is none.

    The elements at the first of the XML paths `paths` are tried first.
    """
    for path in paths:
        for match in element.iterfind(path, NS):
            text = get_plain_text(match)
            if text:
                return text
    return None


def _parse_journal(
    source: etree._Element, header: etree._Element, identifiers: WorkIdentifiers
) -> Journal | None:
    monograph = _find_first(source, "tei:monogr")
    journal = Journal(
        name=_find_text(source, "tei:monogr/tei:title[@type='main']", "tei:monogr/tei:title"),
        abbreviation=_find_text(source, "tei:monogr/tei:title[@type='abbrev']"),
        publisher=_find_text(source, "tei:monogr/tei:imprint/tei:publisher")
        or _find_text(header, "tei:fileDesc/tei:publicationStmt/tei:publisher"),
        issn=identifiers.issn,
        eissn=identifiers.eissn,
        volume=_parse_scope(monograph, "volume"),
        issue=_parse_scope(monograph, "issue"),
        pages=_parse_scope(monograph, "page"),
    )
    return journal if journal != Journal() else None


def _limit(elements: Iterable[etree._Element], count_max: int) -> list[etree._Element]:
    return [element for element, _ in zip(elements, range(count_max), strict=False)]


def _list_identifiers(source: etree._Element) -> list[tuple[str, str]]:
    elements = _limit(source.iterfind(".//tei:idno", NS), IDENTIFIERS_MAX)
    return [
        (element.get("type") or "", get_plain_text(element))
        for element in elements
        if element.getparent().tag != _AUTHOR
    ]


_AUTHOR = f"{{{NS['tei']}}}author"


def _parse_date(source: etree._Element, header: etree._Element | None = None) -> str | None:
    """Return the publication date of a paper or reference; None if there is none.

    A date in the attribute for programs (`when`) is preferred to the date as printed.
    """
    paths = [(source, ".//tei:imprint/tei:date")]
    if header is not None:
        paths.append((header, "tei:fileDesc/tei:publicationStmt/tei:date"))
    elements = [date for element, path in paths for date in _limit(element.iterfind(path, NS), 20)]
    machine_date = next(
        (date.get("when") for date in elements if _DATE.match(date.get("when") or "")), None
    )
    return machine_date or next(filter(None, map(get_plain_text, elements)), None)


def _parse_scope(monograph: etree._Element | None, unit: str) -> str | None:
    """Return the volume, issue or page (`unit`) that a TEI monograph states; None if there is none.
    The attribute names of older GROBID versions are accepted too.
    """
    if monograph is None:
        return None
    old_name = {"volume": "vol", "page": "pp"}.get(unit, unit)
    for scope in _limit(monograph.iterfind(".//tei:biblScope", NS), 20):
        if unit in (scope.get("unit"), scope.get("type")) or old_name == scope.get("type"):
            ends = scope.get("from"), scope.get("to")
            return "-".join(filter(None, ends)) or get_plain_text(scope) or None
    if unit == "page":
        first = _find_text(monograph, ".//tei:biblScope[@type='fpage']")
        last = _find_text(monograph, ".//tei:biblScope[@type='lpage']")
        return "-".join(filter(None, (first, last))) or None
    return None


def _iter_citations(text: etree._Element, header: etree._Element) -> Iterable[Citation]:
    """Yield the references in the reference list of a TEI document.

    The TEI header also has an entry, but it describes the paper itself. It is not included.
    """
    entries = text.iterfind(".//tei:listBibl/tei:biblStruct", NS)
    for index, entry in enumerate(_limit(entries, CITATIONS_MAX)):
        yield _parse_citation(entry, index)


def _parse_citation(entry: etree._Element, index: int) -> Citation:
    identifiers = collect_identifiers(_list_identifiers(entry))
    monograph = _find_first(entry, "tei:monogr")
    title = _find_text(entry, "tei:analytic/tei:title[@type='main']", "tei:analytic/tei:title")
    book_title = _find_text(
        entry, "tei:monogr/tei:title[@level='m']", "tei:monogr/tei:title[@type='main']"
    )
    journal = _find_text(entry, "tei:monogr/tei:title[@level='j']")
    if title is None:
        # A book or report has its own title in the monograph.
        title, book_title = book_title, None
    return Citation(
        id=entry.get(_ID) or f"b{index}",
        index=index,
        authors=parse_authors(entry.iterfind(".//tei:author", NS)),
        editors=parse_authors(entry.iterfind(".//tei:editor", NS)),
        title=title,
        journal=journal,
        book_title=book_title,
        series_title=_find_text(entry, "tei:series/tei:title", "tei:monogr/tei:title[@level='s']"),
        publisher=_find_text(entry, ".//tei:imprint/tei:publisher"),
        institution=_find_text(entry, ".//tei:respStmt/tei:orgName", "tei:monogr/tei:orgName"),
        date=_parse_date(entry),
        volume=_parse_scope(monograph, "volume"),
        issue=_parse_scope(monograph, "issue"),
        pages=_parse_scope(monograph, "page"),
        url=_find_target(entry),
        unstructured=_find_text(entry, "tei:note[@type='raw_reference']"),
        doi=identifiers.doi,
        pmid=identifiers.pmid,
        pmcid=identifiers.pmcid,
        arxiv_id=identifiers.arxiv_id,
        issn=identifiers.issn,
        isbn=identifiers.isbn,
    )


def _find_target(entry: etree._Element) -> str | None:
    targets = (target.get("target") for target in _limit(entry.iterfind(".//tei:ptr", NS), 20))
    return next((target.strip() for target in targets if target and target.strip()), None)


def _parse_funding(header: etree._Element, text: etree._Element) -> Funding | None:
    grants: dict[str, list[str]] = {}
    for node in _limit(text.iterfind(".//tei:org[@type='funding']", NS), FUNDERS_MAX):
        numbers = [
            get_plain_text(n) for n in _limit(node.iterfind("tei:idno", NS), IDENTIFIERS_MAX)
        ]
        grants[f"#{node.get(_ID)}"] = [number for number in numbers if number]
    funders = tuple(
        Funder(name=name, grants=tuple(grants.get(node.get("ref") or "", ())))
        for node in _limit(header.iterfind(".//tei:funder", NS), FUNDERS_MAX)
        if (
            name := _find_text(node, "tei:orgName[@type='full']", "tei:orgName")
            or get_plain_text(node)
        )
    )
    statement = _get_text(_find_first(text, ".//tei:div[@type='funding']"))
    return Funding(funders=funders, statement=statement) if funders or statement else None


def _find_language(*elements: etree._Element) -> str | None:
    for element in elements:
        match = _CODE.match(element.get(_LANGUAGE) or "")
        if match:
            return match[0].lower()
    return None


# Reading a whole TEI document, run in a child process


@dataclass(frozen=True, slots=True)
class BibliographyReading:
    """Bibliography that was read from TEI or JATS, in the form that is stored.

    - `full_json`: JSON of the paper with its full text.
    - `metadata`: JSON of the paper without its full text.
    - `summary`: selected fields of the paper for its SQL row; None if there is an error.
    - `quality`: quality of the bibliography; "" if there is an error.
    - `version`: extractor version that read the paper.
    - `fatcat_release`: fatcat release id in older results of other software; otherwise None.
    - `error`: why the document could not be read; None if it was read.
    """

    full_json: bytes = b""
    metadata: bytes = b""
    summary: PaperSummary | None = None
    quality: str = ""
    version: str = ""
    fatcat_release: str | None = None
    error: str | None = None


def read_tei_body(body: OpenBody) -> BibliographyReading:
    """Read the bibliography in a TEI document from an open file. Raises TransientError if the file
    cannot be read.
    """
    return read_tei_bytes(body.read_all("the TEI"))


def read_tei_bytes(data: bytes) -> BibliographyReading:
    """Read the bibliography in a TEI document. If it cannot be read, the result has an error."""
    try:
        paper = read_tei(data)
    except ValueError as error:
        return BibliographyReading(error=str(error))
    return build_reading(paper)


def build_reading(paper: Paper) -> BibliographyReading:
    """Build the stored form of a paper's bibliography."""
    return BibliographyReading(
        full_json=encode_paper(paper),
        metadata=encode_paper(strip_full_text(paper)),
        summary=summarize_paper(paper),
        quality=str(assess_quality(paper)),
        version=paper.grobid_version,
        fatcat_release=paper.fatcat_release,
    )
