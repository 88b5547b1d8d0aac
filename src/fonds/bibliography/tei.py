"""A paper out of TEI, as GROBID writes it.

Source: TEI P5, chapters 2 (header) and 3.12 (bibliographic citations); GROBID 0.4 to 0.8, "TEI encoding of
results". Bound: linear in the bytes, which the caller limits; counts are cut at the figures below.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from lxml import etree

from fonds.bibliography.identifiers import identifiers
from fonds.bibliography.paper import Citation, Funder, Funding, Journal, Paper
from fonds.bibliography.tei_names import authors_of, plain
from fonds.formats.listings.markup import parse_strictly
from fonds.model.errors import DamagedInputError

CITATIONS_MAX, KEYWORDS_MAX, FUNDERS_MAX, IDENTIFIERS_MAX = 10_000, 100, 100, 20
NS = {"tei": "http://www.tei-c.org/ns/1.0"}
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_ID = "{http://www.w3.org/XML/1998/namespace}id"
_CODE = re.compile(r"[A-Za-z]{2,3}(?=-|$)")
_DATE = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")


def read_tei(data: bytes) -> Paper:
    """The paper a TEI document is of. Raises ValueError for what is no TEI, or declares entities."""
    try:
        root = parse_strictly(data)
    except DamagedInputError as error:
        raise ValueError(error.detail) from error
    if etree.QName(root).localname not in ("TEI", "teiCorpus"):
        raise ValueError(f"no TEI: its first element is {etree.QName(root).localname!r}")
    root = root if root.tag.endswith("}TEI") else _named(root, NS["tei"])
    header = root.find("tei:teiHeader", NS)
    text = root.find("tei:text", NS)
    header = etree.Element("none") if header is None else header
    text = etree.Element("none") if text is None else text
    application = _first(header, ".//tei:appInfo/tei:application")
    return Paper(
        **_of_itself(header),
        citations=tuple(_citations(text, header)),
        abstract=_text(_first(header, "tei:profileDesc/tei:abstract")),
        body=_text(_first(text, "tei:body")),
        acknowledgement=_text(_first(text, ".//tei:div[@type='acknowledgement']")),
        annex=_text(_first(text, ".//tei:div[@type='annex']")),
        funding=_funding(header, text),
        language_code=_language(text, header),
        grobid_version=(application.get("version") if application is not None else None)
        or "unknown",
        grobid_timestamp=application.get("when") if application is not None else None,
    )


def _named(root: etree._Element, namespace: str) -> etree._Element:
    """The same document with every element in the namespace it was meant to be in."""
    for element in root.iter(etree.Element):
        element.tag = f"{{{namespace}}}{etree.QName(element).localname}"
    return root if root.tag.endswith("}TEI") else next(root.iter(f"{{{namespace}}}TEI"), root)


def _first(element: etree._Element, path: str) -> etree._Element | None:
    return element.find(path, NS)


def _text(element: etree._Element | None) -> str | None:
    """All text within, also where it stands in no paragraph; pieces are parted by a space, as readers of
    these results have always had it."""
    return None if element is None else " ".join(map(str, element.itertext())).strip() or None


def _said(element: etree._Element, *paths: str) -> str | None:
    """The text at the first of the paths that has any, in one line."""
    for path in paths:
        for found in element.iterfind(path, NS):
            text = plain(found)
            if text:
                return text
    return None


def _of_itself(header: etree._Element) -> dict[str, Any]:
    source = _first(header, "tei:fileDesc/tei:sourceDesc/tei:biblStruct")
    source = etree.Element("none") if source is None else source
    found = identifiers(_stated(source))
    monograph = _first(source, "tei:monogr")
    journal = Journal(
        name=_said(source, "tei:monogr/tei:title[@type='main']", "tei:monogr/tei:title"),
        abbreviation=_said(source, "tei:monogr/tei:title[@type='abbrev']"),
        publisher=_said(source, "tei:monogr/tei:imprint/tei:publisher")
        or _said(header, "tei:fileDesc/tei:publicationStmt/tei:publisher"),
        issn=found.pop("issn", None),
        eissn=found.pop("eissn", None),
        volume=_scope(monograph, "volume"),
        issue=_scope(monograph, "issue"),
        pages=_scope(monograph, "page"),
    )
    keywords = header.iterfind("tei:profileDesc/tei:textClass/tei:keywords//tei:term", NS)
    return {
        **found,
        "title": _said(source, "tei:analytic/tei:title")
        or _said(header, "tei:fileDesc/tei:titleStmt/tei:title"),
        "authors": authors_of(source.iterfind(".//tei:author", NS)),
        "journal": journal if journal != Journal() else None,
        "date": _date(source, header),
        "keywords": tuple(filter(None, (plain(one) for one in _some(keywords, KEYWORDS_MAX)))),
    }


def _some(found: Iterable[etree._Element], count_max: int) -> list[etree._Element]:
    return [one for one, _ in zip(found, range(count_max), strict=False)]


def _stated(source: etree._Element) -> list[tuple[str, str]]:
    found = _some(source.iterfind(".//tei:idno", NS), IDENTIFIERS_MAX)
    return [(one.get("type") or "", plain(one)) for one in found if one.getparent().tag != _AUTHOR]


_AUTHOR = f"{{{NS['tei']}}}author"


def _date(source: etree._Element, header: etree._Element | None = None) -> str | None:
    """As machines read it, else as printed."""
    paths = [(source, ".//tei:imprint/tei:date")]
    if header is not None:
        paths.append((header, "tei:fileDesc/tei:publicationStmt/tei:date"))
    found = [one for element, path in paths for one in _some(element.iterfind(path, NS), 20)]
    when = next((one.get("when") for one in found if _DATE.match(one.get("when") or "")), None)
    return when or next(filter(None, map(plain, found)), None)


def _scope(monograph: etree._Element | None, unit: str) -> str | None:
    """Volume, issue or pages, by the names of this and of older versions."""
    if monograph is None:
        return None
    old = {"volume": "vol", "page": "pp"}.get(unit, unit)
    for one in _some(monograph.iterfind(".//tei:biblScope", NS), 20):
        if unit in (one.get("unit"), one.get("type")) or old == one.get("type"):
            ends = one.get("from"), one.get("to")
            return "-".join(filter(None, ends)) or plain(one) or None
    if unit == "page":
        first = _said(monograph, ".//tei:biblScope[@type='fpage']")
        last = _said(monograph, ".//tei:biblScope[@type='lpage']")
        return "-".join(filter(None, (first, last))) or None
    return None


def _citations(text: etree._Element, header: etree._Element) -> Iterable[Citation]:
    """Of the list of references alone: what the paper is itself stands in the header."""
    listed = text.iterfind(".//tei:listBibl/tei:biblStruct", NS)
    for index, entry in enumerate(_some(listed, CITATIONS_MAX)):
        yield _citation(entry, index)


def _citation(entry: etree._Element, index: int) -> Citation:
    found = identifiers(_stated(entry))
    found.pop("eissn", None)
    monograph = _first(entry, "tei:monogr")
    title = _said(entry, "tei:analytic/tei:title[@type='main']", "tei:analytic/tei:title")
    book = _said(entry, "tei:monogr/tei:title[@level='m']", "tei:monogr/tei:title[@type='main']")
    journal = _said(entry, "tei:monogr/tei:title[@level='j']")
    if title is None:
        # A book, or a report: its own title is the monograph's.
        title, book = book, None
    return Citation(
        id=entry.get(_ID) or f"b{index}",
        index=index,
        authors=authors_of(entry.iterfind(".//tei:author", NS)),
        editors=authors_of(entry.iterfind(".//tei:editor", NS)),
        title=title,
        journal=journal,
        book_title=book,
        series_title=_said(entry, "tei:series/tei:title", "tei:monogr/tei:title[@level='s']"),
        publisher=_said(entry, ".//tei:imprint/tei:publisher"),
        institution=_said(entry, ".//tei:respStmt/tei:orgName", "tei:monogr/tei:orgName"),
        date=_date(entry),
        volume=_scope(monograph, "volume"),
        issue=_scope(monograph, "issue"),
        pages=_scope(monograph, "page"),
        url=_target(entry),
        unstructured=_said(entry, "tei:note[@type='raw_reference']"),
        **found,
    )


def _target(entry: etree._Element) -> str | None:
    found = (one.get("target") for one in _some(entry.iterfind(".//tei:ptr", NS), 20))
    return next((one.strip() for one in found if one and one.strip()), None)


def _funding(header: etree._Element, text: etree._Element) -> Funding | None:
    grants: dict[str, list[str]] = {}
    for one in _some(text.iterfind(".//tei:org[@type='funding']", NS), FUNDERS_MAX):
        numbers = [plain(n) for n in _some(one.iterfind("tei:idno", NS), IDENTIFIERS_MAX)]
        grants[f"#{one.get(_ID)}"] = [number for number in numbers if number]
    funders = tuple(
        Funder(name=name, grants=tuple(grants.get(one.get("ref") or "", ())))
        for one in _some(header.iterfind(".//tei:funder", NS), FUNDERS_MAX)
        if (name := _said(one, "tei:orgName[@type='full']", "tei:orgName") or plain(one))
    )
    statement = _text(_first(text, ".//tei:div[@type='funding']"))
    return Funding(funders=funders, statement=statement) if funders or statement else None


def _language(*elements: etree._Element) -> str | None:
    for element in elements:
        found = _CODE.match(element.get(_LANGUAGE) or "")
        if found:
            return found[0].lower()
    return None
