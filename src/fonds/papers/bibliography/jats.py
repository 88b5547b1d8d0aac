"""Parse a paper from JATS or NLM XML, as publishers and SciELO provide it.

Source: ANSI/NISO Z39.96 (JATS 1.3), `article`; NLM Journal Publishing 2.3 and 3.0, which uses the
same names. Limits: linear in the bytes, which the caller limits. At most 10,000 references, 5,000
names, 20 identifiers and 100 keywords are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec
from lxml import etree, html

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
)
from fonds.model.disposition import DONE, Disposition, Reason, end
from fonds.model.errors import DamagedInputError
from fonds.model.paper import JATS_VERSION
from fonds.model.rights import Statement
from fonds.papers.bibliography.identifiers import (
    WorkIdentifiers,
    collect_identifiers,
    find_issn,
    find_orcid,
)
from fonds.papers.bibliography.jats_rights import read_article_rights
from fonds.papers.bibliography.reference_parser import parse_reference
from fonds.papers.bibliography.tei import BibliographyReading, build_reading
from fonds.text.xml import get_text, parse_strictly

CITATIONS_MAX, NAMES_MAX, IDENTIFIERS_MAX, KEYWORDS_MAX = 10_000, 5_000, 20, 100
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_HREF = "{http://www.w3.org/1999/xlink}href"
_CITATION_TAGS = ("element-citation", "mixed-citation", "nlm-citation", "citation")
_BLOCKS = frozenset(
    {"p", "title", "label", "list-item", "td", "th", "caption", "disp-quote", "sec"}
)


def read_jats(data: bytes) -> Paper:
    """Parse a paper from the bytes of a JATS article. Raises ValueError if they are not JATS or
    declare XML entities.
    """
    return parse_paper(parse_jats_root(data))


def parse_jats_root(data: bytes) -> etree._Element:
    """Parse the XML tree of a JATS article.

    Raises ValueError if the bytes are not JATS or declare XML entities.
    """
    try:
        root = parse_strictly(data)
    except DamagedInputError as error:
        raise ValueError(error.detail) from error
    if root.tag != "article":
        raise ValueError(f"not JATS: the root element is {str(root.tag)[:80]!r}")
    return root


def parse_paper(root: etree._Element) -> Paper:
    """Build a paper (metadata, text and references) from the XML tree of a JATS article."""
    meta = _find_first(root, "front/article-meta")
    journal = _find_first(root, "front/journal-meta")
    identifiers = _read_identifiers(meta)
    keywords = _limit(meta.iterfind("kwd-group/kwd"), KEYWORDS_MAX)
    return Paper(
        grobid_version=JATS_VERSION,
        doi=identifiers.doi,
        pmid=identifiers.pmid,
        pmcid=identifiers.pmcid,
        arxiv_id=identifiers.arxiv_id,
        isbn=identifiers.isbn,
        title=_find_line(meta, "title-group/article-title"),
        authors=_parse_authors(meta),
        date=_choose_date(meta.iterfind("pub-date")),
        keywords=tuple(filter(None, map(_get_line, keywords))),
        funding=_parse_funding(meta),
        journal=_parse_journal(journal, meta),
        language_code=(root.get(_LANGUAGE) or "")[:3].split("-")[0].lower() or None,
        abstract=_get_block_text(_find_first(meta, "abstract")),
        body=_strip_html(_get_block_text(_find_first(root, "body"))),
        acknowledgement=_get_block_text(_find_first(root, "back/ack")),
        annex=_get_block_text(_find_first(root, "back/app-group"))
        or _get_block_text(_find_first(root, "back/app")),
        citations=tuple(_iter_citations(root)),
    )


def _find_first(element: etree._Element, path: str) -> etree._Element:
    match = element.find(path)
    return etree.Element("none") if match is None else match


def _get_line(element: etree._Element | None) -> str | None:
    """Return the text of an XML element on one line; None if there is none."""
    return " ".join(get_text(element).split()) or None


def _find_line(element: etree._Element, *paths: str) -> str | None:
    for path in paths:
        text = _get_line(element.find(path))
        if text:
            return text
    return None


def _limit(elements: Iterable[etree._Element], count_max: int) -> list[etree._Element]:
    return [element for element, _ in zip(elements, range(count_max), strict=False)]


def _get_block_text(element: etree._Element) -> str | None:
    """Return the text of an XML element, with one line per paragraph, title or cell; None if there
    is none.

    Text outside of paragraphs, titles and cells is included.
    """
    pieces: list[str] = []
    for event, node in etree.iterwalk(element, events=("start", "end")):
        if event == "start":
            pieces += ["\n" if node.tag in _BLOCKS else "", node.text or ""]
        else:
            pieces += [
                "\n" if node.tag in _BLOCKS else "",
                node.tail or "" if node is not element else "",
            ]
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return "\n".join(line for line in lines if line) or None


def _strip_html(text: str | None) -> str | None:
    """Remove the escaped HTML that SciELO puts into a body as text."""
    if text is None or "</p>" not in text[:20_000].lower():
        return text
    return _get_block_text(html.fromstring(f"<div>{text}</div>"))


def _read_identifiers(meta: etree._Element) -> WorkIdentifiers:
    """Return the identifiers of an article whose type is stated."""
    pairs = [
        (article_id.get("pub-id-type") or "other", _get_line(article_id) or "")
        for article_id in _limit(meta.iterfind("article-id"), IDENTIFIERS_MAX)
    ]
    return collect_identifiers(
        [(kind, text) for kind, text in pairs if kind not in ("other", "publisher-id", "pii")]
    )


def _parse_authors(meta: etree._Element) -> tuple[Author, ...]:
    affiliations = {
        author_element.get("id"): _parse_affiliation(author_element)
        for author_element in _limit(meta.iter("aff"), NAMES_MAX)
    }
    authors = (
        _parse_author(author_element, affiliations)
        for author_element in _limit(meta.iterfind("contrib-group/contrib"), NAMES_MAX)
        if author_element.get("contrib-type") in (None, "author")
    )
    return tuple(author_element for author_element in authors if author_element is not None)


def _parse_author(contrib: etree._Element, places: dict[str | None, Affiliation]) -> Author | None:
    name = contrib.find("name")
    if name is None:
        name = contrib.find(".//name")
    links = [node for node in contrib.iterfind("xref") if node.get("ref-type") == "aff"]
    ids = [node.get("rid") for node in links[:IDENTIFIERS_MAX]]
    affiliations = [places[key] for key in ids if key in places]
    affiliations += [_parse_affiliation(node) for node in contrib.iterfind("aff")]
    affiliations = [node for node in affiliations if node != Affiliation()]
    if name is None:
        text = _find_line(contrib, "collab", "string-name", "name-alternatives")
        author = Author(name=text) if text else None
    else:
        author = _parse_name(name)
    if author is None:
        return None
    orcids = (find_orcid(get_text(node)) for node in contrib.iter("contrib-id"))
    return msgspec.structs.replace(
        author,
        email=_find_line(contrib, ".//email"),
        orcid=next(filter(None, orcids), None),
        affiliation=affiliations[0] if affiliations else None,
        affiliations=tuple(affiliations[1:]),
    )


def _parse_name(name: etree._Element) -> Author | None:
    given_names, surname = (
        (_find_line(name, "given-names") or "").split(),
        _find_line(name, "surname"),
    )
    full_name = " ".join((*given_names, surname or "")).strip() or _get_line(name)
    if not full_name:
        return None
    return Author(
        name=full_name,
        given_name=given_names[0] if given_names else None,
        middle_name=" ".join(given_names[1:]) or None,
        surname=surname,
    )


def _parse_affiliation(element: etree._Element) -> Affiliation:
    address = Address(
        line=_find_line(element, "addr-line"),
        settlement=_find_line(element, "city", "addr-line/named-content[@content-type='city']"),
        region=_find_line(element, "state"),
        country=_find_line(element, "country"),
        postcode=_find_line(element, "postal-code"),
    )
    institution = (_find_line(element, "institution", "institution-wrap/institution") or "").strip(
        " ,"
    )
    return Affiliation(
        institution=institution or None,
        address=address if address != Address() else None,
        unstructured=None if institution else _get_line(element),
    )


def _choose_date(elements: Iterable[etree._Element]) -> str | None:
    """Return the publication date of an article, as precise as stated; None if not stated.

    The date of print publication is preferred to that of online publication.
    """
    ranks = {"ppub": 0, "pub": 0, "collection": 2, "epub": 1}
    dates = []
    for element in _limit(elements, IDENTIFIERS_MAX):
        rank = ranks.get(element.get("pub-type") or element.get("date-type") or "", 1)
        dates.append((rank, _parse_date(element)))
    return next((date for _, date in sorted(dates, key=lambda pair: pair[0]) if date), None)


def _parse_date(element: etree._Element) -> str | None:
    year = _find_line(element, "year")
    if year is None or not year[:4].isdigit():
        return None
    parts = [year[:4]]
    for name, maximum in (("month", 12), ("day", 31)):
        text = _find_line(element, name) or ""
        if not (text.isascii() and text.isdigit() and 1 <= int(text[:3]) <= maximum):
            break
        parts.append(f"{int(text[:3]):02d}")
    return "-".join(parts)


def _parse_journal(journal_meta: etree._Element, meta: etree._Element) -> Journal | None:
    issns = {
        issn.get("pub-type") or "": find_issn(get_text(issn))
        for issn in _limit(journal_meta.iterfind("issn"), 20)
    }
    eissn = issns.pop("epub", None)
    journal = Journal(
        name=_find_line(journal_meta, "journal-title-group/journal-title", "journal-title"),
        abbreviation=_find_line(
            journal_meta, "journal-title-group/abbrev-journal-title", "abbrev-journal-title"
        ),
        publisher=_find_line(journal_meta, "publisher/publisher-name"),
        issn=next(filter(None, issns.values()), None),
        eissn=eissn,
        volume=_find_line(meta, "volume"),
        issue=_find_line(meta, "issue", "numero"),
        pages=_parse_pages(meta),
    )
    return journal if journal != Journal() else None


def _parse_pages(element: etree._Element) -> str | None:
    ends = [_find_line(element, "fpage"), _find_line(element, "lpage")]
    return "-".join(filter(None, ends)) or _find_line(element, "page-range", "elocation-id")


def _parse_funding(meta: etree._Element) -> Funding | None:
    funders = []
    for award in _limit(meta.iterfind("funding-group/award-group"), KEYWORDS_MAX):
        name = _find_line(award, "funding-source//institution", "funding-source")
        grants = tuple(filter(None, map(_get_line, award.findall("award-id")[:IDENTIFIERS_MAX])))
        if name:
            funders.append(Funder(name=name, grants=grants))
    statement = _find_line(meta, "funding-group/funding-statement")
    return Funding(funders=tuple(funders), statement=statement) if funders or statement else None


def _iter_citations(root: etree._Element) -> Iterator[Citation]:
    for index, ref in enumerate(_limit(root.iterfind("back//ref-list/ref"), CITATIONS_MAX)):
        citation = next((element for element in ref.iter() if element.tag in _CITATION_TAGS), ref)
        yield _parse_citation(ref, citation, index)


def _parse_citation(ref: etree._Element, element: etree._Element, index: int) -> Citation:
    """Parse a reference from its XML elements.

    If they contain no title, journal or book, parse the printed text of the reference.
    """
    printed_text = _get_line(element)
    title = _find_line(element, "article-title", "chapter-title", "data-title")
    source = _find_line(element, "source")
    if title is None and source is None:
        return parse_reference(printed_text or "", index, ref.get("id"))
    names = _limit(element.iter("name", "string-name"), NAMES_MAX)
    people = [(node, _parse_name(node)) for node in names]
    editors = {
        id(n)
        for group in element.iterfind("person-group[@person-group-type='editor']")
        for n in group
    }
    ids = [
        (node.get("pub-id-type") or "", _get_line(node) or "")
        for node in _limit(element.iter("pub-id"), 20)
    ]
    link = element.find(".//ext-link")
    is_article = (
        element.get("publication-type", element.get("citation-type", "journal")) == "journal"
    )
    identifiers = collect_identifiers(ids)
    return Citation(
        id=ref.get("id") or f"b{index}",
        index=index,
        authors=tuple(a for node, a in people if a is not None and id(node) not in editors),
        editors=tuple(a for node, a in people if a is not None and id(node) in editors),
        title=title or source,
        journal=source if title and is_article else None,
        book_title=source if title and not is_article else None,
        publisher=_find_line(element, "publisher-name"),
        date=_parse_date(element),
        volume=_find_line(element, "volume"),
        issue=_find_line(element, "issue", "numero"),
        pages=_parse_pages(element),
        url=link.get(_HREF) if link is not None else None,
        unstructured=printed_text if element.tag == "mixed-citation" else None,
        doi=identifiers.doi,
        pmid=identifiers.pmid,
        pmcid=identifiers.pmcid,
        arxiv_id=identifiers.arxiv_id,
        issn=identifiers.issn,
        isbn=identifiers.isbn,
    )


# Reading a whole article, run in a child process


@dataclass(frozen=True, slots=True)
class JatsReading:
    """Result of reading a JATS article.

    - `reading`: bibliography, or a text that describes why the article cannot be read.
    - `text`: text for search: abstract, body, acknowledgement and annex.
    - `date`: publication date, as precise as stated; None if not stated.
    - `language`: language code; None if unknown.
    - `rights`: statements of the article about its licence, rights holders and permitted use.
    - `reason`: code of the reason why the article cannot be read; None if it was read.
    """

    reading: BibliographyReading
    text: str = ""
    date: str | None = None
    language: str | None = None
    rights: tuple[Statement, ...] = ()
    reason: Reason | None = None

    @property
    def disposition(self) -> Disposition:
        """Final status of the queue message about the article: done, or failed with the reason."""
        return end(self.reason, self.reading.error or "") if self.reason else DONE


def read_jats_body(body: OpenBody) -> JatsReading:
    """Read a JATS article from an open file. Raises TransientError if the file cannot be read."""
    return read_jats_bytes(body.read_all("the article"))


def read_jats_bytes(data: bytes) -> JatsReading:
    """Read the text and bibliography of a JATS article, or return the reason why they cannot be
    read.
    """
    try:
        root = parse_jats_root(data)
        paper = parse_paper(root)
    except ValueError as error:
        return JatsReading(BibliographyReading(error=str(error)), reason=Reason.BROKEN_ARTICLE)
    parts = (paper.abstract, paper.body, paper.acknowledgement, paper.annex)
    return JatsReading(
        build_reading(paper),
        text="\n\n".join(part for part in parts if part),
        date=paper.date,
        language=paper.language_code,
        rights=read_article_rights(root),
    )
