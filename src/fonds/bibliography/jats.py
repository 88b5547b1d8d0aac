"""A paper out of JATS or NLM XML, as publishers and SciELO give it.

Source: ANSI/NISO Z39.96 (JATS 1.3), `article`; NLM Journal Publishing 2.3 and 3.0, whose names it keeps.
Bound: linear in the bytes, which the caller limits; counts are cut at the figures below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from lxml import etree, html

from fonds.bibliography.identifiers import identifiers, issn_in, orcid_in
from fonds.bibliography.paper import (
    Address,
    Affiliation,
    Author,
    Citation,
    Funder,
    Funding,
    Journal,
    Paper,
)
from fonds.bibliography.references import parse_reference
from fonds.formats.listings.markup import parse_strictly, text_of
from fonds.model.errors import DamagedInputError
from fonds.model.paper import JATS_VERSION

CITATIONS_MAX, NAMES_MAX, IDENTIFIERS_MAX, KEYWORDS_MAX = 10_000, 5_000, 20, 100
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_HREF = "{http://www.w3.org/1999/xlink}href"
_CITED = ("element-citation", "mixed-citation", "nlm-citation", "citation")
_BLOCKS = frozenset(
    {"p", "title", "label", "list-item", "td", "th", "caption", "disp-quote", "sec"}
)


def read_jats(data: bytes) -> Paper:
    """The paper an article is of. Raises ValueError for what is none, or declares entities."""
    return paper_of(jats_root(data))


def jats_root(data: bytes) -> etree._Element:
    """The tree of an article. Raises ValueError for what is none, or declares entities."""
    try:
        root = parse_strictly(data)
    except DamagedInputError as error:
        raise ValueError(error.detail) from error
    if root.tag != "article":
        raise ValueError(f"no JATS: its first element is {str(root.tag)[:80]!r}")
    return root


def paper_of(root: etree._Element) -> Paper:
    """The paper of an article's tree."""
    meta = _first(root, "front/article-meta")
    journal = _first(root, "front/journal-meta")
    return Paper(
        grobid_version=JATS_VERSION,
        **_of_itself(meta),
        journal=_journal(journal, meta),
        language_code=(root.get(_LANGUAGE) or "")[:3].split("-")[0].lower() or None,
        abstract=_blocks(_first(meta, "abstract")),
        body=_unmarked(_blocks(_first(root, "body"))),
        acknowledgement=_blocks(_first(root, "back/ack")),
        annex=_blocks(_first(root, "back/app-group")) or _blocks(_first(root, "back/app")),
        citations=tuple(_citations(root)),
    )


def _first(element: etree._Element, path: str) -> etree._Element:
    found = element.find(path)
    return etree.Element("none") if found is None else found


def _line(element: etree._Element | None) -> str | None:
    """Its text in one line."""
    return " ".join(text_of(element).split()) or None


def _said(element: etree._Element, *paths: str) -> str | None:
    for path in paths:
        text = _line(element.find(path))
        if text:
            return text
    return None


def _some(found: Iterable[etree._Element], count_max: int) -> list[etree._Element]:
    return [one for one, _ in zip(found, range(count_max), strict=False)]


def _blocks(element: etree._Element) -> str | None:
    """Paragraphs, titles and cells as lines of their own; text that stands in none too."""
    pieces: list[str] = []
    for event, one in etree.iterwalk(element, events=("start", "end")):
        if event == "start":
            pieces += ["\n" if one.tag in _BLOCKS else "", one.text or ""]
        else:
            pieces += [
                "\n" if one.tag in _BLOCKS else "",
                one.tail or "" if one is not element else "",
            ]
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return "\n".join(line for line in lines if line) or None


def _unmarked(text: str | None) -> str | None:
    """Without the HTML that SciELO puts into a body as text."""
    if text is None or "</p>" not in text[:20_000].lower():
        return text
    return _blocks(html.fromstring(f"<div>{text}</div>"))


def _of_itself(meta: etree._Element) -> dict[str, Any]:
    stated = _some(meta.iterfind("article-id"), IDENTIFIERS_MAX)
    named = [(one.get("pub-id-type") or "other", _line(one) or "") for one in stated]
    known = [(kind, text) for kind, text in named if kind not in ("other", "publisher-id", "pii")]
    keywords = _some(meta.iterfind("kwd-group/kwd"), KEYWORDS_MAX)
    return {
        **identifiers(known),
        "title": _said(meta, "title-group/article-title"),
        "authors": _authors(meta),
        "date": _dates(meta.iterfind("pub-date")),
        "keywords": tuple(filter(None, map(_line, keywords))),
        "funding": _funding(meta),
    }


def _authors(meta: etree._Element) -> tuple[Author, ...]:
    places = {one.get("id"): _affiliation(one) for one in _some(meta.iter("aff"), NAMES_MAX)}
    found = (
        _author(one, places)
        for one in _some(meta.iterfind("contrib-group/contrib"), NAMES_MAX)
        if one.get("contrib-type") in (None, "author")
    )
    return tuple(one for one in found if one is not None)


def _author(contrib: etree._Element, places: dict[str | None, Affiliation]) -> Author | None:
    name = contrib.find("name")
    if name is None:
        name = contrib.find(".//name")
    links = [one for one in contrib.iterfind("xref") if one.get("ref-type") == "aff"]
    ids = [one.get("rid") for one in links[:IDENTIFIERS_MAX]]
    found = [places[key] for key in ids if key in places]
    found += [_affiliation(one) for one in contrib.iterfind("aff")]
    found = [one for one in found if one != Affiliation()]
    more: dict[str, Any] = {
        "email": _said(contrib, ".//email"),
        "orcid": next(
            filter(None, (orcid_in(text_of(one)) for one in contrib.iter("contrib-id"))), None
        ),
        "affiliation": found[0] if found else None,
        "affiliations": tuple(found[1:]),
    }
    if name is None:
        text = _said(contrib, "collab", "string-name", "name-alternatives")
        return Author(name=text, **more) if text else None
    return _named(name, more)


def _named(name: etree._Element, more: dict[str, Any] | None = None) -> Author | None:
    given, surname = (_said(name, "given-names") or "").split(), _said(name, "surname")
    whole = " ".join((*given, surname or "")).strip() or _line(name)
    if not whole:
        return None
    return Author(
        name=whole,
        given_name=given[0] if given else None,
        middle_name=" ".join(given[1:]) or None,
        surname=surname,
        **(more or {}),
    )


def _affiliation(element: etree._Element) -> Affiliation:
    where = Address(
        line=_said(element, "addr-line"),
        settlement=_said(element, "city", "addr-line/named-content[@content-type='city']"),
        region=_said(element, "state"),
        country=_said(element, "country"),
        postcode=_said(element, "postal-code"),
    )
    institution = (_said(element, "institution", "institution-wrap/institution") or "").strip(" ,")
    return Affiliation(
        institution=institution or None,
        address=where if where != Address() else None,
        unstructured=None if institution else _line(element),
    )


def _dates(elements: Iterable[etree._Element]) -> str | None:
    """The date of appearing, in print before online, as exact as told."""
    ranks = {"ppub": 0, "pub": 0, "collection": 2, "epub": 1}
    found = []
    for one in _some(elements, IDENTIFIERS_MAX):
        rank = ranks.get(one.get("pub-type") or one.get("date-type") or "", 1)
        found.append((rank, _date(one)))
    return next((date for _, date in sorted(found, key=lambda pair: pair[0]) if date), None)


def _date(element: etree._Element) -> str | None:
    year = _said(element, "year")
    if year is None or not year[:4].isdigit():
        return None
    parts = [year[:4]]
    for name, most in (("month", 12), ("day", 31)):
        text = _said(element, name) or ""
        if not (text.isascii() and text.isdigit() and 1 <= int(text[:3]) <= most):
            break
        parts.append(f"{int(text[:3]):02d}")
    return "-".join(parts)


def _journal(about: etree._Element, meta: etree._Element) -> Journal | None:
    issns = {
        one.get("pub-type") or "": issn_in(text_of(one))
        for one in _some(about.iterfind("issn"), 20)
    }
    electronic = issns.pop("epub", None)
    found = Journal(
        name=_said(about, "journal-title-group/journal-title", "journal-title"),
        abbreviation=_said(
            about, "journal-title-group/abbrev-journal-title", "abbrev-journal-title"
        ),
        publisher=_said(about, "publisher/publisher-name"),
        issn=next(filter(None, issns.values()), None),
        eissn=electronic,
        volume=_said(meta, "volume"),
        issue=_said(meta, "issue", "numero"),
        pages=_pages(meta),
    )
    return found if found != Journal() else None


def _pages(element: etree._Element) -> str | None:
    ends = [_said(element, "fpage"), _said(element, "lpage")]
    return "-".join(filter(None, ends)) or _said(element, "page-range", "elocation-id")


def _funding(meta: etree._Element) -> Funding | None:
    funders = []
    for award in _some(meta.iterfind("funding-group/award-group"), KEYWORDS_MAX):
        name = _said(award, "funding-source//institution", "funding-source")
        grants = tuple(filter(None, map(_line, award.findall("award-id")[:IDENTIFIERS_MAX])))
        if name:
            funders.append(Funder(name=name, grants=grants))
    statement = _said(meta, "funding-group/funding-statement")
    return Funding(funders=tuple(funders), statement=statement) if funders or statement else None


def _citations(root: etree._Element) -> Iterator[Citation]:
    for index, ref in enumerate(_some(root.iterfind("back//ref-list/ref"), CITATIONS_MAX)):
        cited = next((one for one in ref.iter() if one.tag in _CITED), ref)
        yield _citation(ref, cited, index)


def _citation(ref: etree._Element, cited: etree._Element, index: int) -> Citation:
    """From its elements; where there are none, from the text as printed."""
    printed = _line(cited)
    title = _said(cited, "article-title", "chapter-title", "data-title")
    source = _said(cited, "source")
    if title is None and source is None:
        return parse_reference(printed or "", index, ref.get("id"))
    names = _some(cited.iter("name", "string-name"), NAMES_MAX)
    people = [(one, _named(one)) for one in names]
    editors = {
        id(n)
        for group in cited.iterfind("person-group[@person-group-type='editor']")
        for n in group
    }
    ids = [
        (one.get("pub-id-type") or "", _line(one) or "") for one in _some(cited.iter("pub-id"), 20)
    ]
    link = cited.find(".//ext-link")
    is_article = cited.get("publication-type", cited.get("citation-type", "journal")) == "journal"
    found = identifiers(ids)
    found.pop("eissn", None)
    return Citation(
        id=ref.get("id") or f"b{index}",
        index=index,
        authors=tuple(a for one, a in people if a is not None and id(one) not in editors),
        editors=tuple(a for one, a in people if a is not None and id(one) in editors),
        title=title or source,
        journal=source if title and is_article else None,
        book_title=source if title and not is_article else None,
        publisher=_said(cited, "publisher-name"),
        date=_date(cited),
        volume=_said(cited, "volume"),
        issue=_said(cited, "issue", "numero"),
        pages=_pages(cited),
        url=link.get(_HREF) if link is not None else None,
        unstructured=printed if cited.tag == "mixed-citation" else None,
        **found,
    )
